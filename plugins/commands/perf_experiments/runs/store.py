"""The store of runs: an SQLite file in which every finished run is durable before the next one starts."""

from __future__ import annotations

import contextlib
import os
import platform
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import msgspec

from perf_experiments.design.factors import Point, point_text
from perf_experiments.runs.records import Job, Run
from perfcore.base.errors import InputError

__all__ = ["APPLICATION_ID", "SCHEMA_VERSION", "Store", "is_store"]

APPLICATION_ID = 0x70726663  # "prfc"; SQLite keeps it in bytes 68 to 71 of the file
SCHEMA_VERSION = 1
_MAGIC = b"SQLite format 3\0"
_READ_WAIT_S = 30.0  # a commit of another process takes milliseconds, on a network file system perhaps seconds

_SCHEMA = (
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE environments (id INTEGER PRIMARY KEY, content TEXT NOT NULL UNIQUE)",
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
        stdout BLOB NOT NULL,
        stderr BLOB NOT NULL,
        results BLOB NOT NULL,
        environment INTEGER NOT NULL REFERENCES environments (id)
    )""",
    # Runs that a scheduler has. No number is given twice: what an old job writes is not to be taken for a new one's.
    """CREATE TABLE jobs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        point TEXT NOT NULL,
        replication INTEGER NOT NULL,
        job TEXT,
        handed_over REAL NOT NULL
    )""",
)
_SMALL = (
    *("id", "point", "replication", "problem", "started", "command", "wall_ns", "user_s", "system_s"),
    *("peak_memory_kib", "exit_status", "signal", "busy_before", "noisy", "reported"),
)
_INSERT = (*_SMALL[1:], "stdout", "stderr", "results", "environment")


def is_store(head: bytes) -> bool:
    """Whether a file that begins with these bytes is a store.

    Examples
    --------
    >>> is_store(b"SQLite format 3")
    False
    """
    return head.startswith(_MAGIC) and head[68:72] == APPLICATION_ID.to_bytes(4, "big")


class Store:
    """An open store; use `Store.read` or `Store.hold`, both in a ``with`` statement.

    It uses a rollback journal and not a write-ahead log, so that it is one file at rest, works on network file systems,
    and can be copied with ``cp``. A commit waits until the disk has the run and the folder no longer has the journal.
    """

    def __init__(self, path: str, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._environments: dict[str, int] = {}

    @classmethod
    @contextlib.contextmanager
    def read(cls, path: str | os.PathLike[str]) -> Iterator[Self]:
        """Open a store to look at it; also while a `perf run` adds to it.

        Raises
        ------
        InputError
            There is no such file, or it is no store, of another version, damaged, or cut short.
        """
        name = os.fspath(path)
        _need_store(name)
        store = cls(name, _connected(name))
        with contextlib.closing(store._connection), store._told():
            store._connection.execute("BEGIN")  # a commit of another process waits until the check is done
            store._check()
            store._connection.execute("COMMIT")
            yield store

    @classmethod
    @contextlib.contextmanager
    def hold(cls, path: str | os.PathLike[str]) -> Iterator[Self]:
        """Open a store to add to it, and make it where there is none; nobody else can add meanwhile.

        Raises
        ------
        InputError
            As `read`; or another process holds it, or it cannot be written.
        """
        name = os.fspath(path)
        new = not Path(name).exists() or Path(name).stat().st_size == 0
        if not new:
            _need_store(name)
        store = cls(name, _connected(name))
        with contextlib.closing(store._connection), store._told():
            store._connection.execute("PRAGMA journal_mode = DELETE")
            store._connection.execute("PRAGMA synchronous = EXTRA")
            store._begin()
            # Another may have made it since.
            if store._pragma("application_id") == 0 and not store._rows("SELECT 1 FROM sqlite_master"):
                for statement in _SCHEMA:
                    store._connection.execute(statement)
                store._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                store._connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            else:
                store._check()
            store._set_fact("holder", f"process {os.getpid()} on {platform.node()}")
            store._commit()
            yield store

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Say SQLite's errors as one line about the file."""
        try:
            yield
        except sqlite3.Error as error:
            raise InputError(self.path, _problem(error)) from error

    def _rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, parameters).fetchall()

    def _pragma(self, name: str) -> Any:
        return self._rows(f"PRAGMA {name}")[0][0]

    def _begin(self) -> None:
        """Take the lock of writers, which lets readers in; it is kept from here to the end of the next run.

        The operating system drops it when this process ends, however it ends.
        """
        self._connection.execute("PRAGMA busy_timeout = 0")
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            with contextlib.suppress(sqlite3.Error):
                raise InputError(
                    self.path,
                    f"another `perf run` ({self._fact('holder') or 'a process'}) adds to this store; wait until it "
                    "ends, or name another store with --store",
                ) from None
            raise InputError(self.path, "another `perf run` is making this store; wait until it ends") from None
        finally:
            self._connection.execute(f"PRAGMA busy_timeout = {int(_READ_WAIT_S * 1000)}")

    def _commit(self) -> None:
        """Make what was added durable, and keep the lock."""
        self._connection.execute("COMMIT")
        self._begin()

    def _check(self) -> None:
        """Refuse what is no store of this version, or is damaged."""
        self._rows("SELECT 1 FROM sqlite_master LIMIT 1")  # locks the file, and undoes what a killed process left
        if self._pragma("application_id") != APPLICATION_ID:
            raise InputError(self.path, "is an SQLite file of another program, not a store of runs; name another file")
        if (version := self._pragma("user_version")) != SCHEMA_VERSION:
            raise InputError(
                self.path,
                f"is a store of version {version}, and {SCHEMA_VERSION} is known here; use the perfcore that wrote it, "
                "or name another store",
            )
        # SQLite takes a last page that is cut for one that ends in zeros.
        size, pages = Path(self.path).stat().st_size, self._pragma("page_count")
        if size != (whole := pages * self._pragma("page_size")):
            raise InputError(self.path, _damage(f"it has {size:,} of {whole:,} bytes"))
        found = self._pragma("quick_check")
        if found != "ok":
            raise InputError(self.path, _damage(" ".join(str(found).split())))

    def _fact(self, name: str) -> str | None:
        rows = self._rows("SELECT value FROM facts WHERE name = ?", (name,))
        return rows[0][0] if rows else None

    def _set_fact(self, name: str, value: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    @property
    def study(self) -> dict[str, Any] | None:
        """What all runs of the store share: factors, command, launcher and values, as `set_study` was told."""
        with self._told():
            text = self._fact("study")
            return None if text is None else msgspec.json.decode(text)

    def set_study(self, study: Mapping[str, Any]) -> None:
        """Keep what all runs share."""
        with self._told():
            self._set_fact("study", msgspec.json.encode(study).decode())
            self._commit()

    @property
    def versions(self) -> list[str]:
        """Versions of the program in the order of the design, as `set_versions` was told; often none."""
        with self._told():
            text = self._fact("versions")
            return [] if text is None else msgspec.json.decode(text, type=list[str])

    def set_versions(self, names: Sequence[str]) -> None:
        """Keep the order of the versions, which runs in random order do not show."""
        with self._told():
            self._set_fact("versions", msgspec.json.encode(list(names)).decode())
            self._commit()

    @property
    def sbatch(self) -> str:
        """Options for `sbatch`, as `set_sbatch` was told."""
        with self._told():
            return self._fact("sbatch") or ""

    def set_sbatch(self, options: str) -> None:
        """Keep the options for `sbatch`, which later calls need not repeat."""
        with self._told():
            self._set_fact("sbatch", options)
            self._commit()

    def jobs(self) -> list[Job]:
        """Runs that were handed to a scheduler and have not been collected."""
        with self._told():
            rows = self._rows("SELECT id, point, replication, job, handed_over FROM jobs ORDER BY id")
        return [
            Job(number, msgspec.json.decode(point, type=dict[str, int | float | str]), replication, name, at)
            for number, point, replication, name, at in rows
        ]

    def announce_job(self, point: Point, replication: int, at: float) -> int:
        """Keep that a run is about to be handed over, and give it a number."""
        with self._told():
            row = (msgspec.json.encode(point).decode(), replication, at)
            cursor = self._connection.execute(
                "INSERT INTO jobs (point, replication, handed_over) VALUES (?, ?, ?)", row
            )
            self._commit()
            return cursor.lastrowid or 0

    def name_job(self, number: int, name: str) -> None:
        """Keep what the scheduler calls a job."""
        with self._told():
            self._connection.execute("UPDATE jobs SET job = ? WHERE id = ?", (name, number))
            self._commit()

    def forget_job(self, number: int) -> None:
        """A job that was not handed over after all."""
        with self._told():
            self._connection.execute("DELETE FROM jobs WHERE id = ?", (number,))
            self._commit()

    def add(self, run: Run, job: int | None = None) -> Run:
        """Keep a run; when this returns, it is on the disk.

        Parameters
        ----------
        run : Run
        job : int, optional
            The job that made it, which is over with this.

        Returns
        -------
        Run
            With its number.

        Raises
        ------
        InputError
            The disk is full or fails; the runs before are safe.
        """
        try:
            place = self._environment_number(run.environment)
            values = (
                msgspec.json.encode(run.point).decode(),
                *(run.replication, run.problem, run.started, msgspec.json.encode(run.command).decode()),
                *(run.wall_ns, run.user_s, run.system_s, run.peak_memory_kib, run.exit_status, run.signal),
                *(run.busy_before, run.noisy, msgspec.json.encode(run.values).decode()),
                *(run.stdout, run.stderr, run.results, place),
            )
            places = ", ".join("?" * len(_INSERT))
            cursor = self._connection.execute(f"INSERT INTO runs ({', '.join(_INSERT)}) VALUES ({places})", values)  # noqa: S608 (names are constants)
            number = cursor.lastrowid or 0
            if job is not None:
                self._connection.execute("DELETE FROM jobs WHERE id = ?", (job,))
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise InputError(
                self.path,
                f"{_problem(error)}; the run {point_text(run.point)} could not be kept, the runs before it are safe; "
                "the same `perf run` goes on from there",
            ) from error
        with self._told():
            self._begin()
        return replace(run, number=number)

    def _environment_number(self, content: Mapping[str, object]) -> int:
        text = msgspec.json.encode(content).decode()
        if text not in self._environments:
            self._connection.execute("INSERT OR IGNORE INTO environments (content) VALUES (?)", (text,))
            self._environments[text] = self._rows("SELECT id FROM environments WHERE content = ?", (text,))[0][0]
        return self._environments[text]

    def runs(self, number: int | None = None) -> list[Run]:
        """All runs in the order in which they were made, without what they printed; or one run with everything.

        Raises
        ------
        InputError
            The store is damaged.
        """
        with self._told():
            environments = dict(self._rows("SELECT id, content FROM environments"))
            names = (*_SMALL, "environment", *(("stdout", "stderr", "results") if number is not None else ()))
            where = "" if number is None else " WHERE id = ?"
            rows = self._rows(
                f"SELECT {', '.join(names)} FROM runs{where} ORDER BY id",  # noqa: S608 (names are constants)
                () if number is None else (number,),
            )
        try:
            return [_as_run(dict(zip(names, row, strict=True)), environments) for row in rows]
        except (msgspec.MsgspecError, KeyError, TypeError) as error:
            raise InputError(self.path, _damage(str(error))) from error


def _as_run(row: dict[str, Any], environments: Mapping[int, str]) -> Run:
    return Run(
        point=msgspec.json.decode(row.pop("point"), type=dict[str, int | float | str]),
        command=msgspec.json.decode(row.pop("command"), type=tuple[str, ...]),
        values=msgspec.json.decode(row.pop("reported"), type=dict[str, float]),
        environment=msgspec.json.decode(environments[row.pop("environment")], type=dict[str, Any]),
        noisy=bool(row.pop("noisy")),
        number=row.pop("id"),
        **row,
    )


def _connected(name: str) -> sqlite3.Connection:
    """Open a file; for reading too, since what a killed process left half done is undone first."""
    writable = not Path(name).exists() or os.access(name, os.W_OK)
    address = f"{Path(name).resolve().as_uri()}?mode={'rwc' if writable else 'ro'}"
    try:
        return sqlite3.connect(address, uri=True, timeout=_READ_WAIT_S, isolation_level=None)
    except sqlite3.Error as error:
        raise InputError(name, _problem(error)) from error


def _need_store(name: str) -> None:
    """Refuse what is certainly no store, before SQLite touches it."""
    path = Path(name)
    try:
        with path.open("rb") as stream:
            head = stream.read(100)
    except FileNotFoundError:
        raise InputError(name, "there is no such store; `perf run` makes one") from None
    except OSError as error:
        raise InputError(name, f"cannot be read: {error.strerror or error}") from error
    if not head.startswith(_MAGIC[: len(head)]) or not head:
        raise InputError(name, "is not a store of runs; `perf run` makes one, by default beside the design as .db")
    if len(head) < 100:
        raise InputError(name, _damage("its header is not whole"))


def _problem(error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return "the disk is full; free some space"
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return _damage(str(error))
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return f"cannot be written: {error}"
    if code == sqlite3.SQLITE_BUSY:
        return "another process holds the store; try again when it has ended"
    return f"{error}; look at the disk"


def _damage(what: str) -> str:
    return (
        f"the store is damaged or cut short ({what}); it was not changed; take a copy from a backup, or save what "
        "is left with `sqlite3 FILE .recover`"
    )
