"""The store of runs: an SQLite file in which every finished run is durable before the next one starts."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import msgspec

from perf_experiments.points import PRINTED, VERSION, ExperimentStoreOptions, Point, is_number, point_text
from perf_experiments.run_records import Job, Run
from perfcore.base import pd, progress
from perfcore.base.errors import InputError
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Reader, Source

# The tables of a store, and the checksums that detect a changed row.
#
# A store may come from anybody: it is opened only where it holds these tables and nothing else, so that no view or
# trigger of a stranger is ever evaluated.

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
OUTPUT = ("stdout", "stderr", "results")  # the last one is empty
READ_WAIT_S = 30.0  # a commit of another process takes milliseconds, on a network file system perhaps seconds
_SEQUENCE = "CREATE TABLE sqlite_sequence(name,seq)"  # SQLite's own, of numbers that are not given twice
_NUMBERS = ("replication", "wall_ns", "user_s", "system_s", "peak_memory_kib")  # in any type, so far as SQLite cares
_JOB_COLUMNS = ("id", "point", "replication", "handed_over", "job")


def is_store(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is a store."""
    return head.startswith(MAGIC) and head[68:72] == APPLICATION_ID.to_bytes(4, "big")


def is_store_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a store; one that cannot be read is none; reading it raises the error."""
    try:
        with Path(path).open("rb") as stream:
            return is_store(stream.read(100))
    except OSError:
        return False


def checksum(values: Sequence[object]) -> str:
    """Of what a row holds: numbers, texts, bytes and None, as SQLite gives them back."""
    return hashlib.blake2b(msgspec.msgpack.encode(values), digest_size=8).hexdigest()


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
        raise InputError(name, "there is no such store; `perf experiment run` makes one") from None
    except OSError as error:
        raise InputError(name, f"cannot be read: {error.strerror or error}") from error
    if not head.startswith(MAGIC[: len(head)]) or not head:
        raise InputError(
            name, "is not a run database; `perf experiment run` makes one, by default next to the design, as .db"
        )
    if len(head) < 100:
        raise InputError(name, damage("its header is not whole"))


def problem(error: sqlite3.Error) -> str:
    """Return what SQLite complains of, and what to do."""
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
        "or recover it with `sqlite3 FILE .recover`"
    )


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
        """Open a store to look at it; also while a `perf experiment run` adds to it."""
        name = os.fspath(path)
        need_store(name)
        store = cls(name, connected(name))
        with contextlib.closing(store._connection), store._sqlite_errors():
            store._connection.execute("BEGIN")  # a commit of another process waits until the check is done
            store._check()
            store._connection.execute("COMMIT")
            yield store

    @classmethod
    @contextlib.contextmanager
    def hold(cls, path: str | os.PathLike[str]) -> Iterator[Self]:
        """Open a store to add to it, and make it where there is none; no other process can add meanwhile."""
        name = os.fspath(path)
        new = not Path(name).exists() or Path(name).stat().st_size == 0
        if not new:
            need_store(name)
        store = cls(name, connected(name))
        with contextlib.closing(store._connection), store._sqlite_errors():
            store._connection.execute("PRAGMA journal_mode = DELETE")
            store._connection.execute("PRAGMA synchronous = EXTRA")
            store._begin()
            if store._is_blank():  # another may have made it since
                for statement in SCHEMA:
                    store._connection.execute(statement)
                store._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                store._connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            else:
                store._check()
            store.set_fact("holder", f"process {os.getpid()} on {platform.node()}")
            yield store

    @contextlib.contextmanager
    def _sqlite_errors(self) -> Iterator[None]:
        """Say SQLite's errors as one line about the file."""
        try:
            yield
        except sqlite3.Error as error:
            raise InputError(self.path, problem(error)) from error
        except UnicodeDecodeError as error:
            raise InputError(self.path, damage("a text in it is no UTF-8")) from error

    def _rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, parameters).fetchall()

    def _pragma(self, name: str) -> Any:
        return self._rows(f"PRAGMA {name}")[0][0]

    def _begin(self) -> None:
        """Take the lock of writers until the next run has ended or this process has, however it ends; readers go on."""
        self._connection.execute("PRAGMA busy_timeout = 0")
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            with contextlib.suppress(sqlite3.Error):
                raise InputError(
                    self.path,
                    f"another `perf experiment run` ({self._fact('holder') or 'a process'}) adds to this store; wait "
                    "until it ends, or name another store with --store",
                ) from None
            raise InputError(
                self.path, "another `perf experiment run` is making this store; wait until it ends"
            ) from None
        finally:
            self._connection.execute(f"PRAGMA busy_timeout = {int(READ_WAIT_S * 1000)}")

    def _commit(self) -> None:
        """Make what was added durable, and keep the lock."""
        self._connection.execute("COMMIT")
        self._begin()

    def _is_blank(self) -> bool:
        return self._pragma("application_id") == 0 and not self._rows("SELECT 1 FROM sqlite_master LIMIT 1")

    def _check(self) -> None:
        """Refuse what is no store of this version, or is damaged."""
        self._rows("SELECT 1 FROM sqlite_master LIMIT 1")  # locks the file, and undoes what a killed process left
        if self._is_blank():
            raise InputError(
                self.path, "holds nothing yet, since `perf experiment run` was stopped making it; call it again"
            )
        if self._pragma("application_id") != APPLICATION_ID:
            raise InputError(self.path, "is an SQLite file of another program, not a run database; name another file")
        if (version := self._pragma("user_version")) != SCHEMA_VERSION:
            raise InputError(
                self.path,
                f"is a store of version {version}, and {SCHEMA_VERSION} is known here; use the perfcore that wrote it, "
                "or name another store",
            )
        declared = {sql for (sql,) in self._rows("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
        if declared != {*SCHEMA, _SEQUENCE}:
            raise InputError(self.path, damage("it holds other tables than a store, or views or triggers"))
        # SQLite takes a last page that is cut for one that ends in zeros.
        size, pages = Path(self.path).stat().st_size, self._pragma("page_count")
        if size != (expected_size := pages * self._pragma("page_size")):
            raise InputError(self.path, damage(f"it has {size:,} of {expected_size:,} bytes"))
        status = self._pragma("quick_check")
        if status != "ok":
            raise InputError(self.path, damage(str(status)))

    def _checked(self, label: str, columns: Sequence[str], source: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return rows of a table, each as it was written."""
        rows = self._rows(f"SELECT {', '.join(columns)}, checksum FROM {source}", parameters)  # noqa: S608 (constants)
        for row in rows:
            if checksum(row[:-1]) != row[-1]:
                raise InputError(self.path, damage(f"{label} {row[0]} does not match its checksum"))
        return [row[:-1] for row in rows]

    def _fact(self, name: str) -> str | None:
        rows = self._checked("fact", ("name", "value"), "facts WHERE name = ?", name)
        return rows[0][1] if rows else None

    def fact(self, name: str) -> str | None:
        """Return a text that all runs share: ``study`` and ``versions`` as JSON, ``sbatch`` as its options."""
        with self._sqlite_errors():
            return self._fact(name)

    def set_fact(self, name: str, content: Any) -> None:
        """Keep what all runs share: a text, or the JSON of anything else."""
        row = (name, content if isinstance(content, str) else msgspec.json.encode(content).decode())
        with self._sqlite_errors():
            self._connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", (*row, checksum(row)))
            self._commit()

    @property
    def study(self) -> dict[str, Any] | None:
        """What all runs of the store share: factors, command, launcher and values."""
        text = self.fact("study")
        return None if text is None else msgspec.json.decode(text)

    @property
    def versions(self) -> list[str]:
        """Versions of the program in the order of the design, which runs in random order do not show; often none."""
        return msgspec.json.decode(self.fact("versions") or "[]", type=list[str])

    def jobs(self) -> list[Job]:
        """Return runs that were submitted and not yet collected."""
        with self._sqlite_errors():
            rows = self._checked("job", _JOB_COLUMNS, "jobs ORDER BY id")
        return [
            Job(number, msgspec.json.decode(point, type=dict[str, int | float | str]), replication, name, handed_over)
            for number, point, replication, handed_over, name in rows
        ]

    def announce_job(self, point: Point, replication: int, handed_over: float) -> int:
        """Record a run that is about to be submitted; return its number."""
        with self._sqlite_errors():
            row = (msgspec.json.encode(point).decode(), replication, handed_over)
            insert = "INSERT INTO jobs (point, replication, handed_over, checksum) VALUES (?, ?, ?, '')"
            number = self._connection.execute(insert, row).lastrowid or 0
            self._write_job((number, *row, None))
            return number

    def name_job(self, number: int, name: str) -> None:
        """Keep what the scheduler calls a job."""
        with self._sqlite_errors():
            for row in self._checked("job", _JOB_COLUMNS, "jobs WHERE id = ?", number):
                self._write_job((*row[:-1], name))

    def _write_job(self, row: Sequence[Any]) -> None:
        self._connection.execute("UPDATE jobs SET job = ?, checksum = ? WHERE id = ?", (row[-1], checksum(row), row[0]))
        self._commit()

    def forget_job(self, number: int) -> None:
        """Remove a job whose submission failed."""
        with self._sqlite_errors():
            self._connection.execute("DELETE FROM jobs WHERE id = ?", (number,))
            self._commit()

    def add(self, run: Run, job: int | None = None) -> Run:
        """Keep a run; when this returns, it is on the disk."""
        try:
            number = self._rows("SELECT ifnull(max(id), 0) + 1 FROM runs")[0][0]
            output = (run.stdout, run.stderr, b"")
            text = msgspec.json.encode(run.environment).decode()
            if text not in self._environments:
                ids = self._rows("SELECT id FROM environments WHERE content = ?", (text,))
                if not ids:
                    ids = self._rows("SELECT ifnull(max(id), 0) + 1 FROM environments")
                    row = (ids[0][0], text)
                    self._connection.execute("INSERT INTO environments VALUES (?, ?, ?)", (*row, checksum(row)))
                self._environments[text] = ids[0][0]
            values = (
                *(number, msgspec.json.encode(run.point).decode(), run.replication, run.problem, run.started),
                *(msgspec.json.encode(run.command).decode(), run.wall_ns, float(run.user_s), float(run.system_s)),
                *(run.peak_memory_kib, run.exit_status, run.signal),
                *(None if run.busy_before is None else float(run.busy_before), int(run.noisy)),
                *(msgspec.json.encode(run.values).decode(), self._environments[text]),
                checksum(output),
            )
            names = (*RUN_COLUMNS, "checksum", *OUTPUT)
            places = ", ".join("?" * len(names))
            self._connection.execute(
                f"INSERT INTO runs ({', '.join(names)}) VALUES ({places})",  # noqa: S608 (names are constants)
                (*values, checksum(values), *output),
            )
            if job is not None:
                self._connection.execute("DELETE FROM jobs WHERE id = ?", (job,))
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise InputError(
                self.path,
                f"{problem(error)}; the run {point_text(run.point)} could not be kept, the runs before it are safe; "
                "the same `perf experiment run` goes on from there",
            ) from error
        with self._sqlite_errors():
            self._begin()
        return replace(run, number=number)

    def runs(self, number: int | None = None) -> list[Run]:
        """Return all runs in the order in which they were made, without output; or one run with everything."""
        with self._sqlite_errors():
            if number is None:
                rows, output = self._checked("run", RUN_COLUMNS, "runs ORDER BY id"), []
            else:
                rows = self._checked("run", RUN_COLUMNS, "runs WHERE id = ?", number)
                output = self._rows("SELECT stdout, stderr, results FROM runs WHERE id = ?", (number,))
            # Read last: of a run that is added meanwhile the environment is there.
            environments = dict(self._checked("environment", ("id", "content"), "environments"))
        records = []
        for row in rows:
            named = dict(zip(RUN_COLUMNS, row, strict=True))
            printed = dict(zip(PRINTED, output[0], strict=False)) if output else {}
            if printed and checksum(output[0]) != named["output_checksum"]:
                raise InputError(self.path, damage(f"the output of run {number} does not match its checksum"))
            try:
                environment = msgspec.json.decode(environments[named.pop("environment")], type=dict[str, Any])
                del named["output_checksum"]
                if texts := [name for name in _NUMBERS if not isinstance(named[name], int | float)]:
                    raise TypeError(f"{', '.join(texts)} of a run is no number")
                records.append(
                    Run(
                        point=msgspec.json.decode(named.pop("point"), type=dict[str, int | float | str]),
                        command=msgspec.json.decode(named.pop("command"), type=tuple[str, ...]),
                        values=msgspec.json.decode(named.pop("reported"), type=dict[str, float]),
                        environment=environment,
                        noisy=bool(named.pop("noisy")),
                        number=named.pop("id"),
                        **named,
                        **printed,
                    )
                )
            except (msgspec.MsgspecError, KeyError, TypeError) as error:
                raise InputError(self.path, damage(str(error))) from error
        return records

    def check(self) -> int:
        """Read all that the store holds, as it was written."""
        with self._sqlite_errors():
            status = self._pragma("integrity_check")
            if status != "ok":
                raise InputError(self.path, damage(str(status)))
            self._checked("fact", ("name", "value"), "facts")
            numbers = [number for (number,) in self._rows("SELECT id FROM runs ORDER BY id")]
        for expected, number in enumerate(numbers, 1):  # none is ever taken away
            if number != expected:
                raise InputError(self.path, damage(f"run {expected} is no longer there"))
        self.jobs()
        with progress.bar(f"checking {self.path}", len(numbers)) as advance:
            for number in numbers:
                self.runs(number)
                advance(1)
        return len(numbers)


class ExperimentStoreReader(Reader):
    """Reads the runs that `perf experiment run` kept.

    Columns are the factors, what the runs reported, and ``wall_s``, ``user_s``, ``sys_s``, ``peak_memory_mib``. The
    factors that are numbers and were varied are the parameters, those that are words name the code. Versions of a round
    are in the order of the design. The value is the first that ``--value`` named, or else ``wall_s``.
    """

    Options = ExperimentStoreOptions

    def sniff(self, source: Source) -> float:
        """Sure by the number that SQLite files carry of the program that made them."""
        return 1.0 if is_store(source.head) else 0.0

    def read(self, source: Source, options: ExperimentStoreOptions) -> Measurements:
        with source.plain_file() as path:
            try:
                with Store.read(path) as store:
                    runs, order = store.runs(), store.versions
            except InputError as error:  # the path may be that of a copy
                raise InputError(source.name, error.problem) from error
        kept = [run for run in runs if run.succeeded and (options.noisy or not run.noisy)]
        if not kept:
            failed = sum(not run.succeeded for run in runs)
            raise InputError(source.name, f"holds no run that counts ({len(runs)} runs, {failed} failed)")
        if order:  # those of a round were made in random order
            kept.sort(key=lambda run: (run.replication, order.index(str(run.point[VERSION]))))
        return _as_measurements(kept, source.name)


def _as_measurements(runs: Sequence[Run], source: str) -> Measurements:
    factors = list(dict.fromkeys(name for run in runs for name in run.point))
    values = list(dict.fromkeys(name for run in runs for name in run.values))
    own = pd.DataFrame({
        "wall_s": [run.wall_ns / 1e9 for run in runs],
        "user_s": [run.user_s for run in runs],
        "sys_s": [run.system_s for run in runs],
        "peak_memory_mib": [run.peak_memory_kib / 1024 for run in runs],
        "run": [run.number for run in runs],
        "repetition": [run.replication for run in runs],
        "noisy": [int(run.noisy) for run in runs],
        "host": [str(run.environment.get("host")) for run in runs],
        "started": [run.started for run in runs],
    })  # fmt: skip
    table = pd.concat([pd.DataFrame([{**run.point, **run.values} for run in runs])[[*factors, *values]], own], axis=1)
    levels = {name: {run.point.get(name) for run in runs} for name in factors}
    numbers = [name for name in factors if all(level is None or is_number(level) for level in levels[name])]
    varied = [name for name in numbers if len(levels[name]) > 1]
    words = [name for name in factors if name not in numbers]
    value, system = next(iter(values), "wall_s"), "host" if table["host"].nunique() > 1 else ()
    return Measurements(table, varied or numbers, value, code=words or None, system=system, source=source)
