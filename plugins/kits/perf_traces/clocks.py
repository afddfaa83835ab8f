"""Clocks of ranks as one clock: as their files record them, or by when collectives end on all of them.

A collective ends on every rank at nearly the same time, so that the k-th end of each of its kind tells how far two
clocks are apart: of its kind and group of processes, where files say these. Taken is the median over all that two ranks
have in common; half of the single ends lie within the residual of it. Sends and receives between two ranks, which have
no common end, are left out.

Source: J. Doleschal, A. Knüpfer, M. S. Müller, W. E. Nagel, "Internal timer synchronization for parallel event
tracing" (2008), who use collectives so; there a line is fitted to the offsets over time, here a clock is shifted only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_traces.messages.rank_calls import COLLECTIVE, COLUMNS, RankCalls
from perf_traces.options import MESSAGES
from perf_traces.stored_trace import StoredTrace
from perfcore.base.errors import DataError
from perfcore.data.units import readable

_COLLECTIVE = re.compile(
    r"all_?reduce|all_?gather|reduce_?scatter|broadcast|bcast|all_?to_?all|barrier|mpi_i?(reduce|scan|exscan|gather)",
    re.IGNORECASE,
)
_LEAST_MATCHES = 2
_LEAST_TOLERANCE_NS = 100_000  # collectives of a few microseconds end that far apart where ranks are not equally fast
YEAR_2000_NS = 946_684_800_000_000_000  # an earlier "time since 1970" is none, but counts from a start

Ends = Mapping[str, tuple[npt.NDArray[np.int64], int]]


@dataclass(frozen=True)
class Clocks:
    """How times of ranks become times of the run."""

    how: str
    shifts_ns: tuple[int, ...]  # added to the times of each rank; the run begins at 0
    note: str  # which way the clocks were aligned, and how well
    epoch_ns: int | None = None  # the moment of time 0, where clocks are as recorded
    residual_ns: int | None = None


@dataclass(frozen=True)
class _Match:
    """Common collectives of a rank with the first: how many, the shift that makes them end together, what is left."""

    count: int
    shift_ns: int = 0
    residual_ns: int = 0
    tolerance_ns: int = 0


def aligned(parts: Sequence[StoredTrace], ranks: Sequence[int], how: str, name: str) -> Clocks:
    """The clock of a run of several ranks."""
    if how == MESSAGES:
        raise DataError(
            f"{name}: -r clocks=messages repairs the clocks of a trace that is one file and holds messages; files of "
            "ranks are aligned by -r clocks=collectives"
        )
    firsts = [part.span_ns[0] for part in parts]
    if how == "unaligned":
        shifts = tuple(-first for first in firsts)
        return Clocks(how, shifts, "clocks: not aligned, each rank counts from its own first event")
    if len(parts) == 1:
        return _recorded(parts, ranks, [_Match(0)])
    problem = no_common_clock(parts, ranks)
    matches = [_matched(_ends(parts[0]), _ends(part)) for part in parts[1:]]
    if how == "recorded" or (how == "auto" and problem is None):
        return _recorded(parts, ranks, matches)
    for rank, match in zip(ranks[1:], matches, strict=True):
        if match.count < _LEAST_MATCHES:
            why = "they have no collectives in common" if not match.count else "they have one collective in common"
            raise _unalignable(name, ranks[0], rank, problem, f"{why} that both executed equally often")
        if match.residual_ns > match.tolerance_ns:
            why = f"half of the ends of their {match.count} common collectives"
            raise _unalignable(
                name, ranks[0], rank, problem, f"{why} lie more than {readable(match.residual_ns, 'ns')} apart"
            )
    shifts = (0, *(match.shift_ns for match in matches))
    return _by_collectives(parts, ranks, shifts, matches)


def _unalignable(name: str, one: int, other: int, recorded: str | None, collectives: str) -> DataError:
    reasons = collectives if recorded is None else f"{recorded}, and {collectives}"
    return DataError(
        f"{name}: the clocks of ranks {one} and {other} cannot be aligned: {reasons}; -r clocks=recorded takes the "
        "times as they are written, -r clocks=unaligned counts each rank from its own first event, and -r files=runs "
        "takes the files as runs side by side"
    )


def _recorded(parts: Sequence[StoredTrace], ranks: Sequence[int], matches: Sequence[_Match]) -> Clocks:
    """Times as written; how well they agree is told by the collectives."""
    epochs = [int(part.facts.get("epoch_ns", 0)) for part in parts]
    zero = min(epoch + part.span_ns[0] for epoch, part in zip(epochs, parts, strict=True))
    note = "clocks: as recorded"
    residual = None
    deviations = [
        (abs(match.shift_ns - (epoch - epochs[0])), rank, match.count)
        for match, epoch, rank in zip(matches, epochs[1:], ranks[1:], strict=False)
        if match.count >= _LEAST_MATCHES and match.residual_ns <= match.tolerance_ns
    ]
    if deviations:
        residual, rank, count = max(deviations)
        note += (
            f"; {count} collectives of ranks {ranks[0]} and {rank} end {readable(residual, 'ns')} apart (median), "
            "no others more; -r clocks=collectives lets them end together"
        )
    elif len(parts) > 1:
        note += "; no collectives tell how well they agree"
    shifts = tuple(epoch - zero for epoch in epochs)
    return Clocks("recorded", shifts, note, zero if zero >= YEAR_2000_NS else None, residual)


def _by_collectives(
    parts: Sequence[StoredTrace], ranks: Sequence[int], shifts: Sequence[int], matches: Sequence[_Match]
) -> Clocks:
    first = min(shift + part.span_ns[0] for shift, part in zip(shifts, parts, strict=True))
    residual, rank, count = max(
        (match.residual_ns, rank, match.count) for rank, match in zip(ranks[1:], matches, strict=True)
    )
    note = (
        f"clocks: aligned by the ends of common collectives; half of the {count} of ranks {ranks[0]} and {rank} lie "
        f"within {readable(residual, 'ns')}" + (", of other ranks closer" if len(ranks) > 2 else "")
    )
    return Clocks("collectives", tuple(shift - first for shift in shifts), note, None, residual)


def no_common_clock(parts: Sequence[StoredTrace], ranks: Sequence[int]) -> str | None:
    """Why the recorded times are of no common clock; None where they are."""
    spans = []
    for part, rank in zip(parts, ranks, strict=True):
        epoch = int(part.facts.get("epoch_ns", 0))
        if epoch + part.span_ns[0] < YEAR_2000_NS:
            return f"the times of rank {rank} are no times since 1970"
        spans.append((epoch + part.span_ns[0], epoch + part.span_ns[1]))
    latest, earliest = max(spans), min(spans, key=lambda span: span[1])
    if latest[0] < earliest[1]:
        return None
    gap = readable(latest[0] - earliest[1], "ns")
    return f"rank {ranks[spans.index(latest)]} begins {gap} after rank {ranks[spans.index(earliest)]} ended"


def _ends(part: StoredTrace) -> Ends:
    """Sorted ends and the median duration of each kind of collective; of each group of processes where these are told.

    Ranks of different groups have no end of theirs in common.
    """
    if (calls := part.rank_calls()) is not None and (ends := _ends_in_groups(calls)):
        return ends
    kinds = [code for code, name in enumerate(part.states) if _COLLECTIVE.search(name)]
    by_kind: dict[str, tuple[npt.NDArray[np.int64], int]] = {}
    if not kinds:
        return by_kind
    is_kind = np.zeros(len(part.states), bool)
    is_kind[kinds] = True
    state = part.column("state")
    rows = np.flatnonzero(is_kind[state])
    state, start, end = state[rows], part.column("start_ns")[rows], part.column("end_ns")[rows]
    for code in kinds:
        of_kind = state == code
        if of_kind.any():
            by_kind[part.states[code]] = _ends_and_duration(start[of_kind], end[of_kind])
    return by_kind


def _ends_in_groups(calls: RankCalls) -> Ends:
    of = dict(zip(COLUMNS, calls.columns.T, strict=True))
    kinds = [_COLLECTIVE.search(name) is not None for name in calls.operations]
    rows = np.flatnonzero((of["kind"] == COLLECTIVE) & (of["group"] >= 0) & np.array(kinds, bool)[of["operation"]])
    key = of["operation"][rows] * len(calls.groups) + of["group"][rows]
    by_kind: dict[str, tuple[npt.NDArray[np.int64], int]] = {}
    for code in np.unique(key).tolist():
        operation, group = divmod(code, len(calls.groups))
        members = rows[key == code]
        name = f"{calls.operations[operation]} of {calls.groups[group]}"
        by_kind[name] = _ends_and_duration(of["enter_ns"][members], of["leave_ns"][members])
    return by_kind


def _ends_and_duration(
    start: npt.NDArray[np.int64], end: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], int]:  # fmt: skip
    return np.sort(end), _median(np.sort(end - start))


def _matched(first: Ends, other: Ends) -> _Match:
    """What the k-th ends of each kind, of which both ranks have as many, say of their clocks."""
    kinds = [kind for kind in first if kind in other and len(first[kind][0]) == len(other[kind][0])]
    if not kinds:
        return _Match(0)
    differences = np.sort(np.concatenate([first[kind][0] - other[kind][0] for kind in kinds]))
    shift = _median(differences)
    durations = np.sort([side[kind][1] for kind in kinds for side in (first, other)])
    return _Match(
        len(differences),
        shift,
        _median(np.sort(np.abs(differences - shift))),
        max(_LEAST_TOLERANCE_NS, _median(durations)),
    )


def _median(ordered: npt.NDArray[np.int64]) -> int:
    """Of sorted whole numbers, the lower one of two: as exact as they are."""
    return int(ordered[(len(ordered) - 1) // 2])
