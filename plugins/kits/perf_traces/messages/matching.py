"""Which send belongs to which receive, and which calls are one collective: by order, as MPI promises.

Messages between two ranks on one communicator with one tag do not overtake each other, and collectives on one
communicator are called in the same order by all its members. Source: MPI 4.1, sections 3.5 and 6.14.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perf_traces.messages.communication import Calls, Collectives

# Operations that all ranks of a communicator call, and that may synchronise, without being collectives of data.
_JOINTLY = re.compile(
    r"p?mpi_(init|init_thread|finalize|comm_(dup|split|split_type|create|free)|cart_(create|sub)|graph_create|"
    r"dist_graph_create(_adjacent)?|intercomm_(create|merge)|win_(create|fence|free|allocate))",
    re.IGNORECASE,
)

Integers = npt.NDArray[np.int64]


def numbered(group: npt.NDArray[np.integer]) -> Integers:
    """How many of the same group come before each row."""
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(group) else np.zeros(0, int)
    number = np.empty(len(group), np.int64)
    number[order] = np.arange(len(group)) - np.repeat(begins, np.diff([*begins, len(group)]))
    return number


def paired_in_order(sends: Sequence[Integers], receives: Sequence[Integers]) -> tuple[Integers, Integers]:
    """Pair the k-th send with the k-th receive of the same key."""
    code = codes_of([np.concatenate(columns) for columns in zip(sends, receives, strict=True)])
    n_sends = len(sends[0])
    one, other = (part * (len(code) + 1) + numbered(part) for part in (code[:n_sends], code[n_sends:]))
    _, sent, received = np.intersect1d(one, other, assume_unique=True, return_indices=True)
    return sent.astype(np.int64), received.astype(np.int64)


def called_jointly(calls: Calls, n_locations: int) -> npt.NDArray[np.bool_]:
    """Calls such as MPI_Init that every location which calls at all makes equally often: the k-th belong together."""
    jointly = np.array([_JOINTLY.fullmatch(name) is not None for name in calls.operations], bool)
    if not jointly.any():
        return np.zeros(len(calls), bool)
    count = np.zeros((len(calls.operations), n_locations), np.int64)
    np.add.at(count, (calls.operation, calls.location), 1)
    count = count[:, count.any(axis=0)]
    everyone = jointly & (count.min(axis=1) == count.max(axis=1))
    return np.asarray(everyone[calls.operation])


def codes_of(columns: Sequence[npt.NDArray[np.integer]]) -> Integers:
    """One number from 0 for each combination of values."""
    code = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        _, part = np.unique(column, return_inverse=True)
        _, joined = np.unique(code * (int(part.max(initial=0)) + 1) + part.reshape(-1), return_inverse=True)
        code = joined.reshape(-1).astype(np.int64)
    return code


def collectives_in_order(
    calls: Calls, taking_part: Integers, communicator: Integers, n_bytes: Integers, is_root: npt.NDArray[np.bool_],
    sizes: Integers, group: Integers,
) -> tuple[Collectives, int]:  # fmt: skip
    """The k-th call of a location in a group, such as on a communicator, belongs to the k-th of the others."""
    location = calls.location[taking_part].astype(np.int64)
    number = numbered(codes_of([group, location]))
    member_of = codes_of([group, number])
    n_met = int(member_of.max(initial=-1)) + 1
    named = np.empty(n_met, np.int64)
    named[member_of] = communicator
    operation = calls.operation[taking_part]
    least, most = np.full(n_met, np.iinfo(np.int32).max, np.int32), np.full(n_met, -1, np.int32)
    np.minimum.at(least, member_of, operation)
    np.maximum.at(most, member_of, operation)
    size, data = np.full(n_met, -1, np.int64), np.zeros(n_met, np.int64)
    np.maximum.at(size, member_of, sizes)
    np.maximum.at(data, member_of, n_bytes)
    counts = np.bincount(member_of, minlength=n_met)
    size = np.where(size < 0, counts, size)
    good = least == most
    collectives = Collectives(most, named, data, size, member_of, taking_part, is_root)
    return collectives.only(good), int((~good[member_of]).sum())
