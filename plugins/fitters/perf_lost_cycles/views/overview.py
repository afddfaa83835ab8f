"""The fitting overview: the average R^2 of each category over each factor, and of the models over all factors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perf_lost_cycles.views.paths import SHADES, VERIFY, category_path, fitting_path, r2_cell
from perf_lost_cycles.views.subject import Subject
from perf_views.contents import Block, Cell, Field, Form, Link, Notice, Query, Table, Text
from perf_views.drawable import chosen_figures


_MOST, _NAME, _ORDER = "rows", "name", "order"
_FIGURES = (
    ("n_categories", "categories", ",d"),
    ("n_points", "points", ",d"),
    ("median_relative_error", "median error of the sum", ".1%"),
    ("max_relative_error", "largest error of the sum", ".1%"),
    ("set_aside_median_relative_error", "median of what was set aside", ".1%"),
)
_ROWS = 40
_MOST_ROWS = 500  # a longer table takes seconds to draw in a browser
_ORDERS = ("worst fit first", "largest share first", "by name")
_MOST_ACROSS = 7  # categories that stand side by side, as in the paper; more stand below one another


def worst_first(subject: Subject) -> list[str]:
    """The categories, those first whose model of all points fits worst; constant ones last."""
    *_, of_points = [column for name, column in subject.averages().items() if name != "leave-one-out"]
    order = sorted(range(len(of_points)), key=lambda k: _sortable(of_points[k]))
    return [subject.model.names[k] for k in order]


def overview_blocks(subject: Subject, query: Query) -> tuple[Block, ...]:
    """The table, how to choose its rows where there are many, and the ways to all else."""
    model = subject.model
    rows, part = _wanted_rows(query.get(_MOST, "")), query.get(_NAME, "")
    order = query.get(_ORDER, _ORDERS[0])
    shares = np.nansum(subject.values, axis=1) / subject.total.sum()
    chosen = [k for k in _ordered(subject, order, shares) if part.casefold() in model.names[k].casefold()]
    blocks: list[Block] = [
        *chosen_figures(model, _FIGURES),
        Text(tuple(model.summary()[1:]), links=(Link("Verify and extrapolate", (VERIFY,)),)),
    ]
    if len(model.names) > _MOST_ACROSS:
        blocks.append(
            Form(
                (
                    Field(_MOST, "rows", str(rows), "number", minimum="1", maximum=str(_MOST_ROWS)),
                    Field(_NAME, "name has", part),
                    Field(_ORDER, "order", order, "choice", _ORDERS),
                ),
                (),
            )
        )
    if not chosen:
        blocks.append(Notice(f"no category has {part!r} in its name"))
    else:
        blocks.append(_table(subject, chosen[:rows], len(chosen), shares))
    formulas = subject.formulas()
    blocks.append(
        Table(
            ("category", "model"),
            tuple((Cell(model.names[k], _to_category(model.names[k])), formulas[k]) for k in chosen[:rows]),
            "Models",
        )
    )
    return tuple(blocks)


def _table(
    subject: Subject, chosen: Sequence[int], count: int, shares: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> Table:
    names = [subject.model.names[k] for k in chosen]
    columns: list[tuple[str, list[Cell | str]]] = []
    for title, values in subject.averages().items():
        is_factor = title in subject.points
        columns.append((
            f"over {subject.names[title]}" if is_factor else title,
            [
                r2_cell(values[k], Link("", fitting_path(name, title)) if is_factor else _to_category(name))
                for k, name in zip(chosen, names, strict=True)
            ],
        ))  # fmt: skip
    columns.append(("share of the time", [f"{shares[k]:.1%}" for k in chosen]))
    note = f"Averages over lines and tuples. {SHADES}. A category that does not depend on a factor has a low "
    note += "R^2 over it and loses nothing. Click a number to see what is behind it."
    if len(chosen) < count:
        note = f"{len(chosen)} of {count:,} categories. {note}"
    heads = [Cell(name, _to_category(name)) for name in names]
    if len(names) <= _MOST_ACROSS:
        return Table(("", *heads), tuple((name, *cells) for name, cells in columns), "Fitting overview", note)
    rows = tuple(zip(heads, *(cells for _, cells in columns), strict=True))
    return Table(("category", *(name for name, _ in columns)), rows, "Fitting overview", note)


def _ordered(subject: Subject, order: str, shares: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[int]:
    names = subject.model.names
    if order == _ORDERS[1]:
        return [int(k) for k in np.argsort(-shares, kind="stable")]
    if order == _ORDERS[2]:
        return sorted(range(len(names)), key=lambda k: names[k].casefold())
    place = {name: k for k, name in enumerate(names)}
    return [place[name] for name in worst_first(subject)]


def _wanted_rows(text: str) -> int:
    return min(max(int(text), 1), _MOST_ROWS) if text.isascii() and text.isdecimal() and len(text) < 9 else _ROWS


def _to_category(name: str) -> Link:
    return Link("", category_path(name))


def _sortable(value: float | None) -> float:
    return float("inf") if value is None else value
