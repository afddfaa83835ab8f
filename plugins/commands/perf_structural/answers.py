"""What structural models, stochastic values, decisions and validations answer: sentences, tables and plots."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_structural.options import PIT_BINS, figures_of
from perf_views.names import shortened
from perfcore.data.units import unit_in_name
from perfcore.report import Axis, Band, Column, Figure, Line, Note, Plot, Points, Report, Rule, Steps, Table
from perfcore.stochastic import StochasticValue

if TYPE_CHECKING:
    from perf_structural.decisions import Decomposition, Solution
    from perf_structural.inputs import Input
    from perf_structural.judging import Judgement, Predictions, Recalibration
    from perf_structural.measured_value import MeasuredValue
    from perf_structural.prediction import Prediction
    from perf_structural.structural_model import Choice, StructuralModel

_PLACES, _CELLS = 1000, 100  # of a density, and of one of bins
_BEYOND = 1e-3  # probability beyond each end of the axis of a value with far tails or without bounds
_FAR = 3.0  # times what lies between these: a range that is longer is cut
_MARGIN = 0.05  # of the range, left and right
_ACCEPTED = 0.02  # error of a distribution function
_USUAL = 0.9  # coverage of the interval of an answer
_NOTEWORTHY_GAIN = 0.01  # by which another division ends earlier
_MOST_PREDICTIONS = 5  # drawn side by side
_SHOWN_LEVELS = (0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975)  # in the table of a map
_OUTER, _INNER = 0.95, 0.5  # central intervals: the outer one stands in if a prediction has no bounds


def plots_of(values: Mapping[str, StochasticValue], unit: str, name: str = "", samples: Any = None) -> list[Plot]:
    """Return the densities and the cumulative distributions of at least one value; ``unit`` is that of all."""
    ends = [end for value in values.values() for end in _ends(value)]
    low, high = min(ends), max(ends)
    margin = _MARGIN * (high - low) or 0.5 * max(abs(low), 1.0)
    places = np.linspace(low - margin, high + margin, _PLACES)
    name = name or (next(iter(values)) if len(values) == 1 else "value")
    x = Axis(shortened(name), unit, limits=(places[0], places[-1]))
    densities: list[Any] = []
    cumulative: list[Any] = []
    top = 0.0
    if samples is not None and samples[0] < samples[-1]:
        counts, edges = np.histogram(samples, bins="sqrt", range=(low, high))
        heights = counts / len(samples) / np.diff(edges)
        densities.append(Steps(edges, heights, "samples", "faint", is_filled=True))
        levels = np.linspace(0.0, 1.0, min(len(samples), _PLACES) + 1)
        ends = [low - margin, *np.quantile(samples, levels[1:-1]), high + margin]
        cumulative.append(Steps(ends, levels[1:], "samples", "muted"))
        top = float(heights.max())
    bars = []
    for number, (owner, value) in enumerate(values.items()):
        colour, label = f"series:{number}", owner if len(values) > 1 or samples is not None else ""
        if _is_bar(value):
            bars.append((label, value, colour))
            lower, upper = value.support
            cumulative.append(Band(places, 1.0 * (places >= upper), 1.0 * (places >= lower), label, colour))
            continue
        if value.binned is not None:  # also what is on single values
            cells = np.linspace(places[0], places[-1], _CELLS + 1)
            heights = np.diff(np.asarray(value.cdf(cells))) / (cells[1] - cells[0])
            densities.append(Steps(cells, heights, label, colour, width=1.2))
        else:
            heights = np.asarray(value.pdf(places), dtype=np.float64)
            densities.append(Band(places, np.zeros(_PLACES), heights, "", colour))
            densities.append(Line(places, heights, label, colour, width=1.2))
        top = max(top, float(heights.max()))
        cumulative.append(Line(places, np.asarray(value.cdf(places)), label, colour, width=1.2))
    for number, (label, value, colour) in enumerate(bars):  # without a density, heights mean nothing
        height = (1.05 if top else 0.6) * (top or 1.0) * (1.0 - 0.06 * number)
        densities.append(Line(_ends(value), [height, height], label, colour, width=4.0))
    density = Axis("density", f"1/{unit}" if unit else "", limits=(0.0, None) if top else (0.0, 1.0))
    return [
        Plot("density", densities, x, density),
        Plot("cumulative", cumulative, x, Axis("cumulative probability", limits=(0.0, 1.02))),
    ]  # fmt: skip


def _is_bar(value: StochasticValue) -> bool:
    """Return whether it is one number, or nothing is known of it between its bounds."""
    low, high = value.support
    return low == high or not value.has_distribution


def _ends(value: StochasticValue) -> tuple[float, float]:
    """Return the range to show: all of what has bounds that are not far out."""
    low, high = value.support
    if _is_bar(value):
        return low, high
    inner = value.quantile([_BEYOND, 1.0 - _BEYOND]).tolist()
    room = _FAR * (inner[1] - inner[0])
    return low if inner[0] - low < room else inner[0], high if high - inner[1] < room else inner[1]


def _after(unit: str) -> str:
    return f" {unit}" if unit else ""


def _central(name: str, distribution: Any, unit: str) -> Figure:
    """Return the median with its central interval."""
    ends = [float(distribution.quantile(level)) for level in (0.5, 0.5 - 0.5 * _USUAL, 0.5 + 0.5 * _USUAL)]
    return Figure(name, ends[0], unit, (ends[1], ends[2]), f"{_USUAL:.0%} of outcomes", key="median")


def number_text(number: float) -> str:
    """Return a number in three digits, without an exponent up to a million."""
    rounded = float(f"{number:.3g}")
    return f"{rounded:,.0f}" if 1000.0 <= abs(rounded) < 1e6 else f"{rounded:.3g}"


def _bracketed(figure: Figure) -> str:
    low, high = figure.interval or (math.nan, math.nan)
    return f"{number_text(figure.value)}{_after(figure.unit)} [{number_text(low)}, {number_text(high)}]"


def report_of_prediction(result: Prediction, data: Any = None) -> Report:
    """Report a distribution and its statistics."""
    evaluation, unit, statistics = result.evaluation, result.unit, result.statistics
    lowest, highest = evaluation.distribution.support
    if not result.value.has_distribution or lowest == highest:
        figures = [Figure("lowest", lowest, unit), Figure("highest", highest, unit)]
        bounds = f"between {lowest:.4g} and {highest:.4g}{_after(unit)}; bounds, without probabilities"
        answer = f"{result.name}: {bounds if lowest < highest else f'{lowest:.4g}{_after(unit)}'}"
    else:
        figures = [_central("median", evaluation.distribution, unit)]
        median, kept = f"median {_bracketed(figures[0])} ({_USUAL:.0%} of outcomes)", ""
        if evaluation.limit is not None:
            figures.insert(0, Figure("probability", float(evaluation.distribution.cdf(evaluation.limit)), format=".3%"))
            kept = f"at most {evaluation.limit:g}{_after(unit)} with {figures[0].text} probability; "
        answer = f"{result.name}: {kept}{median}"
    errors = evaluation.errors
    standard_error = Column("standard error", lambda row: errors.get(row[0]), format=".2g")
    columns = [Column("statistic", 0), Column("value", 1, unit, ".6g", key="value"), standard_error]
    rows = list(statistics.items())
    known = [row for row in rows if not math.isnan(row[1])]
    return Report(
        title=f"{result.name} [{unit}]" if unit else result.name,
        answer=answer,
        figures=figures,
        tables=[Table(columns, known), Table(columns, rows, importance="data")],
        draw=lambda: plots_of({result.name: result.value}, unit),
        notes=[Note("Check", f"method: {evaluation.method}"), *(Note("Uncertain", text) for text in result.notes)],
        next=result.next,
        details=[f"distribution: {result.value!r}"],
        formula=repr(result.value),
    )


def report_of_choice(result: Choice, data: Any = None) -> Report:
    """Report candidates side by side: the best, and by how much."""
    statistic, unit, figures = result.statistic, result.unit, result.figures
    best = figures[result.chosen]
    numbers = [Figure(statistic.name, best, unit, format=".4g", key="chosen")]
    answer = f"{result.chosen}: {statistic.name} {best:.3g}{_after(unit)}"
    names = sorted(figures, key=figures.__getitem__)
    if len(names) > 1:
        second = next(name for name in names if name != result.chosen)
        if figures[second] <= 0.0:
            answer += f", {second} {statistic.name} {figures[second]:.3g}{_after(unit)}"
        else:
            gain = 1.0 - best / figures[second]
            numbers.append(Figure("below the second", gain, format=".0%"))
            answer += f", {gain:.0%} below {second}" if gain >= 0.005 else f", as {second}"
        if second in result.beaten:
            numbers.append(Figure("probability of being faster", result.beaten[second], format=".0%"))
            answer += f"; faster with {result.beaten[second]:.0%} probability"
    statistics = [result.predictions[name].statistics for name in names]
    columns = {column: [of_one[column] for of_one in statistics] for column in statistics[0]}
    columns.setdefault(statistic.name, [figures[name] for name in names])
    table = [
        Column("candidate", names),
        Column("chosen", [name == result.chosen for name in names], importance="data"),
        Column("P(chosen faster)", [result.beaten.get(name) for name in names], format=".0%", key="beaten"),
        *(Column(name, values, format=".6g", key=name) for name, values in columns.items()),
    ]
    notes = [f"{name}: {note}" for name, prediction in result.predictions.items() for note in prediction.notes]
    values = {name: result.predictions[name].value for name in names}
    return Report(
        title=f"{len(names)} candidates by {statistic.name}",
        answer=answer,
        figures=numbers,
        tables=[Table(table)],
        draw=lambda: plots_of(values, unit, next(iter(result.predictions.values())).name),
        notes=[Note("Uncertain", text) for text in notes],
        next=result.next,
        formula=f"{result.chosen}: {result.predictions[result.chosen].value!r}",
    )


def report_of_decomposition(result: Decomposition, data: Any = None) -> Report:
    """Report how work is divided, and when all machines are done."""
    unit, statistic = result.unit, result.statistic
    shares = " + ".join(f"{share:,}" for share in result.shares[:8]) + " + ..." * (len(result.shares) > 8)
    late = max(result.figures)
    figures = [Figure(f"slowest machine's {statistic.name}", late, unit, key="slowest")]
    ends = f"slowest machine {late:.3g}{_after(unit)}"
    tables, notes = [], []
    if result.finish is not None:
        figures.insert(0, _central("finish", result.finish, unit))
        ends = f"all done after {_bracketed(figures[0])} ({_USUAL:.0%} of outcomes)"
    answer = f"{shares} units by {statistic.name}: {ends}"
    if result.divisions:
        own = result.divisions[0]
        equal = next(each for each in result.divisions if each.name == "equal")
        if own.shares != equal.shares:
            gain = 1.0 - own.figure / equal.figure
            figures.append(Figure("gain over equal shares", gain, format=".0%"))
            answer += f", {statistic.name} {abs(gain):.0%} {'below' if gain >= 0 else 'above'} equal shares"
        best = min(result.divisions, key=lambda each: each.figure)
        if best.figure < (1.0 - _NOTEWORTHY_GAIN) * own.figure:
            earlier = f"{1.0 - best.figure / own.figure:.0%} earlier by {statistic.name}"
            notes.append(Note("Uncertain", f"{best.name} shares end {earlier}"))
        columns = [
            Column("division", "name"),
            Column("shares", lambda row: " ".join(map(str, row.shares))),
            Column(f"finish, {statistic.name}", "figure", unit, ".4g", key="finish"),
            Column("median", "median", unit, ".4g", key="finish_median"),
            Column("P(first faster)", "beaten", format=".0%", key="beaten"),
        ]
        tables.append(Table(columns, result.divisions, "Divisions", importance="default"))
    figures_by_name = {statistic.name: result.figures}
    for name in ("mean", "std"):
        figures_by_name.setdefault(name, tuple(getattr(time, name) for time in result.times))
    machines = [
        Column("machine", range(1, len(result.shares) + 1)),
        Column("share", result.shares),
        *(Column(name, values, format=".6g", key=name) for name, values in figures_by_name.items()),
    ]
    values = {f"machine {number}": time for number, time in enumerate(result.times, start=1)}
    return Report(
        title=f"{sum(result.shares):,} units of work among {len(result.shares)} machines by {statistic.name}",
        answer=answer,
        figures=figures,
        tables=[*tables, Table(machines, title="Machines" if tables else ""), Table(machines, importance="data")],
        draw=lambda: plots_of(values, unit, "time"),
        notes=notes,
        next=result.next,
        formula=shares,
    )


def report_of_solution(result: Solution, data: Any = None) -> Report:
    """Report the value of an input that suffices, and all that were tried."""
    asked = f"at or below {result.limit:g}{_after(result.unit)} with {result.probability:.4g} probability"
    if result.found is None:
        low, high = result.tried[0].value, result.tried[-1].value
        best = max(result.tried, key=lambda trial: trial.probability)
        nearest = f"best {result.name}={best.value:.6g}: {best.probability:.4g}"
        answer = f"no {result.name} from {low:g} to {high:g} keeps the result {asked}; {nearest}"
        figures = [Figure(f"best {result.name}", best.value, format=".6g", key="best")]
    else:
        found, which = result.found, "most" if result.most else "least"
        reached = f"(reached: {found.probability:.4g})"
        answer = f"{result.name}={found.value:.6g} is the {which} that keeps the result {asked} {reached}"
        figures = [Figure(result.name, found.value, format=".6g")]
        figures.append(Figure("probability", found.probability, format=".4g"))
    columns = [
        Column("", lambda trial: "*" if trial == result.found else "", key=()),
        Column(result.name, "value", format=".6g", key=result.name),
        Column("probability", "probability", format=".6g"),
        Column("standard error", "error", format=".2g"),
        Column("found", lambda trial: trial == result.found, importance="data"),
    ]

    def draw() -> list[Plot]:
        values, shares = zip(*((trial.value, trial.probability) for trial in result.tried), strict=True)
        limit = f"P(<= {result.limit:g}{_after(result.unit)})"
        marks: list[Any] = [Line(values, shares, limit), Points(values, shares, colour="model")]
        marks.append(Rule([result.probability], "y", f"required: {result.probability:g}", style="dashed"))
        if result.found is not None:
            marks.append(Rule([result.found.value], label=f"{result.name}={result.found.value:.6g}"))
        return [Plot("probability", marks, Axis(result.name), Axis("probability"))]

    return Report(
        title=f"{result.name} for P(<= {result.limit:g}{_after(result.unit)}) >= {result.probability:g}",
        answer=answer,
        figures=figures,
        tables=[Table(columns, result.tried)],
        draw=draw,
        notes=[Note("Uncertain", text) for text in result.notes],
        next=result.next,
        formula=f"{result.name} = {result.found.value:.6g}" if result.found else "",
    )


def report_of_value(result: MeasuredValue, data: Any = None) -> Report:
    """Report samples as a stochastic value, and what it leaves out of them."""
    value, samples, column = result.value, result.window.values, result.column
    count = f"{result.count:,} sample{'s' * (result.count != 1)}"
    low, high = value.support
    if low == high:
        figures = [Figure("value", low)]
        is_same = samples[0] == samples[-1]
        answer = f"{column}: {f'{low:.6g} (all {count})' if is_same else f'{low:.4g}, the mean of {count}'}"
    elif not value.has_distribution:
        figures = [Figure("lowest", low), Figure("highest", high)]
        answer = f"{column}: between {low:.4g} and {high:.4g} ({count}); {value.name}, without probabilities"
    else:
        figures = [_central("median", value, ""), Figure("CDF error", result.cdf_error, format=".3f")]
        n_bins = 0 if value.binned is None else len(value.binned[1])
        bins = f"histogram of {n_bins} bin{'s' * (n_bins != 1)}" if n_bins else value.name
        answer = f"{column}: median {_bracketed(figures[0])} ({_USUAL:.0%} of {count})"
        answer += f"; {bins}, CDF error {result.cdf_error:.3f}"
        if result.cdf_error > _ACCEPTED:
            answer += f", above {_ACCEPTED:g}" + " for lack of samples" * (len(samples) < 1.0 / _ACCEPTED)
        if result.run:
            mean = f"mean over a run of {result.run} that starts now"
            answer = f"{column}: {mean}: median {_bracketed(figures[0])} ({_USUAL:.0%} of outcomes); {count}"
            figures = figures[:1]
    of_values = [figures_of(each, result.levels) for each in (value, *result.others.values())]
    measured = [samples.mean(), result.samples_std, *np.quantile(samples, result.levels), samples.min(), samples.max()]
    rows: list[Any] = [
        (name, *(each[name] if math.isfinite(each[name]) else None for each in of_values), float(one))
        for name, one in zip(of_values[0], measured, strict=True)
    ]
    others = [result.error_of(each) if each.has_distribution else None for each in result.others.values()]
    errors = ("CDF error", None if result.run else round(result.cdf_error, 9), *others, None)
    of_others = [Column(name, 2 + number, format=".6g", key=name) for number, name in enumerate(result.others)]
    of_samples = Column("samples", 2 + len(others), format=".6g")
    columns = [Column("statistic", 0), Column("model", 1, format=".6g"), of_samples, *of_others]
    shown = [*rows, errors] if not math.isnan(result.cdf_error) else rows
    figures_of_rows = [Column(row[0], [row[1], row[-1]], format=".6g", key=row[0]) for row in rows]
    data = Table([Column("source", ["model", "samples"], key="of"), *figures_of_rows], importance="data")
    drawn = None if result.run else np.sort(samples)
    scale = f", {result.variation_class} on a scale from 0 to 1" if result.variation_class else ""
    variation = f"variation: {result.window.variation:.4g}{scale}"
    return Report(
        title=f"{column} of {Path(result.window.source).name} as {value.name}",
        answer=answer,
        figures=figures,
        tables=[Table(columns, shown), data],
        draw=lambda: plots_of({value.name: value}, "", column, drawn),
        notes=result.report_notes,
        next=result.next,
        details=[f"distribution: {value!r}", result.window.describe(), variation],
        formula=repr(value),
    )


def report_of_model(result: StructuralModel, data: Any = None) -> Report:
    """Report a structural model: its equation and its inputs."""
    equations = [f"{name} = {part.equation or part.model}" for name, part in result.components.items()]
    components = [line for equation in equations for line in equation.split("\n")]
    named = (("component", result.components), ("input", result.inputs))
    counts = [f"{len(parts)} {name}{'s' * (len(parts) != 1)}" for name, parts in named]
    title = result.name or result.equation
    inputs = [
        Column("input", 0),
        Column("value", lambda row: _described(row[1])),
        Column("unit", lambda row: row[1].unit or ""),
    ]
    copies: list[Any] = []
    for name, definition in result.inputs.items():
        for place, value in definition.cells.items():  # several if it is replicated
            label = f"{name}[{', '.join(str(number + 1) for number in place)}]" if place else name
            moments = (value, 0.0, value, value)
            if isinstance(value, StochasticValue):
                moments = (value.mean, value.std, *value.support)
            copies.append((label, *moments, definition.unit or ""))
    of_copies = [Column(name, k) for k, name in enumerate(("input", "mean", "std", "lowest", "highest", "unit"))]

    def draw() -> list[Plot]:
        prediction = result.predict()
        return plots_of({prediction.name: prediction.value}, prediction.unit)

    is_file = result.source.endswith(".toml")
    return Report(
        title=title,
        answer=f"{title}: {f'{result.equation}; ' if title != result.equation else ''}{', '.join(counts)}",
        tables=[
            Table(inputs, list(result.inputs.items()), drops_empty=False),
            Table(of_copies, copies, importance="data"),
        ],
        draw=draw,
        next=f"perf predict {shlex.quote(result.source)}" if is_file else "",
        details=components,
        formula="\n".join([result.equation, *components]),
    )


def _described(definition: Input) -> str:
    values = list(definition.cells.values())
    text = repr(values[0]) if isinstance(values[0], StochasticValue) else f"{values[0]:.6g}"
    return text if len(values) == 1 else f"{text}, ... ({len(values)} copies)"


def report_of_predictions(result: Predictions, data: Any = None) -> Report:
    """Report predictions from a file, before anything is known of what happened."""
    first, count = result.values[0], len(result.values)
    columns = [
        Column("prediction", range(1, count + 1)),
        Column("representation", [value.name for value in result.values]),
        Column("mean", [value.mean for value in result.values], format=".6g"),
        Column("95% interval", [value.central_interval(0.95) for value in result.values], format=".5g",
               key=("lower", "upper")),
        Column("support", [value.support for value in result.values], format=".5g", key=("lowest", "highest"),
               importance="data"),
    ]  # fmt: skip
    kinds = " and ".join(dict.fromkeys(value.name for value in result.values))
    answer = f"{count:,} prediction{'s' * (count != 1)}, {kinds}"
    if count == 1 and first.has_distribution:
        answer = f"{answer}: median {_bracketed(_central('median', first, ''))} ({_USUAL:.0%} of outcomes)"
    values = {f"prediction {number}": value for number, value in enumerate(result.values[:_MOST_PREDICTIONS], start=1)}
    return Report(
        title=f"{count} prediction{'s' * (count != 1)} of {Path(result.source).name}",
        answer=answer,
        tables=[Table(columns)],
        draw=lambda: plots_of(values, "", "prediction"),
        notes=[Note("Left out", f"plots of predictions {_MOST_PREDICTIONS + 1}..{count}")]
        * (count > _MOST_PREDICTIONS),
        next="compare them with what happened: perf validate PREDICTIONS.json RUNS.csv",
    )


def report_of_judgement(result: Judgement, data: Any = None) -> Report:
    """Report whether predictions held: coverage, bias and scores."""
    statistics, count = result.statistics, len(result.actual)
    known = unit_in_name(result.name)
    unit = known.label if known is not None else ""
    coverage = result.coverage()
    tested = next((row for row in coverage if row["interval"] == "95%"), coverage[0] if coverage else None)
    figures: list[Figure] = []
    parts: list[str] = []
    bias, _ = result.bias
    if tested is not None:
        interval = f"{tested['interval']} intervals" if tested["interval"] != "bounds" else "bounds"
        limits = (tested["low"], tested["high"])
        figures.append(Figure("coverage", tested["observed"], "", limits, "95% confidence interval", ".0%"))
        covered = f"{interval} covered {tested['observed']:.0%} of {count} runs"
        parts.append(f"{covered} [{tested['low']:.0%}, {tested['high']:.0%}]")
    if math.isfinite(bias):
        figures.append(Figure("bias", bias, unit, format="+.2g"))
        parts.append(f"bias {figures[-1].text}")
    notes = []
    if statistics["crps"] is not None:
        error = f"mean absolute error {statistics['mean_absolute_error']:.3g}{_after(unit)}"
        text = f"mean CRPS {statistics['crps']:.4g}{_after(unit)} (lower is better), {error}"
        notes.append(Note("Check", text))
    if outside := int(np.sum((result.actual < result.support[:, 0]) | (result.actual > result.support[:, 1]))):
        notes.insert(0, Note("Uncertain", f"{outside} of {count} runs lie outside of all that was predicted"))
    return Report(
        title=f"{count} runs scored against {' and '.join(result.representations)} predictions",
        answer=f"{result.verdict}: {'; '.join(parts)}",
        figures=figures,
        tables=_tables_of_judgement(result, coverage),
        draw=partial(_plots_of_judgement, result),
        notes=notes,
        next=result.next,
        formula="CRPS = integral of (F(x) - [x >= actual])^2 dx",
    )


def _tables_of_judgement(result: Judgement, coverage: Sequence[Any]) -> list[Table]:
    limits = Column("95% CI", lambda row: (row["low"], row["high"]), format=".1%")
    within = Column("coverage", "observed", format=".1%", key="actual_within")
    scores = [Column("mean width", "width", format=".5g"), Column("interval score", "score", format=".5g")]
    tables = [
        Table([Column("interval", "interval"), within, limits, *scores, Column("runs", "runs")], coverage, "Coverage")
    ]
    if result.quantiles:
        within = Column("actual below", "observed", format=".1%", key="actual_at_most")
        loss = Column("quantile loss", "loss", format=".5g")
        columns = [Column("quantile", "quantile"), within, limits, loss, Column("runs", "runs")]
        tables.append(Table(columns, result.quantile_shares(), "Quantiles"))
    counts = result.place_counts()
    if counts.sum():
        shares_of_tenths = enumerate((counts / counts.sum()).tolist())
        tenths = [Column(f"{10 * k}-{10 * (k + 1)}%", [share], format=".1%") for k, share in shares_of_tenths]
        title = "PIT histogram (uniform = 10.0%)"
        tables.append(Table([Column("", ["actual"]), *tenths], title=title, importance="verbose"))
    runs = np.arange(1, len(result.actual) + 1) if result.at is None else result.at
    columns = [Column("at", runs), *(Column(name, getattr(result, name)) for name in ("actual", "mean"))]
    columns += [Column("support", result.support, key=("lower", "upper"))]
    columns += [Column(name, getattr(result, name)) for name in ("place", "crps")]
    return [*tables, Table(columns, importance="data")]


def _plots_of_judgement(result: Judgement) -> list[Plot]:
    positions = np.arange(1, len(result.actual) + 1) if result.at is None else result.at
    order = np.argsort(positions, kind="stable")
    finite = np.isfinite(result.support)
    outer, inner = np.where(finite, result.support, result.bounds[_OUTER])[order], result.bounds[_INNER][order]
    label = "bounds" if finite.all() else f"bounds or {_OUTER:.0%}"
    marks: list[Any] = [Band(positions[order], outer[:, 0], outer[:, 1], label, opacity=0.15)]
    marks += [Line(positions[order], side, width=0.8) for side in outer.T]
    if np.isfinite(inner).any():
        marks.append(Band(positions[order], inner[:, 0], inner[:, 1], f"{_INNER:.0%}", opacity=0.3))
    marks += [
        Line(positions[order], result.actual[order], colour="dark", width=0.8),
        Points(positions[order], result.actual[order], shortened(result.name), "dark", size=3.0),
    ]
    low = min(0.0, float(result.actual.min()))
    x, y = Axis(shortened(result.at_name)), Axis(shortened(result.name), limits=(low, None))
    counts = result.place_counts()
    runs = Plot("runs", marks, x, y, width=0.75 if counts.sum() else 0.0)
    if not counts.sum():
        return [runs]
    # Even if the predicted distributions are right; a valley if they are too narrow, a hill if too wide.
    bars: list[Any] = [
        Steps(np.linspace(0.0, 1.0, PIT_BINS + 1), counts, colour="model", is_filled=True),
        Rule([float(counts.sum()) / PIT_BINS], "y", colour="dark"),
    ]
    return [runs, Plot("places", bars, Axis("PIT"), Axis("runs"), width=0.25)]


def report_of_recalibration(result: Recalibration, data: Any = None) -> Report:
    """Report what past predictions teach later ones."""
    gain = 1.0 - result.score_after / result.score_before
    figures: list[Figure] = []
    answer = f"Recalibration learned from {result.runs} runs"
    if result.held_after:
        after, before = result.held_after[_OUTER], result.held_before[_OUTER]
        figures = [Figure("coverage", after, format=".0%"), Figure("coverage before", before, format=".0%")]
        figures.append(Figure("gain in CRPS", gain, format=".1%"))
        scores = f"mean CRPS {2.0 * result.score_before:.4g} to {2.0 * result.score_after:.4g} ({-gain:+.1%})"
        covered = f"covered {after:.0%} of {result.runs} held-out runs ({before:.0%} as predicted)"
        answer = f"Corrected {_OUTER:.0%} intervals {covered}; {scores}"
    coverages = list(result.held_before)
    held = [
        Column("interval", coverages, format=".0%", key="coverage"),
        Column("as predicted", list(result.held_before.values()), format=".1%", key="held_before"),
        Column("corrected", [result.held_after[coverage] for coverage in coverages], format=".1%", key="held_after"),
    ]
    quantiles = [
        Column("level", _SHOWN_LEVELS, format="g"),
        Column("predicted level", key="is_the_predicted", value=result.places_of(_SHOWN_LEVELS), format=".4f"),
    ]
    outside = f"{result.outside:.1%} of the runs lie outside the predicted range and cannot be recalibrated"
    correction = Line(result.levels, result.places, "correction", "data")
    marks: list[Any] = [Rule(slope=1.0, label="no correction"), correction]
    axes = Axis("quantile level", limits=(0.0, 1.0)), Axis("predicted quantile level", limits=(0.0, 1.0))
    return Report(
        title=f"Recalibration learned from {result.runs} runs",
        answer=answer,
        figures=figures,
        tables=[
            Table(held, title="Coverage on held-out runs"),
            Table(quantiles, title="Quantiles", importance="verbose"),
        ],
        draw=lambda: [Plot("map", marks, *axes)],
        notes=[
            Note("Check", "held out: five stretches of runs, each corrected by what the others teach"),
            *[Note("Uncertain", outside)] * (result.outside > 0.0),
        ],
        next='-o correction.json writes it; recalibration = "correction.json" in the model file applies it',
    )
