"""The function behind ``perf profile``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from perf_analysis.profile.profiles import By, Profiles
from perf_analysis.profile.run_profile import RunProfile
from perf_analysis.profile.stretches import marker_stretches, phase_stretches, whole_run
from perf_analysis.profile.summing import profile_of
from perf_traces.levels import level_names
from perf_traces.ranks import RANK
from perf_traces.runs import Named, Read, parameters_of_run, runs_of
from perfcore.base.errors import DataError, OptionError
from perfcore.data.trace import Trace
from perfcore.reading.many_files import NamePattern
from perfcore.reading.recognise import read as read_data


def _read(path: str, types: Sequence[type]) -> Any:
    return read_data(path, wanted=types)


def profile(
    traces: Named | Trace | Sequence[Named | Trace],
    *,
    by: By | None = None,
    phases: str | int | None = None,
    from_name: str | None = None,
    files: str = "auto",
    read: Read = _read,
) -> Profiles:
    """Time and calls of every function of one or several runs.

    Take it to see where the time of a run goes, function by function, and to find the law of each: the fitters
    `scaling`, `lca` and `modgen` take its `measurements`, and the files that `perfcore.write` makes of them.

    Parameters
    ----------
    traces : Trace, str or path, or a sequence of them
        Runs of one program, which are read one at a time. A folder or a pattern is as many runs as it has files, or one
        run where they are its ranks.
    by : {"function", "location", "rank", "phase", "marker"}, optional
        What times are summed up for beside functions; by default functions only, or phases where there are any.
    phases : int or str, optional
        A number, a range such as ``"1..20"``, ``"auto"``, or the model file of the only trace.
    from_name : str, optional
        What the names of the files say, as ``"run_p{p:int}.prv"``; without a number of processors there, ``p`` is the
        number of locations.
    files : {"auto", "ranks", "runs"}
        Whether the files of a folder or a pattern are the ranks of one run; by default as they or their names say.
    read : callable, optional
        Reads files; takes a path and the wanted types, as `perfcore.read` does by default.

    Returns
    -------
    Profiles

    Raises
    ------
    OptionError
        Options do not go together, or nothing says what was varied.
    DataError
        A file holds no trace; a trace has no duration, or no markers or ranks where these are wanted; or runs have
        nothing in common.
    InputError
        A file cannot be read, or its name is another than the pattern.

    Examples
    --------
    >>> runs = [Trace([0] * 2, [0, 1], [0, 8 // p], [8 // p, 9], ["a"], ["solve", "wait"]) for p in (1, 2)]
    >>> profile(runs).to_frame()[["function", "p", "all_locations_ns", "calls"]].to_string(index=False).splitlines()
    ... # doctest: +NORMALIZE_WHITESPACE
    ['function  p  all_locations_ns  calls', '   solve  1                 8      1',
     '    wait  1                 1      1', '   solve  1                 4      1',
     '    wait  1                 5      1']
    """
    sources = [traces] if isinstance(traces, (str, os.PathLike, Trace)) else list(traces)
    if not sources:
        raise OptionError("there is no trace; give one or several")
    chosen = by or ("function" if phases is None else "phase")
    if phases is not None and chosen != "phase":
        raise OptionError(f"--phases is what --by phase takes, not --by {chosen}; leave out one of them")
    phase_spec = None if chosen != "phase" else "auto" if phases is None else phases
    pattern = None if from_name is None else NamePattern(from_name)
    is_file = isinstance(phase_spec, str) and phase_spec.lower().endswith(".json")
    runs: list[RunProfile] = []
    ranks: list[Mapping[str, Any]] = []
    for trace, fields in runs_of(sources, pattern, files, read):
        if is_file and runs:
            raise OptionError(
                f"--phases {phase_spec}: the phases of a model are those of one trace; give one, or a number"
            )
        runs.append(replace(_profile(trace, chosen, phase_spec), parameters=parameters_of_run(trace, fields)))
        ranks.append(trace.facts)
    return Profiles(tuple(runs), chosen, tuple(_rank_notes(runs, ranks)))


def _profile(trace: Trace, by: By, phases: str | int | None) -> RunProfile:
    if by == "phase":
        return profile_of(trace, phase_stretches(trace, "auto" if phases is None else phases))
    if by == "marker":
        return profile_of(trace, marker_stretches(trace))
    if by != "rank":
        return profile_of(trace, whole_run(trace))
    ranks = level_names(trace, "process")
    if not any(ranks):
        raise DataError(f"{trace.source}: does not say of which rank its locations are; --by location takes each alone")
    return replace(profile_of(trace), ranks=ranks)


def _rank_notes(runs: Sequence[RunProfile], facts: Sequence[Mapping[str, Any]]) -> list[str]:
    """That runs are ranks of one, where their files say so."""
    rank_numbers = [each.get(RANK) for each in facts]
    size = {each.get("world_size") for each in facts}
    if (
        len(runs) < 2
        or None in rank_numbers
        or len(set(rank_numbers)) < len(rank_numbers)
        or len(size) > 1
        or size <= {None, 1}
    ):
        return []
    return [
        "the files say that they are ranks of one run: give their folder, or a quoted pattern, to profile it as one"
    ]
