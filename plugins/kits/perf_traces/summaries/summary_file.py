"""Summaries as files: a zip of one JSON document and the arrays as ``.npy``, the same bytes for the same summary.

Cells are in parts of 2^20, so that memory holds one of them. Numbers are kept as their first bytes, then their second,
and so on, which zip packs to three quarters: arrays have an axis for that in front. Nothing is unpickled, nothing is
unpacked that is larger than the file may be, and zip's check sums tell damage.
"""

from __future__ import annotations

import collections
import contextlib
import io
import os
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import msgspec
import numpy as np

from perf_traces.scratch_arrays import zeros
from perf_traces.summaries.run import DOCUMENT, Run, is_summary
from perf_traces.summaries.summary import (
    LARGEST,
    MOST_MARKERS,
    FileFacts,
    Summary,
    bits_of_windows,
    bucket_bits,
    hull,
    n_buckets,
)
from perfcore.base.arrays import Ints
from perfcore.base.errors import InputError
from perfcore.base.files import atomic_path

VERSION = 4
_CELLS, _PART = "cells-{:04}.npy", 1 << 20  # cells of a member: another number is another format
_ARRAYS = ("windows", "places", "times", "entries")
_WHEN = (1980, 1, 1, 0, 0, 0)  # of every member: the earliest that zip knows
_LEVEL = 6
# Equal numbers take next to no place, so a few kilobytes may stand for more than memory holds: beyond so many bytes a
# member may be so many times as large as it is packed.
_FREELY_BYTES, _LARGEST_GROWTH = 1 << 26, 300

Bits = Annotated[int, msgspec.Meta(ge=0, le=62)]


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    version: int
    run: Run
    files: tuple[FileFacts, ...]
    left_out: dict[int, str]
    states: tuple[str, ...]
    busy: tuple[bool, ...]
    markers: tuple[tuple[int, int, str, int], ...]
    cell_bits: Bits
    first_cell: int
    window_bits: Bits
    first_window: int
    part: tuple[int, int] | None


_OF_A_SUMMARY = [name for name in _Document.__struct_fields__ if name not in ("version", "part")]


class _Version(msgspec.Struct):
    version: int


def encode(summary: Summary, part: tuple[int, int] | None = None) -> bytes:
    """The bytes of a summary."""
    target = io.BytesIO()
    _write(target, summary, part)
    return target.getvalue()


def save(summary: Summary, path: str | os.PathLike[str], part: tuple[int, int] | None = None) -> None:
    """Write a summary, whole or not at all."""
    with atomic_path(path) as temporary, temporary.open("wb") as target:
        _write(target, summary, part)


def _write(target: BinaryIO, summary: Summary, part: tuple[int, int] | None) -> None:
    fields: dict[str, Any] = {name: getattr(summary, name) for name in _OF_A_SUMMARY}
    try:
        with zipfile.ZipFile(target, "w") as archive:
            _put(archive, DOCUMENT, msgspec.json.encode(_Document(version=VERSION, part=part, **fields)))
            for name, rows in _parts(len(summary.cells)).items():
                _put(archive, name, _bytes_of(summary.cells[rows]))
            for name in _ARRAYS:
                _put(archive, f"{name}.npy", _bytes_of(getattr(summary, name)))
    except ValueError as error:  # of zipfile, which has no memory or disk left to close what it began
        raise error.__context__ if isinstance(error.__context__, (MemoryError, OSError)) else error from None


def _parts(count: int) -> dict[str, slice]:
    return {_CELLS.format(k): slice(first, first + _PART) for k, first in enumerate(range(0, count, _PART))}


def _bytes_of(values: Ints) -> bytes:
    member = io.BytesIO()
    narrow = np.min_scalar_type(int(values.max(initial=0))).newbyteorder("<")
    numbers = np.ascontiguousarray(values.astype(narrow))
    bytewise = np.moveaxis(numbers.view(np.uint8).reshape(*values.shape, narrow.itemsize), -1, 0)
    np.lib.format.write_array(member, np.ascontiguousarray(bytewise), allow_pickle=False)
    return member.getvalue()


def _put(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    member = zipfile.ZipInfo(name, _WHEN)
    member.create_system = 3  # which is that of Unix on every machine
    archive.writestr(member, content, zipfile.ZIP_DEFLATED, _LEVEL)


def load(path: str | os.PathLike[str], name: str | None = None) -> tuple[Summary, tuple[int, int] | None]:
    """A summary, and which of how many parts of the run it is."""
    name = os.fspath(path) if name is None else name
    with _named_errors(name), Path(path).open("rb") as file:
        if not is_summary(file.read(30 + len(DOCUMENT))):
            raise InputError(name, "is no summary; perf summarize makes one")
        return _decoded(file, name)


def decode(content: bytes, name: str) -> tuple[Summary, tuple[int, int] | None]:
    """The same of bytes that are at hand; see `load`."""
    with _named_errors(name):
        return _decoded(io.BytesIO(content), name)


@contextlib.contextmanager
def _named_errors(name: str) -> Iterator[None]:
    """What a damaged file may raise, as one line about it."""
    try:
        yield
    except OSError as error:
        raise InputError(name, f"cannot be read: {error.strerror or error}") from error
    except (
        *(zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError, RuntimeError, ValueError),
        *(MemoryError, OverflowError, IndexError, TypeError, SyntaxError, tokenize.TokenError),
    ) as error:
        problem = f"the summary is damaged: {' '.join(str(error).split()) or 'cut short'}; make it again"
        raise InputError(name, problem) from None


def _decoded(file: BinaryIO, name: str) -> tuple[Summary, tuple[int, int] | None]:
    archive = zipfile.ZipFile(file)
    content = _member(archive, DOCUMENT)
    if (version := msgspec.json.decode(content, type=_Version).version) != VERSION:
        problem = f"is a summary of version {version}, and this program reads {VERSION}; summarize again"
        raise InputError(name, problem)
    document = msgspec.json.decode(content, type=_Document)
    count = n_buckets(hull(file.shifted_ns for file in document.files), document.cell_bits)
    if count > document.run.cells:
        raise ValueError(f"it says that it has {count} cells, and may have {document.run.cells}")
    parts, names = _parts(count), collections.Counter(archive.namelist())
    expected = [DOCUMENT, *parts, *(f"{each}.npy" for each in _ARRAYS)]
    for each in expected:
        if names[each] != 1:
            raise ValueError(f"{each} is {'missing' if not names[each] else 'there more than once'}")
    if unknown := sorted(names.keys() - set(expected)):
        raise ValueError(f"{unknown[0]} does not belong to it")
    cells = zeros((count,), np.int64)
    for member, rows in parts.items():
        values, length = _array(_member(archive, member)), len(cells[rows])
        if values.shape != (length,):
            raise ValueError(f"{member} has {values.size} cells, and should have {length}")
        cells[rows] = values
    arrays = {each: _array(_member(archive, f"{each}.npy")) for each in _ARRAYS}
    return _checked(document, {"cells": cells, **arrays}), document.part


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    info = archive.getinfo(name)
    if info.file_size > max(_FREELY_BYTES, _LARGEST_GROWTH * info.compress_size):
        raise ValueError(f"{name} says that its {info.compress_size} bytes are {info.file_size}")
    with archive.open(info) as member:
        return member.read(info.file_size)


def _array(content: bytes) -> Ints:
    """Whole numbers from the bytes of a ``.npy`` of `_bytes_of`."""
    with np.errstate(invalid="ignore"):  # of a shape that a damaged file names
        bytewise = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    if bytewise.dtype != np.uint8 or bytewise.ndim < 2 or bytewise.shape[0] not in (1, 2, 4, 8):
        raise ValueError("an array is no array of whole numbers")
    numbers = np.zeros(bytewise.shape[1:], dtype=np.int64)
    for number, digits in enumerate(bytewise):
        numbers |= digits.astype(np.int64) << (8 * number)
    if numbers.size and numbers.min() < 0:
        raise ValueError("a number is too large")
    return numbers


def _checked(document: _Document, arrays: dict[str, Any]) -> Summary:
    """The summary, if its parts fit together."""
    fields: dict[str, Any] = {name: getattr(document, name) for name in _OF_A_SUMMARY}
    summary = Summary(**fields, **arrays)
    n_files, n_states = len(summary.run.files), len(summary.states)
    n_locations = np.zeros(n_files, np.int64)
    for file in summary.files:
        n_locations[file.at] = len(file.locations)
    positions = [file.at for file in summary.files]
    span = summary.span_ns
    cell_bits = bucket_bits(span, summary.run.cells)
    window_bits = bits_of_windows(span, cell_bits, n_states)
    places = summary.places
    sound = (
        positions == sorted(set(positions))
        and all(file.at < n_files and file.span_ns[0] <= file.span_ns[1] for file in summary.files)
        and max(map(abs, span)) < LARGEST
        and all(0 <= each < n_files and each not in positions for each in summary.left_out)
        and all(len(names) == len(file.locations) for file in summary.files for names in file.levels.values())
        and summary.states == tuple(sorted(set(summary.states)))
        and len(summary.busy) == n_states
        and len(summary.markers) <= MOST_MARKERS
        and (summary.cell_bits, summary.first_cell) == (cell_bits, span[0] >> cell_bits)
        and (summary.window_bits, summary.first_window) == (window_bits, span[0] >> window_bits)
        and summary.cells.shape == (n_buckets(span, cell_bits),)
        and summary.windows.shape == (n_buckets(span, window_bits), n_states)
        and places.shape == (len(summary.times), 3)
        and summary.times.shape == summary.entries.shape
        and places.max(initial=0, axis=0)[0] < n_files
        and places.max(initial=0, axis=0)[2] < max(1, n_states)
        and bool((places[:, 1] < n_locations[places[:, 0]]).all())
    )
    if not sound:
        raise ValueError("its numbers do not fit together")
    if document.part is not None and not 1 <= document.part[0] <= document.part[1]:
        raise ValueError(f"it says that it is part {document.part[0]} of {document.part[1]}")
    return summary
