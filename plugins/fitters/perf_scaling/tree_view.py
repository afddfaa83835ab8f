"""The page of a profile: the call tree coloured by growth, as a drawing and a table that stays short, and each path."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perf_scaling.call_tree import CallTree
from perf_scaling.growth import CLASSES, SURE
from perf_views import contents as page
from perf_views.colours import INK, PALE, PAPER, RULE, STEPS, pale, text_on
from perf_views.names import shortened
from perf_views.style import LABEL_POINTS, SMALL_POINTS, TINY_POINTS, add_legend
from perfcore.base.arrays import Floats
from perfcore.base.errors import OptionError, UnknownNameError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from perf_scaling.model import PathRow, ScalingModel


PATH_VIEW = "path"  # beginning of the paths of views
ORDERS = ("call tree", "largest share", "fastest growth")
_AT = "at."  # before the name of a parameter in an address
_ROWS, _MOST_ROWS = 40, 500  # a longer table takes seconds to draw in a browser
_REACH = 1e6  # times beyond what was measured; far enough for anyone, and no power of it overflows
_KEPT = 8  # targets whose predictions are held; each takes seconds where paths are thousands
SCALE_NOTE = f"dark to bright: {', '.join(CLASSES)}; pale and striped: probability below {SURE:.0%}"
HATCH = "////"  # of improbable classes
_LINE, _HANDLE = 150, 9  # letters in the width of a page, and what a patch of colour takes of them
_NOT_SURE = f"probability below {SURE:.0%}"
_NARROWEST = 0.002  # of the width; narrower ones are not drawn, so that there are a few hundred at most in a row
_DEEPEST = 14  # rows; deeper regions are seen below one that is chosen
_LETTERS = 165  # of the size of the names, side by side in the width
_FEWEST = 6  # letters that a shortened name is still read in
_HEIGHT = 0.27  # inches, of a row
_MOST_UNFITTED = 40


class Outlook(NamedTuple):
    """A model at a target."""

    model: ScalingModel
    rows: dict[int, PathRow]  # by the number of the path, the largest share first
    shares: Floats  # share of each path of the whole of its metric (K,)

    def tree(self, metric: str) -> CallTree:
        """Return that of a metric."""
        return next(tree for tree in self.model.whole.trees if tree.metric == metric)


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
    default: page.Query = field(default_factory=dict)  # what is left out of addresses

    def query(self, **changes: Any) -> dict[str, str]:
        """Return the state, or one that differs from it, as it stands in addresses; from the first row on."""
        state = replace(self, **{"start": 0, **changes})
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
        """Return the target alone, for views of one path."""
        return {name: text for name, text in self.query().items() if name.startswith(_AT)}


def state_of(model: ScalingModel, query: page.Query) -> State:
    """Read a state."""
    trees = {tree.metric: tree for tree in model.whole.trees}
    usual = next(iter(trees))
    metric = query.get("metric", usual)
    if metric not in trees:
        raise UnknownNameError("metric", metric, trees)
    orders = orders_of(trees[metric])
    first = State(dict(model.target), usual, orders[0])
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
    """Return how the paths of a tree can be listed; the first by default."""
    return ORDERS[1:] if tree.is_flat else ORDERS


def target_form(state: State, model: ScalingModel, path: page.ViewPath) -> page.Form:
    """Return a field for the level of each parameter at the target."""
    kept = state.query() if path == () else state.target_query()
    fields = [
        page.Field(
            _AT + symbol,
            f"target {model.parameter_names[symbol]} ({min(levels):g} to {max(levels):g} measured)",
            f"{level:.10g}",
            "number",
        )
        for (symbol, level), levels in zip(state.target.items(), model.points.values(), strict=True)
    ]
    hidden = [page.Field(name, value=text, kind="hidden") for name, text in kept.items() if not name.startswith(_AT)]
    return page.Form((*hidden, *fields), path, "Predict")


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


def add_class_legend(figure: Figure, present: Collection[str], *, all_sure: bool) -> None:
    """Add what the colours of a drawing mean, for the classes that occur in it."""
    from matplotlib.patches import Patch

    names = [name for name in CLASSES if name in present]
    handles = [Patch(facecolor=STEPS[CLASSES.index(name)], edgecolor=RULE, linewidth=0.4) for name in names]
    if not all_sure:
        names.append(_NOT_SURE)
        handles.append(Patch(facecolor=PALE, edgecolor=RULE, linewidth=0.4, hatch=HATCH))
    columns = len(names) if sum(map(len, names)) + _HANDLE * len(names) <= _LINE else -(-len(names) // 2)
    add_legend(figure, names, handles, loc="outside lower center", ncols=columns, fontsize=SMALL_POINTS)


def tree_chart(outlook: Outlook, tree: CallTree, inclusive_shares: Floats, top: int | None) -> page.Chart:
    """Return a drawing of the tree, all or below a region."""
    target_text = outlook.model.target_text
    placed = _placed(tree, inclusive_shares, tree.outermost if top is None else (top,))
    levels = 1 + max((level for _, level, _, _ in placed), default=0)

    def draw(figure: Figure) -> None:
        from matplotlib.collections import PolyCollection

        axes = figure.subplots()
        grown = [outlook.rows[tree.paths[node]].growths[0] if tree.paths[node] >= 0 else None for node, *_ in placed]
        corners = [
            ((left, level), (left + width, level), (left + width, level + 1.0), (left, level + 1.0))
            for _, level, left, width in placed
        ]
        full = [PALE if growth is None else STEPS[CLASSES.index(growth.name)] for growth in grown]  # as cells of tables
        unsure = [growth is not None and not growth.is_sure for growth in grown]
        colours = [pale(colour) if is_unsure else colour for colour, is_unsure in zip(full, unsure, strict=True)]
        # One collection of all: hundreds of rectangles of their own take a second.
        axes.add_collection(PolyCollection(corners, facecolors=colours, edgecolors=PAPER, linewidths=0.7))
        striped = [corner for corner, is_striped in zip(corners, unsure, strict=True) if is_striped]
        if striped:
            hatched = PolyCollection(striped, facecolors="none", edgecolors=RULE, linewidths=0.0, hatch=HATCH)
            axes.add_collection(hatched)
        for (node, level, left, width), colour in zip(placed, colours, strict=True):
            letters = int(width * _LETTERS) - 1
            if letters >= min(_FEWEST, len(tree.names[node])):
                axes.text(left + 0.003, level + 0.5, shortened(tree.names[node], letters), fontsize=TINY_POINTS,
                          va="center", color=INK if colour == PALE else text_on(colour), parse_math=False)  # fmt: skip
        axes.set(xlim=(0.0, 1.0), ylim=(levels, 0.0), yticks=[])
        axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        axes.tick_params(labelsize=SMALL_POINTS)
        axes.spines[:].set_visible(False)
        of = "" if top is None else f" below {shortened(tree.full_names[top], 60)}"
        axes.set_xlabel(f"share{of} at {target_text}", fontsize=LABEL_POINTS, parse_math=False)
        add_class_legend(figure, {growth.name for growth in grown if growth is not None}, all_sure=not any(unsure))

    first, *others = outlook.model.parameter_names.values()
    over = f" over {first}" if others else ""
    text = f"Regions below their callers, as wide as their share at {target_text}, coloured by their growth{over}"
    value = outlook.model.value_name
    title = f"Share of {'time' if 'time' in value.lower() else value}, coloured by growth{over}"
    return page.Chart(draw, text, title, (10.0, 0.95 + _HEIGHT * levels))


def _placed(
    tree: CallTree, inclusive_shares: Floats, outermost: tuple[int, ...]
) -> list[tuple[int, int, float, float]]:
    """Return node, level, left end and width of what is wide enough to be seen; the widest callees first."""
    total = sum(float(inclusive_shares[node]) for node in outermost)
    if not total > 0.0:
        return []
    placed: list[tuple[int, int, float, float]] = []
    waiting = [(outermost, 0, 0.0, 1.0)]
    while waiting:
        nodes, level, left, room = waiting.pop()
        # Medians of what a region calls may exceed its own where values are inclusive.
        widths = {node: float(inclusive_shares[node]) / total for node in nodes}
        squeeze = min(1.0, room / sum(widths.values())) if sum(widths.values()) > 0.0 else 1.0
        for node in sorted(nodes, key=lambda node: -widths[node]):
            width = widths[node] * squeeze
            if width < _NARROWEST:
                break
            placed.append((node, level, left, width))
            if tree.callees[node] and level + 1 < _DEEPEST:
                waiting.append((tree.callees[node], level + 1, left, width))
            left += width
    return placed


def tree_blocks(outlook: Outlook, state: State) -> tuple[page.Block, ...]:
    """Return the first view."""
    model = outlook.model
    tree = outlook.tree(state.metric)
    inclusive_shares = tree.with_callees(outlook.shares)
    if state.under and state.under not in tree.full_names:
        raise OptionError(f"there is no region {state.under[:80]!r}; begin at the first view")
    top = tree.full_names.index(state.under) if state.under else None  # the region that is looked below
    report = model.report()
    blocks: list[page.Block] = [
        *page.answer_blocks(report),
        page.Text(tuple(report.details), "Details", is_folded=True),
        target_form(state, model, ()),
    ]
    if not tree.is_flat:
        blocks.append(tree_chart(outlook, tree, inclusive_shares, top))
    blocks.append(_choice(outlook, state))
    if top is not None:
        links = [page.Link("all", (), state.query(under=""))]
        links += [_under(tree, state, node, tree.names[node]) for node in tree.above(top)]
        blocks.append(page.Text((f"Below {tree.full_names[top]}",), links=tuple(links)))
    if state.order == ORDERS[0] and not state.name:
        blocks.append(_tree_table(outlook, state, tree, inclusive_shares, top))
    else:
        blocks += _list_blocks(outlook, state, tree, inclusive_shares, top)
    part = state.name.casefold()
    matches = [(name, reason) for name, reason in model.unfitted.items() if part in name.casefold()]
    if matches:
        all_of = f"Showing {_MOST_UNFITTED} of {len(matches):,}; filter by name." * (len(matches) > _MOST_UNFITTED)
        blocks.append(page.Table(("path", "reason"), tuple(matches[:_MOST_UNFITTED]), "Not fitted", all_of))
    return tuple(blocks)


def tree_header(outlook: Outlook, tree: CallTree, first: str) -> tuple[str, ...]:
    """Return the headings of `tree_cells`."""
    model = outlook.model
    names = model.parameter_names.values()
    growth = [word for name in names for word in (f"growth over {name}" if len(names) > 1 else "growth", "probability")]
    unit = f" [{model.unit}]" if model.unit and not tree.metric else ""
    shares = ("share",) if tree.is_flat else ("inclusive share",) if tree.is_inclusive else ("share", "with callees")
    return (first, *shares, *growth, f"at {model.target_text}{unit}", "95% interval", "best model")


def tree_cells(
    outlook: Outlook, state: State, tree: CallTree, node: int, inclusive_shares: Floats, name: str, indent: int = 0
) -> tuple[page.Cell | str, ...]:
    """Return share, growth, prediction and law of a region; only its callees if it was not fitted itself."""
    path = tree.paths[node]
    with_callees = f"{inclusive_shares[node]:.1%}"
    if path < 0:
        own = page.Cell(with_callees, bar=inclusive_shares[node])
        cells = (own,) if tree.is_inclusive else ("", with_callees)
        return (page.Cell(name, indent=indent), *cells, *[""] * (2 * len(outlook.model.symbols) + 3))
    row = outlook.rows[path]
    path_share = page.Cell(f"{row.share:.1%}", bar=row.share)
    shares = (path_share,) if tree.is_inclusive or tree.is_flat else (path_share, with_callees)
    growth: list[page.Cell | str] = []
    for one in row.growths:
        cell = page.Cell(one.name, step=CLASSES.index(one.name), is_sure=one.is_sure)
        growth += [cell, f"{one.probability:.0%}"]
    bounds = f"[{row.low:.3g}, {row.high:.3g}]"
    link = page.Link("", (PATH_VIEW, outlook.model.paths[path]), state.target_query())
    return (page.Cell(name, link, indent=indent), *shares, *growth, f"{row.predicted:.4g}", bounds, row.model.formula)


def _tree_table(
    outlook: Outlook, state: State, tree: CallTree, inclusive_shares: Floats, top: int | None
) -> page.Table:
    """Tabulate the regions with the largest shares, each below its caller; the others are a row with a link."""
    outermost = tree.outermost if top is None else (top,)
    visible = _largest(tree, inclusive_shares, outermost, state.rows)
    header = tree_header(outlook, tree, "region")
    inclusive_column = 1 if tree.is_inclusive else 2  # the column of shares with callees
    rows: list[tuple[page.Cell | str, ...]] = []
    for depth, node, left in _outline(tree, inclusive_shares, outermost, visible):
        if not left:
            rows.append(tree_cells(outlook, state, tree, node, inclusive_shares, tree.names[node], depth))
            continue
        # Below a caller its own tree has more; where that is what is looked at, the list of all below it.
        is_here = node < 0 or node == top
        link = page.Link("", (), state.query(order=ORDERS[1])) if is_here else _under(tree, state, node, "")
        cells: list[page.Cell | str] = [""] * len(header)
        cells[0] = page.Cell(f"… {len(left):,} more", link, indent=depth)
        cells[inclusive_column] = f"{sum(inclusive_shares[one] for one in left):.1%}"
        rows.append(tuple(cells))
    note = f"Growth is coloured {SCALE_NOTE}. {_share_note(tree)} Click a path to see its models."
    title = "Call tree" if top is None else f"Call tree below {tree.full_names[top]}"
    return page.Table(header, tuple(rows), title, note)


def _outline(
    tree: CallTree, inclusive_shares: Floats, outermost: Sequence[int], visible: set[int]
) -> Iterator[tuple[int, int, Sequence[int]]]:
    """Yield depth and region, callers and the largest first; after its callees a caller with what is left out."""
    # Without recursion: call paths are hundreds of regions deep where functions call themselves.
    waiting: list[tuple[int, int, Sequence[int]]] = []

    def wait(caller: int, nodes: Sequence[int], depth: int) -> None:
        left = [node for node in nodes if node not in visible]
        if left:
            waiting.append((depth, caller, left))
        waiting.extend(
            (depth, node, ()) for node in sorted(visible.intersection(nodes), key=lambda node: inclusive_shares[node])
        )

    wait(-1, outermost, 0)
    while waiting:
        depth, node, left = waiting.pop()
        yield depth, node, left
        if not left:
            wait(node, tree.callees[node], depth + 1)


def _largest(tree: CallTree, inclusive_shares: Floats, outermost: Iterable[int], most: int) -> set[int]:
    """Return the regions with the largest shares, and all that call them up to those that are looked at."""
    inside = {node for start in outermost for node in tree.below(start)}
    visible: set[int] = set()
    for node in sorted(inside, key=lambda node: (-inclusive_shares[node], node)):
        if len(visible) >= most:
            break
        visible.add(node)
        visible |= inside.intersection(tree.above(node))
    # A single one that is left takes no more room than to say that there is one.
    for callees in [tree.callees[node] for node in visible]:
        left = [callee for callee in callees if callee not in visible]
        if len(left) == 1 and not tree.callees[left[0]]:
            visible.add(left[0])
    return visible


def _list_blocks(
    outlook: Outlook, state: State, tree: CallTree, inclusive_shares: Floats, top: int | None
) -> tuple[page.Block, ...]:
    """Return paths below one another in an order, a page of them."""
    nodes = range(len(tree.names)) if top is None else tree.below(top)
    part = state.name.casefold()
    paths = {node: tree.paths[node] for node in nodes if tree.paths[node] >= 0}
    found = (node for node, path in paths.items() if part in outlook.model.paths[path].casefold())
    matches = [(tree.full_names[node], node) for node in found]
    if not matches:
        return (page.Notice(f"no call path matches {state.name!r}"),)
    matches.sort(key=lambda one: _rank(state.order, outlook.rows[tree.paths[one[1]]]))
    start = min(state.start, (len(matches) - 1) // state.rows * state.rows)
    end = start + state.rows
    rows = tuple(tree_cells(outlook, state, tree, node, inclusive_shares, full) for full, node in matches[start:end])
    links = [page.Link(f"previous {state.rows}", (), state.query(start=max(start - state.rows, 0)))] if start else []
    links += [page.Link(f"next {state.rows}", (), state.query(start=end))] if end < len(matches) else []
    which = "" if len(rows) == len(matches) else f"Paths {start + 1:,} to {start + len(rows):,} of {len(matches):,}. "
    note = f"{which}Growth is coloured {SCALE_NOTE}. {_share_note(tree)}"
    order = state.order if state.order != ORDERS[0] else ORDERS[1]
    table = page.Table(tree_header(outlook, tree, "call path"), rows, f"Call paths: {order}", note)
    return (table, page.Text(links=tuple(links))) if links else (table,)


def _rank(order: str, row: PathRow) -> tuple[float, ...]:
    if order == ORDERS[2]:
        kind, exponent = max((CLASSES.index(growth.name), growth.exponent) for growth in row.growths)
        return -kind, -exponent
    return (-row.share,)


def _choice(outlook: Outlook, state: State) -> page.Form:
    metrics = tuple(tree.metric for tree in outlook.model.whole.trees)
    fields = [page.Field("metric", "metric or system", state.metric, "choice", metrics)] if len(metrics) > 1 else []
    fields += [
        page.Field("order", "show", state.order, "choice", orders_of(outlook.tree(state.metric))),
        page.Field("name", "name has", state.name),
        page.Field("rows", "rows", str(state.rows), "number", minimum="1", step="1"),
    ]
    field_names = {field.name for field in fields}
    hidden = [page.Field(n, value=text, kind="hidden") for n, text in state.query().items() if n not in field_names]
    return page.Form((*hidden, *fields), ())


def _under(tree: CallTree, state: State, node: int, text: str) -> page.Link:
    return page.Link(text, (), state.query(under=tree.full_names[node]))


def _share_note(tree: CallTree) -> str:
    if tree.is_inclusive:
        return "Values hold what a path calls, so that shares of callers hold those of what they call."
    if tree.is_flat:
        return "Share of total time."
    return "Share of total time: exclusive and inclusive."


class ScalingViews(page.Viewable):
    """Views of a profile's scaling; each can be looked at for any target."""

    def __init__(self, model: ScalingModel) -> None:
        self._model, self.title = model, model.title
        self._number = {path: k for k, path in enumerate(model.paths)}
        self._at = functools.lru_cache(_KEPT)(self._outlook)

    def _outlook(self, target: tuple[tuple[str, float], ...]) -> Outlook:
        model = self._model if dict(target) == self._model.target else self._model.at(dict(target))
        rows = {self._number[row.path]: row for row in model.rows}
        return Outlook(model, rows, np.array([rows[k].share for k in range(len(rows))]))

    def view(self, path: page.ViewPath, query: page.Query) -> page.View:
        """Return the call tree, or one path; see `Viewable.view`."""
        model = self._model
        state = state_of(model, query)
        outlook = self._at(tuple(state.target.items()))
        if path == ():
            return page.View(self.title, tree_blocks(outlook, state))
        if len(path) != 2 or path[0] != PATH_VIEW or path[1] not in {*self._number, *model.unfitted}:
            raise page.NoViewError(path)
        name, trail = path[1], (page.Link(self.title, (), state.query()),)
        if name in model.unfitted:
            return page.View(name, (page.Notice(f"Not fitted: {model.unfitted[name]}", "warning"),), path, trail)
        first, *others = page.model_blocks(outlook.model.part(self._number[name]))
        return page.View(name, (first, target_form(state, model, path), *others), path, trail)

    def paths(self) -> Iterable[page.ViewPath]:
        """Yield the call tree and the paths, the largest share at the target first."""
        yield ()
        yield from ((PATH_VIEW, row.path) for row in self._model.rows)
