"""Where bytes come from: a file, a compressed file, or standard input, behind one face."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO

from perfcore.base.errors import InputError
from perfcore.reading.compression import Unpacked, compression_of, without_compressed_ending

HEAD_BYTES = 1 << 16  # enough for every header by which a format is recognized
_LONGEST_LINE = 1 << 20
_PIPE_WAITS_S = 5


class Source:
    """One input."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        # Bytes that are no text could be neither printed nor saved.
        self.name = os.fsencode(path).decode(errors="replace")
        self.is_stdin = self.name == "-"
        self._named = Path("/dev/stdin" if self.is_stdin else path)
        self._spooled: Path | None = None
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)  # what was spooled must not outlive a failure
            try:
                self.path = self._locate()
                with self.path.open("rb") as raw:
                    self.compression = compression_of(raw.read(16))
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
