"""The model of an application over several factors: the sum of models of its categories."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np
import numpy.typing as npt

from perf_formulas.formula import Formula, renamed, sum_of_terms
from perf_lost_cycles.category_sum import ALL_POINTS, LEFT_OUT, CategorySum, Line, figures_of_total, form_text
from perf_lost_cycles.default_fits import DefaultFit, fit_default_models, in_factor
from perf_lost_cycles.forms import Terms
from perf_lost_cycles.generate import Generated
from perfcore.base.arrays import Floats
from perfcore.base.errors import OptionError, PerfError, UnknownNameError
from perfcore.models.model import Parameter
from perfcore.report import Report

_R2_DIGITS = 5


class CategoryFit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model of one category."""

    name: str
    terms: tuple[str, ...]  # formulas of the factors
    coefficients: tuple[float, ...]  # in the unit of the data
    standard_errors: tuple[float | None, ...]  # none where the data do not determine them
    covariance: tuple[tuple[float, ...], ...]  # unscaled, the inverse of the weighted X'X
    n_points: int  # to which it was fitted
    sum_of_squares: float  # weighted residuals
    r2_centered: float | None  # centered, weighted; of the fit, and of predicting each point from the others
    r2_leave_one_out: float | None

    def __post_init__(self) -> None:
        lengths = {len(self.terms), len(self.coefficients), len(self.standard_errors), len(self.covariance)}
        if len(lengths) > 1 or not self.terms or any(len(row) != len(self.terms) for row in self.covariance):
            raise ValueError(f"category {self.name!r} has not as many coefficients as terms")

    def text(self, names: Mapping[str, str], digits: int = 6) -> str:
        """Return the model as a person reads it, in other names of factors; sums within terms have parentheses."""
        # A product with a sum is written with parentheses around it.
        terms = [Formula(f"1*({renamed(term, names)})").canonical.removeprefix("1*") for term in self.terms]
        return sum_of_terms(self.coefficients, terms, digits)


class UsedModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A default model and what it was tried for."""

    categories: tuple[str, ...]
    factor: str  # symbol
    formula: str
    terms: tuple[str, ...]  # what its coefficients multiply, as formulas of ``x``
    coefficients: tuple[str, ...]  # their names
    origin: str


class FactorLines(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The univariate models of one factor."""

    symbol: str
    lines: tuple[tuple[int, ...], ...]  # points of each line, the other factors held
    left_out: int  # lines of too few levels
    chosen: tuple[tuple[int, ...], ...]
    r2: tuple[tuple[float | None, ...], ...]  # centered, also; None where the category is constant along the line


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """One step of combining the tuples' forms of one category."""

    category: int  # place in `Generation.categories`
    form: int  # the tuples' form that was taken, or added to what was at hand; -1 where a term was dropped
    n_tuples: int  # how many tuples chose it
    result: int  # the form after the step
    score: float  # criterion of the result on all points, smaller is better


class Generation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every step from the measurements to the forms of categories that were measured at the same points.

    It has what was decided, not every candidate's numbers: the observations and the default models are in the same
    file, and one line is fitted again in microseconds (`ModgenModel.fits_on`). Categories that share points share the
    table of their lines, so 1,000 categories on 125 points take some megabytes.
    """

    categories: tuple[int, ...]  # which of the model's categories
    points: tuple[int, ...]  # which of the model's observations
    forms: tuple[tuple[str, ...], ...]  # the forms that occur below, as terms
    factors: tuple[FactorLines, ...]
    tuples: tuple[int, ...]  # observations through which every factor has a line
    tuple_forms: tuple[tuple[int, ...], ...]
    tuple_r2: tuple[tuple[float | None, ...], ...]  # centered, on the points of the tuple's lines
    steps: tuple[Step, ...]


def generation_of(
    generated: Generated, terms: Terms, categories: Sequence[int], points: npt.NDArray[np.int64]
) -> Generation:
    """Return the steps as a file keeps them."""
    arrays = [*generated.instances, generated.tuple_forms, generated.steps.form, generated.steps.result]
    used = np.unique(np.concatenate([array.ravel() for array in arrays]))
    used = used[used >= 0]
    renumber = np.full(len(generated.forms.forms) + 1, -1, dtype=np.int64)  # the last place answers for -1
    renumber[used] = np.arange(len(used))
    numbers = {number for form in used.tolist() for number in generated.forms.forms[form]}
    texts = {number: terms.text(number) for number in numbers}
    factors = tuple(
        FactorLines(
            symbol=terms.symbols[lines.factor],
            lines=tuple(tuple(points[line].tolist()) for line in lines.points),
            left_out=lines.too_short,
            chosen=_rows(renumber[chosen]),
            r2=_r2_rows(r2),
        )
        for lines, chosen, r2 in zip(generated.lines, generated.instances, generated.instance_r2, strict=True)
    )
    steps = generated.steps
    columns = (steps.category, renumber[steps.form], steps.n_tuples, renumber[steps.result], steps.score)
    return Generation(
        categories=tuple(categories),
        points=tuple(points.tolist()),
        forms=tuple(tuple(texts[number] for number in generated.forms.forms[form]) for form in used.tolist()),
        factors=factors,
        tuples=tuple(points[generated.tuples].tolist()),
        tuple_forms=_rows(renumber[generated.tuple_forms]),
        tuple_r2=_r2_rows(generated.tuple_r2),
        steps=tuple(Step(*row) for row in zip(*(column.tolist() for column in columns), strict=True)),
    )


def mean_r2(rows: Sequence[Sequence[float | None]]) -> list[float | None]:
    """Average over lines or tuples (R, K) of each category's R^2; None where none is defined."""
    table = np.array(rows, dtype=np.float64).reshape(len(rows), -1)
    return [float(column[np.isfinite(column)].mean()) if np.isfinite(column).any() else None for column in table.T]


def _rows(array: npt.NDArray[np.int64]) -> tuple[tuple[int, ...], ...]:
    return tuple(map(tuple, array.tolist()))


def _r2_rows(array: Floats) -> tuple[tuple[float | None, ...], ...]:
    rounded = np.round(array, _R2_DIGITS).tolist()
    return tuple(tuple(None if math.isnan(value) else value for value in row) for row in rounded)


class ModgenModel(CategorySum, frozen=True, forbid_unknown_fields=True, dict=True):
    """The sum of the models of an application's categories.

    Attributes
    ----------
    categories : tuple of CategoryFit
    default_models : tuple of UsedModel
    generations : tuple of Generation
        How the models came about, for categories that were measured at the same points together.
    """

    categories: tuple[CategoryFit, ...]
    default_models: tuple[UsedModel, ...]
    generations: tuple[Generation, ...]

    kind: ClassVar[str] = "sum of categories"

    def __post_init__(self) -> None:
        n = len(self.observations.total)
        names = [category.name for category in self.categories]
        if not names or len(set(names)) < len(names) or len(names) != len(self.observations.values):
            raise ValueError("there are not as many categories as columns of observations, or one of them twice")
        if not self.columns or set(self.observations.points) != set(self.columns) or len(self.root_weights) != n:
            raise ValueError("the observations are not those of the model's factors")
        if self.set_aside and not 0 <= min(self.set_aside) <= max(self.set_aside) < n:
            raise ValueError("a point is set aside that is not among the observations")
        forms = [*(each.terms for each in self.categories), *(form for g in self.generations for form in g.forms)]
        try:
            strange = {name for text in {t for form in forms for t in form} for name in Formula(text).names}
        except PerfError as error:
            raise ValueError(str(error)) from None
        if strange - set(self.columns):
            raise ValueError("a term is not one of the model's factors")
        if {number for each in self.generations for number in each.categories} != set(range(len(names))):
            raise ValueError("a category was generated in no step, or in several")

    @functools.cached_property
    def formulas(self) -> tuple[tuple[tuple[str, ...], Floats], ...]:
        return tuple((category.terms, np.array(category.coefficients)) for category in self.categories)

    def candidate_terms(self, category: int) -> tuple[tuple[str, ...], ...]:
        """Return terms of each form that a tuple suggested for a category or a step led to, the chosen one first."""
        generation, place = self._generation(self.names[category])
        steps = [step.result for step in reversed(generation.steps) if step.category == place]
        suggested, counts = np.unique([row[place] for row in generation.tuple_forms], return_counts=True)
        often = suggested[np.argsort(-counts, kind="stable")].tolist()
        numbers = dict.fromkeys(number for number in (*steps, *often) if number >= 0)
        return tuple(dict.fromkeys((self.categories[category].terms, *(generation.forms[k] for k in numbers))))

    def measured(self) -> tuple[Floats, Floats]:
        """Return measured times of each category (n, C), NaN where there are none, and of the total (n,)."""
        return np.array(self.observations.values, dtype=np.float64).T, np.array(self.observations.total)

    def predicted(self) -> tuple[Floats, Floats]:
        """Return the model at the measured points: each category (n, C), and the total (n,)."""
        points = {symbol: np.array(values) for symbol, values in self.observations.points.items()}
        each = np.maximum(self.design(self.terms, points) @ self.coefficients, 0.0)
        return each, each.sum(axis=1)

    def lines(self, category: str, symbol: str) -> tuple[Line, ...]:
        generation, place = self._generation(category)
        factor = next(factor for factor in generation.factors if factor.symbol == symbol)
        names, points = self.shown_names, self.observations.points
        return tuple(
            Line(
                label=", ".join(f"{names[s]}={points[s][line[0]]:g}" for s in points if s != symbol) or ALL_POINTS,
                points=np.array(line),
                r2=r2[place],
                form=form_text(generation.forms[chosen[place]], names) if chosen[place] >= 0 else "",
            )
            for line, chosen, r2 in zip(factor.lines, factor.chosen, factor.r2, strict=True)
        )

    def fits_on(self, category: str, symbol: str, line: int) -> tuple[tuple[DefaultFit, bool], ...]:
        if category not in self.names:
            raise UnknownNameError("category", category, self.names)
        if symbol not in self.columns:
            raise UnknownNameError("factor", symbol, self.columns)
        generation, place = self._generation(category)
        factor = next(factor for factor in generation.factors if factor.symbol == symbol)
        if not 0 <= line < len(factor.lines):
            raise OptionError(f"{self.shown_names[symbol]} has lines 0 to {len(factor.lines) - 1}, not {line}")
        points, best = np.array(factor.lines[line]), factor.chosen[line][place]
        values = np.array(self.observations.values[generation.categories[place]], dtype=np.float64)
        fits, _ = fit_default_models(
            [each for each in self.default_models if each.factor == symbol and category in each.categories],
            np.array(self.observations.points[symbol])[points],
            values[points],
            np.array(self.root_weights)[points],
            "loo",
        )
        form = set(generation.forms[best]) if best >= 0 else set()
        chosen = [{in_factor(term, symbol) for term in fit.terms} == form for fit in fits]
        return tuple(sorted(zip(fits, chosen, strict=True), key=lambda pair: not pair[1]))

    def _generation(self, category: str) -> tuple[Generation, int]:
        """Return how a category came about, and its place among the categories of that."""
        number = self.names.index(category)
        generation = next(each for each in self.generations if number in each.categories)
        return generation, generation.categories.index(number)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(
            Parameter(f"{category.name}: {renamed(term, self.shown_names)}", coefficient, error, self.unit)
            for category in self.categories
            for term, coefficient, error in zip(
                category.terms, category.coefficients, category.standard_errors, strict=True
            )
        )

    @property
    def statistics(self) -> dict[str, float | int | str | None]:
        """Figures of the total, at the points of the fit and at those set aside; R^2 centered and unweighted."""
        aside = ~self.fitted
        total, model = self.measured()[1], self.predicted()[1]
        figures: dict[str, float | int | str | None] = {
            "n_points": int((~aside).sum()),
            "n_categories": len(self.categories),
            "n_parameters": sum(len(category.terms) for category in self.categories),
            **figures_of_total(total[~aside], model[~aside]),
        }
        if aside.any():
            figures |= {"n_set_aside": int(aside.sum()), **figures_of_total(total[aside], model[aside], "set_aside_")}
        return figures

    def overview(self) -> dict[str, list[float | None]]:
        """Return the average R^2 of categories (C,): by factor over its lines, and under ``tuples`` over these."""
        averages: dict[str, list[float | None]] = {
            name: [None] * len(self.categories) for name in [*self.columns, "tuples"]
        }
        for each in self.generations:
            tables = {**{factor.symbol: factor.r2 for factor in each.factors}, "tuples": each.tuple_r2}
            for name, rows in tables.items():
                for category, value in zip(each.categories, mean_r2(rows), strict=True):
                    averages[name][category] = value
        return averages

    def report(self, data: Any = None) -> Report:
        """Return the largest category with its model, and all categories."""
        from perf_lost_cycles.answers import modgen_report

        return modgen_report(self, data)

    def averages(self) -> dict[str, list[float | None]]:
        fits = self.categories
        of_all = {ALL_POINTS: [fit.r2_centered for fit in fits], LEFT_OUT: [fit.r2_leave_one_out for fit in fits]}
        return {**self.overview(), **of_all}

    def texts(self) -> tuple[str, ...]:
        return tuple(category.text(self.shown_names) for category in self.categories)
