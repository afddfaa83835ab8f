"""What a structural model predicts."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_structural.algebra import leaves
from perf_structural.composition import Composition
from perf_structural.evaluation import Evaluation, evaluate_expression, resolved
from perf_structural.model_file import error_context
from perf_structural.options import EvaluationOptions
from perf_structural.sampling import Formula, Sample, draw_together, points_for
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError
from perfcore.hooks.options import build
from perfcore.results import Result
from perfcore.stochastic import StochasticValue


@dataclass(frozen=True, repr=False)
class Prediction(Result):
    """The distribution of one result."""

    name: str
    unit: str  # empty where there is none
    evaluation: Evaluation
    composition_notes: tuple[str, ...] = ()  # what was met when the equation was written out
    draws: npt.NDArray[np.float64] | None = field(default=None, repr=False)

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
        evaluation = self.evaluation
        lowest, highest = evaluation.support
        limit = {} if evaluation.limit is None else {f"P(<= {evaluation.limit:g})": evaluation.below_limit}
        figures = {"mean": evaluation.mean, "std": evaluation.std, **evaluation.quantiles}
        return {**figures, "lowest": lowest, "highest": highest, **limit}

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


_MOST_NUMBERS = 2**25  # a quarter of a gigabyte; of more results than that each is drawn alone


@dataclass(frozen=True)
class Part:
    """A part of a prediction."""

    name: str  # of the result
    label: str  # for messages, such as the candidate's name; and to tell its own inputs from those of others
    source: str  # what messages name
    composition: Composition
    own: Collection[str] = ()  # inputs that are another quantity here than in other parts

    def keys(self) -> dict[str, str]:
        """Prefix that separates its quantities from others of the same name."""
        correlated = {name for pair in self.composition.correlations for name in pair}
        return {
            leaf: f"{self.label}: {leaf}"
            for leaf in self.composition.values
            if leaf.partition("[")[0] in self.own and leaf not in correlated
        }


def predict_jointly(parts: Sequence[Part], options: Mapping[str, Any]) -> list[list[Prediction]]:
    """The distribution of each copy of each part's result, all of them drawn at the same points.

    Where everything has a distribution, each prediction has its ``draws``; with ``method="exact"`` none has.
    """
    chosen: EvaluationOptions = build(EvaluationOptions, options, "structural models")
    parts = [without_quantiles(part, chosen) for part in parts]
    samples = _samples(parts, chosen)
    predicted = []
    for part, drawn in zip(parts, samples, strict=True):
        composition = part.composition
        unit = str(composition.result.unit) if composition.result.unit.powers else ""
        part_predictions = []
        for cell, sample in zip(composition.result.cells.values(), drawn, strict=True):
            with error_context(part.source, part.label):
                evaluation = evaluate_expression(cell, composition.values, composition.correlations, chosen, sample)
            draws = None if sample is None else sample.values
            part_predictions.append(Prediction(part.name, unit, evaluation, composition.notes, draws))
        predicted.append(part_predictions)
    return predicted


def without_quantiles(part: Part, options: EvaluationOptions) -> Part:
    """A part with the numbers that its quantiles are."""
    composition = part.composition
    cells = composition.result.cells
    with error_context(part.source, part.label):
        expressions, notes = resolved(list(cells.values()), composition.values, composition.correlations, options)
    result = replace(composition.result, cells=dict(zip(cells, expressions, strict=True)))
    return replace(part, composition=replace(composition, result=result, notes=(*composition.notes, *notes)))


def _samples(parts: Sequence[Part], options: EvaluationOptions) -> list[list[Sample | None]]:
    """For each cell of each part its sample; None for all where there is none to draw."""
    formulas = [
        Formula(cell, part.composition.values, part.composition.correlations, part.keys())
        for part in parts
        for cell in part.composition.result.cells.values()
    ]
    drawn: list[Sample | None] = [None] * len(formulas)
    have_distributions = all(each.values[leaf].has_distribution for each in formulas for leaf in leaves(each.root))
    inputs = {formula.key(leaf) for formula in formulas for leaf in leaves(formula.root)}
    fits = 1 < len(formulas) <= _MOST_NUMBERS // points_for(options.samples, len(inputs))
    if have_distributions and fits and options.method != "exact":
        with contextlib.suppress(DataError):  # whichever of them cannot be evaluated says so itself, with its name
            drawn = list(draw_together(formulas, options.samples, options.seed))
    ends = np.cumsum([0, *(len(part.composition.result.cells) for part in parts)])
    return [drawn[start:end] for start, end in itertools.pairwise(ends)]


def probability_below(first: Floats, second: Floats) -> float:
    """Probability that the first of two is smaller at one point; points at which they are the same count half."""
    return float((first < second).mean() + 0.5 * (first == second).mean())
