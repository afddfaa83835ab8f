"""A comparison of two models in lines and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_gate.compare.comparison.comparison import Comparison, plural_of
from perf_gate.compare.comparison.crossings import SAME
from perf_gate.compare.comparison.ratios import surely
from perfcore.base.errors import listing
from perfcore.data.units import is_time

Floats = npt.NDArray[np.float64]
Table = tuple[str, list[str], list[list[str]]]

_MOST_ROWS = 40
_CONFIDENCE = 0.95  # of what is said about all parts together
_MOST_NAMED = 6


def larger_word(unit: str | None) -> str:
    """``slower`` for times, ``larger`` for everything else."""
    return "slower" if is_time(unit) else "larger"


def where(comparison: Comparison, place: int) -> str:
    """A point as a person writes it."""
    return ", ".join(f"{name}={_text(values[place])}" for name, values in comparison.by_name(comparison.points).items())


def bounds_text(bounds: Sequence[float]) -> str:
    """Bounds of a ratio; empty where there are none."""
    return f"{bounds[0]:.3f} .. {bounds[1]:.3f}" if np.isfinite(bounds).all() else ""


def comparison_summary(comparison: Comparison) -> list[str]:
    """The crossings, or which model is smaller throughout, how many parts changed, and what was not compared."""
    lines = [comparison.title, *_crossing_lines(comparison)]
    if comparison.what and (line := _changed(comparison)):
        lines.append(line)
    lines += _only_in_one(comparison)
    for name, left_out in zip(comparison.names, comparison.left_out, strict=True):
        by_reason: dict[str, list[str]] = {}
        for part, reason in left_out.items():
            by_reason.setdefault(reason, []).append(part)
        lines += [
            f"not compared, {name}: {listing(part_names, _MOST_NAMED)}: {reason}"
            for reason, part_names in by_reason.items()
        ]
    if comparison.single_runs and np.isfinite(comparison.totals.draws).all():
        lines.append("bounds are of single runs: these models give none of the mean")
    return lines


def _crossing_lines(comparison: Comparison) -> Iterator[str]:
    unit = f" {comparison.unit}" if comparison.unit else ""
    along = comparison.called.get(comparison.along, comparison.along)
    for crossing in comparison.crossings:
        fixed = ", ".join(f"{name}={_text(value)}" for name, value in comparison.by_name(crossing.held).items())
        first, second = comparison.names[crossing.below], comparison.names[1 - crossing.below]
        yield (
            f"they cross at {along}={crossing.at:.4g}{f' ({fixed})' if fixed else ''}, "
            f"{crossing.value:.4g}{unit}: {first} is smaller before, {second} after"
        )
    if comparison.crossings:
        return
    if np.allclose(comparison.ratio, 1.0, rtol=SAME, atol=0.0):
        yield f"{comparison.names[0]} and {comparison.names[1]} agree at these points"
        return
    less = comparison.ratio > 1.0
    if less.all() or not less.any():
        yield f"{comparison.names[0 if less.all() else 1]} is nowhere larger; they do not cross"
    else:
        yield "which is smaller depends on the point; along one parameter they do not cross"


def _changed(comparison: Comparison) -> str:
    """How many parts are larger and smaller at the last point."""
    both = comparison.both
    larger = comparison.part_draws(-1).above(1.0)[both]
    if not both.any() or np.isnan(larger).all():
        return ""
    word = larger_word(comparison.unit)
    counts = [int(surely(side, _CONFIDENCE).sum()) for side in (larger, 1.0 - larger)]
    smaller = "faster" if word == "slower" else "smaller"
    worse = int(surely(np.array([change.worse for change in comparison.growth.values()]), _CONFIDENCE).sum())
    laws = f", {worse:,} have a worse law" if comparison.growth else ""
    return (
        f"at {where(comparison, -1)}, of {int(both.sum()):,} {plural_of(comparison.what)} in both {counts[0]:,} are "
        f"{word} and {counts[1]:,} {smaller}{laws} ({_CONFIDENCE:.0%} sure of all together)"
    )


def _only_in_one(comparison: Comparison) -> list[str]:
    lines = []
    for which, name in enumerate(comparison.names):
        left_out = comparison.left_out[1 - which]
        if only := [part for part in comparison.only_in(which) if part not in left_out]:
            lines.append(f"only in {name}: {listing(only, _MOST_NAMED)}")
    return [
        *lines,
        *(f"perhaps renamed: {old} -> {new}" for old, new in list(comparison.renamed.items())[:_MOST_NAMED]),
    ]


def comparison_tables(comparison: Comparison) -> list[Table]:
    """Both models at the points, and their parts at the last of them."""
    draws = comparison.total_draws()
    bounds, larger = draws.bounds(), draws.above(1.0)
    rows = []
    for place in range(len(comparison)):
        cells = [_text(values[place]) for values in comparison.points.values()]
        cells += [f"{value:.6g}" for value in comparison.totals.values[:, place]] + [f"{comparison.ratio[place]:.3f}"]
        cells += [bounds_text(bounds[place]), _share(larger[place])]
        if (most := comparison.largest(place)) is not None:
            cells += [most[0], f"{most[1]:+.4g}"]
        rows.append(cells)
    added = ["most of the difference", "of it"] if comparison.parts else []
    word = larger_word(comparison.unit)
    tables = [
        ("", [*comparison.by_name(comparison.points), *comparison.names, "ratio", "95% of it", word, *added], rows)
    ]
    if comparison.parts:
        tables.append(_part_table(comparison, word))
    if comparison.growth:
        tables.append(_law_table(comparison))
    return tables


def _order(comparison: Comparison) -> list[int]:
    """The parts by what they add to the difference at the last point."""
    order: list[int] = np.argsort(-np.abs(comparison.difference(-1)), kind="stable").tolist()
    return order[:_MOST_ROWS]


def _part_table(comparison: Comparison, word: str) -> Table:
    ratio, bounds = comparison.part_ratio(-1), comparison.part_draws(-1).bounds()
    larger, difference = comparison.part_draws(-1).above(1.0), comparison.difference(-1)
    rows = []
    for k in _order(comparison):
        owned = zip(comparison.of_part.values[:, k, -1], comparison.has[:, k], strict=True)
        values = [f"{value:.6g}" if has else "-" for value, has in owned]
        rows.append(
            [
                comparison.parts[k],
                *values,
                f"{difference[k]:+.4g}",
                f"{ratio[k]:.3f}" if np.isfinite(ratio[k]) else "",
                bounds_text(bounds[k]),
                _share(larger[k]),
            ]
        )
    title = f"{plural_of(comparison.what).capitalize()} at {where(comparison, -1)}"
    return (title, [comparison.what, *comparison.names, "difference", "ratio", "95% of it", word], rows)


def _law_table(comparison: Comparison) -> Table:
    one, other = comparison.names
    rows = []
    for k in _order(comparison):
        if (change := comparison.growth.get(k)) is None:
            continue
        growth = " -> ".join(dict.fromkeys(change.classes))
        exponents = f"{change.exponents[0]:.2f} -> {change.exponents[1]:.2f}"
        rows.append([comparison.parts[k], *change.laws, change.parameter, growth, exponents, _share(change.worse)])
    return ("Laws, in the same order", [comparison.what, one, other, "over", "growth", "exponent", "worse"], rows)


def _share(probability: float) -> str:
    return "" if np.isnan(probability) else f"{probability:.1%}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}"
