"""Calls, messages and collectives of a Paraver trace, in a separate pass over the file.

A call is a pair of events of a type 50000001 to 50000005: a value other than 0 enters, 0 leaves. A record of type 3
is a message, from the call entered last at its logical send to that at its logical receive, completed by the first
call left at its physical receive or after. Collectives (50000002, 50000003) have further events with their
communicator (50100004), root (50100003) and bytes (50100001, 50100002).

Source: Paraver's trace description, and the event types of Extrae (BSC).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from perf_io.text import whole_lines
from perf_statistics.kernels import kernel
from perf_traces.messages.communication import (
    OUTSIDE_CALLS,
    UNKNOWN,
    Calls,
    Communication,
    Messages,
    called_jointly,
    codes_of,
    collectives_in_order,
)
from perf_traces.messages.kernels import last_not_after
from perfcore.base.arrays import Booleans, Codes, Ints
from perfcore.reading.source import Source

FIELDS = 8  # of a state record
MOST_DIGITS = 18  # always fit 64 bits
# Positions in the cursor: rows of the columns, lines passed, states met, and whether states came out of order.
ROW, LINE, MET, DISORDER = range(4)
# Numba keeps machine code of the compiled loop until this very file changes.

# Positions in the cursor: rows of the two tables, and lines that could not be taken.
EVENTS, MESSAGES, DAMAGED = range(3)
MOST_FIELDS = 1 << 16  # of one line; a record of events has two for each counter
_COLON, _RETURN, _NEWLINE, _MINUS, _ZERO = b":\r\n-0"
_EVENT_HEAD, _MESSAGE_FIELDS, _STATE_FIELDS = 6, 15, 8
_MESSAGE_TIMES = (5, 6, 11, 12)
_LARGEST_BYTES = 1 << 40  # of one message: no rank has so much memory, and millions of them have a sum
_SHORTEST_EVENT, _SHORTEST_MESSAGE = 10, 30  # bytes of a type with its value, and of a message
_CALLS = range(50_000_001, 50_000_006)
_COLLECTIVE, _OTHER = 50_000_002, 50_000_003
_ARGUMENTS = range(50_100_001, 50_100_005)  # of collectives
_SENT, _RECEIVED, _ROOT, _COMMUNICATOR = _ARGUMENTS
_WORLD = 1
_IS_COMMUNICATOR = re.compile(rb"c:(\d+):(\d+):(\d+)((?::\d+)*)\s*$", re.MULTILINE)
_NONBLOCKING_SEND = re.compile(r"mpi_i.?send|mpi_.*send_init|mpi_start(all)?", re.IGNORECASE)
# As Extrae numbers the calls, for traces without a .pcf.
_NAMES = {
    1: "Send", 2: "Recv", 3: "Isend", 4: "Irecv", 5: "Wait", 6: "Waitall", 7: "Bcast", 8: "Barrier", 9: "Reduce",
    10: "Allreduce", 11: "Alltoall", 12: "Alltoallv", 13: "Gather", 14: "Gatherv", 15: "Scatter", 16: "Scatterv",
    17: "Allgather", 18: "Allgatherv", 19: "Comm_rank", 20: "Comm_size", 21: "Comm_create", 22: "Comm_dup",
    23: "Comm_split", 25: "Comm_free", 30: "Scan", 31: "Init", 32: "Finalize", 33: "Bsend", 34: "Ssend", 35: "Rsend",
    36: "Ibsend", 37: "Issend", 38: "Irsend", 39: "Test", 40: "Cancel", 41: "Sendrecv", 42: "Sendrecv_replace",
    43: "Cart_create", 59: "Waitany", 60: "Waitsome", 61: "Probe", 62: "Iprobe", 80: "Reduce_scatter",
}  # fmt: skip


def scan(
    text: npt.NDArray[np.uint8],
    start: int,
    end: int,
    task_of_application: Ints,
    thread_of_task: Ints,
    nanoseconds: int,
    state_codes: Codes,
    last_end: Ints,
    counts: Ints,
    cursor: Ints,
    location: Codes,
    state: Codes,
    start_ns: Ints,
    end_ns: Ints,
) -> int:  # pragma: no cover
    """Take records until one is unusual, the columns are full, or the lines end."""
    fields = np.empty(FIELDS, np.int64)
    largest = np.iinfo(np.int64).max // nanoseconds
    while start < end and cursor[ROW] < len(start_ns):
        kind = text[start]
        if kind != _ZERO + 1:
            if counts[kind] < 0:
                return start
            counts[kind] += 1
            while text[start] != _NEWLINE:
                start += 1
            start += 1
            cursor[LINE] += 1
            continue
        position = start
        for field in range(FIELDS):
            value, first = np.int64(0), position
            while _ZERO <= text[position] <= _ZERO + 9:
                value = value * 10 + (np.int64(text[position]) - _ZERO)
                position += 1
            if position == first or position - first > MOST_DIGITS or (text[position] != _COLON and field < FIELDS - 1):
                return start
            fields[field] = value
            position += 1
        position -= 1
        if text[position] == _RETURN:
            position += 1
        application, task, thread = fields[2], fields[3], fields[4]
        begin, until, number = fields[5], fields[6], fields[7]
        if text[position] != _NEWLINE or fields[0] != 1 or number >= len(state_codes):
            return start
        if not (begin <= until <= largest and 1 <= application < len(task_of_application)):
            return start
        task += task_of_application[application - 1]
        if not task_of_application[application - 1] < task <= task_of_application[application]:
            return start
        thread += thread_of_task[task - 1]
        if not thread_of_task[task - 1] < thread <= thread_of_task[task]:
            return start
        if state_codes[number] < 0:
            state_codes[number] = cursor[MET]
            cursor[MET] += 1
        place, row = thread - 1, cursor[ROW]
        location[row], state[row] = place, state_codes[number]
        start_ns[row], end_ns[row] = begin * nanoseconds, until * nanoseconds
        if until > begin:
            if start_ns[row] < last_end[place]:
                cursor[DISORDER] = 1
            last_end[place] = end_ns[row]
        cursor[ROW] += 1
        cursor[LINE] += 1
        start = position + 1
    return start


@kernel(small=1 << 18)
def scan_messages(
    text: npt.NDArray[np.uint8],
    start: int,
    end: int,
    task_of_application: Ints,
    thread_of_task: Ints,
    nanoseconds: int,
    types: Ints,
    last_end: Ints,
    cursor: Ints,
    events: Ints,
    messages: Ints,
) -> int:  # pragma: no cover
    """Take records until a table is full or the lines end."""
    fields = np.empty(MOST_FIELDS, np.int64)
    too_large = np.int64(np.iinfo(np.int64).max)
    largest = (too_large - 1) // nanoseconds
    while start < end:
        position, kind, n_fields = start, text[start], 0
        if kind == _ZERO + 1 or kind == _ZERO + 2 or kind == _ZERO + 3:
            good = True
            while True:
                negative = text[position] == _MINUS
                if negative:
                    position += 1
                first, value = position, np.int64(0)
                while _ZERO <= text[position] <= _ZERO + 9:
                    value = value * 10 + (np.int64(text[position]) - _ZERO)
                    position += 1
                if position == first or n_fields == MOST_FIELDS:
                    good = False
                    break
                if position - first > MOST_DIGITS:  # counters may be; of what is taken below that is damage
                    value = np.int64(too_large)
                fields[n_fields] = -value if negative else value
                n_fields += 1
                if text[position] != _COLON:
                    break
                position += 1
            if text[position] == _RETURN:
                position += 1
            good = good and text[position] == _NEWLINE
            if kind == _ZERO + 1:
                good = good and n_fields == _STATE_FIELDS and 0 <= fields[5] <= fields[6] <= largest
            elif kind == _ZERO + 2:
                good = good and n_fields >= _EVENT_HEAD and n_fields % 2 == 0 and 0 <= fields[5] <= largest
            else:
                good = good and n_fields == _MESSAGE_FIELDS
                for k in _MESSAGE_TIMES:
                    good = good and 0 <= fields[k] <= largest
                good = good and 0 <= fields[13] <= _LARGEST_BYTES and abs(fields[14]) < too_large
            if not good:
                cursor[DAMAGED] += 1
            else:
                place = np.int64(-1)
                partner = np.int64(-1)
                for side in range(2):
                    head = 2 if side == 0 else 8
                    if side == 1 and kind != _ZERO + 3:
                        break
                    application, task, thread = fields[head], fields[head + 1], fields[head + 2]
                    location = np.int64(-1)
                    if 1 <= application < len(task_of_application):
                        task += task_of_application[application - 1]
                        if task_of_application[application - 1] < task <= task_of_application[application]:
                            thread += thread_of_task[task - 1]
                            if thread_of_task[task - 1] < thread <= thread_of_task[task]:
                                location = thread - 1
                    if side == 0:
                        place = location
                    else:
                        partner = location
                if kind == _ZERO + 1:
                    if place >= 0:
                        last_end[place] = max(last_end[place], fields[6] * nanoseconds)
                elif kind == _ZERO + 2:
                    if cursor[EVENTS] + n_fields // 2 > len(events):
                        return start
                    for k in range(_EVENT_HEAD, n_fields, 2):
                        number = fields[k]
                        kth = np.searchsorted(types, number)
                        if kth < len(types) and types[kth] == number:
                            if abs(fields[k + 1]) == too_large:
                                cursor[DAMAGED] += 1
                                continue
                            row = cursor[EVENTS]
                            events[row, 0], events[row, 1] = place, fields[5] * nanoseconds
                            events[row, 2], events[row, 3] = number, fields[k + 1]
                            cursor[EVENTS] += 1
                else:
                    row = cursor[MESSAGES]
                    if row == len(messages):
                        return start
                    messages[row, 0], messages[row, 3] = place, partner
                    messages[row, 1], messages[row, 2] = fields[5] * nanoseconds, fields[6] * nanoseconds
                    messages[row, 4], messages[row, 5] = fields[11] * nanoseconds, fields[12] * nanoseconds
                    messages[row, 6], messages[row, 7] = fields[13], fields[14]
                    cursor[MESSAGES] += 1
        while text[position] != _NEWLINE:
            position += 1
        start = position + 1
    return start


def read_communication(
    source: Source, locations: Sequence[str], threads: Sequence[Sequence[int]], nanoseconds: int,
    names: Mapping[int, str],
) -> Communication:  # fmt: skip
    """Read what a trace says of communication."""
    sizes: dict[tuple[int, int], int] = {}
    application = np.repeat(np.arange(1, len(threads) + 1), [sum(each) for each in threads])
    types = (*_CALLS, *_ARGUMENTS)
    events, messages, ends, damaged = read_records(source, len(locations), threads, nanoseconds, types, sizes)
    unmatched = {"records could not be read": damaged}
    calls = _calls(events, names, unmatched)
    first = np.searchsorted(calls.location, np.arange(len(locations) + 1)).astype(np.int64)
    sent = _messages(messages, calls, first, unmatched)
    together = _collective_calls(calls, events, application, sizes)
    joined, lost = collectives_in_order(calls, *together)
    unmatched["calls of collectives do not fit to those of other ranks"] = lost
    return Communication(tuple(locations), 0, ends, calls, sent, joined, unmatched, source.name)


def read_records(
    source: Source, n_locations: int, threads: Sequence[Sequence[int]], nanoseconds: int, types: Sequence[int],
    sizes: dict[tuple[int, int], int] | None = None,
) -> tuple[Ints, Ints, Ints, int]:  # fmt: skip
    """Read events of some types, messages, and into ``sizes`` the members of each communicator of an application."""
    tasks = np.array([0, *itertools.accumulate(map(len, threads))])
    offsets = np.array([0, *itertools.accumulate(count for each in threads for count in each)])
    event_types = np.array(sorted(types), np.int64)
    ends = np.zeros(n_locations, np.int64)
    cursor = np.zeros(3, np.int64)
    collected: tuple[list[Ints], list[Ints]] = ([np.zeros((0, 4), np.int64)], [np.zeros((0, 8), np.int64)])
    for text_and_rest, end in whole_lines(source, f"reading events of {source.name}"):
        text = text_and_rest[:end]
        if sizes is not None and (b"\nc:" in text or text.startswith(b"c:")):
            found = _IS_COMMUNICATOR.finditer(text)
            sizes |= {(int(match[1]), int(match[2])): int(match[3]) for match in found}
        block = np.frombuffer(text, np.uint8)
        start = 0
        while start < len(text):
            tables = (
                np.empty((len(text) // _SHORTEST_EVENT + 2, 4), np.int64),
                np.empty((len(text) // _SHORTEST_MESSAGE + 2, 8), np.int64),
            )
            cursor[[EVENTS, MESSAGES]] = 0
            start = scan_messages(
                block, start, len(text), tasks, offsets, nanoseconds, event_types, ends, cursor, *tables
            )
            for rows, table, counter in zip(collected, tables, (EVENTS, MESSAGES), strict=True):
                rows.append(table[: cursor[counter]].copy())
    return np.concatenate(collected[0]), np.concatenate(collected[1]), ends, int(cursor[DAMAGED])


def _calls(events: Ints, names: Mapping[int, str], unmatched: dict[str, int]) -> Calls:
    marks = events[(events[:, 2] >= _CALLS.start) & (events[:, 2] < _CALLS.stop) & (events[:, 0] >= 0)]
    marks = marks[np.lexsort((np.arange(len(marks)), marks[:, 1], marks[:, 0]))]
    enters = marks[:, 3] != 0
    pair = np.zeros(len(marks), bool)
    pair[:-1] = enters[:-1] & ~enters[1:] & (marks[:-1, [0, 2]] == marks[1:, [0, 2]]).all(axis=1)
    begins = np.flatnonzero(pair)
    unmatched["events enter or leave a call without the other"] = len(marks) - 2 * len(begins)
    key = marks[begins, 3] * len(_CALLS) + marks[begins, 2] - _CALLS.start
    kinds, operation = np.unique(key, return_inverse=True)
    numbers = (kinds // len(_CALLS)).tolist()
    called = [names.get(number) or f"MPI_{_NAMES.get(number, number)}" for number in numbers]
    operations = tuple(dict.fromkeys(called))
    code = np.array([operations.index(name) for name in called], np.int32)
    return Calls(
        marks[begins, 0].astype(np.int32), marks[begins, 1].copy(), marks[begins + 1, 1].copy(),
        code[operation.reshape(-1)] if len(code) else np.zeros(0, np.int32), operations,
    )  # fmt: skip


def _messages(rows: Ints, calls: Calls, first: Ints, unmatched: dict[str, int]) -> Messages:
    location = {0: np.ascontiguousarray(rows[:, 0]), 3: np.ascontiguousarray(rows[:, 3])}
    send = last_not_after(first, calls.enter_ns, location[0], np.ascontiguousarray(rows[:, 1]))
    post = last_not_after(first, calls.enter_ns, location[3], np.ascontiguousarray(rows[:, 4]))
    # The first call left at a moment or after is the one behind the last that was left before it.
    before = last_not_after(first, calls.leave_ns, location[3], rows[:, 5] - 1)
    exists = (location[0] >= 0) & (location[3] >= 0)
    receive = np.where(before >= 0, before + 1, first[np.clip(location[3], 0, len(first) - 2)])
    in_calls = exists & (receive < first[np.clip(location[3], 0, len(first) - 2) + 1]) & (send >= 0) & (post >= 0)
    if len(calls):
        call = np.clip(receive, 0, len(calls) - 1)
        in_calls &= (calls.enter_ns[call] <= rows[:, 5]) & (calls.leave_ns[send] >= rows[:, 1])
        in_calls &= calls.leave_ns[post] >= rows[:, 4]
    unmatched["messages name a rank that does not exist"] = int((~exists).sum())
    unmatched[OUTSIDE_CALLS] = int((exists & ~in_calls).sum())
    send, post, receive, rows = send[in_calls], post[in_calls], receive[in_calls], rows[in_calls]
    blocks = np.array([_NONBLOCKING_SEND.fullmatch(name) is None for name in calls.operations], bool)
    completion = np.where(blocks[calls.operation[send]], send, -1) if len(send) else send
    none = np.zeros(len(send), np.int64)  # records do not say the communicator
    return Messages(send, completion, post, receive, rows[:, 6], rows[:, 7], none)


def _collective_calls(
    calls: Calls, events: Ints, application: Ints, sizes: Mapping[tuple[int, int], int]
) -> tuple[Ints, Ints, Ints, Booleans, Ints, Ints]:
    """Return calls that are collective, with what `collectives_in_order` asks of them."""
    moments = events[events[:, 0] >= 0]
    longest = int(max(moments[:, 1].max(initial=0), calls.enter_ns.max(initial=0))) + 1
    of_call = calls.location.astype(np.int64) * longest + calls.enter_ns

    def attached(kind: int) -> Ints:
        """Return the value of an event at the moment at which each call is entered, -1 if there is none."""
        rows = moments[moments[:, 2] == kind]
        key = rows[:, 0] * longest + rows[:, 1]
        order = np.argsort(key, kind="stable")
        position = np.searchsorted(key[order], of_call)
        value = np.full(len(calls), -1, np.int64)
        present = position < len(order)
        present[present] = key[order[position[present]]] == of_call[present]
        value[present] = rows[order[position[present]], 3]
        return value

    communicator = attached(_COMMUNICATOR)
    entered = moments[(moments[:, 2] == _COLLECTIVE) & (moments[:, 3] != 0)]
    is_collective = np.isin(of_call, entered[:, 0] * longest + entered[:, 1])
    jointly = called_jointly(calls, application)
    chosen = np.flatnonzero(is_collective | jointly).astype(np.int64)
    # The others do not say their communicator: those that everyone makes equally often belong together.
    communicators, of_application = communicator[chosen], application[calls.location[chosen]]
    alone = (communicators < 0) & jointly[chosen]
    numbers = np.where(communicators >= 0, communicators, _WORLD)
    # Applications number their communicators alike.
    own = codes_of([of_application, np.where(alone, -1 - calls.operation[chosen].astype(np.int64), numbers)])
    joined = np.where(alone, UNKNOWN, own)
    _, first = np.unique(own, return_index=True)
    keys = zip(of_application[first].tolist(), numbers[first].tolist(), strict=True)
    size = np.array([sizes.get(key, -1) for key in keys], np.int64)[own]
    n_bytes = np.maximum(np.maximum(attached(_SENT), attached(_RECEIVED)), 0)[chosen]
    return chosen, joined, n_bytes, attached(_ROOT)[chosen] > 0, np.where(alone, -1, size), own
