"""What a call waits for: as the MPI standard demands, as the trace itself shows, or as BSC's tools assume.

The standard says of some calls whom they wait for: a receive for its message, a member of `MPI_Allreduce` for all
others, of `MPI_Bcast` for the root. Of others it does not: a send may return before its receive is posted, and
`MPI_Comm_dup` before others call it. A call that left before an alleged prerequisite arrived refutes the prerequisite.
So the observed rules take an operation to wait for all its members unless the trace refutes that, and sends to wait for
their receive above the largest size that was refuted.

Sources: MPI 4.1, sections 3.4 and 6.1; the rules of BSC are those of Dimemas with which `modelfactors` publishes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from perf_traces.messages.communication import Communication

Waits = Literal["all", "the root", "nobody"]

# Sends of so few bytes do not wait for the receive in any library by its own settings: the smallest limit is that of
# Open MPI within a node (btl sm), MPICH and Intel MPI have 16 KiB and more.
EAGER_AT_LEAST = 4096
_BSC_EAGER = 32768
_FROM_ROOT = ("bcast", "scatter", "scatterv")
_TO_ROOT = ("reduce", "gather", "gatherv")
_OF_ALL = (
    "barrier", "allreduce", "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw", "reduce_scatter",
    "reduce_scatter_block",
)  # fmt: skip
_ELSE_OF_ALL = ("init", "init_thread", "scan", "exscan")  # to BSC's tools; MPI says it of none of them
_SYNCHRONOUS = ("ssend", "issend", "ssend_init")


@dataclass(frozen=True)
class Refutation:
    """What the trace says of one operation."""

    operation: str
    calls: int  # how many there are
    tested: str  # the prerequisite
    refuted: int  # calls that left before it was met
    waits: str  # whom it is taken to wait for


@dataclass(frozen=True)
class Rules:
    """Whom calls wait for."""

    name: str
    eager_bytes: int  # sends of more wait until their receive is posted
    waits: Mapping[str, Waits]  # of each collective operation, by name
    refutations: tuple[Refutation, ...] = ()  # how that was found


def bsc_rules(communication: Communication) -> Rules:
    """Those that give the figures which BSC's tools publish: every collective and MPI_Init wait for all members."""
    waits: dict[str, Waits] = {}
    for name in _operations(communication):
        waits[name] = "all" if _plain(name) in (*_FROM_ROOT, *_TO_ROOT, *_OF_ALL, *_ELSE_OF_ALL) else "nobody"
    return Rules("bsc", _BSC_EAGER, waits)


def observed_rules(communication: Communication) -> Rules:
    """Those that the standard demands, and of the others those that the trace does not refute."""
    waits: dict[str, Waits] = {}
    table = []
    calls, joined = communication.calls, communication.collectives
    last = np.full(len(joined), np.iinfo(np.int64).min)
    np.maximum.at(last, joined.member_of, calls.enter_ns[joined.member_call])
    left = calls.leave_ns[joined.member_call]
    early = left < last[joined.member_of]
    operation = joined.operation[joined.member_of]
    for name in _operations(communication):
        of_name = operation == calls.operations.index(name)
        count = int((early & of_name).sum())
        plain = _plain(name)
        if plain in (*_FROM_ROOT, *_TO_ROOT):
            waits[name] = "the root"
        elif plain in _OF_ALL or not count:
            waits[name] = "all"
        else:
            waits[name] = "nobody"
        if plain.startswith("i") and plain[1:] in (*_FROM_ROOT, *_TO_ROOT, *_OF_ALL):
            waits[name] = "nobody"  # it only announces; the waiting is in a later call that the trace does not link
        table.append(Refutation(name, int(of_name.sum()), "all members have arrived", count, waits[name]))
    eager, sends = _eager(communication)
    return Rules("observed", eager, waits, (*table, *sends))


def _eager(communication: Communication) -> tuple[int, list[Refutation]]:
    """The largest size of a send that did not wait for its receive, and what that was found from."""
    messages, calls = communication.messages, communication.calls
    finished = messages.send_done_call >= 0
    size = messages.bytes[finished]
    early = calls.leave_ns[messages.send_done_call[finished]] < calls.enter_ns[messages.post_call[finished]]
    eager = max(EAGER_AT_LEAST, int(size[early].max(initial=0)))
    if not len(size):
        return eager, []
    tested = "the receive is posted"
    waits = f"the receive above {eager} bytes" if (size > eager).any() else "nobody"
    return eager, [Refutation("sends", len(size), tested, int(early.sum()), waits)]


def must_be_posted(communication: Communication, rules: Rules) -> npt.NDArray[np.bool_]:
    """Messages whose send waits until the receive is posted."""
    messages, calls = communication.messages, communication.calls
    names = np.array([_plain(name) in _SYNCHRONOUS for name in calls.operations], dtype=bool)
    large = messages.bytes > rules.eager_bytes
    if len(names):
        large = large | names[calls.operation[messages.send_call]]
    return large & (messages.send_done_call >= 0)


def _operations(communication: Communication) -> Sequence[str]:
    """Names of the collective operations that occur."""
    return [communication.calls.operations[code] for code in np.unique(communication.collectives.operation).tolist()]


def rooted(name: str) -> Literal["from", "to"] | None:
    """Whether data go from the root to the others, or from them to it; None of operations without a root."""
    plain = _plain(name)
    return "from" if plain in _FROM_ROOT else "to" if plain in _TO_ROOT else None


def _plain(name: str) -> str:
    """A name without its library's prefix; tools that wrap it write PMPI."""
    return re.sub(r"^p?mpi_", "", name.lower())
