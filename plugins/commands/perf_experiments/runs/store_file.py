"""The SQLite file of a store: opened as one that may come from anybody, and its errors in words."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from perf_experiments.runs.store_format import MAGIC
from perfcore.base.errors import InputError


READ_WAIT_S = 30.0  # a commit of another process takes milliseconds, on a network file system perhaps seconds


def connected(name: str) -> sqlite3.Connection:
    """Open a file; for reading too, since what a killed process left half done is undone first."""
    writable = not Path(name).exists() or os.access(name, os.W_OK)
    address = f"{Path(name).resolve().as_uri()}?mode={'rwc' if writable else 'ro'}"
    try:
        connection = sqlite3.connect(address, uri=True, timeout=READ_WAIT_S, isolation_level=None)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
    except sqlite3.Error as error:
        raise InputError(name, problem(error)) from error
    return connection


def need_store(name: str) -> None:
    """Refuse what is certainly no store, before SQLite touches it."""
    path = Path(name)
    try:
        with path.open("rb") as stream:
            head = stream.read(100)
    except FileNotFoundError:
        raise InputError(name, "there is no such store; `perf run` makes one") from None
    except OSError as error:
        raise InputError(name, f"cannot be read: {error.strerror or error}") from error
    if not head.startswith(MAGIC[: len(head)]) or not head:
        raise InputError(name, "is not a store of runs; `perf run` makes one, by default beside the design as .db")
    if len(head) < 100:
        raise InputError(name, damage("its header is not whole"))


def problem(error: sqlite3.Error) -> str:
    """What SQLite complains of, and what to do."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return "the disk is full; free some space"
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return damage(str(error))
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return f"cannot be written: {error}"
    if code == sqlite3.SQLITE_BUSY:
        return "another process holds the store; try again when it has ended"
    return f"{error}; look at the disk"


def damage(text: str) -> str:
    """That the file is no longer what was written, and what to do."""
    return (
        f"the store is damaged or cut short ({' '.join(text.split())}); it was not changed; take a copy from a backup, "
        "or save what is left with `sqlite3 FILE .recover`"
    )
