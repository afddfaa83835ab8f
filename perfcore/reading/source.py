"""Where bytes come from: a file, a compressed file, or standard input, behind one face; and who reads them.

Compressed files are recognized by their first bytes, unpacked as a stream, and stopped at an excessive size.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import importlib
import io
import lzma
import os
import re
import shutil
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, ClassVar

from perfcore.base.errors import InputError, MissingDependencyError
from perfcore.hooks.options import NoOptions
from perfcore.hooks.registry import registry

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

ADDRESS = re.compile(r"(s3|gs|https?)://")  # of an object, not of a file
HEAD_BYTES = 1 << 16  # enough for every header by which a format is recognized
_LONGEST_LINE = 1 << 20
_PIPE_WAITS_S = 5
# Measurements and traces shrink to a tenth or a fiftieth. What grows this much, and is large, was made to fill memory;
# gzip allows a growth of 1,030 times, the others of far more.
_LARGEST_GROWTH, _GROWTH_FROM_BYTES = 200, 1 << 25


@dataclass(frozen=True)
class Compression:
    """One way in which files are compressed."""

    name: str  # for messages
    ending: str  # of file names
    begins: re.Pattern[bytes]  # matches the first bytes of such a file, also of one that is cut short
    unpacker: str  # the program that unpacks it
    opened: Callable[[BinaryIO], Any]  # gives the unpacked bytes of an open file as a raw stream


def zstd_library() -> Any:
    """The module for Zstandard, which is part of Python from 3.14 on."""
    for module in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(module)
        except ImportError:
            continue
    raise MissingDependencyError("files compressed with zstd need backports.zstd: pip install 'perfcore[formats]'")


_COMPRESSIONS = (
    Compression("gzip", ".gz", re.compile(rb"\x1f\x8b"), "gunzip", lambda packed: gzip.GzipFile(fileobj=packed)),
    Compression("xz", ".xz", re.compile(rb"\xfd7zXZ\0"), "unxz", lzma.LZMAFile),
    # BZh9 alone may begin a text: the digits of pi that begin a block must follow, or of its root, which end the file,
    # unless it is cut short before.
    Compression(
        "bzip2", ".bz2", re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90|.{0,5}\Z)", re.S), "bunzip2", bz2.BZ2File
    ),
    # A frame that says nothing, which pzstd begins with, is as good a beginning as one of data.
    Compression("zstd", ".zst", re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"), "unzstd",
                lambda packed: zstd_library().ZstdFile(packed)),
)  # fmt: skip
COMPRESSED_ENDINGS = tuple(one.ending for one in _COMPRESSIONS)


def without_compressed_ending(name: str) -> str:
    """A name without the ending of a compression, whatever its case."""
    path = Path(name)
    return str(path.with_suffix("")) if path.suffix.lower() in COMPRESSED_ENDINGS else name


class Unpacked(io.RawIOBase):
    """What a compressed file holds, as long as that is not out of all proportion to the file."""

    def __init__(self, packed: BinaryIO, compression: Compression, name: str) -> None:
        self._stream = compression.opened(packed)
        self._compression, self._name = compression, name
        self._left = max(_GROWTH_FROM_BYTES, os.fstat(packed.fileno()).st_size * _LARGEST_GROWTH)

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill the buffer, and say how many bytes there were."""
        try:
            count: int = self._stream.readinto1(buffer)  # `readinto` loses bytes before damage
        except MemoryError:
            raise
        except Exception as error:  # each library has its own for bytes that it did not write
            problem = f"the {self._compression.name} file is truncated or corrupt: {' '.join(str(error).split())}"
            raise InputError(self._name, problem) from error
        self._left -= count
        if self._left < 0:
            raise InputError(
                self._name,
                f"decompresses to more than {_LARGEST_GROWTH} times its size, as files do that are made to fill disks; "
                f"if you trust it, unpack it with {self._compression.unpacker} first",
            )
        return count


class Source:
    """One input."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        # Bytes that are no text could be neither printed nor saved.
        self.name = os.fsencode(path).decode(errors="replace")
        self.is_stdin = self.name == "-"
        if ADDRESS.match(self.name):
            path = importlib.import_module("perf_tables.addresses").local_copy(self.name)
        self._named = Path("/dev/stdin" if self.is_stdin else path)
        self._spooled: Path | None = None
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)  # what was spooled must not outlive a failure
            try:
                self.path = self._locate()
                with self.path.open("rb") as raw:
                    self.compression = next((c for c in _COMPRESSIONS if c.begins.match(raw.peek(16))), None)
                self.head = self._read_head()
            except OSError as error:
                raise InputError(self.name, f"cannot be read: {error.strerror or error}") from error
            if not self.head:
                raise InputError(self.name, "the file is empty")
            undo.pop_all()
        self.suffix = "" if self.is_stdin else Path(without_compressed_ending(self.path.name)).suffix.lower()

    def _read_head(self) -> bytes:
        """The first bytes, of a damaged compressed file those before the damage."""
        head = bytearray()
        with self.open() as stream:
            try:
                while len(head) < HEAD_BYTES and (piece := stream.read1(HEAD_BYTES - len(head))):
                    head += piece
            except InputError:
                if not head:
                    raise
        return bytes(head)

    def _locate(self) -> Path:
        """The file to read: the named one, or a copy of what can be read only once."""
        stdin = sys.stdin if self.is_stdin else None  # which is None where it is closed, too
        if stdin and (os.isatty(0) or not self._named.is_char_device() or self._named.samefile(os.devnull)):
            return self._spool(stdin.buffer)  # other devices, such as /dev/zero, may never end
        if not self._named.exists():
            raise InputError(self.name, "there is no such file")
        if self._named.is_dir():
            raise InputError(self.name, "is a folder; name a file in it")
        if self._named.is_file():
            return self._named
        if not self._named.is_fifo():
            raise InputError(self.name, "is a device; name a file, or - for standard input")
        return self._spool()

    def _spool(self, stream: BinaryIO | None = None) -> Path:
        """Copy a stream, or the named pipe, to a file that `close` removes."""
        with tempfile.NamedTemporaryFile(prefix="perfcore-stdin-", delete=False) as spool:
            self._spooled = Path(spool.name)
            if stream is None:
                self._copy_pipe(spool)
            else:
                shutil.copyfileobj(stream, spool)
        return self._spooled

    def _copy_pipe(self, spool: IO[bytes]) -> None:
        """Copy the named pipe once it has a writer, who may then take as long as one of standard input."""
        ends = time.monotonic() + _PIPE_WAITS_S
        with open(os.open(self._named, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as pipe:  # noqa: PTH123
            while (piece := pipe.read(1 << 16)) == b"":  # None: there is a writer, who has written nothing
                if time.monotonic() > ends:
                    problem = f"is a pipe that no program opened for writing within {_PIPE_WAITS_S} s"
                    raise InputError(self.name, f"{problem}; start its writer first")
                time.sleep(0.01)
            os.set_blocking(pipe.fileno(), True)
            spool.write(piece or b"")
            shutil.copyfileobj(pipe, spool)

    @contextlib.contextmanager
    def open(self) -> Iterator[io.BufferedReader]:
        """The decompressed bytes as a stream; damage to the compression is the user's error."""
        with self.path.open("rb") as raw:
            if self.compression is None:
                yield raw
            else:
                unpacked = Unpacked(raw, self.compression, self.name)
                yield io.BufferedReader(unpacked, 1 << 17)

    def lines(self, longest: int = _LONGEST_LINE) -> Iterator[tuple[int, bytes]]:
        """Number, from 1, and bytes of each line with its end."""
        with self.open() as stream:
            number = 0
            while line := stream.readline(longest + 1):
                number += 1
                if len(line) > longest:
                    problem = f"the line is longer than {longest >> 10} KiB; the file is damaged or no text"
                    raise InputError(self.name, problem, line=number)
                yield number, line

    @contextlib.contextmanager
    def plain_file(self) -> Iterator[Path]:
        """A path to the decompressed bytes, for libraries that open files themselves."""
        if self.compression is None:
            yield self.path
            return
        with tempfile.TemporaryDirectory(prefix="perfcore-") as folder:
            plain = Path(folder) / ("data" + self.suffix)
            with self.open() as stream, plain.open("wb") as copy:
                shutil.copyfileobj(stream, copy, 1 << 20)
            yield plain

    def close(self) -> None:
        """Remove what standard input was spooled to."""
        if self._spooled is not None:
            self._spooled.unlink(missing_ok=True)

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Reader(ABC):
    """Turns one format into data.

    A reader that can also write sets `writes` and overrides `write`. One whose format is several files names the
    endings of those that are read with the one the user names in `parts`, without that of a compression: next to
    ``hello.sts``, in a folder or a pattern, ``hello.0.log`` and what lies in ``hello/`` are then no data of their own.
    With `anchors` such as ``kernels.csv`` they are ``1_calls.csv`` next to ``1_kernels.csv``.
    """

    Options: ClassVar[type] = NoOptions
    writes: ClassVar[bool] = False
    keeps: ClassVar[tuple[str, ...]] = ()  # what its files hold of a trace beside intervals, such as ``"markers"``
    parts: ClassVar[tuple[str, ...]] = ()
    anchors: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def options_for(cls, wanted: Sequence[type]) -> Mapping[str, Any]:
        """Options with which it reads one of the types wanted, where a file could be read as several."""
        return {}

    def sniff(self, source: Source) -> float:
        """Return how sure it is, 0 to 1, by ``source.head`` and ``source.suffix``; if left out, by its signature."""
        name, entries = f"{type(self).__module__}:{type(self).__name__}", registry().entries("readers").values()
        return 0.95 if any(entry.target == name and entry.may_be(source.head) for entry in entries) else 0.0

    @abstractmethod
    def read(self, source: Source, options: Any) -> Any:
        """Read the whole input: a `Trace`, `UtilizationCurve`, `Series` or `Measurements`."""

    def write(self, data: Any, path: str | os.PathLike[str]) -> None:
        """Write ``data`` to ``path`` (already made atomic by the caller)."""
        raise NotImplementedError
