"""Views of a structural model: what it predicts, from which inputs, and its candidates beside one another."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from perf_structural import StructuralModel, choose, parse_statistic, predict_candidates
from perfcore.base.errors import PerfError
from perfcore.stochastic import StochasticValue
from perfcore.views.contents import (
    Block,
    Cell,
    Chart,
    Field,
    Form,
    Link,
    Notice,
    NoViewError,
    Query,
    Table,
    Text,
    View,
    ViewPath,
)
from perfcore.views.drawable import model_blocks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from perf_structural.inputs import Input

__all__ = ["StructuralViews"]

INPUT, CANDIDATES = "input", "candidates"
_METHOD, _BY = "method", "by"
_METHODS = ("auto", "exact", "sample")
_MOST_DRAWN = 8  # copies of a replicated input in one picture


class StructuralViews:
    """Views of a structural model.

    Parameters
    ----------
    model : StructuralModel
    """

    def __init__(self, model: StructuralModel) -> None:
        self._model = model

    @classmethod
    def read(cls, path: str) -> StructuralViews:
        """Those of a model file."""
        return cls(StructuralModel.read(path))

    @property
    def title(self) -> str:
        """The model's name, or its equation."""
        return self._model.name or self._model.equation

    def view(self, path: ViewPath, query: Query) -> View:
        """The prediction, an input, or the candidates; see `Viewable.view`."""
        trail = (Link(self.title, ()),)
        if path == ():
            return View(self.title, self._prediction(query))
        if len(path) == 2 and path[0] == INPUT and path[1] in self._model.inputs:
            return View(path[1], _input_blocks(path[1], self._model.inputs[path[1]]), path, trail)
        if path == (CANDIDATES,) and self._model.candidates:
            return View("Candidates", self._candidates(query), path, trail)
        raise NoViewError(path)

    def paths(self) -> Iterable[ViewPath]:
        """The prediction, the candidates, then the inputs."""
        candidates: list[ViewPath] = [(CANDIDATES,)] if self._model.candidates else []
        return [(), *candidates, *((INPUT, name) for name in self._model.inputs)]

    def _prediction(self, query: Query) -> tuple[Block, ...]:
        method = query.get(_METHOD, "auto")
        form = Form((Field(_METHOD, "method", method, "choice", _METHODS, help="how it is evaluated"),), (), "Predict")
        blocks: list[Block] = [Text((self._model.equation,), "Equation", "formula")]
        try:
            blocks += [form, *model_blocks(self._model.predict(method=method))]
        except PerfError as error:
            blocks += [Notice(str(error), "error"), form]
        rows = tuple(
            (Cell(name, Link(name, (INPUT, name))), _described(given), given.unit or "")
            for name, given in self._model.inputs.items()
        )
        blocks.append(Table(("input", "value", "unit"), rows, "Inputs"))
        components = "\n".join(f"{name} = {c.equation or c.model}" for name, c in self._model.components.items())
        if components:
            blocks.append(Text(tuple(components.split("\n")), "Components", "formula"))
        if self._model.candidates:
            blocks.append(Text(links=(Link("Candidates beside one another", (CANDIDATES,)),)))
        return tuple(blocks)

    def _candidates(self, query: Query) -> tuple[Block, ...]:
        by = query.get(_BY, "mean")
        form = Form((Field(_BY, "chosen by", by, help="mean, upper, or quantile:0.95"),), (CANDIDATES,), "Choose")
        try:
            found = choose(predict_candidates(self._model, self._model.candidates), parse_statistic(by, None))
        except PerfError as error:
            return Notice(str(error), "error"), form
        return (form, *model_blocks(found))


def _input_blocks(name: str, given: Input) -> tuple[Block, ...]:
    values = {
        f"{name}[{', '.join(str(at + 1) for at in place)}]" if place else name: value
        for place, value in given.cells.items()
    }
    uncertain = {label: value for label, value in values.items() if isinstance(value, StochasticValue)}
    rows = [
        (label, repr(value), *(f"{figure:.6g}" if math.isfinite(figure) else "-" for figure in (value.mean, value.std)))
        if isinstance(value, StochasticValue)
        else (label, f"{value:.6g}", f"{value:.6g}", "0")
        for label, value in values.items()
    ]
    table = Table(("input", "value", "mean", "standard deviation"), tuple(rows))
    if not uncertain:
        return (table,)
    drawn = dict(list(uncertain.items())[:_MOST_DRAWN])

    def draw(figure: Figure) -> None:
        from perf_structural.picture import draw_distributions

        draw_distributions(figure, drawn, given.unit or "")

    return Chart(draw, f"Density and cumulative distribution of {', '.join(drawn)}", (table,)), table


def _described(given: Input) -> str:
    values = list(given.cells.values())
    first = values[0]
    text = repr(first) if isinstance(first, StochasticValue) else f"{first:.6g}"
    return text if len(values) == 1 else f"{text}, ... ({len(values)} copies)"
