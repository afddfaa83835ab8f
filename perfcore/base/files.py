"""Write files whole or not at all, and recognize files of models."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import re
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, Literal

from perfcore.base.errors import InputError, OptionError

_HEAD_BYTES = 1 << 12
_BEGINS, _DAY_S = ".tmp-perf-", 86400  # names of temporary files, and how old those are that nobody writes to
PICTURE_ENDINGS = (".png", ".svg", ".pdf", ".html")
MODEL_SCHEMA = "perfcore-model/1"  # marks a model file, so that it is not read as data

# Endings of the files that belong to one of another ending and have its name.
_SIDE_FILES = {
    ".prv": {".pcf", ".row"}, ".otf2": {".def", ".evt", ".marker", ".snap", ".thumb"}, ".sts": {".log", ".sum"},
    ".cubex": {".index", ".data"}, "": {".idx"},
}  # fmt: skip
WRITTEN_BY = "perfcore"  # in the metadata of pictures, pages and reports that perf writes
_DIGEST = re.compile(rb'\{\s*"digest": "(\w*)",')
_SQLITE = b"SQLite format 3\0"
_PARQUET, _PARQUET_MARK = b"PAR1", b"perfcore"
_TRACE_MARK = b'"perfcore'  # a key of Chrome's JSON
# What stands near the beginning or the end of a file of this ending that perf wrote.
_GENERATOR = rb"""name=["']generator["'] content=["']perfcore"""
_MARKS = {
    ".png": rb"Software\x00perfcore", ".svg": rb"<dc:title>perfcore</dc:title>", ".pdf": rb"/Creator \(perfcore\)",
    ".html": _GENERATOR, ".htm": _GENERATOR, ".xml": rb"<!-- perfcore -->",
}  # fmt: skip
_ATTRIBUTE = "user.perfcore"  # of files whose format has no place for a mark, if the file system keeps attributes
_HISTORY = re.compile(rb'\{[^\n]*"commit":')
REPLACES = ContextVar("REPLACES", default=False)  # --overwrite


def check_ending(path: str | os.PathLike[str]) -> str:
    """The ending of a picture's path in lower case."""
    ending = Path(path).suffix.lower()
    if ending not in PICTURE_ENDINGS:
        raise OptionError(f"cannot draw {os.fspath(path)!r}: the ending must be one of {', '.join(PICTURE_ENDINGS)}")
    return ending


def check_files(picture: str | os.PathLike[str] | None, *others: str | os.PathLike[str] | None) -> None:
    """Refuse files that cannot be written, before anything is computed for them."""
    if picture is not None:
        check_ending(picture)
    for path in (picture, *others):
        if path is not None:
            check_folder(path)


def refuse_input(output: str | os.PathLike[str], texts: Iterable[str]) -> None:
    """Refuse to write over a file that is read, also through a link: texts are paths, patterns, lists and NAME=PATH.

    The files that belong to a trace, and the one behind standard input, are read too.
    """
    target = Path(output)
    if not target.is_file():
        return
    if "-" in texts and os.path.samestat(target.stat(), os.fstat(0)):
        raise InputError(output, "is the file behind standard input; name another")
    parts = {part for text in texts for part in (text, text.rpartition("=")[2], *text.split(","))}
    for part in sorted(parts):
        with contextlib.suppress(OSError, ValueError):  # words that are no names of files
            for path in [part] if Path(part).exists() else glob.glob(part):  # noqa: PTH207 - folders are any
                if target.samefile(path):
                    what = "an input" if path == os.fspath(output) else f"the input {path}"
                    raise InputError(output, f"is {what}; name another")
                if _belongs_to(target.resolve(), Path(path).resolve()):
                    raise InputError(output, f"belongs to the input {path}; name another")
                if target.resolve().is_relative_to(Path(path).resolve()) and _is_data(target):
                    raise InputError(output, f"is in the folder {path}, which is an input; name another")


def _belongs_to(target: Path, trace: Path) -> bool:
    """Whether a file is read with a trace: names of processor logs and locations begin with the trace's."""
    stem, ending = trace.stem, trace.suffix.lower()
    if ending in (".gz", ".zst", ".xz", ".bz2"):
        stem, ending = Path(stem).stem, Path(stem).suffix.lower()
    endings = {suffix.lower() for suffix in target.suffixes}
    if ending == ".otf2" and target.is_relative_to(trace.parent / stem) and endings & _SIDE_FILES[".otf2"]:
        return True
    sides = _SIDE_FILES.get(ending, set()) | _SIDE_FILES[""]
    return target.parent == trace.parent and target.name.startswith(stem) and bool(endings & sides)


def _is_data(target: Path) -> bool:
    """Whether a file of a folder may be read with the folder: neither a picture nor a model."""
    with target.open("rb") as file:
        return target.suffix.lower() not in PICTURE_ENDINGS and MODEL_SCHEMA.encode() not in file.read(_HEAD_BYTES)


def check_folder(path: str | os.PathLike[str]) -> None:
    """Refuse a path that no file can be written to, before the work whose result is to go there."""
    target = Path(path)
    try:
        folder = (target.resolve(strict=target.exists()) if target.is_symlink() else target).parent
    except (OSError, RuntimeError):
        raise InputError(path, "cannot be written: its links form a circle; name another file") from None
    if _is_special(target):
        return
    if target.is_dir():
        raise InputError(path, "cannot be written: it is a folder; name a file")
    if not folder.exists():
        raise InputError(path, f"cannot be written: there is no folder {str(folder)!r}; make it first")
    if not folder.is_dir():
        raise InputError(path, f"cannot be written: {str(folder)!r} is a file and no folder; name a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(path, f"cannot be written: the folder {str(folder)!r} may not be written; name another")


def _is_special(target: Path) -> bool:
    """Whether it is a device or a pipe, such as /dev/null: replacing it would destroy it."""
    return target.exists() and not (target.is_file() or target.is_dir())


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path next to ``path``; on success it takes the place of ``path`` in one step."""
    try:
        check_folder(path)
        special = _is_special(Path(path))
        target = Path(path) if special else Path(path).resolve()  # a link stays, and what it names is replaced
        # The ending stays: matplotlib and DuckDB choose the format by it.
        if not special:
            _remove_left_behind(target.parent)
        folder = Path(tempfile.gettempdir()) if special else target.parent
        temporary = folder / f"{_BEGINS}{os.urandom(8).hex()}{target.suffix}"
        try:
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            yield temporary
            umask = os.umask(0)
            os.umask(umask)
            temporary.chmod(stat.S_IMODE(target.stat().st_mode) if target.is_file() else 0o666 & ~umask)
            if special:
                target.write_bytes(temporary.read_bytes())
            else:
                with temporary.open("rb") as written:
                    os.fsync(written.fileno())  # or a crash of the machine might leave the name without the content
                with contextlib.suppress(OSError, AttributeError):  # not every system keeps attributes of files
                    os.setxattr(temporary, _ATTRIBUTE, _state_of(temporary))
                temporary.replace(target)
        finally:
            with contextlib.suppress(OSError):  # that it is there no longer, which is the rule
                temporary.unlink()
    except OSError as error:
        raise InputError(path, f"cannot be written: {error.strerror or error}") from error


@cache
def _remove_left_behind(folder: Path) -> None:
    """Remove temporary files of programs that were killed; what is being written is younger than a day."""
    with contextlib.suppress(OSError):
        for path in folder.glob(f"{_BEGINS}*"):
            if time.time() - path.lstat().st_mtime > _DAY_S:
                path.unlink()


def write_bytes(path: str | os.PathLike[str], *content: bytes | memoryview) -> None:
    """Write contents, one behind the other, atomically."""
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        file.writelines(content)


def write_json(path: str | os.PathLike[str], content: Mapping[str, Any]) -> None:
    """Write a JSON object with a digest of itself first, which tells whether it was edited since."""
    import msgspec

    refuse_other_kind(path, "model" if content.get("schema") == MODEL_SCHEMA else "value")
    encode = msgspec.json.Encoder(enc_hook=lambda numbers: numbers.tolist()).encode
    rest = memoryview(msgspec.json.format(encode(content), indent=1))[len(b"{\n ") :]
    digest = hashlib.sha256(rest).hexdigest()[:16]
    write_bytes(path, f'{{\n "digest": "{digest}",\n '.encode(), rest, b"\n")


@contextlib.contextmanager
def alone(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let one process at a time read a file and replace it; the lock is on its folder, and ends with the process."""
    import fcntl

    folder = os.open(Path(path).resolve().parent, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # of a file system without locks
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _state_of(path: Path) -> bytes:
    """Return size and time of the last change: what an editor changes."""
    found = path.stat()
    return f"{found.st_size} {found.st_mtime_ns}".encode()


def refuse_existing(path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Keep a file from being replaced unasked, before the work whose result is to go there.

    Replaced without ``--overwrite`` is only what carries the mark of perf and was not edited since; histories are
    appended to and never replaced, and read-only files never written.
    """
    target = Path(path)
    if not target.is_file():
        return
    if not target.stat().st_mode & 0o222:
        raise InputError(path, "is read-only; name another, or allow writing")
    with contextlib.suppress(OSError), target.open("rb") as file:
        head, ending = file.read(_HEAD_BYTES), target.suffix.lower()
        if ending == ".jsonl" and _HISTORY.match(head):
            raise InputError(path, "is a history, which is never replaced; name another file")
        if overwrite:
            return
        reason = _why_kept(target, ending, head, file)
        if reason is None:
            return
        raise InputError(path, f"exists{reason}; --overwrite replaces it")


def _why_kept(target: Path, ending: str, head: bytes, file: BinaryIO) -> str | None:
    """Why a file is not replaced unasked; None if perf wrote it and nobody edited it."""
    digest = _DIGEST.match(head)
    if ending == ".toml":
        return " and may be edited by hand"
    if head.startswith(_SQLITE):
        return " and is a database"
    if Path(f"{target}.bak").is_file():
        return " and was edited on the page of `perf explore`"
    if digest:
        text = (head + file.read())[digest.end() :].strip()
        is_same = hashlib.sha256(text).hexdigest().startswith(digest[1].decode())
        return None if is_same else " and was edited since perf wrote it"
    with contextlib.suppress(OSError, AttributeError):
        if os.getxattr(target, _ATTRIBUTE) == _state_of(target):
            return None
    file.seek(-min(_HEAD_BYTES, target.stat().st_size), os.SEEK_END)
    ends = head + file.read()
    is_ours = (
        (head.startswith(_PARQUET) and _PARQUET_MARK in ends)
        or (ending == ".json" and _TRACE_MARK in ends)
        or (ending in _MARKS and re.search(_MARKS[ending], ends))
    )
    return None if is_ours else " and is no result of perf"


def refuse_other_kind(path: str | os.PathLike[str], kind: Literal["model", "value", "trace", "JUnit report"]) -> None:
    """Keep a result from being replaced by one of another kind."""
    target = Path(path)
    if REPLACES.get() or not target.is_file() or (target.suffix.lower() != ".json" and kind != "JUnit report"):
        return
    with contextlib.suppress(OSError), target.open("rb") as file:
        head = file.read(_HEAD_BYTES)
        if _DIGEST.match(head):
            found = "model" if MODEL_SCHEMA.encode() in head else "value"
        else:
            found = "JUnit report" if head.startswith(b"<?xml") else "trace or table"
        if found == "trace or table" and kind == "trace":
            return
        if found != kind:
            raise InputError(path, f"exists and holds a {found}, not a {kind}; --overwrite replaces it")


@contextlib.contextmanager
def replacements(*paths: str | os.PathLike[str]) -> Iterator[None]:
    """Say on stderr which of the files were replaced within the block."""
    before = {path: Path(path).stat().st_ino for path in paths if Path(path).is_file()}
    try:
        yield
    finally:
        for path, number in before.items():
            if Path(path).is_file() and Path(path).stat().st_ino != number:
                sys.stderr.write(f"perf: replaced {os.fspath(path)}\n")
