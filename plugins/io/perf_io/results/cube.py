"""Cube profiles (``.cubex``) of Score-P and Scalasca, by pycubexr.

Source: "Cube 4 file format"; the names of the folders of a series as in Extra-P's "File format documentation",
section "Cube file format".
"""

from __future__ import annotations

import contextlib
import gzip
import math
import re
import struct
import tarfile
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from pycubexr import CubexParser
from pycubexr.utils.custom_tarinfo import TarInfoWithoutCheck

from perf_io.options import ProfileOptions
from perf_io.results.result_table import ARROW, Row, number_or_text, one_line, profile_rows, results
from perfcore.base.errors import InputError, UnknownNameError
from perfcore.data.measurements import Measurements
from perfcore.data.units import same_unit
from perfcore.reading.source import Reader, Source

_RUN = re.compile(r"(?P<code>[^.]+)\.(?P<parameters>(?:[A-Za-z_]+[0-9][0-9.,]*)+)\.r(?P<repetition>[0-9]{1,9})")
_PARAMETER = re.compile(r"([A-Za-z_]+)([0-9][0-9.,]*)")
_LARGEST = 1 << 30  # of a profile when decompressed: more than a gigabyte of one metric is no profile to model
_MOST_MEMBERS = 10_000  # two for each metric; without checksums blank bytes pass for members, too
_LARGEST_TREE = 64 << 20  # of anchor.xml: a call tree of some 300,000 nodes


class CubeReader(Reader):
    """A Cube profile: one row for each call path, with what was spent in it alone and with what it called.

    The call path is the category; amounts are averages over the locations, as in Extra-P. A folder named as
    ``mm.x10y1.r2`` says what was run (``mm``), the parameters (x = 10, y = 1) and the repetition (2); read the folder
    above it to get the whole series.
    """

    Options = ProfileOptions

    def read(self, source: Source, options: ProfileOptions) -> Measurements:
        with source.plain_file() as path, warnings.catch_warnings():
            # CubeWriter 4.8 writes wrong checksums, about which pycubexr warns.
            warnings.simplefilter("ignore")
            try:
                _check(path, source.name)
                with contextlib.ExitStack() as stack:
                    cube = CubexParser(path)
                    stack.push(cube)  # before it is entered: it leaves the archive open where entering fails
                    exclusive, inclusive, unit = _amounts(cube.__enter__(), options.metric)
            except (InputError, UnknownNameError):
                raise
            except RecursionError:
                raise InputError(source.name, "the call tree is nested too deeply") from None
            except Exception as error:  # the library meets damaged archives with whatever fails first
                problem = f"is no Cube profile, or damaged: {type(error).__name__} {' '.join(str(error).split())[:120]}"
                raise InputError(source.name, problem) from error
        value = "time_s" if same_unit(unit) == "s" else one_line(options.metric or "time")
        run = _run(Path(source.name).absolute().parent.name if not source.is_stdin else "")
        return results(
            profile_rows(run, exclusive, inclusive, value),
            source.name,
            parameters=[name for name in run if name not in ("program", "repetition")],
            value=value,
            code=["program"],
            category=["callpath"],
            unit=None if value == "time_s" else unit,
        )


def _amounts(cube: CubexParser, metric_name: str | None) -> tuple[dict[str, float], dict[str, float], str]:
    metrics = {metric.name: metric for metric in cube.all_metrics()}
    name = metric_name or ("time" if "time" in metrics else next(iter(metrics), ""))
    if name not in metrics:
        raise UnknownNameError("metric", name, metrics)
    values = cube.get_metric_values(metrics[name])
    exclusive: dict[str, float] = {}
    inclusive: dict[str, float] = {}
    for path, node in _paths(cube):
        exclusive[path] = exclusive.get(path, 0.0) + float(values.mean(node, convert_to_exclusive=True))
        inclusive[path] = inclusive.get(path, 0.0) + float(values.mean(node, convert_to_inclusive=True))
    if not all(map(math.isfinite, [*exclusive.values(), *inclusive.values()])):
        raise ValueError(f"{name} holds what is no finite number")
    return {path: max(amount, 0.0) for path, amount in exclusive.items()}, inclusive, metrics[name].units or ""


def _paths(cube: CubexParser) -> Iterator[tuple[str, object]]:
    waiting = [(one_line(cube.get_region(node).name), node) for node in reversed(cube.get_root_cnodes())]
    while waiting:
        path, node = waiting.pop()
        yield path, node
        children = reversed(node.get_children())
        waiting += [(f"{path}{ARROW}{one_line(cube.get_region(child).name)}", child) for child in children]


def _run(folder: str) -> Row:
    """Return the program, parameters and repetition that a folder's name says."""
    match = _RUN.fullmatch(folder)
    if match is None:
        return {}
    parameters = {
        name: number_or_text(level.replace(",", ".").rstrip(".")) for name, level in _PARAMETER.findall(match[2])
    }
    return {"program": match["code"], **parameters, "repetition": int(match["repetition"])}


def _check(path: Path, source: str) -> None:
    """Refuse an archive whose members lead elsewhere or would fill the memory."""
    try:
        archive = tarfile.open(path, "r:")  # noqa: SIM115 - closed below
    except tarfile.ReadError:
        archive = tarfile.open(path, "r:", tarinfo=TarInfoWithoutCheck)  # noqa: SIM115
    with archive:
        for count, member in enumerate(archive):
            if count > _MOST_MEMBERS:
                raise InputError(source, f"the archive holds more than {_MOST_MEMBERS} members; it is no profile")
            if not member.isreg() or member.issparse() or member.name.startswith("/") or ".." in member.name.split("/"):
                raise InputError(source, f"the archive holds {member.name[:80]!r}, which is no plain file of a profile")
            content = archive.extractfile(member)
            assert content is not None
            if member.name.endswith("anchor.xml"):
                _check_tree(content, source)
            elif member.name.endswith(".data"):
                _check_data(content, member.name, source)


def _check_tree(content: IO[bytes], source: str) -> None:
    start = content.read(2)
    content.seek(0)
    stream = gzip.GzipFile(fileobj=content) if start == b"\x1f\x8b" else content
    plain = stream.read(_LARGEST_TREE + 1)
    if len(plain) > _LARGEST_TREE:
        raise InputError(source, f"its anchor.xml is larger than {_LARGEST_TREE >> 20} MiB")
    if b"<!DOCTYPE" in plain or b"<!ENTITY" in plain:
        raise InputError(source, "its anchor.xml declares entities, which no profile needs")


def _check_data(content: IO[bytes], name: str, source: str) -> None:
    """Decompress the pieces of a metric's data without keeping them, and stop where they grow too large."""
    if content.read(11) != b"ZCUBEX.DATA":
        return
    raw = content.read(8)
    order = min("<>", key=lambda order: abs(struct.unpack(order + "q", raw)[0]))
    (count,) = struct.unpack(order + "q", raw)
    sizes = struct.iter_unpack(order + "qqq", content.read(24 * min(max(count, 0), _LARGEST >> 5)))
    total = 0
    for _, _, compressed in sizes:
        step = zlib.decompressobj()
        piece = content.read(max(compressed, 0))
        while piece:
            total += len(step.decompress(piece, 1 << 20))
            piece = step.unconsumed_tail
            if total > _LARGEST:
                raise InputError(source, f"{name} decompresses to more than {_LARGEST >> 30} GiB")
