"""Traces of several files: named by one of them, or together in a tar archive, in which nothing is trusted."""

from __future__ import annotations

import contextlib
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from perfcore.base.errors import InputError
from perfcore.reading.source import Source

_MAGIC_AT, _MAGIC, _BLOCK = 257, b"ustar", 512
_MOST_MEMBERS = 1 << 20
_FREE_BYTES = 1 << 30  # that unpacking leaves on the disk


def is_tar(source: Source) -> bool:
    """Return whether the input is a tar archive."""
    return source.head[_MAGIC_AT : _MAGIC_AT + len(_MAGIC)] == _MAGIC


def holds(source: Source, endings: Sequence[bytes]) -> bool:
    """Return whether the head of a tar archive names a file with one of the endings."""
    offset = 0
    while is_tar(source) and offset + _BLOCK <= len(source.head):
        name = source.head[offset : offset + 100].split(b"\0", 1)[0]
        if name.endswith(tuple(endings)):
            return True
        size = source.head[offset + 124 : offset + 135].strip(b" \0")
        if not size or not size.isdigit() or set(size) - set(b"01234567"):
            break
        offset += _BLOCK * (1 + -(-int(size, 8) // _BLOCK))
    return False


@contextlib.contextmanager
def anchor_file(
    source: Source, anchor: str, others: Sequence[str], description: str, *, never: str = "\0"
) -> Iterator[Path]:
    """The path of the file that names the trace, with its other files where they belong."""
    if not is_tar(source):
        if source.is_stdin or source.compression is not None:
            problem = f"{description} is several files; name its {anchor} file, or pack all of them with tar"
            raise InputError(source.name, problem)
        yield source.path
        return
    with tempfile.TemporaryDirectory(prefix="perfcore-") as folder:
        _unpack(source, Path(folder), (anchor, *others))
        anchors = [path for path in sorted(Path(folder).rglob(f"*{anchor}")) if not path.name.endswith(never)]
        if len(anchors) != 1:
            raise InputError(source.name, f"the archive has {len(anchors)} files that end in {anchor}, expected one")
        yield anchors[0]


def _unpack(source: Source, folder: Path, endings: tuple[str, ...]) -> None:
    allowed = shutil.disk_usage(folder).free - _FREE_BYTES
    total = 0
    try:
        with source.open() as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
            for count, member in enumerate(archive):
                total += member.size
                if total > allowed or count >= _MOST_MEMBERS:
                    problem = f"the archive holds more than {allowed / 1e9:.1f} GB or {_MOST_MEMBERS} files"
                    raise InputError(source.name, problem)
                path = PurePosixPath(member.name)
                if path.is_absolute() or ".." in path.parts or "\0" in member.name:
                    raise InputError(source.name, f"the archive leads out of its folder: {member.name[:60]!r}")
                content = archive.extractfile(member) if member.isreg() and path.name.endswith(endings) else None
                if content is None:
                    continue
                if member.issparse():  # a few bytes that stand for any number of zeros
                    raise InputError(source.name, f"the archive holds a file with holes: {member.name[:60]!r}")
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as copy:
                    shutil.copyfileobj(cast("BinaryIO", content), copy, 1 << 20)
    except (tarfile.TarError, EOFError, zlib.error, OSError, UnicodeError, ValueError) as error:
        raise InputError(source.name, f"the archive is truncated or corrupt: {' '.join(str(error).split())}") from None
