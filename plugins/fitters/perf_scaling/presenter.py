"""Scaling laws in lines and tables, for people and for other programs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_scaling.advice import advice, expected_spread, next_point, percent
from perf_scaling.data import describe_paths
from perf_scaling.growth import CLASSES, SURE
from perf_scaling.rows import DEVIATES, PathRow, note_of
from perf_scaling.speedup import Speedup, is_apart, is_open, speedup
from perfcore.base.errors import listing
from perfcore.results import Column, Panels, Presenter, Table, Tables

if TYPE_CHECKING:
    from perf_scaling.model import ScalingModel
    from perf_scaling.views import ScalingViews

_MOST_PATHS = 40
_MOST_ADVICE = 10
_MOST_NAMED = 3
_HARDLY_LESS = 0.9  # of the variance


def _scaling_lines(model: ScalingModel) -> list[str]:
    """What would have to be said for a speedup."""
    if is_apart(model):
        return [
            "no speedup of all paths: values of several metrics, programs or systems do not add up; "
            "choose one with --where"
        ]
    if not is_open(model):
        return []
    parameter = next(iter(model.parameter_names.values()))
    return [f"no speedup: nothing says whether the problem grows with {parameter}; --scaling weak or strong does"]


def _miss_lines(model: ScalingModel) -> list[str]:
    """Paths whose fitted values are far from what was measured."""
    far = sorted((row for row in model.rows if row.misses > 1.0), key=lambda row: -row.misses)
    if not far:
        return []
    names = listing((f"{row.path} (by a factor of {row.misses:.2g})" for row in far), _MOST_NAMED)
    return [f"far from a measured value: {names}; measure there again"]


def _deviation_lines(model: ScalingModel) -> list[str]:
    """Paths whose last level is probably one of its own, so that what comes after it is not known."""
    rows = [row for row in model.rows if row.deviates >= DEVIATES]
    if not rows:
        return []
    names = listing((f"{row.path} ({row.deviates:.0%})" for row in rows), _MOST_NAMED)
    last_point = " and ".join(
        f"{model.parameter_names[symbol]} = {max(levels):g}" for symbol, levels in model.points.items()
    )
    return [f"the value at {last_point} may be one of its own: {names}; repeat it to tell whether growth changes there"]


def _over(model: ScalingModel, symbol: str) -> str:
    levels = model.points[symbol]
    column = model.columns[symbol]
    name = column if model.parameter_names[symbol] == column else f"{symbol}={column}"
    return f"{name} ({min(levels):.6g} to {max(levels):.6g})"


def _runs(model: ScalingModel) -> str:
    counts = [count for path_data in model.data for count in path_data.counts if count > 0.0]
    low, high = math.ceil(min(counts)), math.ceil(max(counts))
    return f", {low} run{'s' if low > 1 else ''} each" if low == high else f", {low} to {high} runs each"


def _growth_line(model: ScalingModel, symbol: str, number: int) -> str:
    """How many paths grow how."""
    growths = [row.growths[number] for row in model.rows]
    sure = Counter(growth.name for growth in growths if growth.probability >= SURE)
    parts = [f"{sure[name]:,} {name}" for name in CLASSES if sure[name]]
    half = Counter(growth.statement for growth in growths if growth.probability < SURE)
    parts += [f"{count:,} {statement}" for statement, count in half.most_common()]
    return f"growth over {model.parameter_names[symbol]}: {', '.join(parts)}"


def _next_line(model: ScalingModel) -> list[str]:
    """Where the next measurement helps most, and how much: of the paths that the table shows, by their share."""
    rows = [row for row in model.rows[:_MOST_PATHS] if row.low > 0.0]
    share = np.array([row.share for row in rows])
    if not share.sum() > 0.0:
        return []
    point = next_point(model)
    points = np.array([[point[symbol] for symbol in model.symbols]])
    spread = expected_spread(model, points, [model.paths.index(row.path) for row in rows])
    before, after = (share @ spread).tolist()
    now = float(share @ [0.5 * math.log(row.high / row.low) for row in rows] / share.sum())
    target = model.target_text
    if after >= _HARDLY_LESS * before:
        bounds = f"the bounds there, {_factor_text(now)} either way, by much"
        return [f"measure next: {target} itself; nothing before it narrows {bounds}"]
    then = now * math.sqrt(after / before)
    return [
        f"measure next: {model.point_text(point)}; it narrows the bounds at {target} from {_factor_text(now)} to about "
        f"{_factor_text(then)} either way"
    ]


def _factor_text(side: float) -> str:
    """Half of an interval of a logarithm as a person writes it."""
    return percent(math.expm1(side)) if side < math.log(2.0) else f"a factor of {math.exp(side):.2g}"


def _target_text(model: ScalingModel) -> str:
    ratio = max(model.target[symbol] / max(model.points[symbol]) for symbol in model.symbols)
    far = f", {ratio:.3g} times the largest measured" if ratio > 1.0 else ""
    return model.target_text + far


def _path_columns(model: ScalingModel) -> list[Column]:
    """What is said of each path at the target."""
    top = {model.parameter_names[symbol]: max(levels) for symbol, levels in model.points.items()}
    unit = model.unit or ""
    columns = [
        Column("path", "path"),
        Column("share", "share", format=".1%", importance="default" if model.has_parts else "data"),
        Column("predicted", "predicted", unit, key="predicted"),
        Column("95% CI", lambda row: (row.low, row.high), unit, key=("low", "high")),
        Column("likeliest law", "law", key="law"),
        Column("probability", "probability", format=".0%", key="law_probability"),
    ]
    several = len(top) > 1
    for number, parameter in enumerate(top):
        over, of = (f" over {parameter}", f"_{parameter}") if several else ("", "")

        def fact(name: str, number: int = number) -> Callable[[PathRow], Any]:
            return lambda row: getattr(row.growths[number], name)

        def exponent(row: PathRow, number: int = number) -> tuple[float, float, float]:
            return row.growths[number][2:5]

        columns += [
            Column(f"growth{over}", fact("statement"), key=()),
            Column("growth", fact("name"), key=f"growth{of}", importance="data"),
            Column("probability", fact("probability"), format=".0%", key=f"growth_probability{of}"),
            Column(
                "exponent", exponent, format=".2g", key=tuple(f"exponent{end}{of}" for end in ("", "_low", "_high"))
            ),
            Column("statement", fact("statement"), key=f"growth_statement{of}", importance="data"),
        ]
    return [*columns, Column("note", lambda row: note_of(row, top))]


def _advice_columns(model: ScalingModel) -> list[Column]:
    return [
        Column("path", "path"),
        Column("grows as", lambda entry: " or ".join(entry.rivals)),
        Column("they differ here by", "here", format=percent),
        Column("measure to tell", lambda entry: None if entry.point is None else model.point_text(entry.point)),
        Column("there by", "there", format=percent),
    ]


def _speedup_table(model: ScalingModel, curve: Speedup, of: str) -> Table:
    parameter, *others = model.parameter_names.values()
    half = f"stays above 50 % up to {parameter} = {curve.levels[-1].level:g}"
    if curve.half is not None:
        half = f"falls below 50 % at {parameter} = {curve.half:.3g}"
    how = f"{curve.scaling} scaling" + ("" if curve.is_told else ", since the time falls; --scaling weak otherwise")
    fixed = [f"{name} = {level:g}" for name, level in zip(others, model.target_point[1:].tolist(), strict=True)]
    where = ", ".join([f"{parameter} = {curve.base:g}", *fixed])
    columns = [
        Column(parameter, "level", format="g"),
        Column("time", "time", model.unit or "", key=("time", "time_low", "time_high")),
        Column("speedup", "speedup", format=".3g", key=("speedup", "speedup_low", "speedup_high")),
        Column("efficiency", "efficiency", format=".1%", key=("efficiency", "efficiency_low", "efficiency_high")),
        Column("note", lambda entry: "" if entry.measured else "predicted"),
    ]
    return Table(columns, curve.levels, f"Speedup of {of} ({how}) from {where}; efficiency {half}")


class ScalingPresenter(Presenter):
    """Text, tables, picture and page of `ScalingModel`."""

    def title(self, result: ScalingModel) -> str:
        """How many paths, and the source."""
        source = Path(result.origin.source).name
        if len(result.paths) == 1:
            return f"scaling law of {result.paths[0]} of {source}"
        return f"scaling laws of {len(result.paths):,} paths of {source}"

    def summary(self, result: ScalingModel) -> list[str]:
        """What was fitted, how it grows, what is not determined, and what to measure next."""
        noise = float(np.median(np.sqrt(result.posterior.spread)))
        unit = f" [{result.unit}]" if result.unit else ""
        over = ", ".join(_over(result, symbol) for symbol in result.symbols)
        repeated = any(count > 1.0 for path_data in result.data for count in path_data.counts)
        noise_text = (
            f"{percent(noise)} of its mean, median of the paths" if repeated else "not known, without repeated runs"
        )
        return [
            result.title,
            *_miss_lines(result),
            f"{len(result.measured)} points of {result.value_name}{unit} over {over}{_runs(result)}",
            *result.notes,
            *(_growth_line(result, symbol, number) for number, symbol in enumerate(result.symbols)),
            f"noise of one run: {noise_text}",
            *([] if result.check is None else [result.check.text]),
            *_scaling_lines(result),
            *_deviation_lines(result),
            *_next_line(result),
            *(f"not fitted: {line}" for line in describe_paths(result.unfitted)),
        ]

    def tables(self, result: ScalingModel) -> Tables:
        """The paths by their share at the target; what is not determined; speedup; and all laws of the path shown."""
        rows = result.rows
        shares = f"; {result.whole.shares_text}" if result.has_parts else ""
        columns = _path_columns(result)
        tables = [
            Table(columns, rows, f"At {_target_text(result)}{shares}", limit=_MOST_PATHS),
            Table(columns, rows, importance="data"),
        ]
        unsure = [row.path for row in rows if not row.determined]
        if chosen := [row.path for row in rows[:_MOST_PATHS] if not row.determined][:_MOST_ADVICE]:
            entries = advice(result, [result.paths.index(path) for path in chosen])
            more = f"; the first {len(chosen)} of {len(unsure):,}" if len(chosen) < len(unsure) else ""
            title = f"Growth that these data do not determine{more}"
            tables.append(Table(_advice_columns(result), entries, title))
        if (curve := speedup(result)) is not None:
            tables.append(_speedup_table(result, curve, "all paths" if len(result.paths) > 1 else result.paths[0]))
        name = result.origin.options.get("show")
        if name in result.paths:
            path = result.paths.index(str(name))
            columns = [
                Column("probability", 1, format=".1%"),
                Column("law", 0),
                Column("predicted", lambda law: float(law[2][0]), result.unit or ""),
            ]
            laws = result.laws_left(path, result.target_point[None])
            title = f"All laws of {name} that the data leave, with their predictions at {result.target_text}"
            tables.append(Table(columns, laws, title))
            if len(result.paths) > 1 and (curve := speedup(result, path)) is not None:
                tables.append(_speedup_table(result, curve, str(name)))
        return tables

    def heading(self, result: ScalingModel, data: Any = None) -> str:
        """The title, and how many paths are drawn."""
        from perf_scaling.picture import left_out_text

        return self.title(result) + left_out_text(result)

    def panels(self, result: ScalingModel, data: Any = None) -> Panels:
        """The paths that matter most at the target, a panel for each: means, law, bounds."""
        from perf_scaling.picture import model_panels

        return model_panels(result)

    def views(self, result: ScalingModel, data: Any = None, file: Path | None = None) -> ScalingViews:
        """The call tree coloured by growth, the growth of the whole, and each path's laws."""
        from perf_scaling.views import ScalingViews

        return ScalingViews(result)
