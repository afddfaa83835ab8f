"""What a kept change did to files, and reading and writing these: all that undo needs."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

import msgspec

from perfcore.base.errors import InputError
from perfcore.base.files import write_bytes

__all__ = ["KeptChange", "KeptFile", "content", "digest", "put"]


class KeptFile(msgspec.Struct, frozen=True):
    """A file that a change wrote.

    Parameters
    ----------
    path : str
        Absolute.
    before : bytes or None
        What it held; None where it did not exist.
    after : str or None
        Digest of what it holds since; None where it was removed.
    """

    path: str
    before: bytes | None
    after: str | None


class KeptChange(msgspec.Struct, frozen=True):
    """A change that can be taken back.

    Parameters
    ----------
    summary : str
    path : tuple of str
        The view that it was made from.
    query : dict of str to str
        The state of that view.
    files : tuple of KeptFile
    number : int
        Nanoseconds since 1970 when it was kept: later changes have higher ones.
    """

    summary: str
    path: tuple[str, ...]
    query: dict[str, str]
    files: tuple[KeptFile, ...]
    number: int = msgspec.field(default_factory=time.time_ns)


def digest(content: bytes | None) -> str | None:
    """What tells contents apart; None for no file."""
    return None if content is None else hashlib.sha256(content).hexdigest()


def content(path: Path) -> bytes | None:
    """What a file holds; None where there is none.

    Raises
    ------
    InputError
        It cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror or error}") from error


def put(path: Path, content: bytes | None) -> None:
    """Write a file whole, or remove it.

    Raises
    ------
    InputError
        It cannot be written.
    """
    if content is None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(path, f"cannot be removed: {error.strerror or error}") from error
    else:
        write_bytes(path, content)
