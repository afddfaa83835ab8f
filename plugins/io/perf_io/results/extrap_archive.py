"""Experiments that Extra-P 4 saved (``.extra-p``): an archive with ``experiment.json`` and perhaps the single runs.

Source: how Extra-P 4 writes them: `experiment.json` names parameters and, by call path and metric, means, medians and
standard deviations (over N) at coordinates. From version 4.2 on a measurement may refer to its runs by the number of a
chunk and of an array in it: ``values/C.indx`` holds the positions of the arrays of ``values/C.vals``, each in the
format of NumPy. Models that are stored beside them are passed over: they are fitted anew.
"""

from __future__ import annotations

import io
import lzma
import math
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from typing import Annotated, BinaryIO, cast

import msgspec

from perf_io.results.extrap import Summary, sample_deviation, summaries_as_measurements
from perf_io.text import LARGEST_DOCUMENT, decode_content
from perfcore.base.errors import InputError
from perfcore.contracts import NoOptions, Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

_DOCUMENT = "experiment.json"
_VALUES, _INDEX = b"Extra-P VALUES\0\0", b"Extra-P INDEX\0\0\0"
_MEMBER = slice(30, 30 + len("experiment.json"))  # of a zip file: the name of its first member
_ROUNDED = 1e-6  # the mean of the runs is that of the document, but for rounding

_Number = float | None | str  # numbers that are not finite stand as texts


class _Measured(msgspec.Struct):
    coordinate: list[float] | float
    mean: _Number = None
    median: _Number = None
    minimum: _Number = None
    maximum: _Number = None
    std: _Number = None
    repetitions: Annotated[int, msgspec.Meta(ge=1)] | None = None
    values: tuple[Annotated[int, msgspec.Meta(ge=0)], Annotated[int, msgspec.Meta(ge=0)]] | None = None


class _Experiment(msgspec.Struct):
    parameters: list[str]
    measurements: dict[str, dict[str, list[_Measured]]]


class ExtrapArchiveReader(Reader):
    """An experiment of Extra-P 4: the runs where they were kept, else means with their standard deviations."""

    def sniff(self, source: Source) -> float:
        """Sure where the first member of a zip file is one that experiments have."""
        name = source.head[_MEMBER]
        ours = name == _DOCUMENT.encode() or name.startswith(b"values/")
        return 0.95 if source.head.startswith(b"PK\x03\x04") and ours else 0.0

    def read(self, source: Source, options: NoOptions) -> Measurements:
        """Read all measurements."""
        with source.plain_file() as path:
            try:
                with zipfile.ZipFile(path) as archive:
                    content = _member(archive, _DOCUMENT, source.name)
                    experiment = decode_content(content, _Experiment, "an experiment of Extra-P", source.name)
                    summaries = list(_summaries(experiment, _Chunks(archive, source.name), source.name))
            except (
                *(zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, zlib.error, ValueError),
                *(lzma.LZMAError, struct.error, tokenize.TokenError, SyntaxError, TypeError),  # of NumPy's headers too
            ) as error:
                problem = f"is no experiment of Extra-P, or damaged: {' '.join(str(error).split())[:120]}"
                raise InputError(source.name, problem) from error
        return summaries_as_measurements(summaries, source.name)


def _member(archive: zipfile.ZipFile, name: str, source: str) -> bytes:
    """One file of the archive, as long as it is not made to fill the memory."""
    try:
        info = archive.getinfo(name)
    except KeyError:
        raise InputError(source, f"is no experiment of Extra-P: the archive has no {name}") from None
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others may ask for any memory
        raise InputError(source, f"{name} is compressed in a way that Extra-P does not use; save the experiment anew")
    with archive.open(info) as stream:
        content = stream.read(LARGEST_DOCUMENT + 1)
    if len(content) > LARGEST_DOCUMENT:
        raise InputError(source, f"{name} is larger than {LARGEST_DOCUMENT >> 20} MiB, which experiments never are")
    return content


class _Chunks:
    """Arrays of runs, by chunk and number; one chunk is held at a time."""

    def __init__(self, archive: zipfile.ZipFile, source: str) -> None:
        self._archive, self._source = archive, source
        self._chunk = -1
        self._index: tuple[int, ...] = ()
        self._content = b""

    def runs(self, chunk: int, number: int) -> list[float]:
        """One value for each run; of several processes of a run their mean."""
        if chunk != self._chunk:
            self._read(chunk)
        if number >= len(self._index):
            raise InputError(self._source, f"values/{chunk}.indx has no entry {number}, to which {_DOCUMENT} refers")
        return _array_means(self._content, self._index[number], f"values/{chunk}.vals", self._source)

    def _read(self, chunk: int) -> None:
        index = _member(self._archive, f"values/{chunk}.indx", self._source)
        content = _member(self._archive, f"values/{chunk}.vals", self._source)
        for name, member, begins in (("indx", index, _INDEX), ("vals", content, _VALUES)):
            if not member.startswith(begins):
                raise InputError(self._source, f"values/{chunk}.{name} does not begin as Extra-P writes it")
        (count,) = struct.unpack_from("<Q", index, len(_INDEX))
        if count > len(index) // 8:
            raise InputError(self._source, f"values/{chunk}.indx is cut short: it has not {count} entries")
        self._index = struct.unpack_from(f"<{count}Q", index, len(_INDEX) + 8)
        self._chunk, self._content = chunk, content


def _array_means(content: bytes, position: int, member: str, source: str) -> list[float]:
    """The mean of each first index of an array; nothing is taken on trust, and no object is ever made of it."""
    import numpy as np
    from numpy.lib import format as npy

    stream = cast(BinaryIO, io.BytesIO(content))
    stream.seek(min(position, len(content)))
    version = npy.read_magic(stream)
    read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
    if read_header is None:
        raise InputError(source, f"{member} holds an array of an unknown version {version}")
    shape, _, kind = read_header(stream)
    size = math.prod(shape)
    if min(shape, default=0) < 0 or kind.kind not in "fiu" or size * kind.itemsize > len(content) - stream.tell():
        raise InputError(source, f"{member} holds an array that is cut short, or not one of numbers")
    flat = np.frombuffer(content, kind, count=size, offset=stream.tell()).astype(np.float64)
    if not size:
        return []
    means: list[float] = flat.reshape(shape[0] if shape else 1, -1).mean(axis=1).tolist()
    return means


def _summaries(experiment: _Experiment, chunks: _Chunks, source: str) -> Iterator[Summary]:
    for callpath, metrics in experiment.measurements.items():
        for metric, measured in metrics.items():
            for index, measurement in enumerate(measured):
                place = f"`$.measurements[{callpath[:40]!r}][{metric[:40]!r}][{index}]`"
                levels = (
                    measurement.coordinate if isinstance(measurement.coordinate, list) else [measurement.coordinate]
                )
                if len(levels) != len(experiment.parameters):
                    counts = f"{len(levels)} coordinates for {len(experiment.parameters)} parameters"
                    raise InputError(source, f"the point at {place} has {counts}")
                mean = _finite(measurement.mean)
                runs = [] if measurement.values is None else chunks.runs(*measurement.values)
                if not runs and mean is None:
                    raise InputError(source, f"the point at {place} has neither runs nor a mean that is finite")
                # Of runs with gaps Extra-P keeps no mark; their mean then is not the one that it stored.
                gaps = mean is not None and runs and abs(sum(runs) / len(runs) - mean) > _ROUNDED * abs(mean)
                yield Summary(
                    point=dict(zip(experiment.parameters, levels, strict=True)),
                    callpath=callpath,
                    metric=metric,
                    runs=[] if gaps or not all(map(math.isfinite, runs)) else runs,
                    mean=sum(runs) / len(runs) if mean is None else mean,
                    median=_finite(measurement.median),
                    minimum=_finite(measurement.minimum),
                    maximum=_finite(measurement.maximum),
                    std=sample_deviation(_finite(measurement.std), measurement.repetitions),
                    repetitions=measurement.repetitions,
                )


def _finite(number: _Number) -> float | None:
    """A number that is finite, or nothing."""
    return number if isinstance(number, float) and math.isfinite(number) else None
