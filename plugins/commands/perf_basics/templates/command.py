"""The command ``perf example MODEL``: what a model predicts at twice the largest measured point."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

import perfcore
from perfcore.report import Figure, Report, Result


@dataclass(frozen=True, repr=False)
class Doubled(Result):
    """A prediction."""

    value: float
    unit: str

    def report(self, data: Any = None) -> Report:
        """Return the answer and its number."""
        figure = Figure("prediction", self.value, self.unit)
        return Report("Prediction at twice the largest point", f"At twice the largest point: {figure.text}", [figure])


def example(model: Annotated[Any, typer.Argument(metavar="MODEL", help="A model of one parameter.")]) -> Doubled:
    """Predict at twice the largest measured point of the first parameter."""
    loaded = perfcore.load(model) if isinstance(model, str) else model
    largest = next(iter(loaded.ranges.values()))[1]
    return Doubled(float(loaded.predict([2.0 * largest])[0]), loaded.unit or "")
