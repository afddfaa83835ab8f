"""Write files whole or not at all, and recognize files of models."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from perfcore.base.errors import InputError, OptionError

_HEAD_BYTES = 1 << 12
PICTURE_ENDINGS = (".png", ".svg", ".pdf", ".html")
MODEL_SCHEMA = "perfcore-model/1"  # marks a model file, so that it is not read as data


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
    """Refuse to write over a file that is read, also through a link: texts are paths, patterns, lists and NAME=PATH."""
    target = Path(output)
    parts = {part for text in texts for part in (text, text.rpartition("=")[2], *text.split(","))}
    for part in sorted(parts) if target.is_file() else ():
        with contextlib.suppress(OSError, ValueError):  # words that are no names of files
            for path in [part] if Path(part).exists() else glob.glob(part):  # noqa: PTH207 - folders are any
                if target.samefile(path):
                    what = "an input" if path == os.fspath(output) else f"the input {path}"
                    raise InputError(output, f"is {what}; name another")
                if target.resolve().is_relative_to(Path(path).resolve()) and _is_data(target):
                    raise InputError(output, f"is in the folder {path}, which is an input; name another")


def _is_data(target: Path) -> bool:
    """Whether a file of a folder may be read with the folder: neither a picture nor a model."""
    with target.open("rb") as file:
        return target.suffix.lower() not in PICTURE_ENDINGS and MODEL_SCHEMA.encode() not in file.read(_HEAD_BYTES)


def check_folder(path: str | os.PathLike[str]) -> None:
    """Refuse a path that no file can be written to, before the work whose result is to go there."""
    target = Path(path)
    folder = (target.resolve() if target.is_symlink() else target).parent
    if _is_special(target):
        return
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
        handle, name = tempfile.mkstemp(dir=None if special else target.parent, prefix=".tmp-", suffix=target.suffix)
        temporary = Path(name)
        try:
            os.close(handle)
            yield temporary
            umask = os.umask(0)
            os.umask(umask)
            temporary.chmod(0o666 & ~umask)
            if special:
                target.write_bytes(temporary.read_bytes())
            else:
                with temporary.open("rb") as written:
                    os.fsync(written.fileno())  # or a crash of the machine might leave the name without the content
                temporary.replace(target)
        finally:
            with contextlib.suppress(OSError):  # that it is there no longer, which is the rule
                temporary.unlink()
    except OSError as error:
        raise InputError(path, f"cannot be written: {error.strerror or error}") from error


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write ``content`` atomically."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)


def write_json(path: str | os.PathLike[str], content: Mapping[str, Any]) -> None:
    """Write a JSON object with a digest of itself first, which tells whether it was edited since."""
    import msgspec

    rest = msgspec.json.format(msgspec.json.encode(content), indent=1)[1:] + b"\n"
    digest = hashlib.sha256(rest.strip()).hexdigest()[:16]
    write_bytes(path, f'{{\n "digest": "{digest}",'.encode() + rest)


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


_DERIVED = re.compile(rb'"perfcore|"representation"')  # models, values and traces that a command writes
_DIGEST = re.compile(rb'\{\s*"digest": "(\w*)",')
_SQLITE = b"SQLite format 3\0"


def refuse_existing(path: str | os.PathLike[str], overwrite: bool = False, *, derived: bool = False) -> None:
    """Keep a file from being replaced unasked, before the work whose result is to go there.

    What is ``derived`` from data is replaced, as the same command makes it again; not so what people write or measure:
    designs and structural models, databases, JSON of other programs, and models that were edited.
    """
    target = Path(path)
    if overwrite or not target.is_file():
        return
    reason = ""
    with contextlib.suppress(OSError), target.open("rb") as file:
        head, ending = file.read(_HEAD_BYTES), target.suffix.lower()
        digest = _DIGEST.match(head)
        if ending == ".toml":
            reason = " and may be edited by hand"
        elif head.startswith(_SQLITE):
            reason = " and is a database"
        elif ending == ".json" and not digest and not _DERIVED.search(head):
            reason = " and is no result of perf"
        elif Path(f"{target}.bak").is_file():
            reason = " and was edited on the page of `perf explore`"
        elif digest and not hashlib.sha256((head + file.read())[digest.end() :].strip()).hexdigest().startswith(
            digest[1].decode()
        ):
            reason = " and was edited since perf wrote it"
    if reason or not derived:
        raise InputError(path, f"exists{reason}; --overwrite replaces it")


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
