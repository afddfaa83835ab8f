"""Compressed files: recognized by their first bytes, unpacked as a stream, stopped at an excessive size."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from perfcore.base.errors import InputError, MissingDependencyError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


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


def _zstd_file(packed: BinaryIO) -> Any:
    return zstd_library().ZstdFile(packed)


_COMPRESSIONS = (
    Compression("gzip", ".gz", re.compile(rb"\x1f\x8b"), "gunzip", lambda packed: gzip.GzipFile(fileobj=packed)),
    Compression("xz", ".xz", re.compile(rb"\xfd7zXZ\0"), "unxz", lzma.LZMAFile),
    # BZh9 alone may begin a text: the digits of pi that begin a block must follow, or of its root, which end the file,
    # unless it is cut short before.
    Compression(
        "bzip2", ".bz2", re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90|.{0,5}\Z)", re.S), "bunzip2", bz2.BZ2File
    ),
    # A frame that says nothing, which pzstd begins with, is as good a beginning as one of data.
    Compression("zstd", ".zst", re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"), "unzstd", _zstd_file),
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
