"""How a comparison is shown: lines, tables and a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_gate.comparison import SAME, Comparison, RatioDraws, is_confident, plural_of
from perf_views.colours import DARK, GRID, INK, LIGHT, PAPER, RULE, SERIES
from perfcore.base.arrays import Floats
from perfcore.base.errors import listing
from perfcore.data.units import is_time
from perfcore.results import Column, Panels, Presenter, Table, Tables

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_MOST_ROWS, _MOST_POINTS = 12, 6
_CONFIDENCE = 0.95  # of all parts together
_MOST_NAMED = 6


def where(comparison: Comparison, place: int) -> str:
    """A point as a person writes it."""
    return ", ".join(f"{name}={_text(values[place])}" for name, values in comparison.by_name(comparison.points).items())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}"


class ComparisonPresenter(Presenter):
    """Both models at the points, and what differs."""

    def title(self, result: Comparison) -> str:
        return f"{result.names[1]} against {result.names[0]}"

    def answer(self, result: Comparison) -> str:
        draws = result.total_draws().rows([len(result) - 1])
        (lower, upper), larger = draws.bounds()[0], float(draws.above(1.0)[0])
        word = "slower" if is_time(result.unit) else "larger"
        text = f"{result.names[1]} is {result.ratio[-1]:.3g}x {result.names[0]} at {where(result, -1)}"
        sure = f" (95% interval [{lower:.3g}, {upper:.3g}]); P({word}) {larger:.1%}"
        return text + (sure if np.isfinite(lower) else "")

    def summary(self, result: Comparison) -> list[str]:
        return [self.answer(result), *_changed(result), *_crossing_lines(result)]

    def caveats(self, result: Comparison) -> dict[str, Sequence[str]]:
        left_out = []
        for name, reasons in zip(result.names, result.left_out, strict=True):
            by_reason: dict[str, list[str]] = {}
            for part, reason in reasons.items():
                by_reason.setdefault(reason, []).append(part)
            left_out += [f"{name}: {listing(parts, _MOST_NAMED)}: {reason}" for reason, parts in by_reason.items()]
        single = result.single_runs and np.isfinite(result.totals.draws).all()
        extrapolated = ["the last point is extrapolated"] if result.predicted[:, -1].any() else []
        return {
            "Uncertain": extrapolated + ["prediction intervals (one run), not of means"] * bool(single),
            "Not compared": left_out,
            "Only in one": list(_only_in_one(result)),
        }

    def tables(self, result: Comparison) -> Tables:
        columns = [
            Column(name, values, format=_text, key=name) for name, values in result.by_name(result.points).items()
        ]
        columns += _columns(result, result.totals.values, result.ratio, result.total_draws())
        if not result.parts:
            return [Table(columns, limit=_MOST_ROWS)]
        order = np.argsort(-np.abs(result.difference(-1)), kind="stable").tolist()
        values = np.where(result.has, result.of_part.values[:, :, -1], np.nan)[:, order]
        growth = [result.growth.get(k) for k in order]
        parts = [
            Column(result.what, [result.parts[k] for k in order]),
            *_columns(result, values, result.part_ratio(-1)[order], result.part_draws(-1).rows(order)),
            Column("difference", result.difference(-1)[order], format="+.4g", importance="verbose"),
            Column("over", [each and each.parameter for each in growth], importance="verbose"),
            Column(
                "exponent",
                [each and f"{each.parameter}^{each.exponents[0]:.2f} → {each.exponents[1]:.2f}" for each in growth],
            ),
            Column(
                "growth", [each and " → ".join(dict.fromkeys(each.classes)) for each in growth], importance="verbose"
            ),
            Column("P(scales worse)", [each and each.worse for each in growth], format=".1%", importance="verbose"),
            *(
                Column(f"model, {name}", [each and each.laws[k] for each in growth], importance="verbose")
                for k, name in enumerate(result.names)
            ),
        ]
        title = f"{plural_of(result.what).capitalize()} at {where(result, -1)}"
        return [Table(columns, limit=_MOST_POINTS), Table(parts, title=title, limit=_MOST_ROWS, drops_empty=True)]

    def frame(self, result: Comparison) -> pd.DataFrame:
        import pandas as pd

        totals, frames = result.total_draws(), []
        for place in range(len(result)):
            level = result.by_name({symbol: values[place] for symbol, values in result.points.items()})
            sides: list[tuple[Any, ...]] = [
                (["total"], result.totals.values[:, [place]], result.ratio[[place]], totals.rows([place]))
            ]
            if result.parts:
                values, draws = result.of_part.values[:, :, place], result.part_draws(place)
                sides.append((list(result.parts), values, result.part_ratio(place), draws))
            for names, values, ratio, draws in sides:
                lower, upper = draws.bounds().T
                columns = {"part": names, "first": values[0], "second": values[1], "ratio": ratio}
                frames.append(
                    pd.DataFrame({**level, **columns, "lower": lower, "upper": upper, "larger": draws.above(1.0)})
                )
        return pd.concat(frames, ignore_index=True)

    def panels(self, result: Comparison, data: Any = None) -> Panels:
        panels = {"totals": partial(_draw_totals, result)} if result.along or not result.parts else {}
        if result.parts and result.along and len(result.parts) <= len(SERIES):
            panels["differences"] = partial(_draw_differences, result)
        elif result.parts:
            order = np.argsort(-np.abs(result.difference(-1)), kind="stable")[:_MOST_PARTS][::-1].tolist()
            panels |= {"parts": partial(_draw_values, result, order), "ratios": partial(_draw_ratios, result, order)}
        return panels


def _columns(result: Comparison, values: Floats, ratio: Floats, draws: RatioDraws) -> list[Column]:
    """Values of both models (2, K), their ratio (K,), and how sure it is."""
    return [
        *(
            Column(name, values[k], result.unit or "", ".4g", ("first", "second")[k])
            for k, name in enumerate(result.names)
        ),
        Column("ratio", ratio, format=".3f"),
        Column("95% interval", draws.bounds(), format=".3f", key=("lower", "upper")),
        Column(f"P({'slower' if is_time(result.unit) else 'larger'})", draws.above(1.0), format=".1%", key="larger"),
    ]


def _crossing_lines(comparison: Comparison) -> Iterator[str]:
    unit = f" {comparison.unit}" if comparison.unit else ""
    along = comparison.called.get(comparison.along, comparison.along)
    for crossing in comparison.crossings:
        fixed = ", ".join(f"{name}={_text(value)}" for name, value in comparison.by_name(crossing.held).items())
        first, second = comparison.names[crossing.below], comparison.names[1 - crossing.below]
        yield (
            f"Crossing at {along}={crossing.at:.4g}{f' ({fixed})' if fixed else ''}, "
            f"{crossing.value:.4g}{unit}: {first} is smaller below, {second} above"
        )
    if comparison.crossings:
        return
    if np.allclose(comparison.ratio, 1.0, rtol=SAME, atol=0.0):
        yield f"{comparison.names[0]} and {comparison.names[1]} agree at these points"
        return
    less = comparison.ratio > 1.0
    if less.all() or not less.any():
        yield f"{comparison.names[0 if less.all() else 1]} is smaller at every point; no crossing"
    else:
        yield "Which is smaller depends on the point; no crossing along one parameter"


def _changed(comparison: Comparison) -> Iterator[str]:
    """How many parts are larger and smaller at the last point."""
    if not comparison.what:
        return
    both = comparison.both
    larger = comparison.part_draws(-1).above(1.0)[both]
    if not both.any() or np.isnan(larger).all():
        return
    word, smaller = ("slower", "faster") if is_time(comparison.unit) else ("larger", "smaller")
    counts = [int(is_confident(side, _CONFIDENCE).sum()) for side in (larger, 1.0 - larger)]
    worse = int(is_confident(np.array([change.worse for change in comparison.growth.values()]), _CONFIDENCE).sum())
    laws = f", {worse:,} scale worse" if comparison.growth else ""
    of = f"{counts[0]:,} of {int(both.sum()):,} {plural_of(comparison.what)}"
    yield f"{of} {word}, {counts[1]:,} {smaller}{laws} (simultaneous {_CONFIDENCE:.0%})"


def _only_in_one(comparison: Comparison) -> Iterator[str]:
    for which, name in enumerate(comparison.names):
        left_out = comparison.left_out[1 - which]
        if only := [part for part in comparison.only_in(which) if part not in left_out]:
            yield f"{name}: {listing(only, _MOST_NAMED)}"
    yield from (f"possibly renamed: {old} → {new}" for old, new in list(comparison.renamed.items())[:_MOST_NAMED])


# M. Okabe and K. Ito, "Color Universal Design", 2008; without yellow, which is faint on white paper.
_MOST_PARTS = 15  # side by side at the last point
_LONGEST_NAME = 32
_FINE, _COARSE = (1.0, 1.2, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0), (1.0, 3.0)  # ticks of ratios in each decade
_NARROW = 8.0  # below, the fine ticks have room
_WIDEST = 100.0  # ratios further from 1 than this are at the side


def _draw_totals(comparison: Comparison, axes: Axes) -> None:
    x = comparison.points[comparison.along] if comparison.along else np.arange(1.0, len(comparison) + 1.0)
    fixed_values = [values for name, values in comparison.points.items() if name != comparison.along]
    keys = list(zip(*(values.tolist() for values in fixed_values), strict=True)) if fixed_values else [()] * len(x)
    bounds = np.quantile(comparison.totals.draws, [0.025, 0.975], axis=2)
    for key in dict.fromkeys(keys):
        on_line = np.array([other == key for other in keys])
        order = np.flatnonzero(on_line)[np.argsort(x[on_line], kind="stable")]
        for number, style in enumerate(("o-", "s--")):
            name = comparison.names[number] if key == keys[0] else None
            axes.plot(x[order], comparison.totals.values[number, order], style, color=SERIES[number], ms=3, label=name)
            extrapolated = order[comparison.predicted[number, order]]
            values = comparison.totals.values[number, extrapolated]
            axes.plot(x[extrapolated], values, style[0], color=SERIES[number], ms=5, mfc=PAPER)
            if np.isfinite(bounds[:, number, order]).all():
                axes.fill_between(x[order], *bounds[:, number, order], color=SERIES[number], alpha=0.15, linewidth=0.0)
    for crossing in comparison.crossings:
        axes.plot(crossing.at, crossing.value, "x", color=INK)
    axes.set(yscale="log", ylabel=f"total{_unit(comparison)}")
    if comparison.predicted.any():
        axes.plot([], [], "o", color=DARK, ms=5, mfc=PAPER, label="extrapolated")
    axes.legend(frameon=False, fontsize=8)
    _label(axes, comparison)


def _draw_differences(comparison: Comparison, axes: Axes) -> None:
    """What each part adds to the difference, along the parameter; the other variables as at the last point."""
    x = comparison.points[comparison.along]
    difference = comparison.of_part.values[1] - comparison.of_part.values[0]
    fixed_names = [name for name in comparison.points if name != comparison.along]
    chosen = np.all(
        [np.ones(len(x)), *(comparison.points[name] == comparison.points[name][-1] for name in fixed_names)], axis=0
    )
    order = np.flatnonzero(chosen)[np.argsort(x[chosen], kind="stable")]
    largest = np.argsort(-np.abs(difference).max(axis=1), kind="stable").tolist()
    for colour, part in zip(SERIES, largest, strict=False):
        axes.plot(x[order], difference[part, order], "o-", color=colour, ms=3)
    legend = axes.legend(axes.get_lines(), [str(k) for k in largest], frameon=False, fontsize=8)
    for text, part in zip(legend.get_texts(), largest, strict=True):
        text.set(text=comparison.parts[part], parse_math=False)
    axes.axhline(0.0, color=RULE, linewidth=0.7)
    axes.set_ylabel(f"{comparison.names[1]} less {comparison.names[0]}{_unit(comparison)}", parse_math=False)
    _label(axes, comparison)


def _draw_values(comparison: Comparison, order: list[int], axes: Axes) -> None:
    """Both values of some parts and of the total at the last point, joined by a line; one that a model lacks is not."""
    values = np.append(comparison.of_part.values[:, order, -1], comparison.totals.values[:, -1:], axis=1)
    has = np.append(comparison.has[:, order], [[True], [True]], axis=1)
    rows, joined = np.arange(len(order) + 1), has.all(axis=0)
    axes.hlines(rows[joined], *values[:, joined], color=LIGHT, linewidth=2.0, zorder=1)
    for number, marker in enumerate("os"):
        present = has[number]
        axes.plot(values[number, present], rows[present], marker, color=SERIES[number], ms=5, label=str(number))
    legend = axes.legend(frameon=False, fontsize=8)
    for text, name in zip(legend.get_texts(), comparison.names, strict=True):
        text.set(text=name, parse_math=False)
    axes.set_xlabel(f"at {where(comparison, -1)}{_unit(comparison)}", parse_math=False)
    _rows(axes, [*(_short(comparison.parts[k]) for k in order), "total"])


def _draw_ratios(comparison: Comparison, order: list[int], axes: Axes) -> None:
    """The ratio of some parts and of the total at the last point, with bounds; coloured where these leave out 1."""
    from matplotlib.ticker import LogLocator, NullLocator

    total = comparison.total_draws().rows([len(comparison) - 1]).bounds()
    ratio = np.append(comparison.part_ratio(-1)[order], comparison.ratio[-1])
    bounds = np.concatenate([comparison.part_draws(-1).rows(order).bounds(), total])
    rows = np.arange(len(ratio))
    colours = np.where(bounds[:, 0] > 1.0, SERIES[1], np.where(bounds[:, 1] < 1.0, SERIES[0], RULE))
    clipped, finite = np.clip(bounds, 1.0 / _WIDEST, _WIDEST), np.isfinite(bounds).all(axis=1)
    axes.hlines(rows[finite], *clipped[finite].T, color=colours[finite].tolist(), linewidth=1.5)
    axes.scatter(np.clip(ratio, 1.0 / _WIDEST, _WIDEST), rows, color=colours.tolist(), s=16, zorder=3)
    axes.axvline(1.0, color=DARK, linewidth=0.8)
    axes.set_xlabel(f"{comparison.names[1]} / {comparison.names[0]}, 95% interval", parse_math=False)
    _rows(axes, [""] * len(rows))
    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(LogLocator(subs=_FINE if high < _NARROW * low else _COARSE))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_locator(NullLocator())


def _rows(axes: Axes, names: list[str]) -> None:
    """One row for each name, the same in every panel."""
    axes.set_xscale("log")
    axes.set_yticks(range(len(names)), names, fontsize=7, parse_math=False)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)


def _label(axes: Axes, comparison: Comparison) -> None:
    x = comparison.points[comparison.along] if comparison.along else np.empty(0)
    if len(x) and x.min() > 0.0 and x.max() > 8.0 * x.min():
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel(comparison.called.get(comparison.along, comparison.along) or "point", parse_math=False)
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)


def _unit(comparison: Comparison) -> str:
    return f" [{comparison.unit}]" if comparison.unit else ""


def _short(name: str) -> str:
    """The end of a long name, the most specific part of a call path."""
    return name if len(name) <= _LONGEST_NAME else f"...{name[-(_LONGEST_NAME - 3) :]}"
