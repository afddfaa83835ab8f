"""One run from the files of its ranks."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from perf_traces.clocks import aligned
from perf_traces.joined_trace import JoinedTrace
from perf_traces.messages.communication import carry
from perf_traces.messages.rank_calls import communication_of_ranks
from perf_traces.options import TraceOptions
from perf_traces.rank_numbers import RANK, check_job, named_host, named_ranks, numbered
from perf_traces.stored_trace import StoredTrace
from perfcore.data.trace import Trace

_ZERO = re.compile(r"times count from the first event")  # of one file, which the clock of the run replaces


def is_one_run(first: Trace, paths: Sequence[Path], fields: Sequence[Mapping[str, Any]], files: str) -> bool:
    """Whether files are ranks of one run, or of several, rather than runs side by side."""
    if files != "auto":
        return files == "ranks"
    if fields[0]:
        return RANK in fields[0]
    named = [rank for rank in named_ranks(paths) if rank is not None]
    return len(paths) > 1 and (RANK in first.facts or len(set(named)) > 1)


def without_rank(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What the name of a file says of its run."""
    return {name: value for name, value in fields.items() if name != RANK}


def one_run(
    parts: Sequence[tuple[Path, StoredTrace, Mapping[str, Any]]], name: str, options: TraceOptions, folder: Path
) -> JoinedTrace:
    """The traces of ranks as the trace of their run."""
    paths, stored, fields = zip(*parts, strict=True)
    stored = [_with_host(part, path) for path, part in zip(paths, stored, strict=True)]
    ranked, how = numbered(stored, paths, fields, named_ranks(paths), name)
    ranks, traces = [rank for rank, _ in ranked], [part for _, part in ranked]
    missing = check_job(ranked, name)
    clocks = aligned(traces, ranks, options.clocks, name)
    facts: dict[str, Any] = {"clocks": clocks.how}
    facts |= {} if clocks.epoch_ns is None else {"epoch_ns": clocks.epoch_ns}
    facts |= {} if clocks.residual_ns is None else {"clock_residual_ns": clocks.residual_ns}
    facts |= {"world_size": size} if (size := traces[0].facts.get("world_size")) is not None else {}
    count = f"{len(ranks)} ranks" if len(ranks) > 1 else "one rank"
    run = JoinedTrace(
        traces,
        ranks,
        clocks.shifts_ns,
        folder,
        source=f"{name} ({count})",
        notes=[f"{count} as one run, told {how}", *missing, clocks.note, *notes_of_ranks(ranks, traces)],
        facts=facts,
    )
    return _with_calls(run, traces, clocks.shifts_ns, size)


def _with_calls(run: JoinedTrace, parts: Sequence[StoredTrace], shifts: Sequence[int], size: int | None) -> JoinedTrace:
    """The run with the communication of its ranks, where their files tell it."""
    files = [part.rank_calls() for part in parts]
    if all(calls is None for calls in files):
        return run
    firsts = itertools.accumulate((len(part.locations) for part in parts), initial=0)
    calls_of_ranks = [
        (rank, first, shift, calls)
        for rank, first, shift, calls in zip(run.ranks, firsts, shifts, files, strict=False)
        if calls is not None
    ]
    locations, span, source = run.locations, run.span_ns, run.source
    carry(run, lambda: communication_of_ranks(calls_of_ranks, locations, span, source, size))
    return run


def _with_host(part: StoredTrace, path: Path) -> StoredTrace:
    host = named_host(path)
    return part if host is None else replace(part, facts={"host": host, **part.facts})


def notes_of_ranks(ranks: Sequence[int], parts: Sequence[StoredTrace]) -> list[str]:
    """What the readers say of the ranks: of notes that differ in their numbers only, the first."""
    by_pattern: dict[str, list[str]] = {}
    for rank, part in zip(ranks, parts, strict=True):
        for note in part.notes:
            if not _ZERO.match(note):
                by_pattern.setdefault(re.sub(r"[0-9.]+", "0", note), []).append(f"rank {rank}: {note}")
    return [notes[0] + (f"; {len(notes) - 1} more alike" if len(notes) > 1 else "") for notes in by_pattern.values()]
