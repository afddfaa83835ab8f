"""Files of traces to what they are together: one run of several ranks, or runs of one program side by side."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from perf_traces.clock_repair import with_repaired_clocks
from perf_traces.joined_trace import JoinedTrace
from perf_traces.levels import located
from perf_traces.options import MESSAGES, CurveOptions, TraceOptions
from perf_traces.rank_processes import stored_parts
from perf_traces.ranks import is_one_run, one_run, without_rank
from perf_traces.windows import wanted_part
from perfcore.base import progress
from perfcore.data.trace import Trace
from perfcore.hooks.registry import registry


_CURVES = "perfcore.data.curve:UtilizationCurve"


def join_traces(
    parts: Iterable[tuple[Path, Trace]],
    fields: Sequence[Mapping[str, Any]],
    name: str,
    options: TraceOptions,
    paths: Sequence[Path],
    how: Mapping[str, Any],
) -> Any:
    """The part that is asked for of one run; of several runs what is registered for joining their curves.

    Files are one run if they are its ranks.

    Parameters
    ----------
    parts : iterable of (Path, Trace)
        At least one.
    fields : sequence of mapping of str to int, float or str
        What the name of each file says. Files that differ only in a field ``rank`` are of one run.
    name : str
        How the user names the set.
    options : TraceOptions
    paths : sequence of Path
        The files.
    how : mapping of str to object
        With what `perfcore.reading.recognise.read_one` reads one of them.
    """
    if len(fields) == 1 and not fields[0]:
        (_, trace), = parts  # fmt: skip
        return _selected_part(trace, options)
    parts = iter(parts)
    first = next(parts)
    together = is_one_run(first[1], paths, fields, options.files)
    parts = _chained([first], parts)
    del first
    if not together:
        if options.files == "auto" and not fields[0]:
            progress.note(
                f"{name}: taken as runs side by side, as neither the files nor their names tell ranks; -r files=ranks "
                "takes them as one run"
            )
        curves = ((path, _selected_part(trace, options).utilization()) for path, trace in parts)
        return registry().load("joins", _CURVES)(curves, fields, name, CurveOptions())
    runs = _runs(parts, fields, name, options, paths, how)
    if len(runs) == 1:
        return _selected_part(runs[0][1], options)
    run_fields = [of_run for of_run, _ in runs]
    firsts = [
        next(path for path, each in zip(paths, fields, strict=True) if without_rank(each) == of) for of in run_fields
    ]
    curves = (
        (path, _selected_part(trace, options).utilization()) for path, (_, trace) in zip(firsts, runs, strict=True)
    )
    return registry().load("joins", _CURVES)(curves, run_fields, name, CurveOptions())


def _chained(first: list[tuple[Path, Trace]], others: Iterator[tuple[Path, Trace]]) -> Iterator[tuple[Path, Trace]]:
    """The first and the others; unlike `itertools.chain` it does not hold the first while others are waited for."""
    yield first.pop()
    yield from others


def _runs(
    parts: Iterable[tuple[Path, Trace]],
    fields: Sequence[Mapping[str, Any]],
    name: str,
    options: TraceOptions,
    paths: Sequence[Path],
    how: Mapping[str, Any],
) -> list[tuple[dict[str, Any], JoinedTrace]]:
    """What names say of each run beside the rank, and its trace."""
    part_fields = [without_rank(each) for each in fields]
    distinct = [each for k, each in enumerate(part_fields) if each not in part_fields[:k]]
    folders = [Path(tempfile.mkdtemp(prefix="perfcore-ranks-")) for _ in distinct]
    try:
        targets = [folders[distinct.index(each)] / str(k) for k, each in enumerate(part_fields)]
        stored = list(stored_parts(parts, paths, how, targets, options.processes))
        runs = []
        for each, folder in zip(distinct, folders, strict=True):
            members = [(*part, of) for part, of in zip(stored, fields, strict=True) if without_rank(of) == each]
            label = ", ".join(f"{field}={value}" for field, value in each.items())
            runs.append((each, one_run(members, f"{name}: {label}" if label else name, options, folder)))
    except BaseException:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    return runs


def _selected_part(trace: Trace, options: TraceOptions) -> Trace:
    """The part of a run that is asked for, with locations of the level that is."""
    if options.clocks == MESSAGES:
        trace = with_repaired_clocks(trace)
    return located(wanted_part(trace, options), options.locations)
