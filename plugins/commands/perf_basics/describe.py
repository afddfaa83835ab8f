"""Facts about data, for a person with a new file."""

from __future__ import annotations

import contextlib
import glob
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_basics.answers import levels_text
from perf_tables.confounders import refuse_unnamed_of_codes, several_parameters, split_by_switches, split_by_texts
from perf_tables.meanings import (
    MAY_NAME_CASES,
    called,
    column_meanings,
    layout_of,
    meanings_of,
    parts_of,
    scaling_of,
    spread_in_words,
)
from perf_traces.options import WARNING
from perfcore.base import pd, progress
from perfcore.base.errors import DataError, OptionError, PerfError, listing
from perfcore.data.columns import SCALING_KINDS, is_called_time, is_of_spread, shown_names, words, words_of
from perfcore.data.curve import UtilizationCurve
from perfcore.data.measurements import Measurements
from perfcore.data.observations import Observations, points_of, values_of
from perfcore.data.series import Series
from perfcore.data.trace import Trace
from perfcore.data.units import is_time, split_unit, unit_of
from perfcore.hooks.registry import registry
from perfcore.hooks.specs import GROUP
from perfcore.models.fitting import default_fitter
from perfcore.reading.recognise import read

if TYPE_CHECKING:
    import numpy.typing as npt

    from perf_traces.messages.communication import Communication

_LEFT_OUT = "left out, a copy of another row"  # of which a fit asks
_MOST_LEVELS = 12
_MANY_ROWS = 3_000_000
_WHOLES = frozenset(words("words", "whole"))


def describe(data: Any, name: str, reading: str = "", reading_notes: Sequence[str] = ()) -> dict[str, Any]:
    """What data are, how much there is, and which commands apply; with the notes of the reader."""
    named = shlex.quote(name) + reading
    if isinstance(data, Trace):
        facts = _trace(data, named)
    elif isinstance(data, UtilizationCurve):
        facts = {"kind": "utilization curve", **_curve(data), **_seen_by_fitter(data, named)}
        facts["next"].append(_plot(named))
    elif isinstance(data, Series):
        facts = {
            "kind": "time series",
            "samples": len(data.times),
            "duration": float(data.times[-1] - data.times[0]) if len(data.times) else 0.0,
            "columns": list(data.columns),
            "means": {
                name: round(float(np.nanmean(values)), 6)
                for name, values in data.columns.items()
                if np.isfinite(values).any()
            },
            "time unit": data.time_unit,
            **_seen_by_fitter(data, named),
        }
        with contextlib.suppress(PerfError):  # with gaps no curve can be drawn
            if len(data.columns) == 1:
                data.curve()
                facts["next"].append(_plot(named))
    elif isinstance(data, Measurements):
        facts = _measurements(data, named)
        facts["next"] = facts["next"] or _summary(data, named)
        if (more := _more_files(data, name)) is not None:
            facts["next"] = [more + reading]
    else:
        facts = {"kind": type(data).__name__}
    source = f"{getattr(data, 'source', name)}: "
    noted = (text.removeprefix(source).removeprefix(f"{name}: ") for text in reading_notes)
    every = list(dict.fromkeys([*getattr(data, "notes", ()), *noted]))
    warnings = [note.replace(WARNING, "") for note in every if WARNING in note]
    notes = [note for note in every if WARNING not in note and note not in warnings]
    assumed = [note.removeprefix("assumes: ") for note in warnings if note.startswith("assumes: ")]
    warnings = [note for note in warnings if not note.startswith("assumes: ")]
    noted_facts = {"notes": notes, "assumed": [*facts.get("assumed", ()), *assumed], "warnings": warnings}
    return {"file": name, **facts, **{label: texts for label, texts in noted_facts.items() if texts}}


def _curve(curve: UtilizationCurve) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "steps": curve.n_steps, "start": float(curve.start), "duration": float(curve.duration),
        "mean": round(curve.mean, 6), "highest": float(curve.heights.max()), "time unit": curve.time_unit,
    }  # fmt: skip
    if curve.n_locations:
        facts |= {"processors": curve.n_locations, "mean utilization": round(curve.mean / curve.n_locations, 6)}
    return facts


def _trace(trace: Trace, name: str) -> dict[str, Any]:
    from perf_traces.joined_trace import run_of
    from perf_traces.summaries.summarized_trace import SummarizedTrace
    from perf_traces.windows import marker_lines

    facts: dict[str, Any] = {
        "kind": "trace",
        **({"GPU": trace.facts["gpu"]} if "gpu" in trace.facts else {}),
        "intervals": trace.n_intervals,
        "locations": len(trace.locations),
        "states": list(trace.states),
        "busy": list(trace.busy_states),
        **(communication.facts() if (communication := _communication(trace)) else {}),
        **({"markers": lines} if (lines := marker_lines(trace)) else {}),
    }
    try:
        facts |= _curve(trace.utilization())
    except PerfError as error:
        facts |= {"curve": f"none: {error}", "next": []}
    else:
        facts |= _seen_by_fitter(trace, name)
        facts["next"].append(_plot(name))
    if communication:
        facts["next"].insert(0, f"perf {'messages' if communication.not_replayed else 'whatif'} {name}")
    if not isinstance(trace, SummarizedTrace):
        with contextlib.suppress(PerfError):  # it does not last
            run_of(trace)
            facts["next"].insert(0, f"perf overheads {name}")
        facts["next"].append(f"perf convert {name} -o trace.parquet")
    return facts


def _communication(trace: Trace) -> Communication | None:
    """Return the messages and collectives of a trace; None if there are none, or if it is a part of a run."""
    from perf_traces.messages.communication import communication_of

    try:
        communication = communication_of(trace)
    except DataError:
        return None
    return communication if communication is not None and len(communication.calls) else None


def _measurements(data: Measurements, name: str) -> dict[str, Any]:
    if len(data.table) > _MANY_ROWS:
        progress.note(f"{name}: looking at {len(data.table):,} rows, about a second for each million")
    data, assumed = _with_factors(data)
    roles = data.roles
    facts: dict[str, Any] = {
        "kind": "measurements",
        "rows": len(data.table),
        "columns": list(data.table.columns),
        "roles": [f"{column}: {meaning}" for column, meaning in column_meanings(data).items()],
        "parameters": [c if s == c else f"{s}={c}" for s, c in roles.parameters.items()],
        "value": _with_unit(roles.value, roles.unit),
        "code by": list(roles.code),
        "system by": list(roles.system),
    }
    if (scaling := scaling_of(data)) in SCALING_KINDS:
        facts["scaling"] = f"{scaling} (perf fit --scaling)"
    if roles.alternatives:
        facts["alternatives"] = f"{', '.join(roles.alternatives)}: a model each (choose with --value)"
    if (spread := spread_in_words(data)) is not None:
        facts["spread"] = spread
    if roles.category == ("kernel",) and not roles.parameters:  # sums by kernel of one run
        return facts | {"next": [f"perf profile {name}"]}
    if roles.category:
        seen, flags = _categories(data)
        fitted = _seen_by_fitter(data, name, flags)
        is_profile = f"inclusive_{roles.value}" in data.table or not roles.parameters
        are_times = is_time(roles.unit) if roles.unit else is_called_time(roles.value or "")
        if not fitted["next"] and is_profile and len(roles.category) == 1 and are_times:
            fitted["next"], seen = [f"perf profile {name}"], seen if roles.parameters else {}
        return facts | {"category by": list(roles.category), **seen} | fitted
    parts = parts_of(data, notes := list[str]())
    if parts != [data]:
        facts["series"] = [line for part in parts for line in _series(part)]
        facts["rows to know about"] = notes
        return facts | {"next": [f"perf fit {name}"]}
    split = _with_series(data, assumed)
    observations, problem, flags = _observed(split)
    dated = called("version", facts["columns"]) + called("date", facts["columns"])
    histories = [column for column in dated if column != roles.value and _varies(data, column)]
    if observations is None and histories:
        free = [column for column in _free_numbers(data) if column not in dated] if roles.value is None else []
        named = f" --value {shlex.quote(free[0])}" if free else ""
        return facts | {"observations": "none", "next": [f"perf gate {name}{_two_versions(data)}{named}"]}
    if observations is None:
        if gate := _gate(data, name):
            return facts | {"next": gate}
        if (named := _benchmark(data)) and roles.value is not None and not roles.parameters:
            problem = f"no parameter was varied; compare each {named} with other runs: perf gate {name} NEW"
        return facts | {"observations": f"none: {problem}", **_to_be_told(data), "next": _parts(data, name)}
    names = shown_names(observations.columns)
    points = {names[symbol]: _distinct(values) for symbol, values in observations.points.items()}
    mixed = ""  # why rows of one point are no repeated runs, if something else was varied in them
    try:
        refuse_unnamed_of_codes(split, by="path")
    except OptionError as error:
        mixed = str(error)
    lowest, highest = observations.value.min(), observations.value.max()
    facts |= {
        "observations": f"none: {mixed}" if mixed else len(observations),
        "points": points,
        **({} if mixed else {"repetitions": _range(observations.repetitions)}),
        **({} if mixed else {"range": f"{lowest:.6g} to {highest:.6g} {observations.unit or ''}".rstrip()}),
        "codes": listing(observations.codes),
        "systems": listing(observations.systems),
    }
    measured = set(observations.cell.tolist())
    cells = range(len(observations.codes) * len(observations.systems))
    absent = [observations.cell_name(cell) for cell in cells if cell not in measured]
    if absent:
        facts["never measured"] = f"{len(absent)} of {len(cells)} pairs: {listing(absent, 6)}"
    notes = [problem if problem and note.startswith(_LEFT_OUT) else note for note in observations.notes]
    facts |= {"assumed": assumed} if assumed else {}
    facts |= {"rows to know about": notes} if notes and not mixed else {}
    facts |= _seen_by_fitter(data, name, flags)
    ranking, others = _further_fits(data, name, flags)
    return facts | {"next": [*facts["next"], *ranking, *others]}


def _categories(data: Measurements) -> tuple[dict[str, Any], str]:
    """Return facts about the code and system that most rows are of, and options of a fit of these."""
    varied = [column for column in (*data.roles.code, *data.roles.system) if _varies(data, column)]
    conditions = [f"{column}={data.table[column].mode().iloc[0]}" for column in varied]
    from perf_tables.category_table import by_category

    chosen = data.where(conditions) if conditions else data
    flags, problem = f" --where {shlex.quote(','.join(conditions))}" if conditions else "", ""
    try:
        table = by_category(chosen)
    except PerfError as error:
        problem = str(error)
        try:
            table = by_category(chosen, duplicates="drop")
        except PerfError:
            return {"categories": f"none: {problem}"}, flags
        flags += " --duplicates drop"
    facts: dict[str, Any] = {
        "points": {table.shown_names[symbol]: _distinct(values) for symbol, values in table.points.items()},
        "observations": f"{len(table)} points",
        "categories": listing(table.categories, 8),
        "total": f"{table.total.min():.6g} to {table.total.max():.6g} {table.unit or ''}".rstrip(),
    }
    if table.notes:
        facts["rows to know about"] = [
            problem if problem and note.startswith(_LEFT_OUT) else note for note in table.notes
        ]
    return facts | ({"of these rows": ", ".join(conditions)} if conditions else {}), flags


def _distinct(values: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Return how many values a parameter has, and all of them or, of many, the ends."""
    levels = np.unique(values).tolist()
    few = {"levels": levels} if len(levels) <= _MOST_LEVELS else {"from": levels[0], "to": levels[-1]}
    return {"values": len(levels), **few}


def _range(counts: Any) -> str:
    return f"{counts.min()}" if counts.min() == counts.max() else f"{counts.min()} to {counts.max()}"


def _series(part: Measurements) -> list[str]:
    """A line for each benchmark of a suite: its parameters with their values, and its repetitions."""
    try:
        seen = part.observations()
    except PerfError as error:
        return [str(error)]
    lines = []
    for cell in dict.fromkeys(seen.cell.tolist()):
        rows = seen.cell == cell
        names = shown_names(seen.columns)
        points = [f"{names[s]} {levels_text(_distinct(values[rows]))}" for s, values in seen.points.items()]
        lines.append(f"{seen.cell_name(cell)}: {'; '.join(points)}; {_range(seen.repetitions[rows])} repetitions")
    return lines


def _with_unit(name: str | None, unit: str | None) -> str:
    """A column with its unit in brackets, once: ``Time (s)`` is a time in s."""
    if name is None or unit is None:
        return name or "none"
    bare = split_unit(name)[0]
    if not bare:
        return f"{'time' if is_time(unit) else name} [{unit}]"
    return f"{bare if name.endswith((']', ')')) else name} [{unit}]"


def _with_factors(data: Measurements) -> tuple[Measurements, list[str]]:
    """Return measurements over all that was varied, as a fit takes them, and a note on what was added."""
    roles = data.roles
    if not roles.parameters or roles.value is None:
        return data, []
    notes = list[str]()
    with contextlib.suppress(PerfError):
        data = split_by_switches(data, notes)
        if several := several_parameters(data):
            return data.with_roles(several), [*notes, f"parameters {', '.join(several)} (set with --parameter)"]
    if other := layout_of(data, parameter := next(iter(roles.parameters.values()))):
        notes.append(f"{parameter} x {other} is the same in all rows: layouts of the same processors")
    return data, notes


def _with_series(data: Measurements, notes: list[str]) -> Measurements:
    """Return measurements with the series that a fit makes of texts, and add a note on each column of them."""
    if not data.roles.parameters or data.roles.value is None:
        return data
    with contextlib.suppress(PerfError):
        value = values_of(data, [], zeros=True, signed=True)
        kept = ~np.isnan(value)
        points = {symbol: data.numbers(column)[kept] for symbol, column in data.roles.parameters.items()}
        return split_by_texts(data, kept, points_of(data, kept)[1], value[kept], points, notes)
    return data


def _to_be_told(data: Measurements) -> dict[str, Any]:
    """Options by which the user says what cannot be guessed, with the columns that could be meant."""
    numbers = _free_numbers(data)
    missing_options = []
    if data.roles.value is None:
        missing_options.append(f"--value COLUMN,..., what was measured: {listing(numbers, 6)}")
    if not data.roles.parameters:
        missing_options.append(f"--parameter COLUMN,..., what was varied: {listing(numbers, 6)}")
    return {"missing options": missing_options} if missing_options else {}


def _free_numbers(data: Measurements) -> list[str]:
    """Columns of numbers, also of those that are kept as texts, that are no parameter."""
    parameter_columns = set(data.roles.parameters.values())
    free = [column for column in data.table.columns if column not in parameter_columns]
    return [str(c) for c in free if pd.to_numeric(data.table[c], errors="coerce").notna().mean() > 0.5]


def _parts(data: Measurements, name: str) -> list[str]:
    """The fit of several times, where there is none that stands for all of them."""
    times = [column for column in _free_numbers(data) if is_time(unit_of(column)) and not is_of_spread(column)]
    times = [column for column in times if not _WHOLES.isdisjoint(words_of(column))] or times
    if data.roles.value is not None or not data.roles.parameters or len(times) < 2:
        return []
    return [f"perf fit {name} --value {shlex.quote(','.join(times))}"]


def _gate(data: Measurements, name: str) -> list[str]:
    """Return the gate of two versions in one table, or of a history of commits, if a column tells them apart."""
    if data.roles.value is None or data.roles.parameters:
        return []
    free = [column for column, meaning in meanings_of(data).items() if meaning in MAY_NAME_CASES]
    alternatives = [c for c in free if data.table[c].dtype != float and data.table[c].nunique() == 2]
    versions = called("version", map(str, data.table.columns)) or alternatives
    count = data.table[versions[0]].nunique() if versions else 0
    kind = "--version" if count == 2 else "--commit"
    return [f"perf gate {name} {kind} {shlex.quote(versions[0])}"] if count > 1 else []


def _two_versions(data: Measurements) -> str:
    """Return the options that choose the first and the last of several versions; a history of commits needs none."""
    columns = list(map(str, data.table.columns))
    names = [] if called("commit", columns) else called("version", columns)
    versions = data.table[names[0]].dropna().convert_dtypes().astype(str).unique().tolist() if names else []
    return f" --base {shlex.quote(versions[0])} --new {shlex.quote(versions[-1])}" if len(versions) > 2 else ""


def _further_fits(data: Measurements, name: str, flags: str) -> tuple[list[str], list[str]]:
    """The ranking of this kind of data, and fits by other distributions' fitters that it suits."""
    ranking, others = [], []
    with contextlib.suppress(OptionError):
        fitter, _ = default_fitter(data, ranking=True)
        if registry().load("fitters", fitter).suits(data):
            ranking.append(f"perf rank {name}{flags}")
    for entry in registry().entries("fitters").values():
        if entry.distribution != GROUP:
            with contextlib.suppress(PerfError):  # one that lacks its library must not hide the others
                fitter_class = entry.load()
                if isinstance(data, fitter_class.takes) and fitter_class.suits(data):
                    others.append(f"perf fit {name} --fitter {entry.name}{flags}")
    return ranking, others


def _seen_by_fitter(data: Any, name: str, flags: str = "") -> dict[str, Any]:
    """Facts from the default fitter of this kind of data, its suggestions made commands; or none."""
    try:
        fitter, _ = default_fitter(data)
    except OptionError:
        return {"next": []}
    implementation = registry().load("fitters", fitter)
    facts: dict[str, Any] = implementation.facts(data)
    usual = [f"--fitter {fitter} --plot model.png"] if implementation.suits(data) else []
    suggested = facts.get("next", usual)
    return {**facts, "next": [f"perf fit {name} {options}{flags}" for options in suggested]}


def _varies(data: Measurements, column: str) -> bool:
    return data.table[column].nunique() > 1


def _benchmark(data: Measurements) -> str:
    """Return the column that names what was run, if none of several rows is another run of the same; empty if none."""
    texts = [c for c, meaning in meanings_of(data).items() if meaning == "text"]
    is_each_one = len(data.table) > 1 and bool(texts) and not data.table[texts].duplicated().any()
    return [*data.roles.code, *(texts if is_each_one else []), ""][0]


def _summary(data: Measurements, name: str) -> list[str]:
    """The summary of runs in which nothing was varied."""
    roles = data.roles
    varied = (*roles.parameters.values(), *roles.code, *roles.system)
    if roles.value is None or roles.category or len(data.table) == 1 or any(_varies(data, each) for each in varied):
        return []
    if _benchmark(data):
        return []
    return [f"perf stochastic summarize {name} --column {shlex.quote(roles.value)}"]


def _more_files(data: Measurements, name: str) -> str | None:
    """The command that also reads the neighbours of a file that holds a single point, of which no model can be made."""
    columns = data.roles.parameters.values()
    path = Path(name)
    if not path.suffix or glob.has_magic(name) or not columns or any(_varies(data, column) for column in columns):
        return None
    pattern = str(path.with_name("*" + path.suffix))
    if len(list(path.parent.glob("*" + path.suffix))) == 1:
        return None
    with progress.show_with(progress.Sink()), contextlib.suppress(PerfError):  # those next to it may be of another kind
        read(pattern)
        return f"perf info {shlex.quote(pattern)}"
    return None


def _observed(data: Measurements) -> tuple[Observations | None, str, str]:
    """The observations, what is wrong with them, and the option that helps where rows are copies of others."""
    problem = ""
    for duplicates, flags in (("refuse", ""), ("drop", " --duplicates drop")):
        try:
            return data.observations(duplicates=duplicates), problem, flags
        except PerfError as error:
            problem = problem or str(error)
    return None, problem, ""


def _plot(name: str) -> str:
    return f"perf plot {name} -o curve.png"
