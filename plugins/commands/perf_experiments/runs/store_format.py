"""The tables of a store, and the checksums by which a row that is not as it was written is told.

A store may come from anybody: it is opened only where it holds these tables and nothing else, so that no view or
trigger of a stranger is ever evaluated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

APPLICATION_ID = 0x70726663  # "prfc"; SQLite keeps it in bytes 68 to 71 of the file
SCHEMA_VERSION = 2
MAGIC = b"SQLite format 3\0"

SCHEMA = (
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL, checksum TEXT NOT NULL)",
    "CREATE TABLE environments (id INTEGER PRIMARY KEY, content TEXT NOT NULL UNIQUE, checksum TEXT NOT NULL)",
    """CREATE TABLE runs (
        id INTEGER PRIMARY KEY,
        point TEXT NOT NULL,
        replication INTEGER NOT NULL,
        problem TEXT,
        started TEXT NOT NULL,
        command TEXT NOT NULL,
        wall_ns INTEGER NOT NULL,
        user_s REAL NOT NULL,
        system_s REAL NOT NULL,
        peak_memory_kib INTEGER NOT NULL,
        exit_status INTEGER,
        signal TEXT,
        busy_before REAL,
        noisy INTEGER NOT NULL,
        reported TEXT NOT NULL,
        environment INTEGER NOT NULL REFERENCES environments (id),
        output_checksum TEXT NOT NULL,
        checksum TEXT NOT NULL,
        stdout BLOB NOT NULL,
        stderr BLOB NOT NULL,
        results BLOB NOT NULL
    )""",
    # Runs that a scheduler has. No number is given twice: what an old job writes is not to be taken for a new one's.
    """CREATE TABLE jobs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        point TEXT NOT NULL,
        replication INTEGER NOT NULL,
        handed_over REAL NOT NULL,
        job TEXT,
        checksum TEXT NOT NULL
    )""",
)
# What the checksum of a run is of.
RUN_COLUMNS = (
    *("id", "point", "replication", "problem", "started", "command", "wall_ns", "user_s", "system_s"),
    *("peak_memory_kib", "exit_status", "signal", "busy_before", "noisy", "reported", "environment"),
    "output_checksum",
)
OUTPUT = ("stdout", "stderr", "results")


def is_store(head: bytes) -> bool:
    """Whether a file that begins with these bytes is a store."""
    return head.startswith(MAGIC) and head[68:72] == APPLICATION_ID.to_bytes(4, "big")


def checksum(values: Sequence[object]) -> str:
    """Of what a row holds: numbers, texts, bytes and None, as SQLite gives them back."""
    return hashlib.blake2b(msgspec.msgpack.encode(values), digest_size=8).hexdigest()
