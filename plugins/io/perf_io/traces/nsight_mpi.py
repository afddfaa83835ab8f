"""Calls of MPI in an export of Nsight Systems: who sends to whom, and which collectives there are.

Read are ``MPI_P2P_EVENTS``, ``MPI_COLLECTIVES_EVENTS``, ``MPI_START_WAIT_EVENTS`` and ``MPI_OTHER_EVENTS``; the rank of
a process is in ``MPI_RANKS``. A non-blocking send or receive ends in the first wait for its request. The only
communicator that a process uses is taken for that of all ranks, and of several the one that MPICH and its kin call
``MPI_COMM_WORLD``: handles of others differ between processes, and their ranks are not recorded.

Source: "Nsight Systems, Analysis guide", section "SQLite schema reference".
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Mapping

import numpy as np

from perf_traces.messages.matching import COLLECTIVE, COLUMNS, ITSELF, NOWHERE, RECEIVE, SEND, UNTOLD, RankCalls
from perfcore.base.arrays import Ints

_MESSAGES, _COLLECTIVES, _WAITS, _OTHERS = (
    "MPI_P2P_EVENTS", "MPI_COLLECTIVES_EVENTS", "MPI_START_WAIT_EVENTS", "MPI_OTHER_EVENTS"
)  # fmt: skip
MPI_TABLES = (_MESSAGES, _COLLECTIVES, _WAITS, _OTHERS)
_RANKS = "MPI_RANKS"
_FIELDS = (
    "globalTid", "start", "end", "textId", "commHandle", "tag", "remoteRank", "size", "recvSize", "requestHandle"
)  # fmt: skip
_WAIT, _SEVERAL = 10, 11  # kinds of calls, in addition to those of `RankCalls`
_UNKNOWN = -(1 << 62)
_WORLD = 0x44000000  # MPI_COMM_WORLD of MPICH, Intel MPI, MVAPICH and Cray MPI
_GROUP = "MPI_COMM_WORLD"
_NOT_REPLAYED = "the export does not say which ranks a communicator holds, nor from whom a wildcard received"
_PROCESS_SHIFT, _ID_MASK = 24, 0xFFFFFF
_SENDS = re.compile(r"P?MPI_I?[bsr]?send", re.IGNORECASE)
_RECEIVES = re.compile(r"P?MPI_I?m?recv", re.IGNORECASE)
_NON_BLOCKING = re.compile(r"P?MPI_I.*", re.IGNORECASE)
_OF_FILES = re.compile(r".*File.*", re.IGNORECASE)
_OF_TWO = re.compile(r".*(Sendrecv.*|_init)", re.IGNORECASE)
_STARTS = re.compile(r"P?MPI_Start.*", re.IGNORECASE)
_MOST_BYTES = 1 << 60

Columns = dict[str, Ints]


def ranks_of_processes(connection: sqlite3.Connection, tables: set[str]) -> dict[int, int]:
    """The rank of each process, as far as the export says it."""
    if _RANKS not in tables:
        return {}
    rows = connection.execute(
        f"SELECT DISTINCT globalTid >> {_PROCESS_SHIFT} & {_ID_MASK}, rank FROM {_RANKS} "
        "WHERE typeof(globalTid) = 'integer' AND typeof(rank) = 'integer' AND rank BETWEEN 0 AND 16777216"
    )
    return {int(process): int(rank) for process, rank in rows}


def mpi_calls(
    connection: sqlite3.Connection, columns_of: Mapping[str, set[str]], place: Callable[[int, int], int]
) -> dict[int, RankCalls]:
    """Calls of each process, by its number."""
    of = {table: _rows(connection, table, columns_of[table]) for table in MPI_TABLES if table in columns_of}
    if not of:
        return {}
    rows = {name: np.concatenate([part[name] for part in of.values()]) for name in _FIELDS}
    codes, operation = np.unique(rows["textId"], return_inverse=True)
    names = tuple(_name(connection, code) for code in codes.tolist())
    table_index = np.repeat([MPI_TABLES.index(table) for table in of], [len(part["start"]) for part in of.values()])
    kinds = np.array([[_kind(table, name) for name in names] for table in MPI_TABLES], np.int64)
    rows |= {"operation": operation.reshape(-1), "kind": kinds[table_index, operation.reshape(-1)]}
    process = rows["globalTid"] >> _PROCESS_SHIFT & _ID_MASK
    threads, inverse = np.unique(rows["globalTid"], return_inverse=True)
    places = [place(thread >> _PROCESS_SHIFT & _ID_MASK, thread & _ID_MASK) for thread in threads.tolist()]
    rows["location"] = np.array(places, np.int64)[inverse.reshape(-1)]
    calls = {
        number: _of_process({name: column[process == number] for name, column in rows.items()}, names)
        for number in np.unique(process).tolist()
    }
    return {number: rank_calls for number, rank_calls in calls.items() if len(rank_calls.columns)}


def _rows(connection: sqlite3.Connection, table: str, columns: set[str]) -> Columns:
    """Columns of a table; of those that it does not have, and of what is no whole number, `_UNKNOWN`."""
    expressions = ", ".join(
        f"CASE WHEN typeof({name}) = 'integer' THEN {name} ELSE {_UNKNOWN} END" if name in columns else str(_UNKNOWN)
        for name in _FIELDS
    )
    cursor = connection.execute(f"SELECT {expressions} FROM {table} WHERE end IS NOT NULL ORDER BY start")
    pieces = [np.zeros((0, len(_FIELDS)), np.int64)]
    while batch := cursor.fetchmany(1 << 16):
        pieces.append(np.array(batch, np.int64))
    return dict(zip(_FIELDS, np.concatenate(pieces).T, strict=True))


def _name(connection: sqlite3.Connection, code: int) -> str:
    row = connection.execute("SELECT value FROM StringIds WHERE id = ?", (code,)).fetchone()
    return "(unnamed)" if row is None else str(row[0])


def _kind(table: str, name: str) -> int:
    """What a call of a name in a table does."""
    if table == _MESSAGES and _SENDS.fullmatch(name):
        return SEND
    if table == _MESSAGES and _RECEIVES.fullmatch(name):
        return RECEIVE
    if table == _MESSAGES and _OF_TWO.fullmatch(name):
        return _SEVERAL
    if table == _COLLECTIVES and not (_NON_BLOCKING.fullmatch(name) or _OF_FILES.fullmatch(name)):
        return COLLECTIVE
    return _WAIT if table == _WAITS and not _STARTS.fullmatch(name) else UNTOLD


def _of_process(rows: Columns, names: tuple[str, ...]) -> RankCalls:
    kind, peer, communicator = rows["kind"], rows["remoteRank"], rows["commHandle"]
    blocking = np.array([_NON_BLOCKING.fullmatch(name) is None for name in names], bool)
    completion = np.where(blocking[rows["operation"]], ITSELF, _ends(rows))
    of_data = np.isin(kind, (SEND, RECEIVE, COLLECTIVE)) & (communicator != _UNKNOWN)
    handles = np.unique(communicator[of_data])
    is_world = communicator == (handles[0] if len(handles) == 1 else _WORLD)
    is_message = (kind == SEND) | (kind == RECEIVE)
    no_partner = is_message & (peer < 0)
    endless = (kind == RECEIVE) & (completion == NOWHERE) & ~no_partner
    elsewhere = is_message & ~is_world & ~no_partner & ~endless
    unmatched = {
        "receives from any rank or from none: who sent is not recorded": int((no_partner & (kind == RECEIVE)).sum()),
        "receives are not waited for": int(endless.sum()),
        "sends or receives are on communicators of which the ranks are not recorded": int(elsewhere.sum()),
        "calls of MPI_Sendrecv or persistent requests do not say who sends to whom": int((kind == _SEVERAL).sum()),
    }
    left = no_partner | endless | elsewhere | (kind >= _WAIT)
    # A call that waits for several requests has a row for each.
    kept = (rows["location"] >= 0) & (_first_rows(rows) == np.arange(len(kind)))
    new = np.where(kept, np.cumsum(kept) - 1, NOWHERE)
    unknown = np.full(len(kind), -1)
    columns = {
        "location": rows["location"],
        "enter_ns": rows["start"],
        "leave_ns": rows["end"],
        "operation": rows["operation"],
        "kind": np.where(left, UNTOLD, kind),
        "group": np.where(is_world, 0, -1),
        "size": unknown,
        "number": unknown,
        "bytes": np.clip(np.maximum(rows["size"], rows["recvSize"]), 0, _MOST_BYTES),
        "peer": peer,
        "tag": rows["tag"],
        "done": np.where(completion < 0, completion, new[np.maximum(completion, 0)]),
    }
    table = np.column_stack([columns[name] for name in COLUMNS])[kept]
    return RankCalls(table, names, (_GROUP,), unmatched, _NOT_REPLAYED)


def _ends(rows: Columns) -> Ints:
    """For each row the first wait for its request from then on, of several rows of that the first; else `NOWHERE`."""
    request, is_wait = rows["requestHandle"], rows["kind"] == _WAIT
    count = len(is_wait)
    order = np.lexsort((is_wait, rows["start"], request))
    place = np.where(is_wait[order], np.arange(count), count)
    following = np.minimum.accumulate(place[::-1])[::-1]
    has_wait = following < count
    wait = np.full(count, NOWHERE, np.int64)
    wait[order[has_wait]] = order[following[has_wait]]
    row = np.maximum(wait, 0)
    same = (wait >= 0) & (request[row] == request) & (request != _UNKNOWN)
    return np.where(same, _first_rows(rows)[row], NOWHERE)


def _first_rows(rows: Columns) -> Ints:
    """For each wait the first row of the same call; others are calls of their own."""
    first = np.arange(len(rows["kind"]))
    waits = np.flatnonzero(rows["kind"] == _WAIT)
    keys = np.column_stack([rows[name][waits] for name in ("globalTid", "start", "end", "textId")])
    if len(waits):
        _, index, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        first[waits] = waits[index[inverse.reshape(-1)]]
    return first
