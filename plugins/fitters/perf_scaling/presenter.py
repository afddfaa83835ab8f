"""Scaling laws in lines and tables, for people and for other programs."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_scaling.advice import Advice, advice, expected_spread, next_point, percent
from perf_scaling.data import describe_paths
from perf_scaling.growth import CLASSES, SURE
from perf_scaling.rows import DEVIATES, IN_UNIT, row_facts, row_header, shortened, shown_rows
from perf_scaling.speedup import Speedup, is_apart, is_open, speedup
from perfcore.base.errors import listing
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from perf_scaling.model import ScalingModel
    from perf_scaling.views import ScalingViews

Table = tuple[str, list[str], list[list[str]]]

_MOST_PATHS = 40
_MOST_ADVICE = 10
_MOST_NAMED = 3
_HARDLY_LESS = 0.9  # of the variance


def scaling_summary(model: ScalingModel) -> list[str]:
    """What was fitted, how it grows, what is not determined, and what to measure next."""
    noise = float(np.median(np.sqrt(model.posterior.spread)))
    unit = f" [{model.unit}]" if model.unit else ""
    over = ", ".join(_over(model, symbol) for symbol in model.symbols)
    repeated = any(count > 1.0 for path_data in model.data for count in path_data.counts)
    noise_text = (
        f"{percent(noise)} of its mean, median of the paths" if repeated else "not known, without repeated runs"
    )
    return [
        model.title,
        *_miss_lines(model),
        f"{len(model.measured)} points of {model.value_name}{unit} over {over}{_runs(model)}",
        *model.notes,
        *(_growth_line(model, symbol, number) for number, symbol in enumerate(model.symbols)),
        f"noise of one run: {noise_text}",
        *([] if model.check is None else [model.check.text]),
        *_scaling_lines(model),
        *_deviation_lines(model),
        *_next_line(model),
        *(f"not fitted: {line}" for line in describe_paths(model.unfitted)),
    ]


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


def scaling_tables(model: ScalingModel) -> list[Table]:
    """The paths by their share at the target; what is not determined; speedup; and all laws of the path shown."""
    rows = model.rows[:_MOST_PATHS]
    more = f"; the first {len(rows)} of {len(model.rows):,}, --json has all" if len(rows) < len(model.rows) else ""
    header, cells = shown_rows(row_facts(model, rows), list(model.parameter_names.values()))
    shares = f"; {model.whole.shares_text}"
    if not model.has_parts:
        column, shares = header.index("share"), ""
        header, *cells = ([*row[:column], *row[column + 1 :]] for row in (header, *cells))
    tables = [(f"At {_target_text(model)}{shares}{more}", header, cells)]
    unsure = [row.path for row in rows if not row.determined][:_MOST_ADVICE]
    if unsure:
        unsure_advice = advice(model, [model.paths.index(path) for path in unsure])
        total = sum(not row.determined for row in model.rows)
        tables.append(_advice_table(model, unsure_advice, total))
    if (speedup_curve := speedup(model)) is not None:
        tables.append(_speedup_table(model, speedup_curve, "all paths" if len(model.paths) > 1 else model.paths[0]))
    shown_path = model.origin.options.get("show")
    if shown_path in model.paths:
        tables += _path_tables(model, model.paths.index(str(shown_path)))
    return tables


def plain_tables(model: ScalingModel) -> list[Table]:
    """Every path, one number in a cell."""
    forms = {name: ".6g" if name in IN_UNIT else ".4g" for name in row_header(list(model.parameter_names.values()))}
    cells = [
        [cell if isinstance(cell, str) else format(cell, forms[name]) for name, cell in row.items()]
        for row in row_facts(model, model.rows)
    ]
    return [("", list(forms), cells)]


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


def _advice_table(model: ScalingModel, entries: tuple[Advice, ...], total: int) -> Table:
    rows = [
        [
            shortened(entry.path),
            " or ".join(entry.rivals),
            percent(entry.here),
            "-" if entry.point is None else model.point_text(entry.point),
            "-" if entry.there is None else percent(entry.there),
        ]
        for entry in entries
    ]
    more = f"; the first {len(rows)} of {total:,}" if len(rows) < total else ""
    header = ["path", "grows as", "they differ here by", "measure to tell", "there by"]
    return f"Growth that these data do not determine{more}", header, rows


def _speedup_table(model: ScalingModel, speedup_curve: Speedup, of: str) -> Table:
    parameter, *others = model.parameter_names.values()
    last = speedup_curve.levels[-1].level
    half = f"stays above 50 % up to {parameter} = {last:g}"
    if speedup_curve.half is not None:
        half = f"falls below 50 % at {parameter} = {speedup_curve.half:.3g}"
    fixed = [f"{name} = {level:g}" for name, level in zip(others, model.target_point[1:].tolist(), strict=True)]
    how = f"{speedup_curve.scaling} scaling" + (
        "" if speedup_curve.is_told else ", since the time falls; --scaling weak otherwise"
    )
    where = ", ".join([f"{parameter} = {speedup_curve.base:g}", *fixed])
    title = f"Speedup of {of} ({how}) from {where}; efficiency {half}"
    rows = [
        [
            f"{entry.level:g}",
            f"{entry.time[0]:.4g}",
            f"{entry.speedup[0]:.3g}",
            f"{entry.speedup[1]:.3g} .. {entry.speedup[2]:.3g}",
            f"{entry.efficiency[0]:.1%}",
            f"{100.0 * entry.efficiency[1]:.1f} .. {100.0 * entry.efficiency[2]:.1f} %",
            "" if entry.measured else "predicted",
        ]
        for entry in speedup_curve.levels
    ]
    unit = f" [{model.unit}]" if model.unit else ""
    return title, [parameter, f"time{unit}", "speedup", "95 % of it", "efficiency", "95 % of it", "note"], rows


def _path_tables(model: ScalingModel, path: int) -> list[Table]:
    """All laws of a path, and its speedup."""
    name = model.paths[path]
    laws = model.laws_left(path, model.target_point[None])
    rows = [(f"{share:.1%}", text, f"{float(value[0]):.4g}") for text, share, value in laws]
    title = f"All laws of {name} that the data leave, with their predictions at {model.target_text}"
    tables: list[Table] = [(title, ["probability", "law", "predicted"], [list(row) for row in rows])]
    if len(model.paths) > 1 and (alone := speedup(model, path)) is not None:
        tables.append(_speedup_table(model, alone, name))
    return tables


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
        return scaling_summary(result)

    def tables(self, result: ScalingModel) -> Tables:
        """The paths by their share at the target: law, bounds, growth, and how sure it is."""
        return scaling_tables(result)

    def plain_tables(self, result: ScalingModel) -> Tables:
        """Every path, one number in a cell."""
        return plain_tables(result)

    def frame(self, result: ScalingModel) -> pd.DataFrame:
        """Every path at the target, the largest share first: the columns of the plain table."""
        from perf_scaling.rows import path_frame

        return path_frame(result)

    def panels(self, result: ScalingModel, data: Any = None) -> dict[str, Callable[[Axes], None]]:
        """The paths that matter most at the target, a panel for each."""
        from perf_scaling.picture import model_panels

        return model_panels(result)

    def draw(self, result: ScalingModel, figure: Figure, data: Any = None) -> None:
        """Draw the paths that matter most at the target: means, law, bounds."""
        from perf_scaling.picture import draw_models

        draw_models(result, figure)

    def views(self, result: ScalingModel, data: Any = None, file: Path | None = None) -> ScalingViews:
        """The call tree coloured by growth, the growth of the whole, and each path's laws."""
        from perf_scaling.views import ScalingViews

        return ScalingViews(result)
