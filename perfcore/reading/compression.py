"""Compressed files: recognized by their first bytes, unpacked as a stream, stopped at an excessive size."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import os
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from perfcore.base.errors import InputError, MissingDependencyError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


# Measurements and traces shrink to a tenth or a fiftieth. What grows this much, and is large, was made to fill a disk;
# gzip allows a growth of 1,030 times, the others of far more.
_LARGEST_GROWTH, _GROWTH_FROM_BYTES = 300, 1 << 28
_PACKED_PIECE = 1 << 16
_MOST_MEMORY = 1 << 28  # bytes; xz -9 takes 65 MiB, and a header may ask for 4 GiB


class _Decompressor(Protocol):
    """What bz2, lzma and zstd of the standard library have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


@dataclass(frozen=True)
class Compression:
    """One way in which files are compressed."""

    name: str  # for messages
    ending: str  # of file names
    begins: re.Pattern[bytes]  # matches the first bytes of such a file, also of one that is cut short
    unpacker: str  # the program that unpacks it
    opened: Callable[[BinaryIO], Any]  # gives the unpacked bytes of an open file as a raw stream


class _DamageError(Exception):
    """What a library says about bytes that it did not write."""


class _Members(io.RawIOBase):
    """Streams that follow one another in a file, as parallel compressors and ``cat`` write them."""

    def __init__(
        self, packed: BinaryIO, start: Callable[[], _Decompressor], damages: tuple[type[Exception], ...]
    ) -> None:
        self._packed, self._start, self._damages = packed, start, damages
        self._stream = start()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        while True:
            data = b""
            if self._stream.eof:
                # xz pads streams to whole words with zeros.
                data = self._stream.unused_data.lstrip(b"\0")
                while not data and (piece := self._packed.read(_PACKED_PIECE)):
                    data = piece.lstrip(b"\0")
                if not data:
                    return 0
                self._stream = self._start()
            elif self._stream.needs_input and not (data := self._packed.read(_PACKED_PIECE)):
                raise _DamageError("it ends before its end-of-stream marker")
            try:
                unpacked = self._stream.decompress(data, len(view))
            except self._damages as error:
                raise _DamageError(str(error)) from error
            if unpacked:
                view[: len(unpacked)] = unpacked
                return len(unpacked)


def zstd_library() -> Any:
    """The module for Zstandard, which is part of Python from 3.14 on."""
    for module in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(module)
        except ImportError:
            continue
    raise MissingDependencyError("files compressed with zstd need backports.zstd: pip install 'perfcore[formats]'")


def _of_zstd(packed: BinaryIO) -> _Members:
    zstd = zstd_library()
    return _Members(packed, zstd.ZstdDecompressor, (zstd.ZstdError,))


_COMPRESSIONS = (
    Compression("gzip", ".gz", re.compile(rb"\x1f\x8b"), "gunzip", lambda packed: gzip.GzipFile(fileobj=packed)),
    Compression(
        "xz",
        ".xz",
        re.compile(rb"\xfd7zXZ\0"),
        "unxz",
        lambda packed: _Members(
            packed, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_MEMORY), (lzma.LZMAError,)
        ),
    ),
    # BZh9 alone may begin a text: the digits of pi that begin a block must follow, or of its root, which end the file,
    # unless it is cut short before.
    Compression(
        "bzip2",
        ".bz2",
        re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90|.{0,5}\Z)", re.DOTALL),
        "bunzip2",
        lambda packed: _Members(packed, bz2.BZ2Decompressor, (OSError, ValueError)),
    ),
    # A frame that says nothing, which pzstd begins with, is as good a beginning as one of data.
    Compression("zstd", ".zst", re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"), "unzstd", _of_zstd),
)
COMPRESSED_ENDINGS = tuple(one.ending for one in _COMPRESSIONS)


def compression_of(head: bytes) -> Compression | None:
    """How a file is compressed that begins with these bytes, of which 16 are enough; None for a plain one."""
    return next((compression for compression in _COMPRESSIONS if compression.begins.match(head)), None)


def without_compressed_ending(name: str) -> str:
    """A name without the ending of a compression, whatever its case."""
    path = Path(name)
    return str(path.with_suffix("")) if path.suffix.lower() in COMPRESSED_ENDINGS else name


class Unpacked(io.RawIOBase):
    """What a compressed file holds, as long as that is not out of all proportion to the file."""

    def __init__(self, packed: BinaryIO, compression: Compression, name: str) -> None:
        self._stream = compression.opened(packed)
        self._is_buffered = isinstance(self._stream, io.BufferedIOBase)  # whose `readinto` loses bytes before damage
        self._compression, self._name = compression, name
        self._left = max(_GROWTH_FROM_BYTES, os.fstat(packed.fileno()).st_size * _LARGEST_GROWTH)

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill the buffer, and say how many bytes there were."""
        try:
            count: int = self._stream.readinto1(buffer) if self._is_buffered else self._stream.readinto(buffer)
        except (_DamageError, EOFError, gzip.BadGzipFile, zlib.error) as error:
            problem = f"the {self._compression.name} file is cut short or damaged: {' '.join(str(error).split())}"
            raise InputError(self._name, problem) from error
        self._left -= count
        if self._left < 0:
            raise InputError(
                self._name,
                f"decompresses to more than {_LARGEST_GROWTH} times its size, as files do that are made to fill disks; "
                f"if you trust it, unpack it with {self._compression.unpacker} first",
            )
        return count
