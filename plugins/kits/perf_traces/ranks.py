"""One run from the files of its ranks: their numbers, their clocks, and the joined trace."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from perf_traces.joined_trace import JoinedTrace, StoredTrace
from perf_traces.messages.communication import COLLECTIVE, COLUMNS, RankCalls, carry, communication_of_ranks
from perf_traces.options import RANK, WARNING, TraceOptions
from perfcore.base import progress
from perfcore.base.arrays import Ints
from perfcore.base.errors import DataError, InputError, listing
from perfcore.data.trace import Trace
from perfcore.data.units import readable

_SPELLED = re.compile(r"(?:^|[^a-z])rank[-_. =]?(\d{1,7})(?!\d)", re.IGNORECASE)
_COUNTED = re.compile(r"(?P<stem>.+)\.(?P<number>\d{1,7})\.[A-Za-z][A-Za-z0-9.]*")
# As PyTorch's tensorboard_trace_handler names the trace of each process.
_PROCESS = re.compile(r"(?P<host>.+)_(?P<process>\d+)\.(?:\d+\.)?pt\.trace\.json(?:\.gz)?")

AS_RUNS = ", or take them as runs with -r files=runs"
_COLLECTIVE = re.compile(
    r"all_?reduce|all_?gather|reduce_?scatter|broadcast|bcast|all_?to_?all|barrier|mpi_i?(reduce|scan|exscan|gather)",
    re.IGNORECASE,
)
_LEAST_MATCHES = 2
_LEAST_TOLERANCE_NS = 100_000  # collectives of a few microseconds end that far apart where ranks are not equally fast
YEAR_2000_NS = 946_684_800_000_000_000  # an earlier "time since 1970" is none, but counts from a start
# All processes are in such a one at one time; from a broadcast its root may return before others begin.
_SYNCHRONISING = re.compile(r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|barrier", re.IGNORECASE)
_NEAR = 0.1  # of its duration, in which a rank begins that counts from the beginning of the run
ASSUMED = f"{WARNING}assumes: clocks are synchronised, since all times begin near 0; else -r clocks=unaligned"
Ends = Mapping[str, tuple[Ints, int, Ints]]  # ends and the median duration of each kind of collective, and starts
_ZERO = re.compile(r"times count from the first event")  # of one file, which the clock of the run replaces


def named_ranks(paths: Sequence[Path]) -> list[int | None]:
    """Return the rank that each name says in one of the usual spellings; None if it says none."""
    spelled = [_SPELLED.findall(path.name) or _SPELLED.findall(path.parent.name) for path in paths]
    if any(spelled):
        return [int(numbers[-1]) if numbers else None for numbers in spelled]
    counted = [_COUNTED.fullmatch(path.name) for path in paths]
    numbers = {int(match["number"]) for match in counted if match}
    stems = {(path.parent, match["stem"]) for path, match in zip(paths, counted, strict=True) if match}
    if len(stems) == 1 and len(numbers) > 1 and numbers == set(range(len(numbers))):
        return [int(match["number"]) if match else None for match in counted]
    processes = [_PROCESS.fullmatch(path.name) for path in paths]
    keys = [(match["host"], int(match["process"])) if match else None for match in processes]
    order = {key: rank for rank, key in enumerate(sorted({key for key in keys if key is not None}))}
    return [None if key is None else order[key] for key in keys] if len(order) > 1 else [None] * len(paths)


def named_host(path: Path) -> str | None:
    """Return the host that the name of a trace of PyTorch's profiler begins with."""
    match = _PROCESS.fullmatch(path.name)
    return match["host"] if match else None


def numbered(
    parts: Sequence[StoredTrace],
    paths: Sequence[Path],
    fields: Sequence[Mapping[str, Any]],
    named: Sequence[int | None],
    name: str,
    otherwise: str = AS_RUNS,
) -> tuple[list[tuple[int, StoredTrace]], str]:
    """Return the traces with their ranks, in the order of these, and the source of the ranks."""
    ranks = [part.facts.get(RANK) for part in parts]
    how = "by what the files say"
    if RANK in fields[0]:
        ranks, how = [rank_number(each[RANK], path) for each, path in zip(fields, paths, strict=True)], "by --from-name"
    elif None in ranks or len(set(ranks)) < len(ranks):
        if None not in named and len(set(named)) == len(named):
            ranks, how = list(named), "by the names of the files"
        elif all(rank is None for rank in (*ranks, *named)):
            ranks, how = list(range(len(parts))), "by the order of the files, since their ranks are not recorded"
        else:
            ranks = [of_name if rank is None else rank for rank, of_name in zip(ranks, named, strict=True)]
            how = "by what the files and their names say"
    if left_out := [str(path) for path, rank in zip(paths, ranks, strict=True) if rank is None]:
        progress.note(f"{name}: left out, since its rank is not recorded: {listing(left_out, 3)}")
    rank_paths: dict[int, Path] = {}
    for path, rank in zip(paths, ranks, strict=True):
        if rank is not None and rank_paths.setdefault(rank, path) is not path:
            raise DataError(
                f"{name}: rank {rank} is there twice, {rank_paths[rank]} and {path}; name the files of one run with a "
                f"pattern, or their ranks with --from-name '...{{rank:int}}...'{otherwise}"
            )
    ranked = [(rank, part) for rank, part in zip(ranks, parts, strict=True) if rank is not None]
    return sorted(ranked, key=lambda each: each[0]), how


def rank_number(value: Any, path: Path) -> int:
    """Return the rank that a name says."""
    try:
        return int(value)
    except (TypeError, ValueError):
        raise InputError(str(path), f"--from-name takes {value!r} for its rank, which is no whole number") from None


def check_job(parts: Sequence[tuple[int, StoredTrace]], name: str, otherwise: str = AS_RUNS) -> list[str]:
    """Refuse ranks of different jobs; say which ranks are missing; ``otherwise`` as for `numbered`."""
    sizes = {rank: part.facts["world_size"] for rank, part in parts if "world_size" in part.facts}
    sources = {rank: part.source for rank, part in parts}
    first = next(iter(sizes), None)
    for rank, size in sizes.items():
        if first is not None and size != sizes[first]:
            raise DataError(
                f"{name}: {sources[rank]} is of a job of {size} ranks and {sources[first]} of one of {sizes[first]}; "
                f"name the files of one job with a pattern{otherwise}"
            )
        if rank >= size:
            raise DataError(f"{name}: {sources[rank]} is rank {rank} of a job of {size} ranks, which count from 0")
    present = [rank for rank, _ in parts]
    expected = sizes[first] if first is not None else max(present) + 1
    missing = sorted(set(range(expected)) - set(present)) if expected < 1 << 22 else []
    if not missing:
        return []
    verb = "is" if len(missing) == 1 else "are"
    return [f"of {expected} ranks {len(missing)} {verb} missing: {_ranges(missing)}"]


def _ranges(numbers: Sequence[int]) -> str:
    """Return whole numbers in order, those without a gap as ``2 to 9``."""
    stretches: list[list[int]] = []
    for number in numbers:
        if stretches and stretches[-1][-1] == number - 1:
            stretches[-1] = [stretches[-1][0], number]
        else:
            stretches.append([number])
    return listing([" to ".join(map(str, stretch)) for stretch in stretches], 4)


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
    """Common collectives of a rank with the first: how many, the shift that makes them end together, the remainder."""

    count: int
    skew_ns: int = 0  # by how much a collective ends, as recorded, before the other rank begins it
    shift_ns: int = 0
    residual_ns: int = 0
    tolerance_ns: int = 0


def aligned(parts: Sequence[StoredTrace], ranks: Sequence[int], how: str, name: str) -> Clocks:
    """Return the clock of a run of several ranks."""
    if how == "unaligned":
        shifts = tuple(-part.span_ns[0] for part in parts)
        return Clocks(how, shifts, "clocks: not aligned, each rank counts from its own first event")
    if len(parts) == 1:
        return _recorded(parts, ranks, [_Match(0)])
    problem = no_common_clock(parts, ranks)
    first, epoch = _ends(parts[0]), int(parts[0].facts.get("epoch_ns", 0))
    matches = [_matched(first, _ends(part), int(part.facts.get("epoch_ns", 0)) - epoch) for part in parts[1:]]
    if how == "recorded" or (how == "auto" and problem is None):
        return _recorded(parts, ranks, matches)
    is_matched = all(m.count >= _LEAST_MATCHES and m.residual_ns <= m.tolerance_ns for m in matches)
    if how == "auto" and not is_matched and is_synchronised(parts):
        clocks = _recorded(parts, ranks, matches)
        return replace(clocks, note=f"{ASSUMED}; {clocks.note}")
    for rank, match in zip(ranks[1:], matches, strict=True):
        if match.count < _LEAST_MATCHES:
            why = "they have no collectives in common" if not match.count else "they have one collective in common"
            raise _unalignable(name, ranks[0], rank, problem, f"{why} that both executed equally often")
        if match.residual_ns > match.tolerance_ns:
            why = f"half of the ends of their {match.count} common collectives lie more than"
            raise _unalignable(name, ranks[0], rank, problem, f"{why} {readable(match.residual_ns, 'ns')} apart")
    shifts = (0, *(match.shift_ns for match in matches))
    zero = min(shift + part.span_ns[0] for shift, part in zip(shifts, parts, strict=True))
    residual, rank, count = max(
        (match.residual_ns, rank, match.count) for rank, match in zip(ranks[1:], matches, strict=True)
    )
    note = (
        f"clocks: aligned by the ends of common collectives; half of the {count} of ranks {ranks[0]} and {rank} lie "
        f"within {readable(residual, 'ns')}" + (", of other ranks closer" if len(ranks) > 2 else "")
    )
    return Clocks("collectives", tuple(shift - zero for shift in shifts), note, None, residual)


def _unalignable(name: str, one: int, other: int, recorded: str | None, collectives: str) -> DataError:
    reasons = collectives if recorded is None else f"{recorded}, and {collectives}"
    return DataError(
        f"{name}: the clocks of ranks {one} and {other} cannot be aligned: {reasons}; -r clocks=recorded takes the "
        "times as they are written, -r clocks=unaligned counts each rank from its own first event, and -r files=runs "
        "takes the files as runs side by side"
    )


def _recorded(parts: Sequence[StoredTrace], ranks: Sequence[int], matches: Sequence[_Match]) -> Clocks:
    """Return times as written; the collectives show how well they agree."""
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
    skew, rank = max(((match.skew_ns, rank) for match, rank in zip(matches, ranks[1:], strict=False)), default=(0, 0))
    if skew > 0:
        note = (
            f"{WARNING}the clocks of ranks {ranks[0]} and {rank} are skewed: a collective ends on one of them "
            f"{readable(skew, 'ns')} before it begins on the other; -r clocks=collectives aligns them; {note}"
        )
    shifts = tuple(epoch - zero for epoch in epochs)
    return Clocks("recorded", shifts, note, zero if zero >= YEAR_2000_NS else None, residual)


def no_common_clock(parts: Sequence[StoredTrace], ranks: Sequence[int]) -> str | None:
    """Return why the recorded times are of no common clock; None if they are."""
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


def is_synchronised(parts: Sequence[StoredTrace]) -> bool:
    """Return whether the times of all ranks begin near 0, and overlap."""
    epochs = [int(part.facts.get("epoch_ns", 0)) for part in parts]
    spans = [(epoch + part.span_ns[0], epoch + part.span_ns[1]) for epoch, part in zip(epochs, parts, strict=True)]
    return all(is_near_0(*span) for span in spans) and max(spans)[0] < min(end for _, end in spans)


def is_near_0(begin: int, end: int) -> bool:
    """Return whether times begin near 0, as they do that count from the beginning of the run."""
    return 0 <= begin <= _NEAR * (end - begin)


def _ends(part: StoredTrace) -> Ends:
    """Return sorted ends and the median duration of each kind of collective; of each group of processes where these are
    told.
    """
    if (calls := part.rank_calls()) is not None and (ends := _ends_in_groups(calls)):
        return ends
    is_kind = np.array([_COLLECTIVE.search(name) is not None for name in part.states], bool)
    if not is_kind.any():
        return {}
    state = part.column("state")
    rows = np.flatnonzero(is_kind[state])
    state, start, end = state[rows], part.column("start_ns")[rows], part.column("end_ns")[rows]
    return {
        part.states[code]: _ends_and_duration(start[state == code], end[state == code])
        for code in np.unique(state).tolist()
    }


def _ends_in_groups(calls: RankCalls) -> Ends:
    of = dict(zip(COLUMNS, calls.columns.T, strict=True))
    kinds = [_COLLECTIVE.search(name) is not None for name in calls.operations]
    rows = np.flatnonzero((of["kind"] == COLLECTIVE) & (of["group"] >= 0) & np.array(kinds, bool)[of["operation"]])
    key = of["operation"][rows] * len(calls.groups) + of["group"][rows]
    by_kind: dict[str, tuple[Ints, int, Ints]] = {}
    for code in np.unique(key).tolist():
        operation, group = divmod(code, len(calls.groups))
        members = rows[key == code]
        name = f"{calls.operations[operation]} of {calls.groups[group]}"
        by_kind[name] = _ends_and_duration(of["enter_ns"][members], of["leave_ns"][members])
    return by_kind


def _ends_and_duration(start: Ints, end: Ints) -> tuple[Ints, int, Ints]:
    return np.sort(end), _median(np.sort(end - start)), np.sort(start)


def _matched(first: Ends, other: Ends, later_ns: int) -> _Match:
    """Return what the k-th ends of equally frequent kinds say of two ranks' clocks, the other's ``later_ns`` ahead."""
    kinds = [kind for kind in first if kind in other and len(first[kind][0]) == len(other[kind][0])]
    if not kinds:
        return _Match(0)
    differences = np.sort(np.concatenate([first[kind][0] - other[kind][0] for kind in kinds]))
    shift = _median(differences)
    durations = np.sort([side[kind][1] for kind in kinds for side in (first, other)])
    residual = _median(np.sort(np.abs(differences - shift)))
    gaps = [
        np.maximum(other[kind][2] + later_ns - first[kind][0], first[kind][2] - other[kind][0] - later_ns).max()
        for kind in kinds
        if _SYNCHRONISING.search(kind)
    ]
    return _Match(
        len(differences), int(max(gaps, default=0)), shift, residual, max(_LEAST_TOLERANCE_NS, _median(durations))
    )


def _median(ordered: Ints) -> int:
    """Of sorted whole numbers, the lower one of two: as exact as they are."""
    return int(ordered[(len(ordered) - 1) // 2])


def is_one_run(first: Trace, paths: Sequence[Path], fields: Sequence[Mapping[str, Any]], files: str) -> bool:
    """Return whether files are ranks of one run, or of several, rather than runs side by side."""
    if files != "auto":
        return files == "ranks"
    if fields[0]:
        return RANK in fields[0]
    named = [rank for rank in named_ranks(paths) if rank is not None]
    return len(paths) > 1 and (RANK in first.facts or len(set(named)) > 1)


def without_rank(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the name of a file says of its run."""
    return {name: value for name, value in fields.items() if name != RANK}


def one_run(
    parts: Sequence[tuple[Path, StoredTrace, Mapping[str, Any]]], name: str, options: TraceOptions, folder: Path
) -> JoinedTrace:
    """Return the traces of ranks as the trace of their run."""
    paths, stored, fields = zip(*parts, strict=True)
    hosts = [{} if (host := named_host(path)) is None else {"host": host} for path in paths]
    stored = [replace(part, facts={**host, **part.facts}) for host, part in zip(hosts, stored, strict=True)]
    ranked, how = numbered(stored, paths, fields, named_ranks(paths), name)
    ranks, traces = [rank for rank, _ in ranked], [part for _, part in ranked]
    missing = check_job(ranked, name)
    clocks = aligned(traces, ranks, options.clocks, name)
    facts: dict[str, Any] = {"clocks": clocks.how}
    facts |= {} if clocks.epoch_ns is None else {"epoch_ns": clocks.epoch_ns}
    facts |= {} if clocks.residual_ns is None else {"clock_residual_ns": clocks.residual_ns}
    facts |= {"world_size": size} if (size := traces[0].facts.get("world_size")) is not None else {}
    count = f"{len(ranks)} ranks" if len(ranks) > 1 else "one rank"
    remarks = (*(WARNING + note for note in missing), clocks.note, *notes_of_ranks(ranks, traces))
    notes = [f"{count} as one run, detected {how}", *remarks]
    shifted = [part.shifted(shift) for part, shift in zip(traces, clocks.shifts_ns, strict=True)]
    run = JoinedTrace(shifted, ranks, folder, source=f"{name.rstrip('/')} ({count})", notes=notes, facts=facts)
    firsts = itertools.accumulate((len(part.locations) for part in traces), initial=0)
    calls_of_ranks = [
        (rank, first, shift, calls)
        for rank, first, shift, part in zip(ranks, firsts, clocks.shifts_ns, traces, strict=False)
        if (calls := part.rank_calls()) is not None
    ]
    if calls_of_ranks:
        locations, span, source = run.locations, run.span_ns, run.source
        carry(run, lambda: communication_of_ranks(calls_of_ranks, locations, span, source, size))
    return run


def notes_of_ranks(ranks: Sequence[int], parts: Sequence[StoredTrace]) -> list[str]:
    """Return what the readers say of the ranks: of notes that differ in their numbers only, the first."""
    by_pattern: dict[str, list[str]] = {}
    for rank, part in zip(ranks, parts, strict=True):
        for note in part.notes:
            if not _ZERO.match(note):
                by_pattern.setdefault(re.sub(r"[0-9.]+", "0", note), []).append(f"rank {rank}: {note}")
    return [notes[0] + (f"; {len(notes) - 1} more alike" if len(notes) > 1 else "") for notes in by_pattern.values()]
