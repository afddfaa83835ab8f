"""What the views show: a model at a target, its paths as trees, and the state that an address holds."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_scaling.call_tree import CallTree
from perf_scaling.growth import CLASSES, SURE
from perf_scaling.rows import PathRow
from perf_views.colours import PALE, RULE, STEPS, pale
from perf_views.contents import Cell, Field, Form, Link, Query, Text, ViewPath
from perf_views.style import SMALL_POINTS, add_legend
from perfcore.base.arrays import Floats
from perfcore.base.errors import OptionError, UnknownNameError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from perf_scaling.growth import Growth
    from perf_scaling.model import ScalingModel


PATH_VIEW, GROWTH = "path", "growth"  # beginnings of the paths of views
ORDERS = ("call tree", "largest share", "fastest growth", "widest interval", "by name")
_AT = "at."  # before the name of a parameter in an address
_ROWS, _MOST_ROWS = 40, 500  # a longer table takes seconds to draw in a browser
_FARTHER = (1.0, 2.0, 4.0, 8.0, 16.0)  # times the largest levels: targets that are one click away
_REACH = 1e6  # times beyond what was measured; far enough for anyone, and no power of it overflows
_KEPT = 8  # targets whose predictions are held; each takes seconds where paths are thousands


class Outlook:
    """A model at a target."""

    def __init__(self, model: ScalingModel) -> None:
        self.model = model

    @functools.cached_property
    def rows(self) -> dict[int, PathRow]:
        """What is said of each path, by its number; the largest share first."""
        number = {path: k for k, path in enumerate(self.model.paths)}
        return {number[row.path]: row for row in self.model.rows}

    @functools.cached_property
    def shares(self) -> Floats:
        """Share of each path of the whole of its metric (K,)."""
        rows = self.rows
        return np.array([rows[k].share for k in range(len(rows))])

    def tree(self, metric: str) -> CallTree:
        """That of a metric."""
        return next(tree for tree in self.model.whole.trees if tree.metric == metric)


class Outlooks:
    """A model at any target; what was predicted last is kept."""

    def __init__(self, model: ScalingModel) -> None:
        self.model = model
        self._at = functools.lru_cache(_KEPT)(self._outlook)

    def at(self, target: dict[str, float]) -> Outlook:
        """The model at a target."""
        return self._at(tuple(target.items()))

    def _outlook(self, target: tuple[tuple[str, float], ...]) -> Outlook:
        return Outlook(self.model if dict(target) == self.model.target else self.model.at(dict(target)))


@dataclass(frozen=True)
class State:
    """What an address says beside the view; what is not in it is as in a new one."""

    target: dict[str, float]
    metric: str
    order: str
    name: str = ""  # only paths that have it in their name; empty for all
    under: str = ""  # only what this region calls; empty for all
    rows: int = _ROWS  # how many rows, and from which one on
    start: int = 0
    default: Query = field(default_factory=dict)  # what is left out of addresses

    def query(self, **changes: Any) -> dict[str, str]:
        """The state, or one that differs from it, as it stands in addresses."""
        state = replace(self, **changes)
        texts = {
            **{_AT + symbol: f"{level:.10g}" for symbol, level in state.target.items()},
            "metric": state.metric,
            "order": state.order,
            "name": state.name,
            "under": state.under,
            "rows": str(state.rows),
            "from": str(state.start),
        }
        return {name: text for name, text in texts.items() if text != self.default.get(name, "")}

    def target_query(self) -> dict[str, str]:
        """The target alone, for views of one path."""
        return {name: text for name, text in self.query().items() if name.startswith(_AT)}


def state_of(model: ScalingModel, query: Query) -> State:
    """Read a state."""
    trees = model.whole.trees
    metrics = [tree.metric for tree in trees]
    metric = query.get("metric", metrics[0])
    if metric not in metrics:
        raise UnknownNameError("metric", metric, metrics)
    orders = orders_of(trees[metrics.index(metric)])
    first = State(dict(model.target), metrics[0], orders[0])
    order = query.get("order", orders[0])
    if order not in orders:
        raise UnknownNameError("order", order, orders)
    return State(
        target={
            symbol: _level(model.parameter_names[symbol], query.get(_AT + symbol, ""), model.points[symbol], level)
            for symbol, level in first.target.items()
        },
        metric=metric,
        order=order,
        name=query.get("name", ""),
        under=query.get("under", ""),
        rows=min(max(_count(query.get("rows", ""), _ROWS), 1), _MOST_ROWS),
        start=_count(query.get("from", ""), 0),
        default=first.query(),
    )


def orders_of(tree: CallTree) -> tuple[str, ...]:
    """How the paths of a tree can be listed; the first by default."""
    return ORDERS[1:] if tree.is_flat else ORDERS


def target_blocks(state: State, model: ScalingModel, path: ViewPath) -> tuple[Form, Text]:
    """A field for each parameter, and targets that are one click away."""
    kept = state.query() if path in ((), (GROWTH,)) else state.target_query()
    fields = [
        Field(
            _AT + symbol,
            f"target {model.parameter_names[symbol]} ({min(levels):g} to {max(levels):g} measured)",
            f"{level:.10g}",
            "number",
        )
        for (symbol, level), levels in zip(state.target.items(), model.points.values(), strict=True)
    ]
    hidden = [Field(name, value=text, kind="hidden") for name, text in kept.items() if not name.startswith(_AT)]
    links = []
    for factor in _FARTHER:
        target = {symbol: factor * max(levels) for symbol, levels in model.points.items()}
        if target != state.target:
            target_query = {name: text for name, text in state.query(target=target).items() if name.startswith(_AT)}
            rest = {name: text for name, text in kept.items() if not name.startswith(_AT)}
            links.append(Link(model.point_text(target), path, {**target_query, **rest}))
    return Form((*hidden, *fields), path, "Predict"), Text(links=tuple(links))


def _level(parameter: str, text: str, levels: Sequence[float], default: float) -> float:
    if not text.strip():
        return default
    try:
        level = float(text)
    except ValueError:
        level = math.nan
    low, high = min(levels) / _REACH, max(levels) * _REACH
    if not (low <= level <= high or level == default):
        raise OptionError(f"target {parameter}={text[:40]!r}: a number from {low:.3g} to {high:.3g} is expected")
    return level


def _count(text: str, default: int) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else default


SCALE_NOTE = f"dark to bright: {', '.join(CLASSES)}; pale and striped: probability below {SURE:.0%}"
HATCH = "////"  # of improbable classes
_LINE, _HANDLE = 150, 9  # letters in the width of a page, and what a patch of colour takes of them
_NOT_SURE = f"probability below {SURE:.0%}"


def is_sure(growth: Growth) -> bool:
    """Whether a class is as probable as a statement should be."""
    return growth.probability >= SURE


def class_colour(name: str, *, is_sure: bool = True) -> str:
    """Colour of a class in drawings, that of the cells of tables: the brighter the faster it grows."""
    colour = STEPS[CLASSES.index(name)]
    return colour if is_sure else pale(colour)


def class_cell(growth: Growth) -> Cell:
    """A class with its colour."""
    return Cell(growth.name, step=CLASSES.index(growth.name), is_sure=is_sure(growth))


def add_class_legend(figure: Figure, present: Collection[str], *, all_sure: bool) -> None:
    """What the colours of a drawing mean, for the classes that occur in it."""
    from matplotlib.patches import Patch

    names = [name for name in CLASSES if name in present]
    handles = [Patch(facecolor=class_colour(name), edgecolor=RULE, linewidth=0.4) for name in names]
    if not all_sure:
        names.append(_NOT_SURE)
        handles.append(Patch(facecolor=PALE, edgecolor=RULE, linewidth=0.4, hatch=HATCH))
    columns = len(names) if sum(map(len, names)) + _HANDLE * len(names) <= _LINE else -(-len(names) // 2)
    add_legend(figure, names, handles, loc="outside lower center", ncols=columns, fontsize=SMALL_POINTS)


def share_cell(share: float) -> Cell:
    """A share as a number with a bar."""
    return Cell(f"{share:.1%}", bar=share)
