"""The compiled loop over the records of a Paraver trace that are no states.

It takes messages (records of type 3), events of the types that are asked for, and of states when the last one ends. It
stands in a file of its own since numba keeps machine code until this very file changes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perf_io.traces.paraver_scan import MOST_DIGITS


# Positions in the cursor: rows of the two tables, and lines that could not be taken.
EVENTS, MESSAGES, DAMAGED = range(3)
MOST_FIELDS = 1 << 16  # of one line; a record of events has two for each counter
_COLON, _RETURN, _NEWLINE, _MINUS, _ZERO = b":\r\n-0"
_EVENT_HEAD, _MESSAGE_FIELDS, _STATE_FIELDS = 6, 15, 8
_MESSAGE_TIMES = (5, 6, 11, 12)
_LARGEST_BYTES = 1 << 40  # of one message: no rank has so much memory, and millions of them have a sum

Integers = npt.NDArray[np.int64]


def scan_messages(
    text: npt.NDArray[np.uint8],
    start: int,
    end: int,
    task_of_application: Integers,
    thread_of_task: Integers,
    nanoseconds: int,
    types: Integers,
    last_end: Integers,
    cursor: Integers,
    events: Integers,
    messages: Integers,
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
