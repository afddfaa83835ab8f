"""A comparison of two models in lines, tables and JSON."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perf_compare.comparison.crossings import SAME
from perf_compare.comparison.ratios import surely
from perfcore.base.errors import listing
from perfcore.data.units import is_time

if TYPE_CHECKING:
    from perf_compare.comparison.comparison import Comparison

__all__ = ["bounds_text", "comparison_dict", "comparison_summary", "comparison_tables", "larger_word", "where"]

Floats = npt.NDArray[np.float64]
Table = tuple[str, list[str], list[list[str]]]

_MOST_ROWS = 40
_CONFIDENCE = 0.95  # of what is said about all parts together
_MOST_NAMED = 6
_LIKE = 0.7  # of the letters of two names agree: one may be the other, renamed
_PLURALS = {"category": "categories"}


def larger_word(unit: str | None) -> str:
    """``slower`` for times, ``larger`` for everything else."""
    return "slower" if is_time(unit) else "larger"


def where(found: Comparison, place: int) -> str:
    """A point as a person writes it."""
    return ", ".join(f"{name}={_text(values[place])}" for name, values in found.points.items())


def bounds_text(bounds: Sequence[float]) -> str:
    """Bounds of a ratio; empty where there are none."""
    return f"{bounds[0]:.3f} .. {bounds[1]:.3f}" if np.isfinite(bounds).all() else ""


def comparison_summary(found: Comparison) -> list[str]:
    """The crossings, or which model is smaller throughout, how many parts changed, and what was not compared."""
    lines = [found.title, *_crossing_lines(found)]
    if found.what and (line := _changed(found)):
        lines.append(line)
    lines += _only_in_one(found)
    for name, left_out in zip(found.names, found.left_out, strict=True):
        by_reason: dict[str, list[str]] = {}
        for part, reason in left_out.items():
            by_reason.setdefault(reason, []).append(part)
        lines += [f"not compared, {name}: {listing(own, _MOST_NAMED)}: {reason}" for reason, own in by_reason.items()]
    if found.single_runs and np.isfinite(found.totals.draws).all():
        lines.append("bounds are of single runs: these models give none of the mean")
    return lines


def _crossing_lines(found: Comparison) -> Iterator[str]:
    unit = f" {found.unit}" if found.unit else ""
    for crossing in found.crossings:
        held = ", ".join(f"{name}={_text(value)}" for name, value in crossing.held.items())
        first, second = found.names[crossing.below], found.names[1 - crossing.below]
        yield (
            f"they cross at {found.along}={crossing.at:.4g}{f' ({held})' if held else ''}, {crossing.value:.4g}"
            f"{unit}: {first} is smaller before, {second} after"
        )
    if found.crossings:
        return
    if np.allclose(found.ratio, 1.0, rtol=SAME, atol=0.0):
        yield f"{found.names[0]} and {found.names[1]} agree at these points"
        return
    less = found.ratio > 1.0
    if less.all() or not less.any():
        yield f"{found.names[0 if less.all() else 1]} is nowhere larger; they do not cross"
    else:
        yield "which is smaller depends on the point; along one parameter they do not cross"


def _changed(found: Comparison) -> str:
    """How many parts are larger and smaller at the last point."""
    both = found.both
    larger = found.part_draws(-1).above(1.0)[both]
    if not both.any() or np.isnan(larger).all():
        return ""
    word = larger_word(found.unit)
    counts = [int(surely(side, _CONFIDENCE).sum()) for side in (larger, 1.0 - larger)]
    smaller = "faster" if word == "slower" else "smaller"
    worse = int(surely(np.array([change.worse for change in found.growth.values()]), _CONFIDENCE).sum())
    return (
        f"at {where(found, -1)}, of {int(both.sum()):,} {_plural(found.what)} in both {counts[0]:,} are {word} and "
        f"{counts[1]:,} {smaller}{f', {worse:,} have a worse law' if found.growth else ''} ({_CONFIDENCE:.0%} sure of "
        "all together)"
    )


def _only_in_one(found: Comparison) -> list[str]:
    lines = []
    for which, name in enumerate(found.names):
        left_out = found.left_out[1 - which]
        only = [part for part, has in zip(found.parts, found.has.T, strict=True) if has[which] and not has[1 - which]]
        if only := [part for part in only if part not in left_out]:
            lines.append(f"only in {name}: {listing(only, _MOST_NAMED)}")
    lines += [f"perhaps renamed: {old} -> {new}" for old, new in list(_renamed(found).items())[:_MOST_NAMED]]
    return lines


def _renamed(found: Comparison) -> Mapping[str, str]:
    """Parts of the first alone with the part of the second alone whose name is most like theirs."""
    old, new = (
        [part for part, has in zip(found.parts, found.has.T, strict=True) if has[which] and not has[1 - which]]
        for which in (0, 1)
    )
    pairs: dict[str, str] = {}
    for part in old[:100]:  # names are compared letter by letter, which takes its time
        near = difflib.get_close_matches(part, [one for one in new if one not in pairs.values()], n=1, cutoff=_LIKE)
        if near:
            pairs[part] = near[0]
    return pairs


def comparison_tables(found: Comparison) -> list[Table]:
    """Both models at the points, and their parts at the last of them."""
    draws = found.total_draws()
    bounds, larger = draws.bounds(), draws.above(1.0)
    rows = []
    for place in range(len(found)):
        cells = [_text(values[place]) for values in found.points.values()]
        cells += [f"{value:.6g}" for value in found.totals.values[:, place]] + [f"{found.ratio[place]:.3f}"]
        cells += [bounds_text(bounds[place]), _share(larger[place])]
        if (most := found.largest(place)) is not None:
            cells += [most[0], f"{most[1]:+.4g}"]
        rows.append(cells)
    added = ["most of the difference", "of it"] if found.parts else []
    word = larger_word(found.unit)
    tables = [("", [*found.points, *found.names, "ratio", "95% of it", word, *added], rows)]
    if found.parts:
        tables.append(_part_table(found, word))
    if found.growth:
        tables.append(_law_table(found))
    return tables


def _order(found: Comparison) -> list[int]:
    """The parts by what they add to the difference at the last point."""
    order: list[int] = np.argsort(-np.abs(found.difference(-1)), kind="stable").tolist()
    return order[:_MOST_ROWS]


def _part_table(found: Comparison, word: str) -> Table:
    ratio, bounds = found.part_ratio(-1), found.part_draws(-1).bounds()
    larger, difference = found.part_draws(-1).above(1.0), found.difference(-1)
    rows = []
    for k in _order(found):
        owned = zip(found.of_part.values[:, k, -1], found.has[:, k], strict=True)
        values = [f"{value:.6g}" if has else "-" for value, has in owned]
        rows.append(
            [
                found.parts[k],
                *values,
                f"{difference[k]:+.4g}",
                f"{ratio[k]:.3f}" if np.isfinite(ratio[k]) else "",
                bounds_text(bounds[k]),
                _share(larger[k]),
            ]
        )
    title = f"{_plural(found.what).capitalize()} at {where(found, -1)}"
    return (title, [found.what, *found.names, "difference", "ratio", "95% of it", word], rows)


def _law_table(found: Comparison) -> Table:
    one, other = found.names
    rows = []
    for k in _order(found):
        if (change := found.growth.get(k)) is None:
            continue
        growth = " -> ".join(dict.fromkeys(change.classes))
        exponents = f"{change.symbol}: {change.exponents[0]:.2f} -> {change.exponents[1]:.2f}"
        rows.append([found.parts[k], *change.laws, growth, exponents, _share(change.worse)])
    return ("Laws, in the same order", [found.what, one, other, "growth", "exponent", "worse"], rows)


def comparison_dict(found: Comparison) -> dict[str, Any]:
    """Everything, JSON-ready; NaN becomes null when it is printed."""
    draws = found.total_draws()
    bounds, larger = draws.bounds(), draws.above(1.0)
    columns = {name: values.tolist() for name, values in found.points.items()}
    points = []
    for place, row in enumerate(zip(*columns.values(), strict=True)):
        entry = {**dict(zip(columns, row, strict=True)), "values": found.totals.values[:, place].tolist()}
        entry.update(ratio=float(found.ratio[place]), bounds=bounds[place].tolist(), larger=float(larger[place]))
        if found.parts:
            entry[_plural(found.what)] = _part_dicts(found, place)
        points.append(entry)
    return {
        "models": found.names,
        "unit": found.unit,
        "along": found.along,
        "crossings": [
            {"at": c.at, "value": c.value, "smaller_before": found.names[c.below], "held": dict(c.held)}
            for c in found.crossings
        ],
        "points": points,
        "laws": {found.parts[k]: change._asdict() for k, change in found.growth.items()},
        "left_out": dict(zip(found.names, map(dict, found.left_out), strict=True)),
        "perhaps_renamed": dict(_renamed(found)),
    }


def _part_dicts(found: Comparison, place: int) -> dict[str, Any]:
    draws, ratio = found.part_draws(place), found.part_ratio(place).tolist()
    bounds, larger = draws.bounds().tolist(), draws.above(1.0).tolist()
    return {
        name: {
            "values": [v if has else None for v, has in zip(values, owned, strict=True)],
            "ratio": ratio[k],
            "bounds": bounds[k],
            "larger": larger[k],
        }
        for k, (name, values, owned) in enumerate(
            zip(found.parts, found.of_part.values[:, :, place].T.tolist(), found.has.T.tolist(), strict=True)
        )
    }


def _plural(what: str) -> str:
    return _PLURALS.get(what, f"{what}s")


def _share(probability: float) -> str:
    return "" if np.isnan(probability) else f"{probability:.1%}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}"
