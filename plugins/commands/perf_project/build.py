"""From runs to a projection: their components, a law of each, and the hold-out check."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd

import perfcore
from perf_project.extrapolation import LAW_SCALES, power_of_scales
from perf_project.model import MEAN, TOTAL, Check, ProjectionModel, step_of
from perf_project.options import parse_targets
from perf_tables.arguments import parse_places, parse_values
from perf_tables.meanings import SUM_ROUNDING, paths_of
from perf_traces.options import parse_compute, parse_factor
from perf_traces.ranks import without_rank
from perf_traces.runs import REPETITIONS, SeparateRuns, fields_of, known_files
from perf_traces.states import COMPUTING
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError, PerfError, UnknownNameError, listing
from perfcore.data import type_in_words
from perfcore.data.columns import is_processors, shown_names
from perfcore.data.measurements import Measurements
from perfcore.data.observations import numbers_of, values_of
from perfcore.data.trace import Trace
from perfcore.data.units import readable
from perfcore.models.model import Origin
from perfcore.reading.recognise import NamePattern, read_frame
from perfcore.tables import level_text, point_text

_FITTER = "scaling"
_LEAST_ERROR = 0.06  # of a check, relative: smaller ones are chance
_LOCAL = ("GPU communication: copies",)  # without network
_OF_COMPUTING = ("load imbalance", "serialisation")  # losses that would not be if computation took no time
_LARGEST, _MOST_TARGETS = 1e9, 64
OTHERS, _LEAST_COMMON = "other bursts", 0.1  # the rest of the classes; share of computing that runs have in common
_MOST_COMPONENTS, _LEAST_SHARE = 12, 0.01  # of a table; of more, those that never take this share are one
_WEAK = 0.5  # exponent of the computing time of all locations over their number from which the problem grows
_WEAK_WITH_LOSSES = 0.75  # the same of tables, whose times hold what is lost


@dataclass(frozen=True, eq=False)
class Components:
    """What models are fitted to."""

    data: Measurements  # of all components
    options: dict[str, Any]  # of the fitter
    source: str
    kinds: dict[str, str] = field(default_factory=dict)  # empty for tables
    alone: dict[str, int] = field(default_factory=dict)
    times: dict[str, Floats] = field(default_factory=dict)  # seconds of a location in each run
    sizes: Floats = field(default_factory=lambda: np.zeros(0))
    others: dict[str, Floats] = field(default_factory=dict)  # what else varies over runs of traces
    largest_run: Any = None  # trace of the most locations, for the replay
    uncertain: tuple[str, ...] = ()


def components_of(
    sources: Sequence[Any], options: dict[str, Any], reading: Mapping[str, Any], from_name: str | None
) -> Components:
    """The components of traces, or of tables."""
    first = sources[0]
    is_file = isinstance(first, (str, os.PathLike))
    data = perfcore.read(first, wanted=(Trace, Measurements), **reading) if is_file else first
    if isinstance(data, SeparateRuns):
        return components_of([*data.files, *sources[1:]], options, reading, from_name)
    if isinstance(data, Trace):
        if options:
            raise OptionError(f"--{next(iter(options))} is for tables; {data.source} is a trace")
        pattern = None if from_name is None else NamePattern(from_name)
        return _of_traces([data, *sources[1:]], reading, _named(sources, pattern))
    tables = [data] if from_name is None else []
    for source in sources[len(tables) :]:
        is_file = isinstance(source, (str, os.PathLike))
        options_of_tables = reading if from_name is None else {**reading, "from_name": from_name}
        tables.append(perfcore.read(source, wanted=(Measurements,), **options_of_tables) if is_file else source)
    tables = [read_frame(each, (Measurements,)) if isinstance(each, pd.DataFrame) else each for each in tables]
    for each, source in zip(tables, sources, strict=True):
        if not isinstance(each, Measurements):
            raise DataError(f"{source} holds {type_in_words(each)}; give traces, or tables of times by category")
    if len(tables) > 1:
        first = tables[0]
        words = [name for name in first.table if not pd.api.types.is_numeric_dtype(first.table[name])]
        for each in tables[1:]:
            if set(each.table.columns) != set(first.table.columns):
                raise DataError(f"{each.source} has other columns than {first.source}; give tables of one kind")
            if words and not any(each.table[name].isin(first.table[name]).any() for name in words):
                raise DataError(
                    f"{each.source} has no {words[-1]} of {first.source}, such as {first.table[words[-1]].iloc[0]!r}; "
                    "give runs of one program"
                )
        joined = pd.concat([each.table for each in tables], ignore_index=True)
        tables = [Measurements(joined, source=f"{tables[0].source} and {len(tables) - 1} more")]
    return Components(tables[0], options, tables[0].source)


def _named(sources: Sequence[Any], pattern: NamePattern | None) -> dict[str, Floats]:
    """Numbers that names of runs say and that vary, but the number of locations."""
    if pattern is None:
        return {}
    files = [known_files(os.fsdecode(source)) or [Path(os.fsdecode(source))] for source in sources]
    fields = pd.DataFrame([without_rank(fields_of(each[0], pattern)) for each in files])
    names = [str(name) for name in fields.select_dtypes("number") if name not in {"p", "r", *REPETITIONS}]
    return {name: fields[name].to_numpy(float) for name in names if fields[name].nunique() > 1}


def _of_traces(sources: Sequence[Any], reading: Mapping[str, Any], others: dict[str, Floats]) -> Components:
    if len(sources) < 2:
        raise DataError("one run: a projection needs runs at two or more scales, and three to be checked")
    runs = perfcore.overheads(sources, reading=reading)
    if len(runs) < len(sources):
        raise DataError("efficiencies of other tools have no times; give traces or tables of times only")
    if others and len(next(iter(others.values()))) != len(runs):
        raise OptionError("--from-name: give each run by its own name")
    parts = runs.components()
    sizes, numbers = parts.locations.astype(float), range(1, len(runs) + 1)
    points = [(p, *(float(values[k]) for values in others.values())) for k, p in enumerate(sizes.tolist())]
    columns = np.array([sizes, *parts.times.values()]).T.tolist()
    for run, times in enumerate(columns):  # bounds from repetitions would be too narrow
        if (first := columns.index(times)) < run:
            raise DataError(
                f"{parts.sources[run]} has the times of {parts.sources[first]} to the nanosecond; give each run once"
            )
    lasting = {name: times for name, times in parts.times.items() if np.abs(times).sum() > 0.0}
    _refuse_other_programs(parts, lasting)
    rows = [
        (*point, name, max(time, 0.0), run)
        for name, times in lasting.items()
        for point, time, run, alone in zip(
            points, times, numbers, parts.is_alone.get(name, np.zeros(len(sizes), bool)), strict=True
        )
        if not alone
    ]
    scales = ("p", *others)
    options = {"parameter": ",".join(scales), "value": "time_s"} if others else {}
    kinds = {name: MEAN if name in parts.alone else TOTAL for name in lasting}
    source = f"{parts.sources[int(sizes.argmax())]} and {len(runs) - 1} more"
    return Components(
        _rows(rows, "time_s", source, scales), options, source, kinds, parts.alone,
        {name: times if name in parts.alone else times / sizes for name, times in parts.times.items()},
        sizes, others, sources[int(sizes.argmax())],
    )  # fmt: skip


def _refuse_other_programs(parts: Any, lasting: Mapping[str, Floats]) -> None:
    """Refuse runs that hardly compute between the same calls, though they share some."""
    times = np.array([values for name, values in lasting.items() if name not in parts.alone and name != OTHERS])
    if OTHERS not in lasting or not len(times):
        return
    shares = times / np.sum([values for name, values in lasting.items() if name not in parts.alone], axis=0)
    for run in range(1, shares.shape[1]):
        if np.minimum(shares[:, run], shares[:, 0]).sum() < _LEAST_COMMON:
            raise DataError(
                f"{parts.sources[run]} computes between other calls than {parts.sources[0]}, so they are different "
                "programs; give runs of one"
            )


def _rows(rows: Sequence[tuple[Any, ...]], value: str, source: str, scales: Sequence[str]) -> Measurements:
    return Measurements(pd.DataFrame(rows, columns=[*scales, "path", value, "run"]), source=source)


def projected(
    components: Components, at: str | Sequence[str] | Mapping[str, float] | None, scaling: str,
    what_if: Mapping[str, Any] | None = None,
) -> ProjectionModel:  # fmt: skip
    """Fit and look at the targets."""
    if at is not None:
        targets_of(at)  # before anything that takes time
    _refuse_one_scale(components.sizes, "p")
    law: Any = perfcore.fit(components.data, fitter=_FITTER, **components.options)
    if law.whole.several:
        raise DataError(
            f"{components.source}: times of several programs, systems or metrics do not add up: "
            f"{listing(law.paths, 4)}; choose one with --where COLUMN=VALUE"
        )
    columns = sorted(law.columns.items(), key=lambda each: not is_processors(each[1]))
    if columns != list(law.columns.items()):  # the number of processors is the scale
        components.options["parameter"] = ",".join(f"{symbol}={column}" for symbol, column in columns)
        law = perfcore.fit(components.data, fitter=_FITTER, **components.options)
    assumed: list[str] = []
    uncertain: list[str] = []
    if not components.times and len(law.columns) == 1 and (pooled := _pooled(components, law)) is not None:
        components, declared = pooled, law.scaling
        uncertain += pooled.uncertain
        law = perfcore.fit(components.data, fitter=_FITTER, scaling=declared or "auto", **components.options)
    points, measured = _measured(components, law)
    if len(points) == len(measured) == 1 and not components.times:  # the answer is that of the scaling model
        if scaling != "auto":
            components.options["scaling"] = scaling
            law = perfcore.fit(components.data, fitter=_FITTER, **components.options)
            points, measured = _measured(components, law)  # rates may be those of each processor
        elif law.scaling_kind in ("strong", "weak"):
            scaling = law.scaling_kind
            assumed.append(f"{scaling} scaling: the time {'falls' if scaling == 'strong' else 'stays flat'} "
                           "(set with --scaling)")  # fmt: skip
    symbol, sizes = shown_names(law.columns)[next(iter(points))], np.array(next(iter(points.values())))
    _refuse_one_scale(sizes, symbol)
    power, pattern = power_of_scales(sizes.tolist())
    if at is None:
        at = {name: float(law.target[symbol]) for symbol, name in shown_names(law.columns).items()}
        if power > 1:
            at[symbol] = float(round(at[symbol] ** (1.0 / power)) ** power)
        nearest = f"the {pattern} nearest to " if pattern else ""
        assumed.append(f"target {point_text(at)}, {nearest}four times the largest scale (set with --at)")
    held = {symbol: level for symbol, level in law.target.items() if level <= max(law.points[symbol])}
    targets = targets_of(at, law.columns, held)
    asked = [target[next(iter(points))] for target in targets if power > 1]
    if odd := [p for p in asked if round(p ** (1 / power)) ** power != p]:
        uncertain.append(f"{symbol}={odd[0]:g} is no {pattern}, and all measured scales are")
    unfitted = [name for name in measured if name not in law.paths and any(measured[name])]
    reasons = {name: law.unfitted.get(name, "too few scales") for name in unfitted}
    kinds = {name: components.kinds.get(name, MEAN) for name in measured if name in law.paths}
    if len(points) > 1:
        scaling = "strong"
        assumed.append(f"efficiencies are over a predicted run at {symbol}={sizes.min():g} of the target's problem")
    elif scaling == "auto":
        # Whether the time of all locations, of traces that in which they compute, grows about as their number.
        computing = [name for name in measured if kinds.get(name) == TOTAL]
        totals = sizes * np.sum([measured[name] for name in computing or measured], axis=0)
        low, high = int(sizes.argmin()), int(sizes.argmax())
        growth = math.log(totals[high] / totals[low]) / math.log(sizes[high] / sizes[low])
        is_weak = growth > (_WEAK if computing else _WEAK_WITH_LOSSES)
        is_weak = law.scaling == "weak" or (is_weak and law.scaling != "strong")
        scaling = "weak" if is_weak else "strong"
        how = f"grows with {symbol}" if scaling == "weak" else "is constant"
        assumed.append(f"{scaling} scaling: the problem size {how} (set with --scaling)")
    if (n_scales := len(np.unique(law.measured[:, 0]))) < 3:
        uncertain.append(f"too few scales ({n_scales}): three or more show how a component grows")
    for why in dict.fromkeys(reasons.values()):
        names = " and ".join(name for name, reason in reasons.items() if reason == why)
        uncertain.insert(0, f"no scaling model of {names} ({why}): each goes on as in its last scales")
    if missing := int(np.isnan(law.means[law.whole.counted]).any(axis=1).sum()) if not components.times else 0:
        assumed.append(f"{missing} component{'s' * (missing > 1)} without a time at some {symbol} took none there")
    check, law_weight = _check(components, law, scaling, measured, points)
    model = ProjectionModel(
        origin=Origin("", {"at": [point_text(each, ",") for each in targets]}, components.source,
                      law.origin.fingerprint, perfcore.__version__),
        points=points, measured=measured, kinds=kinds, alone=components.alone, targets=targets, scaling=scaling,
        unfitted=reasons, law=law, check=check, law_weight=law_weight,
        notes={"Assumed": tuple(assumed), "Uncertain": tuple(uncertain)},
    )  # fmt: skip
    return _what_if(model, components, what_if) if what_if else model


def _pooled(components: Components, law: Any) -> Components | None:
    """A table's components, some of which are summed up as one; None where none are.

    Where one ends before the largest scale, others took its work, and their sum goes on: those that are not at every
    scale are one. Many small laws would add up to wide intervals.
    """
    (symbol, column), counted = next(iter(law.columns.items())), law.whole.counted
    sizes = np.array(law.points[symbol])
    times = {law.paths[k]: np.nan_to_num(law.means[k]) for k in np.flatnonzero(counted)}
    if law.unfitted and counted.all() and law.value_name in components.data.table:
        sizes, times = _means(components, law)
    if len(times) == 1 < len(law.paths) and not law.whole.inclusive:
        [(name, total)] = times.items()
        times = {path: np.nan_to_num(row) for path, row in zip(law.paths, law.means, strict=True) if path != name}
        rest = total - np.sum(list(times.values()), axis=0)
        if (rest < -SUM_ROUNDING * total).any():
            at = f"{column}={level_text(sizes[rest.argmin()])}"
            raise DataError(
                f"{components.source}: at {at} the components add up to more than {name}, so they overlap; leave out "
                f"what is part of another (--where), of {listing(times, 8)}"
            )
        times["other"] = times.get("other", 0.0) + np.maximum(rest, 0.0)
    ends = [name for name, row in times.items() if not row[sizes.argmax()] and row.any()]
    rare = [name for name, row in times.items() if not row.all()] if ends else [n for n in times if n in law.unfitted]
    uncertain: tuple[str, ...] = ()
    if len(rare) > 1:
        name = f"{len(rare)} components missing at some {shown_names(law.columns)[symbol]}"
        listed = listing(sorted(rare, key=lambda each: -times[each].max()), 3)
        uncertain = (f"{name}: {listed}; check that the components add up to the elapsed time of each run",)
        times[name] = np.sum([times.pop(name) for name in rare], axis=0)
    elapsed = np.sum(list(times.values()), axis=0)
    small = [name for name, row in times.items() if (row < _LEAST_SHARE * elapsed).all()]
    if len(times) > _MOST_COMPONENTS and small:
        times[f"{len(small)} small components"] = np.sum([times.pop(name) for name in small], axis=0)
    if not law.unfitted and len(times) == counted.sum():
        return None
    rows = [(p, name, time, 1) for name, row in times.items() for p, time in zip(sizes, row, strict=True)]
    options = {"parameter": f"{symbol}={column}", "value": "time", **({"unit": law.unit} if law.unit else {})}
    kinds = dict.fromkeys(times, MEAN)
    data = _rows(rows, "time", components.source, [column])
    return Components(data, options, components.source, kinds=kinds, times=times, sizes=sizes, uncertain=uncertain)


def _means(components: Components, law: Any) -> tuple[Floats, dict[str, Floats]]:
    """Scales, and the mean time of each component at each, also of those that no law fits."""
    conditions, [column] = components.options.get("where"), law.columns.values()
    data = components.data.where(conditions) if conditions else components.data
    data = data.with_roles(law.columns, law.value_name)
    values = values_of(data, [], zeros=True, signed=True)
    kept = ~np.isnan(values)
    names, path = paths_of(data, kept)
    frame = pd.DataFrame({"p": numbers_of(data, column, kept)[kept], "path": path, "time": values[kept]})
    means = frame.pivot_table("time", "p", "path", fill_value=0.0)
    labels = np.array(names)[means.columns.to_numpy(int)].tolist()
    return means.index.to_numpy(float), dict(zip(labels, means.to_numpy(float).T, strict=True))


def _measured(components: Components, law: Any) -> tuple[dict[str, tuple[float, ...]], dict[str, tuple[float, ...]]]:
    """Measured points, and the mean time of a location in each component there."""
    if not components.times:
        means = np.nan_to_num(law.means)
        names = [name for name, counted in zip(law.paths, law.whole.counted, strict=True) if counted]
        return dict(law.points), {name: tuple(means[law.paths.index(name)].tolist()) for name in names}
    points = np.array([components.sizes, *components.others.values()])
    distinct = np.unique(points, axis=1)
    is_at = (points[:, None] == distinct[:, :, None]).all(axis=0)
    return dict(zip(law.columns, map(tuple, distinct.tolist()), strict=True)), {
        name: tuple(float(times[at].mean()) for at in is_at) for name, times in components.times.items()
    }


def _refuse_one_scale(sizes: Floats, symbol: str) -> None:
    if len(sizes) and len(set(sizes.tolist())) == 1:
        raise DataError(f"all runs are at {symbol}={sizes[0]:g}; give runs at two or more scales")


def _check(
    components: Components, law: Any, scaling: str, measured: Mapping[str, Sequence[float]],
    points: Mapping[str, Sequence[float]],
) -> tuple[Check | None, float]:  # fmt: skip
    """The largest scale predicted from the others, None if these are too few; and what scaling models then count."""
    symbol, sizes = next(iter(points)), np.array(next(iter(points.values())))
    largest = float(sizes.max())
    if len(set(sizes.tolist())) < 3:
        return None, 0.0
    kept = np.flatnonzero(sizes < largest).tolist()
    try:
        smaller_runs = np.flatnonzero(components.data.table[law.columns[symbol]].to_numpy() < largest)
        smaller: Any = perfcore.fit(components.data.rows(smaller_runs), fitter=_FITTER, **components.options)
    except DataError:
        return None, 0.0
    times = {name: tuple(values[k] for k in kept) for name, values in measured.items()}
    times = {name: values for name, values in times.items() if name in smaller.paths or any(values)}
    at = np.flatnonzero(sizes == largest).tolist()[-1:]
    targets = tuple({s: values[k] for s, values in points.items()} for k in at)
    model = ProjectionModel(
        origin=smaller.origin, points={s: tuple(values[k] for k in kept) for s, values in points.items()},
        measured=times, kinds={name: components.kinds.get(name, MEAN) for name in times if name in smaller.paths},
        alone=components.alone, targets=targets, scaling=scaling, law=smaller,
    )  # fmt: skip
    place = {s: np.array([t[s] for t in targets]) for s in points}
    true = float(sum(values[at[-1]] for values in measured.values()))
    median, lower, upper = model.predict_array(place, 0.95)[-1].tolist()
    check, weight = Check(largest, true, median, lower, upper), 0.0
    if len(set(sizes.tolist())) >= LAW_SCALES and median > 0.0:
        by_law = float(msgspec.structs.replace(model, law_weight=1.0).predict(place)[-1])
        off, law_off = (math.log(true / each) ** 2 + _LEAST_ERROR**2 for each in (median, by_law))
        weight = off / (off + law_off)
    return check, weight


def targets_of(
    at: float | str | Sequence[str | float] | Mapping[str, float],
    columns: Mapping[str, str] | None = None,
    held: Mapping[str, float] | None = None,
) -> tuple[dict[str, float], ...]:
    """Targets as a user gives them, each a value of every parameter; `held` are levels of those that are not named."""
    texts: Sequence[str] = parse_targets(at)
    if texts and not any("=" in text for text in texts):  # of the only parameter, once that is known
        if columns is None:
            return ()
        if len(columns) > 1:
            raise OptionError(f"--at {texts[0]}: name the parameters: {', '.join(shown_names(columns).values())}")
        texts = [f"{next(iter(columns))}={','.join(texts)}"]
    places, levels = parse_places(texts), {}
    for name, text in places.items():
        try:
            levels[name] = parse_values(text)
        except (ValueError, ZeroDivisionError):
            raise OptionError(f"--at {name}={text}: numbers are expected, such as p=16 or p=64..4096*4") from None
    number = math.prod(len(values) for values in levels.values())
    if number > _MOST_TARGETS:
        raise OptionError(f"--at: these are {number} targets; give at most {_MOST_TARGETS}")
    symbols = {column: symbol for symbol, column in (columns or {}).items()}
    by_symbol = {symbols.get(name, name): values for name, values in levels.items()}
    for name in by_symbol if columns else ():
        if name not in (columns or {}):
            raise UnknownNameError("parameter", name, shown_names(columns or {}).values())
    shown = shown_names(columns or {})
    by_symbol = {**{symbol: [level] for symbol, level in (held or {}).items()}, **by_symbol}
    for symbol in (columns or {}).keys() - by_symbol.keys():
        raise OptionError(f"--at: {shown[symbol]} is missing; give a value of each of {', '.join(shown.values())}")
    first = by_symbol[next(iter(columns))] if columns else next(iter(by_symbol.values()))
    if not 1.0 <= min(first) <= max(first) <= _LARGEST:
        smallest = f"{next(iter(places))}={min(first):g}"
        raise OptionError(f"--at {smallest}: scales from 1 to {_LARGEST:.0e} are expected")
    names = list(columns or by_symbol)
    mesh = itertools.product(*(by_symbol[name] for name in names))
    return tuple(dict(zip(names, values, strict=True)) for values in mesh)


def _what_if(model: ProjectionModel, components: Components, what_if: Mapping[str, Any]) -> ProjectionModel:
    """The projection with changed components, checked by a replay of the largest run."""
    factors: dict[str, float] = {}
    replay: dict[str, Any] = {}
    texts = []

    def scale(option: str, endings: Sequence[str], factor: float, what: str) -> None:
        names = [name for name in model.alone if step_of(name).endswith(tuple(endings)) and name not in _LOCAL]
        if not names:
            raise OptionError(f"{option}: the runs have no {what} as a component; leave it out")
        factors.update(dict.fromkeys(names, factor))

    if what_if["network"] is not None:
        text = what_if["network"].strip()
        faster = math.inf if text == "0" else parse_factor(text, "--network")
        scale("--network", ("transfer", "GPU communication"), 1.0 / faster, "transfer")
        replay["network"] = "0" if math.isinf(faster) else f"{faster:g}x"
        texts.append("ideal network" if math.isinf(faster) else f"network {faster:g}x as fast")
    if what_if["balance"]:
        if set(what_if["balance"]) != {COMPUTING}:
            raise OptionError("--balance: of a projection only computing can be balanced; leave the class out")
        scale("--balance", ("load imbalance",), 0.0, "load imbalance")
        replay["balance"] = COMPUTING
        texts.append("balanced computation")
    for name, faster in parse_compute(what_if["compute"]).items():
        known = [each for each in model.measured if each not in model.alone]
        if name and name not in known:
            raise UnknownNameError("component", name, known)
        # Faster computation of all ranks alike makes its differences and dependencies as much faster.
        waiting = [each for each in model.measured if each in model.alone and each.endswith(_OF_COMPUTING)]
        changed = [name] if name else [*known, *waiting]
        factors.update({each: factors.get(each, 1.0) / faster for each in changed})
        replay["compute" if not name else "class"] = {COMPUTING: faster}
        texts.append(f"{name or 'computation'} {faster:g}x as fast")
    if not factors:
        return model
    notes = {**model.notes, "What if": (", ".join(texts), *_replayed(model, components, factors, replay))}
    return msgspec.structs.replace(model, factors=factors, notes=notes)


def _replayed(
    model: ProjectionModel, components: Components, factors: Mapping[str, float], replay: dict[str, Any]
) -> list[str]:
    """What the replay of the largest run says of the same change."""
    if components.largest_run is None or "class" in replay:
        return []
    largest = int(model.sizes.argmax())
    changed = sum(times[largest] * factors.get(name, 1.0) for name, times in model.measured.items())
    try:
        seconds = perfcore.whatif(components.largest_run, **replay).answers[0].runtime_ns * 1e-9
    except PerfError:  # no messages, or changes that a replay cannot combine
        return []
    return [
        f"at {model.symbol}={model.sizes[largest]:g} the components give {readable(float(changed), 's', 4)}, a replay "
        f"of the trace {readable(seconds, 's', 4)}"
    ]
