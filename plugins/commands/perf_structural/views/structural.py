"""Views of a structural model: what it predicts, from which inputs, and its candidates beside one another."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf_structural.scheduling import choose, predict_candidates
from perf_structural.statistic import parse_statistic
from perf_structural.views.parts import answered, linked_table
from perf_views.contents import Block, Chart, Field, Form, Link, NoViewError, Query, Table, Text, View, ViewPath
from perfcore.results import Presenter, Tables
from perfcore.stochastic import StochasticValue

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from perf_structural.inputs import Input
    from perf_structural.structural_model import StructuralModel


INPUT, CANDIDATES = "input", "candidates"
_METHOD, _BY = "method", "by"
_METHODS = ("auto", "exact", "sample")
_MOST_DRAWN = 8  # copies of a replicated input in one picture


class StructuralPresenter(Presenter):
    """A structural model: its equation and its inputs."""

    def title(self, result: StructuralModel) -> str:
        """The model's name, or its equation."""
        return result.name or result.equation

    def formula(self, result: StructuralModel) -> str:
        """The equation, and below it the components."""
        return "\n".join([result.equation, *_components(result)])

    def summary(self, result: StructuralModel) -> list[str]:
        """Name, equation, and how many parts there are."""
        counts = [
            f"{len(parts)} {name}{'s' if len(parts) != 1 else ''}"
            for name, parts in (("component", result.components), ("input", result.inputs))
        ]
        return [*dict.fromkeys([self.title(result), result.equation]), ", ".join(counts)]

    def tables(self, result: StructuralModel) -> Tables:
        """Each input with its value and unit."""
        rows = [[name, _described(definition), definition.unit or ""] for name, definition in result.inputs.items()]
        return [("", ["input", "value", "unit"], rows)]

    def frame(self, result: StructuralModel) -> pd.DataFrame:
        """A row for each copy of each input: its moments, its bounds and its unit."""
        import pandas as pd

        rows = [
            (label, *_moments(value), definition.unit or "")
            for name, definition in result.inputs.items()
            for label, value in _copies(name, definition).items()
        ]
        return pd.DataFrame(rows, columns=["input", "mean", "std", "lowest", "highest", "unit"])

    def draw(self, result: StructuralModel, figure: Figure, data: Any = None) -> None:
        """Density and cumulative distribution of what it predicts."""
        result.predict().draw(figure)

    def views(self, result: StructuralModel, data: Any = None, file: Path | None = None) -> StructuralViews:
        """What it predicts, from which inputs, and its candidates."""
        return StructuralViews(result)


class StructuralViews:
    """Views of a structural model."""

    def __init__(self, model: StructuralModel) -> None:
        self._model = model

    @classmethod
    def read(cls, path: str) -> StructuralViews:
        """Those of a model file."""
        from perf_structural.structural_model import StructuralModel

        return cls(StructuralModel.read(path))

    @property
    def title(self) -> str:
        """The model's name, or its equation."""
        return self._model.title

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
        ((_, header, rows),) = self._model.tables()
        blocks: list[Block] = [
            Text((self._model.equation,), "Equation", "formula"),
            *answered(form, lambda: self._model.predict(method=method)),
            linked_table("Inputs", header, rows, (INPUT,)),
        ]
        if self._model.components:
            blocks.append(Text(tuple(_components(self._model)), "Components", "formula"))
        if self._model.candidates:
            blocks.append(Text(links=(Link("Candidates beside one another", (CANDIDATES,)),)))
        return tuple(blocks)

    def _candidates(self, query: Query) -> tuple[Block, ...]:
        by = query.get(_BY, "mean")
        form = Form((Field(_BY, "chosen by", by, help="mean, upper, or quantile:0.95"),), (CANDIDATES,), "Choose")
        return answered(
            form, lambda: choose(predict_candidates(self._model, self._model.candidates), parse_statistic(by, None))
        )


def _input_blocks(name: str, definition: Input) -> tuple[Block, ...]:
    values = _copies(name, definition)
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
        from perf_structural.views.distributions import draw_distributions

        draw_distributions(figure, drawn, definition.unit or "")

    return Chart(draw, f"Density and cumulative distribution of {', '.join(drawn)}", (table,)), table


def _components(model: StructuralModel) -> list[str]:
    return [
        line
        for name, part in model.components.items()
        for line in f"{name} = {part.equation or part.model}".split("\n")
    ]


def _copies(name: str, definition: Input) -> dict[str, StochasticValue | float]:
    """The values of an input, which has several where it is replicated, by what they are called."""
    return {
        f"{name}[{', '.join(str(number + 1) for number in place)}]" if place else name: value
        for place, value in definition.cells.items()
    }


def _moments(value: StochasticValue | float) -> tuple[float, float, float, float]:
    """Mean, standard deviation and bounds."""
    if isinstance(value, StochasticValue):
        return value.mean, value.std, *value.support
    return value, 0.0, value, value


def _described(definition: Input) -> str:
    values = list(definition.cells.values())
    first = values[0]
    text = repr(first) if isinstance(first, StochasticValue) else f"{first:.6g}"
    return text if len(values) == 1 else f"{text}, ... ({len(values)} copies)"
