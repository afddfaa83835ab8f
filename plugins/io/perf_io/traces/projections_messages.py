"""Messages of a Charm++ program, taken while the logs of Projections are read.

A message is sent where a processor creates it, and received where another one, or the same, first begins an entry
method by it. Both records have the processor and the number of the creation. The runtime system forwards a message to
other entry methods as it is, so that these may differ as long as the bytes do not; a thread that goes on, and further
elements of an array on the same processor, begin by a message that is there already. A begin without a message names
number 0.

Source: the tracer of Charm++ (``trace-projections.C``), records CREATION, CREATION_BCAST, CREATION_MULTICAST and
BEGIN_PROCESSING.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perf_traces.messages.communication import NO_COLLECTIVES, Calls, Communication, Messages
from perfcore.base.errors import listing


_WITHOUT_MESSAGE = 0  # the number that a begin names which no message causes; it is also that of the first creation
_NOT_REPLAYED = (
    "a Charm++ scheduler takes messages in the order in which they come, and another network or other computation "
    "gives another order"
)
_MOST_NAMED = 4

Integers = npt.NDArray[np.int64]


class ProjectionsMessages:
    """Takes creations and begins of all processors, in 48 bytes each."""

    def __init__(self, n_processors: int) -> None:
        self._n_processors = n_processors
        self._created, self._begun = array("q"), array("q")
        self._damaged = 0
        self._strangers: dict[int, int] = {}
        self._ends: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._begun) // 6

    def end(self, processor: int, time: int) -> None:
        """A processor was still in its states."""
        self._ends[processor] = max(time, self._ends.get(processor, time))

    def create(self, processor: int, entry: int, time: int, words: Sequence[str]) -> None:
        """A message is created; ``words`` are event, processor, bytes and so on."""
        numbers = _numbers(words, 3)
        if numbers is None:
            self._damaged += 1
            return
        event, _, size = numbers
        self._created.extend((processor, event, entry, time, size, 0))

    def multicast(self, words: Sequence[str]) -> None:
        """Those to whom one that was created goes; ``words`` are how many, and their numbers."""
        for word in words[1:]:
            if word.isdecimal() and int(word[:9]) >= self._n_processors:
                self._strange(int(word[:9]))

    def begin(self, processor: int, entry: int, time: int, words: Sequence[str]) -> None:
        """An entry method begins; ``words`` are event, processor that created the message, and bytes."""
        numbers = _numbers(words, 3)
        if numbers is None:
            self._damaged += 1
            return
        event, source, size = numbers
        if 0 <= source < self._n_processors:
            self._begun.extend((source, event, entry, time, size, processor))
        elif source >= 0 and event != _WITHOUT_MESSAGE:
            self._strange(source)

    def _strange(self, processor: int) -> None:
        self._strangers[processor] = self._strangers.get(processor, 0) + 1

    def communication(
        self,
        processors: Sequence[int],
        locations: Sequence[str],
        entries: Sequence[str],
        span_ns: tuple[int, int],
        source: str,
    ) -> Communication:
        """All messages."""
        place = np.full(self._n_processors, -1, np.int64)
        place[list(processors)] = np.arange(len(processors))
        created = np.array(self._created, np.int64).reshape(-1, 6)
        begun = np.array(self._begun, np.int64).reshape(-1, 6)
        created, n_again = _first_of_each(created, created[:, :2])
        sent, received = _joined(created, begun)
        begun, _ = _first_of_each(begun[received], np.column_stack([begun[received, :2], begun[received, 5]]), sent)
        sent, begun = begun[:, -1], begun[:, :-1]
        n_created, n_entries = len(created), len(entries)
        # A call is a moment: of each message that is created, then of each that begins an entry method.
        location = place[np.concatenate([created[:, 0], begun[:, 5]])]
        time = np.concatenate([created[:, 3], begun[:, 3]])
        operation = np.concatenate([created[:, 2], begun[:, 2] + n_entries])
        order = np.lexsort((time, location))
        new = np.empty(len(order), np.int64)
        new[order] = np.arange(len(order))
        used, codes = np.unique(operation[order], return_inverse=True)
        names = tuple(
            f"{'begin' if code >= n_entries else 'send'} {entries[code % n_entries]}" for code in used.tolist()
        )
        calls = Calls(
            location[order].astype(np.int32), time[order], time[order], codes.reshape(-1).astype(np.int32), names
        )
        first, last = new[sent], new[n_created + np.arange(len(begun))]
        created = created[sent]
        messages = Messages(
            first, first, last, last, created[:, 4], created[:, 2], np.zeros(len(sent), np.int64), created[:, 3],
            created[:, 3], begun[:, 3], begun[:, 3],
        )  # fmt: skip
        ends = np.array([min(self._ends[processor], span_ns[1]) for processor in processors], np.int64)
        n_lost = n_created - len(np.unique(sent))
        unmatched = {
            "messages were sent and not received in the logs": n_lost,
            "records of messages have no numbers, and are left out": self._damaged,
            "messages have the number of one before, and are left out": n_again,
            f"events of messages name processors that do not exist{self._named()}": sum(self._strangers.values()),
        }
        return Communication(
            tuple(locations), span_ns[0], ends, calls, messages, NO_COLLECTIVES, unmatched, source, _NOT_REPLAYED
        )

    def _named(self) -> str:
        return f" ({listing([f'PE {number}' for number in sorted(self._strangers)], _MOST_NAMED)})"


def _numbers(words: Sequence[str], count: int) -> tuple[int, ...] | None:
    """The first words as whole numbers; None where they are none, or beyond 62 bits."""
    try:
        numbers = tuple(int(word) for word in words[:count] if len(word) < 19)
    except ValueError:
        return None
    return numbers if len(numbers) == count and numbers[-1] >= 0 else None


def _first_of_each(rows: Integers, keys: Integers, *more: Integers) -> tuple[Integers, int]:
    """The rows whose key no row before has, with more columns; and how many others there are."""
    rows = np.column_stack([rows, *more]) if more else rows
    if not len(rows):
        return rows, 0
    order = np.lexsort((rows[:, 3], *keys.T[::-1]))
    ordered = keys[order]
    first = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    return rows[np.sort(order[first])], int((~first).sum())


def _joined(created: Integers, begun: Integers) -> tuple[Integers, Integers]:
    """Rows of creations and of begins that are of one message."""
    if not len(created) or not len(begun):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    both = np.concatenate([created[:, :2], begun[:, :2]])
    _, code = np.unique(both, axis=0, return_inverse=True)
    code = code.reshape(-1)
    row_of_code = np.full(int(code.max()) + 1, -1, np.int64)
    row_of_code[code[: len(created)]] = np.arange(len(created))
    sent = row_of_code[code[len(created) :]]
    has_creation = sent >= 0
    same_entry = created[sent, 2] == begun[:, 2]
    same_bytes = (created[sent, 4] == begun[:, 4]) & (begun[:, 1] != _WITHOUT_MESSAGE)
    received = np.flatnonzero(has_creation & (same_entry | same_bytes))
    return sent[received], received
