"""Scaling laws in lines and tables, for people and for other programs."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from perf_laws.advice.advice import Advice, advice, next_point, percent, point_text
from perf_laws.advice.expected_spread import expected_spread
from perf_laws.data import describe_paths
from perf_laws.fits import fit_path
from perf_laws.growth import CLASSES, SURE
from perf_laws.rows import LawRow
from perf_laws.speedup import Speedup, speedup

if TYPE_CHECKING:
    import pandas as pd

    from perf_laws.model import LawModel

__all__ = ["law_frame", "law_summary", "law_tables", "plain_law_tables"]

Table = tuple[str, list[str], list[list[str]]]

_MOST_PATHS = 40
_MOST_ADVICE = 10
_IN_UNIT = ("share", "predicted", "low", "high")  # columns with more digits than what is estimated of growth
_LONGEST_NAME = 56  # of a path in a table; the end says which function it is


def law_summary(model: LawModel) -> list[str]:
    """What was fitted, how it grows, what is not determined, and what to measure next."""
    noise = float(np.median([math.sqrt(own.within / own.freedom) for own in model.data]))
    unit = f" [{model.unit}]" if model.unit else ""
    over = ", ".join(_over(model, symbol) for symbol in model.symbols)
    n_scattered = sum(own.scattered for own in model.data)
    scattered = f"; scattered, more from point to point than from run to run: {n_scattered:,}" if n_scattered else ""
    return [
        model.title,
        f"{len(model.measured)} points of {model.value_name}{unit} over {over}{_runs(model)}",
        *model.notes,
        *(_growth_line(model, symbol, number) for number, symbol in enumerate(model.symbols)),
        f"noise of one run: {percent(noise)} of its mean, median of the paths{scattered}",
        *_next_line(model),
        *(f"not fitted: {line}" for line in describe_paths(model.unfitted)),
    ]


def law_tables(model: LawModel) -> list[Table]:
    """The paths by their share at the target; what is not determined; speedup; and all laws of the path shown."""
    rows = model.rows[:_MOST_PATHS]
    more = f"; the first {len(rows)} of {len(model.rows):,}, --json has all" if len(rows) < len(model.rows) else ""
    over = [f"growth over {symbol}" for symbol in model.symbols] if len(model.symbols) > 1 else ["growth"]
    header = ["path", "share", "predicted", "95 % of the mean", "likeliest law", "of it"]
    header += [word for name in over for word in (name, "sure")]
    header.append("note")
    cells = [
        [
            _shortened(row.path),
            f"{row.share:.1%}",
            f"{row.predicted:.4g}",
            f"{row.low:.4g} .. {row.high:.4g}",
            row.law,
            f"{row.probability:.0%}",
            *(word for growth in row.growths for word in (growth.name, f"{growth.probability:.0%}")),
            _note(model, row),
        ]
        for row in rows
    ]
    found = [(f"At {_target_text(model)}; {model.whole.shares_text}{more}", header, cells)]
    unsure = [row.path for row in rows if not row.determined][:_MOST_ADVICE]
    if unsure:
        given = advice(model, [model.paths.index(path) for path in unsure])
        total = sum(not row.determined for row in model.rows)
        found.append(_advice_table(given, total))
    if (whole := speedup(model)) is not None:
        found.append(_speedup_table(model, whole, "all paths" if len(model.paths) > 1 else model.paths[0]))
    wanted = model.origin.options.get("show")
    if wanted in model.paths:
        found += _path_tables(model, model.paths.index(str(wanted)))
    return found


def plain_law_tables(model: LawModel) -> list[Table]:
    """Every path, one number in a cell."""
    header, rows = _every_path(model)
    forms = [".6g" if name in _IN_UNIT else ".4g" for name in header]
    cells = [
        [cell if isinstance(cell, str) else format(cell, form) for cell, form in zip(row, forms, strict=True)]
        for row in rows
    ]
    return [("", header, cells)]


def law_frame(model: LawModel) -> pd.DataFrame:
    """Every path, with all digits."""
    import pandas as pd

    header, rows = _every_path(model)
    return pd.DataFrame(rows, columns=header)


def _every_path(model: LawModel) -> tuple[list[str], list[list[str | float]]]:
    """What is said of every path, a column for each fact."""
    header = ["path", *_IN_UNIT, "law", "law_probability"]
    for symbol in model.symbols:
        names = ("growth", "growth_probability", "exponent", "exponent_low", "exponent_high")
        header += [name if len(model.symbols) == 1 else f"{name}_{symbol}" for name in names]
    rows: list[list[str | float]] = [
        [
            row.path,
            *(row.share, row.predicted, row.low, row.high),
            row.law,
            row.probability,
            *(fact for growth in row.growths for fact in growth),
            _note(model, row),
        ]
        for row in model.rows
    ]
    return [*header, "note"], rows


def _over(model: LawModel, symbol: str) -> str:
    levels = model.points[symbol]
    column = model.columns[symbol]
    name = symbol if symbol == column else f"{symbol}={column}"
    return f"{name} ({min(levels):.6g} to {max(levels):.6g})"


def _runs(model: LawModel) -> str:
    counts = [count for own in model.data for count in own.counts if count > 0.0]
    low, high = math.ceil(min(counts)), math.ceil(max(counts))
    return f", {low} run{'s' if low > 1 else ''} each" if low == high else f", {low} to {high} runs each"


def _growth_line(model: LawModel, symbol: str, number: int) -> str:
    """How many paths grow how."""
    growths = [row.growths[number] for row in model.rows]
    sure = Counter(growth.name for growth in growths if growth.probability >= SURE)
    parts = [f"{sure[name]:,} {name}" for name in CLASSES if sure[name]]
    left = len(model.rows) - sure.total()
    if left:
        parts.append(f"{left:,} not determined (no class has {SURE:.0%})")
    return f"growth over {symbol}: {', '.join(parts)}"


def _next_line(model: LawModel) -> list[str]:
    """Where the next measurement helps most, and how much: of the paths that the table shows, by their share."""
    rows = [row for row in model.rows[:_MOST_PATHS] if row.low > 0.0]
    share = np.array([row.share for row in rows])
    if not share.sum() > 0.0:
        return []
    point = next_point(model)
    at = np.array([[point[symbol] for symbol in model.symbols]])
    spread = expected_spread(model, at, [model.paths.index(row.path) for row in rows])
    before, after = (share @ spread).tolist()
    now = float(share @ [0.5 * math.log(row.high / row.low) for row in rows] / share.sum())
    then = now * math.sqrt(after / before) if before > 0.0 else now
    return [
        f"measure next: {point_text(point)}; what is open at {point_text(model.target)} is {_openness(now)} now, about "
        f"{_openness(then)} then"
    ]


def _openness(side: float) -> str:
    """Half of an interval of a logarithm as a person writes it."""
    return f"{percent(math.expm1(side))} either way" if side < math.log(2.0) else f"a factor of {math.exp(side):.2g}"


def _target_text(model: LawModel) -> str:
    beyond = max(model.target[symbol] / max(model.points[symbol]) for symbol in model.symbols)
    far = f", {beyond:.3g} times the largest measured" if beyond > 1.0 else ""
    return point_text(model.target) + far


def _shortened(path: str) -> str:
    return path if len(path) <= _LONGEST_NAME else f"...{path[3 - _LONGEST_NAME :]}"


def _note(model: LawModel, row: LawRow) -> str:
    """What to keep in mind about a path."""
    notes = [] if row.determined else ["not determined"]
    if row.scattered:
        notes.append("scattered")
    notes += [f"breaks at {model.symbols[0]}={level:.3g}" for level in row.breaks]
    top = {symbol: max(levels) for symbol, levels in model.points.items()}
    notes += [f"measured to {symbol}={level:g}" for symbol, level in row.reach.items() if level < top[symbol]]
    return ", ".join(notes)


def _advice_table(given: tuple[Advice, ...], total: int) -> Table:
    rows = [
        [
            _shortened(one.path),
            " or ".join(one.rivals),
            percent(one.here),
            "-" if one.point is None else point_text(one.point),
            "-" if one.point is None else percent(one.there),
        ]
        for one in given
    ]
    more = f"; the first {len(rows)} of {total:,}" if len(rows) < total else ""
    header = ["path", "grows as", "they differ here by", "measure to tell", "there by"]
    return f"Growth that these data do not determine{more}", header, rows


def _speedup_table(model: LawModel, found: Speedup, of: str) -> Table:
    symbol = found.symbol
    last = found.levels[-1].level
    half = f"stays above 50 % up to {symbol} = {last:g}"
    if found.half is not None:
        half = f"falls below 50 % at {symbol} = {found.half:.3g}"
    held = [f"{name} = {model.target[name]:g}" for name in model.symbols[1:]]
    title = f"Speedup of {of} from {symbol} = {found.base:g}{''.join(f', {text}' for text in held)}; efficiency {half}"
    rows = [
        [
            f"{at.level:g}",
            f"{at.time[0]:.4g}",
            f"{at.speedup[0]:.3g}",
            f"{at.speedup[1]:.3g} .. {at.speedup[2]:.3g}",
            f"{at.efficiency[0]:.1%}",
            f"{100.0 * at.efficiency[1]:.1f} .. {100.0 * at.efficiency[2]:.1f} %",
            "" if at.measured else "predicted",
        ]
        for at in found.levels
    ]
    unit = f" [{model.unit}]" if model.unit else ""
    return title, [symbol, f"time{unit}", "speedup", "95 % of it", "efficiency", "95 % of it", "note"], rows


def _path_tables(model: LawModel, path: int) -> list[Table]:
    """All laws of a path, and its speedup."""
    from perf_laws.leading import LeadingLaw

    name, own = model.paths[path], model.data[path]
    fits = fit_path(model, path, own.laws, [model.target_point])
    predicted = fits.predicted[:, 0].tolist()
    _, hypotheses, _ = model.arrays
    rows = []
    for number, law in enumerate(own.laws):
        scales = [1.0, *(hypotheses.scales[column] for column in hypotheses.members[law].tolist() if column >= 0)]
        found = (fits.coefficients[number, : len(scales)] / scales).tolist()
        shown = LeadingLaw(name, model.law_text(law), tuple(found), (), own.probabilities[number], math.nan)
        rows.append([f"{shown.probability:.1%}", shown.text, f"{predicted[number]:.4g}"])
    title = f"All laws of {name} that the data leave, with their predictions at {point_text(model.target)}"
    tables: list[Table] = [(title, ["probability", "law", "predicted"], rows)]
    if len(model.paths) > 1 and (alone := speedup(model, path)) is not None:
        tables.append(_speedup_table(model, alone, name))
    return tables
