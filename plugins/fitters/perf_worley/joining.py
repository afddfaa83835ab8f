"""Curves of several runs as one table of measurements: how long each phase takes in each run.

Any fitter of measurements then fits it: each phase has a law of its duration, or of its processor time, over the
processors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import perfcore
from perfcore import Measurements
from perfcore.base import progress
from perfcore.base.errors import DataError, OptionError, listing
from perfcore.data.columns import guess_roles, is_repetition
from perfcore.data.curve import UtilizationCurve
from perfcore.data.units import NANOSECONDS

_PHASE, _DURATION, _PROCESSOR_TIME, _FILE = "phase", "duration_s", "processor_time_s", "file"


def agreed_models(
    models: Sequence[Any], names: Sequence[str], with_phases: Callable[[int, int], Any]
) -> list[tuple[Any, bool]]:
    """Return models with the number of phases that most runs have, where a run agrees better with the others so.

    Runs of one program have the same phases; of which one that is noisier may show fewer, or one too many.
    """
    from perf_worley.comparison import compare_phases  # with the compiler, which single curves need not

    counts = [len(model.phases) for model in models]
    usual = max(set(counts), key=lambda count: (counts.count(count), count))
    agreed = []
    for k, model in enumerate(models):
        others = [i for i, count in enumerate(counts) if count == usual and i != k]
        if counts[k] == usual or not others:
            agreed.append((model, False))
            continue
        nearest = min(others, key=lambda i: abs(i - k))
        again = with_phases(k, usual)
        costs = [compare_phases(models[nearest], each, (names[nearest], names[k])).cost for each in (model, again)]
        agreed.append((again, True) if costs[1] < costs[0] else (model, False))
    return agreed


def same_phases(models: Sequence[Any], names: Sequence[str]) -> list[list[range]]:
    """Return phases of several runs that are the same, in order."""
    from perf_worley.comparison import ALIKE, compare_phases

    parent = {(run, phase): (run, phase) for run, model in enumerate(models) for phase in range(len(model.phases))}

    def root(node: tuple[int, int]) -> tuple[int, int]:
        while parent[node] != node:
            node = parent[node]
        return node

    for run in range(len(models) - 1):
        match = compare_phases(models[run], models[run + 1], (names[run], names[run + 1]))
        if not match.alike:
            raise DataError(
                f"{names[run]} and {names[run + 1]} do not look like runs of one program (cost {match.cost:.2f}, up to "
                f"{ALIKE} do), so their phases cannot be matched; fit each separately"
            )
        for one, other in match.pairs:
            if one is None or other is None:
                continue
            together = [(run, phase) for phase in one.phases] + [(run + 1, phase) for phase in other.phases]
            for node in together[1:]:
                parent[root(node)] = root(together[0])
    groups: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for node in parent:
        groups.setdefault(root(node), []).append(node)

    def place(node: tuple[int, int]) -> float:
        """Return where it lies in its run, as a share of the duration."""
        model, phase = models[node[0]], models[node[0]].phases[node[1]]
        return float((0.5 * (phase.start + phase.end) - model.start) / (model.end - model.start))

    result = []
    for nodes in sorted(groups.values(), key=lambda nodes: sum(map(place, nodes)) / len(nodes)):
        each = [[phase for of, phase in nodes if of == run] for run in range(len(models))]
        result.append([range(min(phases), max(phases) + 1) if phases else range(0) for phases in each])
    return result


def join_runs(
    parts: Iterable[tuple[Path, UtilizationCurve]], fields: Sequence[Mapping[str, Any]], name: str
) -> Measurements:
    """Return durations and processor times of the phases that several runs have in common.

    Each run is fitted separately, phases of neighbours are matched in their order, and a phase is called by its place:
    ``phase 1``. Several phases of one run count together where another has them as one.
    """
    import pandas as pd

    from perf_worley.comparison import side_of

    reserved = {_PHASE, _DURATION, _PROCESSOR_TIME, _FILE} & set(fields[0])
    if reserved:
        raise OptionError(f"--from-name: the phases of runs have a column {reserved.pop()!r}; call the field otherwise")
    runs = list(parts)
    paths, curves = [path for path, _ in runs], [curve for _, curve in runs]
    run_fields, parameters = _with_processors(fields, curves, name)
    for k, (curve, each) in enumerate(zip(curves, run_fields, strict=True)):
        # The name of a file may say how many processors there are, where the file says none and it can be that.
        processors = each.get(parameters[0])
        if not curve.n_locations and processors and float(curve.heights.max()) <= processors:
            curves[k] = UtilizationCurve(
                curve.edges, curve.heights, curve.time_unit, n_locations=int(processors), source=curve.source
            )
    order = sorted(range(len(paths)), key=lambda k: [run_fields[k][parameter] for parameter in parameters])
    models = []
    with progress.bar("phases of runs", len(order)) as advance:
        for k in order:
            models.append(perfcore.fit(curves[k], fitter="phases"))
            advance(1)
    names = [str(paths[k]) for k in order]
    agreed = agreed_models(models, names, lambda k, n: perfcore.fit(curves[order[k]], fitter="phases", phases=n))
    if others := [of for of, (_, is_other) in zip(names, agreed, strict=True) if is_other]:
        progress.note(f"{name}: with as many phases as the other runs have: {listing(others, 3)}")
    groups = same_phases([model for model, _ in agreed], names)
    rows = [
        {
            _PHASE: f"phase {number}",
            **run_fields[k],
            _DURATION: side.duration * seconds,
            _PROCESSOR_TIME: side.processor_time * seconds,
            **({_FILE: run} if len(runs) > 1 else {}),
        }
        for number, group in enumerate(groups, 1)
        for (model, _), run, k, phases in zip(agreed, names, order, group, strict=True)
        if phases
        for side, seconds in [(side_of(model, phases), NANOSECONDS[model.time_unit] * 1e-9)]
    ]
    words = [field for field, value in fields[0].items() if isinstance(value, str) and not is_repetition(field)]
    return Measurements(
        pd.DataFrame(rows),
        {(column if "p" in parameters or number else "p"): column for number, column in enumerate(parameters)},
        _DURATION,
        code=[*words, _PHASE],
        unit="s",
        source=f"{name} ({len(paths)} runs)" if len(paths) > 1 else name,
    )


def _with_processors(
    fields: Sequence[Mapping[str, Any]], curves: Sequence[UtilizationCurve], name: str
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return what is known of each run, with its number of processors, and the parameters, processors first."""
    numbers = [f for f, value in fields[0].items() if not isinstance(value, str) and not is_repetition(f)]
    run_fields = [dict(each) for each in fields]
    named = bool(guess_roles(numbers, set(numbers)).parameters)
    if not named and "p" not in run_fields[0] and all(curve.n_locations for curve in curves):
        for each, curve in zip(run_fields, curves, strict=True):
            each["p"] = curve.n_locations
        if not numbers or len({each["p"] for each in run_fields}) > 1:
            numbers = ["p", *numbers]
    if not numbers:
        raise OptionError(
            f"{name}: nothing says how many processors each run had; --from-name 'run_p{{p:int}}.csv' takes it from "
            "the names of the files"
        )
    processors = guess_roles(numbers, set(numbers)).parameters.values()
    return run_fields, sorted(numbers, key=lambda column: column not in processors)
