"""What a comparison of two models answers: sentences, tables and plots of its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_gate.comparison import probability_above, ratio_bounds
from perf_statistics.gating import is_confident
from perfcore.base import grouped
from perfcore.base.arrays import Floats
from perfcore.base.errors import listing
from perfcore.data.units import is_time
from perfcore.report import Axis, Band, Figure, Line, Mark, Note, Plot, Points, Report, Rule, interval_text, number_text
from perfcore.tables import Column, Table, point_text

if TYPE_CHECKING:
    from perf_gate.comparison import Comparison

_MOST_ROWS, _MOST_POINTS, _MOST_NAMED = 12, 6, 6
_CONFIDENCE = 0.95  # of all parts together
_MOST_SERIES = 8  # colours of parts over a parameter
_MOST_PARTS = 15  # side by side at the last point
_LONGEST_NAME = 32
_WIDEST = 100.0  # ratios further from 1 than this are at the side
_RATIO = "95% interval of the ratio"


def report_of(comparison: Comparison, data: Any = None) -> Report:
    """Where the second differs from the first: at measured points first, and then beyond them."""
    return Report(
        title=f"{comparison.names[1]} against {comparison.names[0]}",
        answer=_answer(comparison),
        figures=_figures(comparison),
        tables=_tables(comparison),
        draw=lambda: _plots(comparison),
        notes=_notes(comparison),
        details=[*_changed(comparison)],
    )


def where(comparison: Comparison, place: int) -> str:
    """A point as a person writes it."""
    return point_text({name: values[place] for name, values in comparison.by_name(comparison.points).items()})


def _figures(comparison: Comparison) -> list[Figure]:
    lower, upper = ratio_bounds(*comparison.totals.draws[:, -1:])[0].tolist()
    ends = (lower, upper) if np.isfinite(lower) else None
    figures = [Figure(f"ratio at {where(comparison, -1)}", float(comparison.ratio[-1]), "", ends, _RATIO, key="ratio")]
    if (measured := comparison.measured) is not None:
        far = int(np.abs(np.log(measured.ratio)).argmax())
        ratio, lower, upper = (float(side[far]) for side in (measured.ratio, measured.low, measured.high))
        figures.append(Figure(f"measured ratio at {measured.labels[far]}", ratio, "", (lower, upper), _RATIO,
                              key="measured_ratio"))  # fmt: skip
    return figures


def _answer(comparison: Comparison) -> str:
    """What was measured of both first, then what is predicted at the last point."""
    first, second = comparison.names
    last = comparison.totals.draws[:, -1:]
    (lower, upper), larger = ratio_bounds(*last)[0], float(probability_above(*last)[0])
    of = "" if comparison.whole == "total" else f", in the {comparison.whole}"
    sides, words = (f" [{lower:.3g}, {upper:.3g}]" if np.isfinite(lower) else ""), _words(comparison)
    if comparison.measured is not None:
        measured = _measured_text(comparison) + of
        if not comparison.predicted[:, -1].any():
            return measured
        return f"{measured}; at {where(comparison, -1)} {comparison.ratio[-1]:.3g}x{sides}"
    text = f"{second} is {comparison.ratio[-1]:.3g}x {first} at {where(comparison, -1)}{of}"
    return text + (f" (95% interval{sides}); P({words[0]}) {larger:.1%}" if sides else "")


def _words(comparison: Comparison) -> tuple[str, str]:
    return ("slower", "faster") if is_time(comparison.unit) else ("larger", "smaller")


def _measured_text(comparison: Comparison) -> str:
    """How the measured means of both differ, beyond noise or not, and whether more so with the parameter."""
    measured = comparison.measured
    assert measured is not None
    (first, second), words = comparison.names, _words(comparison)
    above, below = measured.low > 1.0, measured.high < 1.0
    change = np.abs(measured.ratio - 1.0)
    along = comparison.called.get(comparison.along, comparison.along) or measured.along
    if not (above | below).any():
        widest = float(np.maximum(measured.high - 1.0, 1.0 - measured.low).max())
        at = f"any measured {along}" if len(change) > 1 else measured.labels[0]
        return f"{second} and {first} do not differ beyond noise at {at} (at most {widest:.0%})"
    word = words[0] if (above.sum(), change[above].sum()) >= (below.sum(), change[below].sum()) else words[1]
    sure = above if word == words[0] else below
    last = np.log(measured.ratio[-3:])
    grows = len(last) > 2 and bool((np.abs(np.diff(np.abs(last))) > 0).all() and (np.diff(np.abs(last)) > 0).all())
    if sure.all() and len(sure) > 1:
        ends = float(change.min()), float(change.max())
        span = interval_text(ends, ".0%") if ends[1] - ends[0] > 0.005 else f"{ends[1]:.0%}"
        return f"{second} is {word} by {span} at every measured {along}{f', more with {along}' if grows else ''}"
    far = int(np.where(sure, change, -1.0).argmax())
    text = f"{second} is {word} by {change[far]:.0%} at {measured.labels[far]}, beyond noise"
    other = below if word == words[0] else above
    if other.any():
        place = int(np.where(other, change, -1.0).argmax())
        text += f", {words[1] if word == words[0] else words[0]} by {change[place]:.0%} at {measured.labels[place]}"
    return text + (f", growing with {along}" if grows else "")


def _notes(comparison: Comparison) -> list[Note]:
    notes = []
    if comparison.predicted[:, -1].any():
        notes.append(Note("Uncertain", f"{where(comparison, -1)} is extrapolated"))
    if comparison.single_runs and np.isfinite(comparison.totals.draws).all():
        notes.append(Note("Uncertain", "prediction intervals (one run), not of means"))
    for name, reasons in zip(comparison.names, comparison.left_out, strict=True):
        by_reason = grouped((why, part) for part, why in reasons.items()).items()
        notes += [Note("Not compared", f"{name}: {listing(parts, _MOST_NAMED)}: {why}") for why, parts in by_reason]
    for which, name in enumerate(comparison.names):
        left_out = comparison.left_out[1 - which]
        if only := [part for part in comparison.only_in(which) if part not in left_out]:
            notes.append(Note("Only in one", f"{name}: {listing(only, _MOST_NAMED)}"))
    return notes


def _tables(comparison: Comparison) -> list[Table]:
    tables = []
    if (measured := comparison.measured) is not None:
        columns = [
            Column("measured at", list(measured.labels)),
            *(Column(name, measured.means[k], comparison.unit or "", number_text, f"measured_{k + 1}")
              for k, name in enumerate(comparison.names)),
            Column("ratio", measured.ratio, format=".3f", key="measured_ratio"),
            Column("95% interval", np.stack([measured.low, measured.high], axis=1), format=".3f",
                   key=("measured_lower", "measured_upper")),
        ]  # fmt: skip
        tables.append(Table(columns, limit=_MOST_ROWS))
    # A point that was measured of both has its measured ratio, and no second one.
    known = [] if measured is None else measured.points
    rows = [k for k in range(len(comparison)) if tuple(values[k] for values in comparison.points.values()) not in known]
    levels = comparison.by_name({symbol: values[rows] for symbol, values in comparison.points.items()})
    points = [Column(name, values, format="g", key=name) for name, values in levels.items()]
    totals = comparison.totals.values[:, rows], comparison.ratio[rows], comparison.totals.draws[:, rows]
    points += _columns(comparison, *totals)
    if rows:
        most = _MOST_POINTS if comparison.parts else _MOST_ROWS
        tables.append(Table(points, title="Predicted" if tables else "", limit=most))
    if len(comparison.parts) > 1 or (comparison.parts and measured is None):
        tables.append(_part_table(comparison))
    return [*tables, Table(_all_columns(comparison), importance="data")]


def _part_table(comparison: Comparison) -> Table:
    order = np.argsort(-np.abs(comparison.difference(-1)), kind="stable").tolist()
    values = np.where(comparison.has, comparison.of_part.values[:, :, -1], np.nan)[:, order]
    growth = [comparison.growth.get(k) for k in order]
    exponents = [each and f"{each.parameter}^{each.exponents[0]:.2f} → {each.exponents[1]:.2f}" for each in growth]
    classes = [each and " → ".join(dict.fromkeys(each.classes)) for each in growth]
    columns = [
        Column(comparison.what, [comparison.parts[k] for k in order]),
        *_columns(comparison, values, comparison.part_ratio(-1)[order], comparison.of_part.draws[:, order, -1]),
        Column("difference", comparison.difference(-1)[order], format="+.4g", importance="verbose"),
        Column("over", [each and each.parameter for each in growth], importance="verbose"),
        Column("exponent", exponents),
        Column("growth", classes, importance="verbose"),
        Column("P(scales worse)", [each and each.worse for each in growth], format=".1%", importance="verbose"),
        *(
            Column(f"model, {name}", [each and each.laws[k] for each in growth], importance="verbose")
            for k, name in enumerate(comparison.names)
        ),
    ]
    title = f"{comparison.plural.capitalize()} at {where(comparison, -1)}"
    return Table(columns, title=title, limit=_MOST_ROWS)


def _columns(comparison: Comparison, values: Floats, ratio: Floats, draws: Floats) -> list[Column]:
    """Return values of both models (2, K), their ratio (K,), and how sure it is by draws (2, K, N)."""
    return [
        *(
            Column(name, values[k], comparison.unit or "", number_text, ("first", "second")[k])
            for k, name in enumerate(comparison.names)
        ),
        Column("ratio", ratio, format=".3f"),
        Column("95% interval", ratio_bounds(*draws), format=".3f", key=("lower", "upper")),
        Column(f"P({_words(comparison)[0]})", probability_above(*draws), format=".1%", key="larger"),
    ]


def _all_columns(comparison: Comparison) -> list[Column]:
    """The total and every part at every point, for other programs."""
    names = [comparison.whole, *comparison.parts]
    columns: dict[str, list[Any]] = {}
    for place in range(len(comparison)):
        values = np.concatenate([comparison.totals.values[:, [place]], comparison.of_part.values[:, :, place]], axis=1)
        ratio, draws = comparison.ratio[[place]], [comparison.totals.draws[:, [place]]]
        if comparison.parts:
            ratio = np.append(ratio, comparison.part_ratio(place))
            draws.append(comparison.of_part.draws[:, :, place])
        bounds = np.concatenate([ratio_bounds(*sides) for sides in draws])
        larger = np.concatenate([probability_above(*sides) for sides in draws])
        level = {name: values[place] for name, values in comparison.by_name(comparison.points).items()}
        rows = {**{name: [value] * len(names) for name, value in level.items()}, "part": names,
                "first": values[0].tolist(), "second": values[1].tolist(), "ratio": ratio.tolist(),
                "lower": bounds[:, 0].tolist(), "upper": bounds[:, 1].tolist(), "larger": larger.tolist()}  # fmt: skip
        for name, cells in rows.items():
            columns.setdefault(name, []).extend(cells)
    return [Column(name, cells, key=name) for name, cells in columns.items()]


def _changed(comparison: Comparison) -> Iterator[str]:
    """How many parts are larger and smaller at the last point."""
    if not comparison.what:
        return
    both = comparison.both
    larger = probability_above(*comparison.of_part.draws[:, :, -1])[both]
    if both.sum() < 2 or np.isnan(larger).all():  # of one the answer says it
        return
    word, smaller = _words(comparison)
    counts = [int(is_confident(side, _CONFIDENCE).sum()) for side in (larger, 1.0 - larger)]
    worse = int(is_confident(np.array([change.worse for change in comparison.growth.values()]), _CONFIDENCE).sum())
    laws = f", {worse:,} scale worse" if comparison.growth else ""
    of = f"{counts[0]:,} of {int(both.sum()):,} {comparison.plural}"
    yield f"{of} {word}, {counts[1]:,} {smaller}{laws} (simultaneous {_CONFIDENCE:.0%})"


def _plots(comparison: Comparison) -> list[Plot]:
    plots = [_total_plot(comparison)] if comparison.along or not comparison.parts else []
    if len(comparison.parts) == 1 and plots:
        return plots
    if comparison.parts and comparison.along and len(comparison.parts) <= _MOST_SERIES:
        return [*plots, _difference_plot(comparison)]
    if not comparison.parts:
        return plots
    order = np.argsort(-np.abs(comparison.difference(-1)), kind="stable")[:_MOST_PARTS][::-1].tolist()
    return [*plots, _part_plot(comparison, order), _ratio_plot(comparison, order)]


def _axis(comparison: Comparison) -> Axis:
    x = comparison.points[comparison.along] if comparison.along else np.empty(0)
    is_log = len(x) > 0 and x.min() > 0.0 and x.max() > 8.0 * x.min()
    return Axis(comparison.called.get(comparison.along, comparison.along) or "point", "", "log" if is_log else "linear",
                base=2)  # fmt: skip


def _total_plot(comparison: Comparison) -> Plot:
    """Both totals along the parameter with their intervals; hollow where extrapolated."""
    x = comparison.points[comparison.along] if comparison.along else np.arange(1.0, len(comparison) + 1.0)
    fixed_values = [values for name, values in comparison.points.items() if name != comparison.along]
    keys = list(zip(*(values.tolist() for values in fixed_values), strict=True)) if fixed_values else [()] * len(x)
    bounds = np.quantile(comparison.totals.draws, [0.025, 0.975], axis=2)
    marks: list[Mark] = []
    for key in dict.fromkeys(keys):
        on_line = np.array([other == key for other in keys])
        order = np.flatnonzero(on_line)[np.argsort(x[on_line], kind="stable")]
        for number, name in enumerate(comparison.names):
            colour, over = f"series:{number}", x[order].tolist()
            if np.isfinite(bounds[:, number, order]).all():
                low, high = bounds[:, number, order].tolist()
                marks.append(Band(over, low, high, "", colour, 0.15))
            values, extrapolated = comparison.totals.values[number, order], comparison.predicted[number, order]
            label = name if key == keys[0] else ""
            marks.append(Line(over, values.tolist(), label, colour, "dashed" if number else "solid"))
            for is_filled, chosen in ((True, ~extrapolated), (False, extrapolated)):
                shape: Any = "square" if number else "circle"
                marks.append(Points(x[order][chosen].tolist(), values[chosen].tolist(), "", colour, shape=shape,
                                    is_filled=is_filled))  # fmt: skip
    note = "hollow: extrapolated" if comparison.predicted.any() else ""
    return Plot("totals", marks, _axis(comparison), Axis(comparison.whole, comparison.unit or "", "log"), note=note)


def _difference_plot(comparison: Comparison) -> Plot:
    """What each part adds to the difference, along the parameter; the other variables as at the last point."""
    x, difference = comparison.points[comparison.along], comparison.of_part.values[1] - comparison.of_part.values[0]
    fixed = [name for name in comparison.points if name != comparison.along]
    on_line = (comparison.points[name] == comparison.points[name][-1] for name in fixed)
    chosen = np.all([np.ones(len(x)), *on_line], axis=0)
    order = np.flatnonzero(chosen)[np.argsort(x[chosen], kind="stable")]
    largest = np.argsort(-np.abs(difference).max(axis=1), kind="stable").tolist()
    marks: list[Mark] = [
        Line(x[order].tolist(), difference[part, order].tolist(), comparison.parts[part], f"series:{number}")
        for number, part in enumerate(largest)
    ]
    marks.append(Rule([0.0], "y"))
    label = f"{comparison.names[1]} less {comparison.names[0]}"
    return Plot("differences", marks, _axis(comparison), Axis(label, comparison.unit or ""))


def _part_plot(comparison: Comparison, order: list[int]) -> Plot:
    """Both values of some parts and of the total at the last point; one that a model lacks is left out."""
    values = np.append(comparison.of_part.values[:, order, -1], comparison.totals.values[:, -1:], axis=1)
    has = np.append(comparison.has[:, order], [[True], [True]], axis=1)
    rows = np.arange(len(order) + 1)
    marks: list[Mark] = []
    for number, name in enumerate(comparison.names):
        shape: Any = "square" if number else "circle"
        of_model, places = values[number, has[number]].tolist(), rows[has[number]].tolist()
        marks.append(Points(of_model, places, name, f"series:{number}", shape=shape))
    names = [*(_short(comparison.parts[k]) for k in order), comparison.whole]
    at = Axis(f"at {where(comparison, -1)}", comparison.unit or "", "log")
    return Plot("parts", marks, at, Axis(scale="category", names=names), width=0.5)


def _ratio_plot(comparison: Comparison, order: list[int]) -> Plot:
    """The ratio of some parts and of the total at the last point, with intervals; coloured where these leave out 1."""
    total = ratio_bounds(*comparison.totals.draws[:, -1:])
    ratio = np.append(comparison.part_ratio(-1)[order], comparison.ratio[-1])
    bounds = np.concatenate([ratio_bounds(*comparison.of_part.draws[:, order, -1]), total])
    marks: list[Mark] = [Rule([1.0], "x", "", "dark", "solid")]
    kinds = (("series:1", bounds[:, 0] > 1.0), ("series:0", bounds[:, 1] < 1.0))
    for colour, chosen in (*kinds, ("muted", ~(kinds[0][1] | kinds[1][1]))):
        rows = np.flatnonzero(chosen & np.isfinite(ratio))
        sides = np.clip(np.where(np.isfinite(bounds), bounds, ratio[:, None]), 1.0 / _WIDEST, _WIDEST)[rows]
        values = np.clip(ratio[rows], 1.0 / _WIDEST, _WIDEST).tolist()
        marks.append(Points(values, rows.tolist(), "", colour, left=sides[:, 0].tolist(), right=sides[:, 1].tolist()))
    label = f"{comparison.names[1]} / {comparison.names[0]}, 95% interval"
    names = [*(_short(comparison.parts[k]) for k in order), comparison.whole]
    return Plot("ratios", marks, Axis(label, scale="log"), Axis(scale="category", names=names), width=0.5)


def _short(name: str) -> str:
    """The end of a long name, the most specific part of a call path."""
    return name if len(name) <= _LONGEST_NAME else f"...{name[-(_LONGEST_NAME - 3) :]}"
