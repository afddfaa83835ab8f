"""The loop over the records of a Paraver trace that is compiled where there are many.

It takes state records of whole numbers of locations that the header declares, and counts the others. What it shares
with `perf_io.traces.paraver` stands here, since numba keeps machine code until this very file changes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perfcore.base.arrays import Ints

FIELDS = 8  # of a state record
MOST_DIGITS = 18  # always fit 64 bits
# Positions in the cursor: rows of the columns, lines passed, states met, and whether states came out of order.
ROW, LINE, MET, DISORDER = range(4)
_STATE, _COLON, _RETURN, _NEWLINE, _ZERO = b"1:\r\n0"


def scan(
    text: npt.NDArray[np.uint8],
    start: int,
    end: int,
    task_of_application: Ints,
    thread_of_task: Ints,
    nanoseconds: int,
    state_codes: npt.NDArray[np.int32],
    last_end: Ints,
    counts: Ints,
    cursor: Ints,
    location: npt.NDArray[np.int32],
    state: npt.NDArray[np.int32],
    start_ns: Ints,
    end_ns: Ints,
) -> int:  # pragma: no cover
    """Take records until one is unusual, the columns are full, or the lines end."""
    fields = np.empty(FIELDS, np.int64)
    largest = np.iinfo(np.int64).max // nanoseconds
    while start < end and cursor[ROW] < len(start_ns):
        kind = text[start]
        if kind != _STATE:
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
