"""What a structural model predicts, as tables, JSON and pictures show it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perf_structural.evaluation import QUANTILES, Evaluation
from perfcore.stochastic import StochasticValue

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Prediction"]


@dataclass(frozen=True)
class Prediction:
    """The distribution of one result.

    Parameters
    ----------
    name : str
    unit : str
        Empty where there is none.
    evaluation : Evaluation
    composition_notes : tuple of str
        What was met when the equation was written out.
    """

    name: str
    unit: str
    evaluation: Evaluation
    composition_notes: tuple[str, ...] = ()

    @property
    def value(self) -> StochasticValue:
        """The distribution; what was sampled is a histogram."""
        return self.evaluation.value

    @property
    def notes(self) -> tuple[str, ...]:
        """What to keep in mind, each once."""
        return tuple(dict.fromkeys((*self.composition_notes, *self.evaluation.notes)))

    @property
    def statistics(self) -> dict[str, float]:
        """Mean, standard deviation, quantiles and bounds; NaN where there is none."""
        found = self.evaluation
        lowest, highest = found.support
        quantiles = {name: found.quantile(probability) for name, probability in QUANTILES.items()}
        return {"mean": found.mean, "std": found.std, **quantiles, "lowest": lowest, "highest": highest}

    @property
    def formula(self) -> str:
        """The distribution as a person reads it."""
        return repr(self.value)

    @property
    def title(self) -> str:
        """One line over a picture."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    def summary(self) -> list[str]:
        """Lines that say what was predicted and how."""
        return [f"{self.title}: {self.value!r}", f"by {self.evaluation.method}", *self.notes]

    def tables(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """Title, header and rows of the statistics, with the error where the result was sampled."""
        errors, figures = self.evaluation.errors, self.statistics
        if math.isnan(figures["p50"]):  # bounds alone
            figures = {name: value for name, value in figures.items() if not math.isnan(value)}
        header = ["statistic", self.unit or "value", *(["standard error"] if errors else [])]
        rows = [
            [
                name,
                "-" if math.isnan(value) else f"{value:.6g}",
                *([f"{errors[name]:.2g}" if name in errors else ""] if errors else []),
            ]
            for name, value in figures.items()
        ]
        return [("", header, rows)]

    def to_dict(self) -> dict[str, Any]:
        """The prediction as JSON-ready values; `perf_structural.inputs.read_value` reads its value again."""
        return {
            "name": self.name,
            "unit": self.unit,
            "method": self.evaluation.method,
            "statistics": self.statistics,
            "errors": dict(self.evaluation.errors),
            "notes": list(self.notes),
            "value": self.value.to_dict(),
        }

    def draw(self, figure: Figure, data: Any = None) -> None:
        """Draw density and cumulative distribution into an empty matplotlib figure."""
        from perf_structural.picture import draw_distributions

        draw_distributions(figure, {self.name: self.value}, self.unit)
