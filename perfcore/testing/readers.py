"""What every reader promises."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from perfcore.base.errors import MissingDependencyError, PerfError
from perfcore.contracts import Reader
from perfcore.data.curve import UtilizationCurve
from perfcore.data.measurements import Measurements
from perfcore.data.series import Series
from perfcore.data.trace import Trace
from perfcore.hooks.options import build
from perfcore.reading.source import Source, zstd_library
from perfcore.testing._options import check_options

__all__ = ["ReaderSuite", "compressed"]

_ENDINGS = (".gz", ".zst")  # `perfcore.reading.source` unpacks them all; by two it shows that a reader goes through it
_CUTS, _DAMAGES = 6, 6  # shortened and damaged copies of each sample that are tried

# Beginnings of what a user may confuse with data: pictures, archives, programs, web pages, and nothing at all.
_FOREIGN = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    b"PK\x03\x04\x14\0\x06\0",
    b"\x7fELF\x02\x01\x01\0",
    b"<!DOCTYPE html>\n<html><body>Not found</body></html>\n",
    b"\n",
    b"\0",
    bytes(range(255, -1, -1)),
)


class ReaderSuite:
    """Tests of one reader.

    Attributes
    ----------
    reader : type of `perfcore.contracts.Reader`
    samples : sequence of (str, str or bytes)
        Small files of the format, one of each kind of content that it has: file name, whose ending matters, and
        content.
    options : mapping
        Options of the reader with which the samples are read.
    """

    reader: type[Reader]
    samples: Sequence[tuple[str, str | bytes]]
    options: Mapping[str, Any] = MappingProxyType({})

    def read(self, path: Path | str) -> Any:
        """Read a file with the suite's options."""
        with Source(path) as source:
            return self.reader().read(source, build(self.reader.Options, self.options, "suite"))

    def files(self, folder: Path) -> Iterator[tuple[Path, bytes]]:
        """Each sample as a file in ``folder``, with its bytes."""
        for name, content in self.samples:
            path = folder / name
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            yield path, path.read_bytes()

    def test_options(self) -> None:
        """Options can be listed and accept their defaults."""
        assert issubclass(self.reader, Reader)
        check_options(self.reader.Options)

    def test_is_sure_of_its_samples(self, tmp_path: Path) -> None:
        """More than half sure and at most 1."""
        for path, _ in self.files(tmp_path):
            with Source(path) as source:
                assert 0.5 < self.reader().sniff(source) <= 1.0, f"{path.name} is not recognised"

    def test_does_not_claim_what_is_foreign(self, tmp_path: Path) -> None:
        """0 for bytes that are certainly of another format, whose name says nothing."""
        path = tmp_path / "unknown"
        for content in _FOREIGN:
            path.write_bytes(content)
            with Source(path) as source:
                assert self.reader().sniff(source) == 0.0, f"claims {content[:16]!r}"

    def test_gives_data(self, tmp_path: Path) -> None:
        """One of the four data types, which names the file as its source."""
        for path, _ in self.files(tmp_path):
            data = self.read(path)
            assert isinstance(data, (Trace, UtilizationCurve, Series, Measurements))
            assert str(path) in data.source, f"the data say that they come from {data.source!r}"

    @pytest.mark.parametrize("ending", _ENDINGS)
    def test_compression_is_transparent(self, tmp_path: Path, ending: str) -> None:
        """A compressed file holds the same data."""
        for path, content in self.files(tmp_path):
            packed = path.with_name(path.name + ending)
            packed.write_bytes(compressed(content, ending))
            assert _content(self.read(packed)) == _content(self.read(path))

    @pytest.mark.parametrize("ending", _ENDINGS)
    def test_compressed_files_that_are_cut_short_are_refused(self, tmp_path: Path, ending: str) -> None:
        """In one line, unless all that matters was there."""
        for path, content in self.files(tmp_path):
            packed = compressed(content, ending)
            self.read_or_refuse(path.with_name(path.name + ending), packed[: len(packed) // 2])

    def test_standard_input_is_a_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The same data come through a pipe, which has no name and can be read only once."""
        for path, content in self.files(tmp_path):
            monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
            assert _content(self.read("-")) == _content(self.read(path))

    def test_truncated_files_are_read_or_refused(self, tmp_path: Path) -> None:
        """A file that is cut short gives data or one line, whatever the place."""
        for path, content in self.files(tmp_path):
            for cut in np.linspace(1, len(content), _CUTS, endpoint=False).astype(int):
                self.read_or_refuse(path, content[:cut])

    def test_damaged_files_are_read_or_refused(self, tmp_path: Path) -> None:
        """Bytes that were changed, lost or repeated give data or one line."""
        rng = np.random.default_rng(0)
        for path, content in self.files(tmp_path):
            for _ in range(_DAMAGES):
                self.read_or_refuse(path, _damaged(content, rng))

    def test_foreign_files_are_refused(self, tmp_path: Path) -> None:
        """What ``perf convert --reader NAME`` is given by mistake."""
        path = tmp_path / self.samples[0][0]
        for content in _FOREIGN:
            assert self.read_or_refuse(path, content) is None, f"read {content[:16]!r}"

    def read_or_refuse(self, path: Path, content: bytes) -> Any:
        """Data, or None where they are refused in one line; any other exception fails the test."""
        path.write_bytes(content)
        message = ""
        try:
            return self.read(path)
        except PerfError as error:
            message = str(error)
        assert len(message.splitlines()) == 1, f"not one line: {message}"
        return None

    def test_what_it_writes_reads_back(self, tmp_path: Path) -> None:
        """Who says that it writes loses nothing."""
        if not self.reader.writes:
            pytest.skip("reads only")
        for path, _ in self.files(tmp_path):
            data = self.read(path)
            copy = path.with_name("copy" + path.suffix)
            self.reader().write(data, copy)
            with Source(copy) as source:
                reread = self.reader().read(source, self.reader.Options())
            assert _content(reread) == _content(data)


def compressed(content: bytes, ending: str) -> bytes:
    """The content as a file with this ending holds it; the test is skipped where the library for it is missing."""
    if ending == ".zst":
        try:
            packed = bytes(zstd_library().compress(content))
        except MissingDependencyError as error:
            pytest.skip(str(error))
        return packed
    packers: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
    return packers[ending](content)


def _damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """A copy with a byte changed, a piece cut out, or a piece repeated."""
    first, last = sorted(rng.integers(0, len(content), 2).tolist())
    match rng.integers(3):
        case 0:
            return content[:first] + bytes([rng.integers(256)]) + content[first + 1 :]
        case 1:
            return content[:first] + content[last + 1 :]
        case _:
            return content[:last] + content[first:]


def _content(data: Any) -> str:
    """What data say, apart from where they came from; a text, so that missing samples equal each other."""
    if isinstance(data, Trace):
        columns = (data.start_ns, data.end_ns, data.location, data.state)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        named = sorted(
            (start, end, data.locations[location], data.states[state]) for start, end, location, state in rows
        )
        return repr((data.time_unit, named))
    if isinstance(data, UtilizationCurve):
        return repr((data.time_unit, data.edges.tolist(), data.heights.tolist()))
    if isinstance(data, Series):
        columns_of = {name: values.tolist() for name, values in data.columns.items()}
        return repr((data.time_unit, data.times.tolist(), columns_of))
    assert isinstance(data, Measurements), f"{type(data).__name__} is no data type"
    return repr((data.roles, data.table.to_dict("list")))
