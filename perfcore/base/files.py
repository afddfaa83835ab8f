"""Files are written whole or not at all; and how those of models are told."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from perfcore.base.errors import InputError

__all__ = ["MODEL_SCHEMA", "atomic_path", "write_bytes"]

MODEL_SCHEMA = "perfcore-model/1"  # how a model file says what it is, by which it is told from a file of data


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside ``path``; on success it takes the place of ``path`` in one step.

    Raises
    ------
    InputError
        The folder cannot be written, or the disk is full.
    """
    try:
        # A device or a pipe, such as /dev/null, is written into: replacing it would destroy it.
        target = Path(path)
        special = target.exists() and not (target.is_file() or target.is_dir())
        if not special:
            target = target.resolve()  # a link stays, and what it names is replaced
        target.parent.mkdir(parents=True, exist_ok=True)
        # The ending stays: matplotlib and DuckDB choose the format by it.
        folder = None if special else target.parent
        handle, name = tempfile.mkstemp(dir=folder, prefix=".tmp-", suffix=target.suffix)
    except OSError as error:
        raise InputError(path, f"cannot be written: {error.strerror or error}") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        if special:
            target.write_bytes(temporary.read_bytes())
        else:
            temporary.replace(target)
    except OSError as error:
        raise InputError(path, f"cannot be written: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write ``content`` atomically."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)
