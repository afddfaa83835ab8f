"""Cube profiles (``.cubex``) of Score-P and Scalasca.

Source: "Cube 4 file format" (``anchor.xml`` and, for each metric, ``ID.index`` and ``ID.data``), as pycubexr reads
it.
"""

from __future__ import annotations

import re
import struct
import tarfile
import zlib
from pathlib import Path
from typing import IO, Any
from xml.etree import ElementTree

import numpy as np

from perf_io.options import ProfileOptions
from perf_io.results.result_table import ARROW, Row, number_or_text, one_line, profile
from perfcore.base.arrays import Ints
from perfcore.base.errors import InputError, UnknownNameError
from perfcore.data.measurements import Measurements
from perfcore.data.units import same_unit
from perfcore.reading.source import Reader, Source

_RUN = re.compile(r"(?P<code>[^.]+)\.(?P<parameters>(?:[A-Za-z_]+[0-9][0-9.,]*)+)\.r(?P<repetition>[0-9]{1,9})")
_PARAMETER = re.compile(r"([A-Za-z_]+)([0-9][0-9.,]*)")
_LARGEST = 1 << 30  # of a profile when decompressed: more than a gigabyte of one metric is no profile to model
_MOST_MEMBERS = 10_000  # two for each metric; without checksums blank bytes pass for members, too
_LARGEST_TREE = 64 << 20  # of anchor.xml: a call tree of some 300,000 nodes
_DEEPEST = 1000  # call paths
_INDEX = b"CUBEX.INDEX"
# How values are stored, and what several locations have together; of extremes no sum over callees exists.
_TYPES = {
    **dict.fromkeys(("DOUBLE", "FLOAT", "MINDOUBLE", "MAXDOUBLE"), "f8"), "INTEGER": "i8", "UNSIGNED INTEGER": "u8",
    "INT": "i4", "SIGNED INTEGER": "i8", "UNSIGNED INT": "u4",
    **{f"{sign}INT{8 * size}": f"{code}{size}" for sign, code in (("", "i"), ("U", "u")) for size in (1, 2, 4, 8)},
}  # fmt: skip
_EXTREMES = {"MINDOUBLE": np.min, "MAXDOUBLE": np.max}


class CubeReader(Reader):
    """Read a Cube profile: a row for each call path, with its own amount and that with all that it called.

    Amounts are averages over the locations. A folder named as ``mm.x10y1.r2``, as Extra-P has them, says the program,
    the parameters and the repetition.
    """

    Options = ProfileOptions

    def read(self, source: Source, options: ProfileOptions) -> Measurements:
        with source.plain_file() as path:
            try:
                with tarfile.open(path, "r:", tarinfo=_Unchecked) as archive:
                    exclusive, inclusive, unit = _amounts(archive, options.metric, source.name)
            except (InputError, UnknownNameError):
                raise
            except (tarfile.TarError, ElementTree.ParseError, zlib.error, LookupError, ValueError, struct.error,
                    EOFError, OSError) as error:  # fmt: skip
                problem = f"is no Cube profile, or damaged: {type(error).__name__} {' '.join(str(error).split())[:120]}"
                raise InputError(source.name, problem) from error
        value = "time_s" if same_unit(unit) == "s" else one_line(options.metric or "time")
        run = _run(Path(source.name).absolute().parent.name if not source.is_stdin else "")
        names = [name for name in run if name not in ("program", "repetition")]
        roles: Any = {"parameters": names, "code": ["program"], "unit": None if value == "time_s" else unit}
        return profile(run, exclusive, inclusive, value, source.name, **roles)


class _Unchecked(tarfile.TarInfo):
    """A header with the right checksum: CubeWriter 4.8 writes wrong ones."""

    @classmethod
    def frombuf(cls, buf: Any, encoding: str, errors: str) -> _Unchecked:
        return super().frombuf(_with_checksum(buf), encoding, errors)

    @classmethod
    def _frombuf(cls, buf: Any, *args: Any, **how: Any) -> Any:  # what newer versions of Python call
        return super()._frombuf(_with_checksum(buf), *args, **how)  # type: ignore[misc]


def _with_checksum(header: bytes) -> bytes:
    if len(header) < tarfile.BLOCKSIZE or not header.strip(b"\0"):
        return header
    return header[:148] + b"%06o\0 " % sum(header[:148] + b" " * 8 + header[156:]) + header[156:]


def _amounts(
    archive: tarfile.TarFile, metric_name: str | None, source: str
) -> tuple[dict[str, float], dict[str, float], str]:
    """Return the exclusive and inclusive amounts of each call path, as means over the locations, and their unit."""
    members = _members(archive, source)
    anchor = _anchor(members["anchor.xml"], source)
    # Metrics that are derived from others have no data.
    metrics = {
        str(each.findtext("uniq_name")): each
        for each in anchor.iterfind("metrics//metric")
        if {f"{each.get('id')}.index", f"{each.get('id')}.data"} <= members.keys()
    }
    name = metric_name or ("time" if "time" in metrics else next(iter(metrics), ""))
    if name not in metrics:
        raise UnknownNameError("metric", name, metrics)
    metric, unit = metrics[name], metrics[name].findtext("uom") or ""
    form = _TYPES.get(str(metric.findtext("dtype")))
    if form is None:
        raise InputError(source, f"the metric {name!r} has values of the type {metric.findtext('dtype')}, "
                         "which is not read; choose another with -r metric=NAME")  # fmt: skip
    order, rows = _index(members[f"{metric.get('id')}.index"])
    content = members[f"{metric.get('id')}.data"]
    values = np.frombuffer(_data(content, order, f"{metric.get('id')}.data", source), np.dtype(order + form))
    paths, callers, wide = _call_paths(anchor, source)
    stored = np.zeros(len(paths))
    is_inclusive, extreme = metric.get("type") == "INCLUSIVE", _EXTREMES.get(str(metric.findtext("dtype")))
    by_location = values.astype(np.float64).reshape(len(rows), len(anchor.findall("system//location")))
    stored[np.array(wide)[rows] if is_inclusive else rows] = (extreme or np.mean)(by_location, axis=1)
    exclusive, inclusive = stored.copy(), stored.copy()
    for node in range(len(paths) - 1, -1, -1):  # callees stand behind their callers
        if callers[node] >= 0 and extreme is None:
            exclusive[callers[node]] -= stored[node] * is_inclusive
            inclusive[callers[node]] += inclusive[node] * (not is_inclusive)
    if not np.isfinite([exclusive, inclusive]).all():
        raise ValueError(f"{name} holds what is no finite number")
    own, total = dict.fromkeys(paths, 0.0), dict.fromkeys(paths, 0.0)
    for path, left, all_ in zip(paths, np.maximum(exclusive, 0.0).tolist(), inclusive.tolist(), strict=True):
        own[path] += left
        total[path] += all_
    return own, total, unit


def _members(archive: tarfile.TarFile, source: str) -> dict[str, IO[bytes]]:
    """Return what the archive holds; refuse members that lead elsewhere."""
    members: dict[str, IO[bytes]] = {}
    for count, member in enumerate(archive):
        if count > _MOST_MEMBERS:
            raise InputError(source, f"the archive holds more than {_MOST_MEMBERS} members; it is no profile")
        if not member.isreg() or member.issparse() or member.name.startswith("/") or ".." in member.name.split("/"):
            raise InputError(source, f"the archive holds {member.name[:80]!r}, which is no plain file of a profile")
        content = archive.extractfile(member)
        assert content is not None
        members[member.name] = content
    return members


def _anchor(content: IO[bytes], source: str) -> ElementTree.Element:
    plain = content.read(_LARGEST_TREE + 1)
    if plain.startswith(b"\x1f\x8b"):
        plain = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(plain, _LARGEST_TREE + 1)
    if len(plain) > _LARGEST_TREE:
        raise InputError(source, f"its anchor.xml is larger than {_LARGEST_TREE >> 20} MiB")
    if b"<!DOCTYPE" in plain or b"<!ENTITY" in plain:
        raise InputError(source, "its anchor.xml declares entities, which no profile needs")
    return ElementTree.fromstring(plain)  # noqa: S314 - no entities are declared


def _call_paths(anchor: ElementTree.Element, source: str) -> tuple[list[str], list[int], list[int]]:
    """Return call paths, callers first, the place of each caller, and the places in the order of inclusive metrics."""
    regions = {each.get("id"): one_line(each.findtext("name") or "") for each in anchor.iterfind("program/region")}
    paths, callers, wide = list[str](), list[int](), list[int]()
    for root in anchor.iterfind("program/cnode"):
        places, waiting = {root: len(paths)}, [(root, -1, 1)]
        order = [root]
        while waiting:
            node, caller, depth = waiting.pop()
            if depth > _DEEPEST:
                raise InputError(source, f"the call tree is nested too deeply: more than {_DEEPEST} levels")
            places[node] = len(paths)
            name = regions[node.get("calleeId")]
            paths.append(f"{paths[caller]}{ARROW}{name}" if caller >= 0 else name)
            callers.append(caller)
            callees = node.findall("cnode")
            order += callees
            waiting += [(callee, places[node], depth + 1) for callee in reversed(callees)]
        wide += [places[node] for node in order]
    return paths, callers, wide


def _index(content: IO[bytes]) -> tuple[str, Ints]:
    """Return the byte order and the numbers of the call paths that have values."""
    text = content.read()
    order = "<" if text[len(_INDEX) :].startswith(b"\1\0") else ">"
    _, _, _, count = struct.unpack_from(f"{order}ihbi", text, len(_INDEX))
    start = len(_INDEX) + struct.calcsize("<ihbi")
    return order, np.frombuffer(text, f"{order}i4", count, start).astype(np.int64)


def _data(content: IO[bytes], order: str, name: str, source: str) -> bytes:
    """Return the values of a metric, decompressed; stop where they grow too large."""
    start = content.read(10)
    if start == b"CUBEX.DATA":
        return content.read(_LARGEST)
    (count,) = struct.unpack(f"{order}q", content.read(9)[1:])
    plain = bytearray()
    for _, _, size in list(struct.iter_unpack(f"{order}qqq", content.read(24 * min(max(count, 0), _LARGEST >> 5)))):
        step = zlib.decompressobj()
        plain += step.decompress(content.read(max(size, 0)), _LARGEST + 1 - len(plain)) if size else b""
        if len(plain) > _LARGEST:
            raise InputError(source, f"{name} decompresses to more than {_LARGEST >> 30} GiB")
    return bytes(plain)


def _run(folder: str) -> Row:
    """Return the program, parameters and repetition that a folder's name says."""
    match = _RUN.fullmatch(folder)
    if match is None:
        return {}
    parameters = {
        name: number_or_text(level.replace(",", ".").rstrip(".")) for name, level in _PARAMETER.findall(match[2])
    }
    return {"program": match["code"], **parameters, "repetition": int(match["repetition"])}
