"""Scaling models in lines and tables, for people and for other programs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_scaling.advice import advice, next_point, outcomes, percent
from perf_scaling.data import describe_paths
from perf_scaling.growth import CLASSES, SURE
from perf_scaling.rows import DEVIATES, RANGE, PathRow, note_of
from perf_scaling.speedup import Speedup, is_apart, is_open, speedup, total_draws
from perfcore.base.errors import listing
from perfcore.results import Column, Panels, Presenter, Table, Tables
from perfcore.tables import Importance

if TYPE_CHECKING:
    from perf_scaling.model import ScalingModel
    from perf_scaling.views import ScalingViews

_MOST_PATHS = 40
_MOST_ADVICE = 10
_MOST_NAMED = 3
_HARDLY_LESS = 0.9  # of the variance
_FEW_LEVELS = 4


def _scaling_lines(model: ScalingModel) -> list[str]:
    """Why there is no speedup."""
    if is_apart(model):
        return [
            "no speedup of all paths: values of several metrics, programs or systems do not add up; "
            "choose one with --where"
        ]
    if model.speedup is not None or not is_open(model):
        return []
    parameter = next(iter(model.parameter_names.values()))
    return [f"no speedup: set --scaling weak or strong (does the problem grow with {parameter}?)"]


def _miss_lines(model: ScalingModel) -> list[str]:
    """Paths whose fitted values are far from what was measured."""
    far = sorted((row for row in model.rows if row.misses > 1.0), key=lambda row: -row.misses)
    if not far:
        return []
    names = listing((f"{row.path} (by a factor of {row.misses:.2g})" for row in far), _MOST_NAMED)
    return [f"measured values far from the model: {names}; measure there again"]


def _deviation_lines(model: ScalingModel) -> list[str]:
    """Paths whose last level is probably one of its own, so that what comes after it is not known."""
    rows = [row for row in model.rows if row.deviates >= DEVIATES]
    if not rows:
        return []
    names = listing((f"{row.path} ({row.deviates:.0%})" for row in rows), _MOST_NAMED)
    last_point = " and ".join(
        f"{model.parameter_names[name]} = {max(levels):g}" for name, levels in model.points.items()
    )
    return [f"the value at {last_point} is an outlier or a change: {names}; repeat it"]


def _over(model: ScalingModel, symbol: str) -> str:
    levels = model.points[symbol]
    column = model.columns[symbol]
    name = column if model.parameter_names[symbol] == column else f"{symbol}={column}"
    return f"{name} ({min(levels):.6g} to {max(levels):.6g})"


def _runs(model: ScalingModel) -> str:
    counts = [count for path_data in model.data for count in path_data.counts if count > 0.0]
    low, high = math.ceil(min(counts)), math.ceil(max(counts))
    return f", {low} run{'s' if low > 1 else ''} each" if low == high else f", {low} to {high} runs each"


def _is_repeated(model: ScalingModel) -> bool:
    return any(count > 1.0 for path_data in model.data for count in path_data.counts)


def _noise_text(model: ScalingModel) -> str:
    if not _is_repeated(model):
        return "run-to-run noise: unknown (no repeated runs)"
    noise = percent(float(np.median(np.sqrt(model.posterior.spread))))
    return f"run-to-run noise: {noise}{' (median of the paths)' if len(model.paths) > 1 else ''}"


def _growth_line(model: ScalingModel, symbol: str, number: int) -> str:
    """How many paths grow how."""
    growths = [row.growths[number] for row in model.rows]
    sure = Counter(growth.name for growth in growths if growth.probability >= SURE)
    parts = [f"{sure[name]:,} {name}" for name in CLASSES if sure[name]]
    half = Counter(growth.statement for growth in growths if growth.probability < SURE)
    parts += [f"{count:,} {statement}" for statement, count in half.most_common()]
    return f"growth over {model.parameter_names[symbol]}: {', '.join(parts)}"


def _next_measurement(model: ScalingModel) -> str:
    """Where the next measurement narrows the interval most, and how much: of the largest paths, by their share."""
    rows = [row for row in model.rows[:_MOST_PATHS] if row.low > 0.0]
    share = np.array([row.share for row in rows])
    if not share.sum() > 0.0:
        return ""
    point = next_point(model)
    points = np.array([[point[symbol] for symbol in model.symbols]])
    drawn = outcomes(model, points, [model.paths.index(row.path) for row in rows])
    before, after = drawn.variance, float(drawn.variances_with_one()[0])
    now = float(share @ [0.5 * math.log(row.high / row.low) for row in rows] / share.sum())
    if after >= _HARDLY_LESS * before:
        target = _compact(model, model.target)
        return f"measure {target} itself: nothing before it narrows the interval there, {_factor_text(now)}"
    then = now * math.sqrt(after / before)
    itself = " itself" if point == model.target else ""
    return (
        f"measure {_compact(model, point)}{itself}: narrows the 95% interval at {_compact(model, model.target)} "
        f"from {_factor_text(now)} to about {_factor_text(then)}"
    )


def _factor_text(side: float) -> str:
    """Half of an interval of a logarithm as a person writes it."""
    return f"±{percent(math.expm1(side))}" if side < math.log(2.0) else f"a factor of {math.exp(side):.2g}"


_MANY_DIGITS = 1e6  # levels of as many digits are rounded to four


def _compact(model: ScalingModel, point: Mapping[str, float]) -> str:
    levels = {model.parameter_names[symbol]: level for symbol, level in point.items()}
    return ", ".join(f"{name}={level:.{6 if level < _MANY_DIGITS else 4}g}" for name, level in levels.items())


def _target_text(model: ScalingModel) -> str:
    ratio = max(model.target[symbol] / max(model.points[symbol]) for symbol in model.symbols)
    below = any(model.target[symbol] < min(model.points[symbol]) for symbol in model.symbols)
    far = f" ({ratio:.3g}x beyond the data)" if ratio > 1.0 else " (below the data)" if below else ""
    return _compact(model, model.target) + far


def _amount(value: float, unit: str) -> str:
    return f"{value:.3g} {unit}".rstrip()


def _range(low: float, high: float) -> str:
    return f"{low:.3g}{RANGE}{high:.3g}"


def _answer(model: ScalingModel) -> str:
    row, unit = model.rows[0], model.unit or ""
    if len(model.paths) == 1:
        middle, holds = _amount(row.predicted, unit), f"{_amount(row.holds[0], unit)} if the model holds"
        sides = f"likely {_range(*row.likely)}, 95% {_range(row.low, row.high)}"
        if row.reach_of_target <= 1.0:
            text = f"{middle}; {sides}"
        elif row.likely[0] <= row.holds[0] <= row.likely[1]:
            text = f"{holds}; {sides}"
        else:  # the best model goes where series seldom go on to
            text = f"{middle}, {sides} ({holds})"
        return f"At {_target_text(model)}: {text}{_gain(model)}"
    how = "does not grow" if row.model.is_constant else f"scales like {row.model.growth}"
    if not model.has_parts:
        return (
            f"At {_target_text(model)}: {row.path} {_amount(row.predicted, unit)}, likely {_range(*row.likely)}, "
            f"95% {_range(row.low, row.high)}; {len(model.paths):,} series"
        )
    median, *likely = np.quantile(total_draws(model), (0.5, 0.25, 0.75, 0.025, 0.975)).tolist()
    return (
        f"At {_target_text(model)}: {_amount(median, unit)} in total, likely {_range(*likely[:2])}, "
        f"95% {_range(*likely[2:])}; {row.path} takes {row.share:.0%} and {how}"
    )


def _gain(model: ScalingModel) -> str:
    curve = model.speedup
    if curve is None or curve.levels[-1].level != model.target[curve.symbol]:
        return ""
    _, low, high = (100.0 * share for share in curve.levels[-1].efficiency)
    return f"; efficiency {curve.levels[-1].efficiency[0]:.0%} ({low:.0f}{RANGE}{high:.0f}%)"


def _model_lines(model: ScalingModel) -> list[str]:
    """The best-fitting model, where one series is looked at."""
    if len(model.paths) > 1:
        return []
    fit, row = model.best.named[0], model.rows[0]
    terms = ", ".join(f"{error:.2g}" for error in fit.standard_errors)
    also = f"; as good: {listing(fit.alternatives, _MOST_NAMED)}" if fit.alternatives else ""
    if_it_holds = f"if it holds: {_amount(row.holds[0], model.unit or '')}, 95% {_range(*row.holds[1:])}"
    return [f"{fit.formula} (standard errors {terms}), fit error {fit.fit_error:.1%}; {if_it_holds}{also}"]


def _change_lines(model: ScalingModel) -> list[str]:
    """Paths whose slope changes at the last step."""
    rows = [row for row in model.rows if row.changes_at is not None]
    if not rows:
        return []
    parameter = next(iter(model.parameter_names.values()))
    names = listing((f"{row.path} at {parameter}={row.changes_at:g}" for row in rows), _MOST_NAMED)
    return [f"behaviour changes near the largest level ({names}); measure beyond it"]


def _path_columns(model: ScalingModel) -> list[Column]:
    top = {model.parameter_names[symbol]: max(levels) for symbol, levels in model.points.items()}
    unit = model.unit or ""
    parts = len(model.paths) > 1
    shown: Importance = "verbose" if parts else "default"
    growth: Importance = "default" if parts else "data"
    columns = [
        Column("call path" if model.has_parts else "series", "path", key="path"),
        Column("share", "share", format=".1%", importance="default" if model.has_parts else "data"),
        Column("if model holds", lambda row: row.holds[0], unit, ".3g", key="if_model_holds", importance="data"),
        Column("predicted", "predicted", unit, ".3g", key="predicted"),
        Column("likely (50%)", "likely", unit, ".3g", key=("likely_lower", "likely_upper")),
        Column("95% interval", lambda row: (row.low, row.high), unit, ".3g", key=("low", "high")),
        Column("scales like", lambda row: row.model.growth, key="scales_like", importance=growth),
        Column("model in measured range", lambda row: row.model.formula, key="model", importance=shown),
        Column("if it holds", "holds", unit, ".3g", key=(), importance="verbose"),
        Column("fit error", lambda row: row.model.fit_error, format=".1%", key="fit_error", importance="verbose"),
        Column(
            "probability", lambda row: row.model.probability, format=".0%", key="model_probability", importance="data"
        ),
    ]
    several = len(top) > 1
    for number, parameter in enumerate(top):
        over, of = (f" in {parameter}", f"_{parameter}") if several else ("", "")

        def fact(name: str, number: int = number) -> Callable[[PathRow], Any]:
            return lambda row: getattr(row.growths[number], name)

        def exponent(row: PathRow, number: int = number) -> tuple[float, float, float]:
            return row.growths[number][2:5]

        columns += [
            Column(f"growth{over}", fact("statement"), key=(), importance="verbose"),
            Column("growth", fact("name"), key=f"growth{of}", importance="data"),
            Column(
                "probability", fact("probability"), format=".0%", key=f"growth_probability{of}", importance="verbose"
            ),
            Column(
                "exponent at target", exponent, format=".2g", importance="verbose",
                key=tuple(f"exponent{end}{of}" for end in ("", "_low", "_high")),
            ),
            Column("statement", fact("statement"), key=f"growth_statement{of}", importance="data"),
        ]  # fmt: skip
    return [*columns, Column("note", lambda row: note_of(row, top), importance="verbose")]


def _advice_columns(model: ScalingModel) -> list[Column]:
    return [
        Column("path", "path"),
        Column("candidates", lambda entry: " or ".join(entry.rivals)),
        Column("difference here", "here", format=percent),
        Column("next measurement", lambda entry: None if entry.point is None else model.point_text(entry.point)),
        Column("difference there", "there", format=percent),
    ]


def _speedup_table(model: ScalingModel, curve: Speedup, of: str) -> Table:
    parameter, *others = model.parameter_names.values()
    half = f"above 50% up to {parameter}={curve.levels[-1].level:g}"
    if curve.half is not None:
        half = f"below 50% from {parameter}={curve.half:.3g}"
    fixed = [f"{name}={level:g}" for name, level in zip(others, model.target_point[1:].tolist(), strict=True)]
    where = ", ".join([f"{parameter}={curve.base:g}", *fixed])
    columns = [
        Column(parameter, "level", format="g"),
        Column("time", "time", model.unit or "", ".3g", key=("time", "time_low", "time_high")),
        Column("speedup", "speedup", format=".3g", key=("speedup", "speedup_low", "speedup_high")),
        Column("efficiency", "efficiency", format=".0%", key=("efficiency", "efficiency_low", "efficiency_high")),
        Column("note", lambda entry: "" if entry.measured else "extrapolated"),
    ]
    return Table(columns, curve.levels, f"Speedup of {of} ({curve.scaling} scaling) from {where}; efficiency {half}")


class ScalingPresenter(Presenter):
    """Text, tables, picture and page of `ScalingModel`."""

    def title(self, result: ScalingModel) -> str:
        source = Path(result.origin.source).name
        if len(result.paths) == 1:
            return f"Scaling of {result.paths[0]} in {source}"
        return f"Scaling of {len(result.paths):,} paths in {source}"

    def formula(self, result: ScalingModel) -> str:
        return result.formula

    def answer(self, result: ScalingModel) -> str:
        """The prediction at the target, if the model holds and with changes in behaviour."""
        return _answer(result)

    def summary(self, result: ScalingModel) -> list[str]:
        unit = f" [{result.unit}]" if result.unit else ""
        over = ", ".join(_over(result, symbol) for symbol in result.symbols)
        return [
            self.answer(result),
            *(f"model of the measured range: {line}" for line in _model_lines(result)),
            f"{len(result.measured)} points of {result.value_name}{unit} over {over}{_runs(result)}",
            *result.notes,
            *(_growth_line(result, symbol, number) for number, symbol in enumerate(result.symbols)),
            _noise_text(result),
            *([] if result.check is None else [result.check.text]),
            *_scaling_lines(result),
            *_miss_lines(result),
            *_change_lines(result),
            *_deviation_lines(result),
            *(f"not fitted: {line}" for line in describe_paths(result.unfitted)),
        ]

    def caveats(self, result: ScalingModel) -> dict[str, Sequence[str]]:
        """What was assumed of the scaling, and what makes the prediction uncertain."""
        curve = result.speedup
        missing = "left out, "
        assumed = [note for note in result.notes if not note.startswith(missing)]
        if curve is not None and not curve.is_told:
            assumed.insert(0, "strong scaling, since the time falls (--scaling weak otherwise)")
        few = len(result.measured) < _FEW_LEVELS and len(result.symbols) == 1
        uncertain = [
            *(["with so few levels this is a line through them, not a selection among models"] if few else []),
            *_miss_lines(result),
            *_change_lines(result),
            *_deviation_lines(result),
            *([] if result.check is None else [result.check.text]),
            *([] if _is_repeated(result) else ["run-to-run noise unknown (1 run per point)"]),
            *_scaling_lines(result),
        ]
        left_out = [note.removeprefix(missing) for note in result.notes if note.startswith(missing)]
        left_out += [f"not fitted: {line}" for line in describe_paths(result.unfitted)]
        return {"Model": _model_lines(result), "Assumed": assumed, "Uncertain": uncertain, "Left out": left_out}

    def next_command(self, result: ScalingModel) -> str:
        return _next_measurement(result)

    def tables(self, result: ScalingModel) -> Tables:
        """The paths by their share at the target; speedup; what is not determined; and all models of the path shown."""
        rows = result.rows
        shares = f"; {result.whole.shares_text}" if result.has_parts else ""
        columns = _path_columns(result)
        curve = result.speedup
        tables = [
            Table(columns, rows, f"At {_target_text(result)}{shares}", limit=_MOST_PATHS,
                  importance="verbose" if curve is not None and len(rows) == 1 else "default"),
            Table(columns, rows, importance="data"),
        ]  # fmt: skip
        if curve is not None:
            table = _speedup_table(result, curve, "all paths" if len(result.paths) > 1 else result.paths[0])
            tables.insert(0 if len(rows) == 1 else 2, table)
        unsure = [row.path for row in rows if not row.determined]
        if chosen := [row.path for row in rows[:_MOST_PATHS] if not row.determined][:_MOST_ADVICE]:
            entries = advice(result, [result.paths.index(path) for path in chosen])
            more = f"; the first {len(chosen)} of {len(unsure):,}" if len(chosen) < len(unsure) else ""
            title = f"Not identifiable from these data{more}"
            tables.append(Table(_advice_columns(result), entries, title, importance="verbose"))
        name = result.origin.options.get("show")
        if name in result.paths:
            path = result.paths.index(str(name))
            columns = [
                Column("probability", 1, format=".1%"),
                Column("model", 0),
                Column("predicted if it holds", lambda law: float(law[2][0]), result.unit or ""),
            ]
            laws = result.laws_left(path, result.target_point[None])
            tables.append(Table(columns, laws, f"Models that fit {name}, at {result.target_text}"))
            if len(result.paths) > 1 and (curve := speedup(result, path)) is not None:
                tables.append(_speedup_table(result, curve, str(name)))
        return tables

    def heading(self, result: ScalingModel, data: Any = None) -> str:
        from perf_scaling.picture import left_out_text

        return self.title(result) + left_out_text(result)

    def panels(self, result: ScalingModel, data: Any = None) -> Panels:
        from perf_scaling.picture import model_panels

        return model_panels(result)

    def views(self, result: ScalingModel, data: Any = None, file: Path | None = None) -> ScalingViews:
        from perf_scaling.views import ScalingViews

        return ScalingViews(result)
