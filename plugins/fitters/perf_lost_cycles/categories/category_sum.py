"""What models by category have in common: an application's time is the sum of its categories' times."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_formulas.formula import Formula
from perf_formulas.functions import renamed
from perf_lost_cycles.categories.bounds import run_bounds
from perf_lost_cycles.categories.observed import observed_by_category
from perf_lost_cycles.categories.points import CATEGORY, TOTAL, category_points
from perf_lost_cycles.categories.sum_rows import Part, one_category, rows_of_sum
from perf_statistics.least_squares.goodness import r_squared
from perf_tables.points.points import check_coverage
from perfcore.base.errors import DataError
from perfcore.models.design_rows import DesignRows
from perfcore.models.model import Model, Points
from perfcore.models.observed import Observed


Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_NUMBERS_AT_ONCE = 1 << 22  # in the arrays of one part of a prediction, 32 MB
_MOST_NAMED = 3  # categories in a remark


class CategorySum(Model, frozen=True, forbid_unknown_fields=True, dict=True):
    """Base of models whose value is a sum over categories, each linear in terms of the factors.

    A category that its formula makes negative, outside of the data, counts as 0; `remarks` names it.
    """

    value_name: str
    unit: str | None
    notes: tuple[str, ...]  # what a user should know about the rows of the data
    root_weights: tuple[float, ...]  # square roots of the points' weights

    @property
    def names(self) -> tuple[str, ...]:
        """The categories (C)."""
        raise NotImplementedError

    @property
    def factors(self) -> Mapping[str, str]:
        """Symbol in formulas to the column's name in the data."""
        raise NotImplementedError

    @property
    def fitted_points(self) -> Mapping[str, Floats]:
        """Points that the model was fitted to, by factor (n,)."""
        raise NotImplementedError

    @property
    def fitted_root_weights(self) -> Floats:
        """Square roots of the weights of these points (n,)."""
        return np.array(self.root_weights)

    @property
    def fitted_values(self) -> Floats:
        """Measured times of each category at these points (C, n); NaN where there are none."""
        raise NotImplementedError

    @property
    def fitted_repetitions(self) -> Ints:
        """Runs that each of these points stands for (n,)."""
        raise NotImplementedError

    @property
    def formulas(self) -> tuple[tuple[tuple[str, ...], Floats], ...]:
        """Terms of each category as formulas of the factors, and their coefficients."""
        raise NotImplementedError

    def candidate_terms(self, category: int) -> Sequence[tuple[str, ...]]:
        """Terms of each formula that a category may have, the chosen one first."""
        raise NotImplementedError

    def finite_terms(self, terms: tuple[str, ...], points: Mapping[str, Floats]) -> Floats | None:
        """Values of terms (n, F); None where one is not finite."""
        values = term_values(terms, points)
        return values if np.isfinite(values).all() else None

    @property
    def variables(self) -> Mapping[str, str]:
        """The factors, and the category."""
        return {**self.factors, CATEGORY: CATEGORY}

    @property
    def levels(self) -> Mapping[str, tuple[str, ...]]:
        """The total and the categories."""
        return {CATEGORY: (TOTAL, *self.names)}

    @property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        """Smallest and largest measured value of each factor."""
        return {symbol: (float(v.min()), float(v.max())) for symbol, v in self.fitted_points.items()}

    @functools.cached_property
    def terms(self) -> tuple[str, ...]:
        """All terms that occur (F)."""
        return tuple(dict.fromkeys(term for category_terms, _ in self.formulas for term in category_terms))

    @functools.cached_property
    def coefficients(self) -> Floats:
        """Coefficients of each category in all terms (F, C)."""
        place = {text: k for k, text in enumerate(self.terms)}
        matrix = np.zeros((len(place), len(self.names)))
        for number, (terms, values) in enumerate(self.formulas):
            matrix[[place[text] for text in terms], number] = values
        return matrix

    def predict(self, points: Points, interval: float | None = None) -> Floats:
        """Predicted times in the unit of the data."""
        if interval is not None:
            check_coverage(interval)
        coordinates, which = category_points(points, self.factors, self.names)
        coefficients = self.coefficients
        values = np.empty(len(which))
        length = max(1, _NUMBERS_AT_ONCE // sum(coefficients.shape))
        for begin in range(0, len(which), length):
            part = slice(begin, begin + length)
            design = self.design(self.terms, {symbol: column[part] for symbol, column in coordinates.items()})
            values[part] = self._predict(design, coefficients, which[part])
        if interval is None:
            return values
        return np.column_stack([values, run_bounds(self, coordinates, which, values, interval)])

    def _predict(self, design: Floats, coefficients: Floats, which: Ints) -> Floats:
        each = np.maximum(design @ coefficients, 0.0)
        return np.where(which < 0, each.sum(axis=1), each[np.arange(len(which)), which])

    def observed(self, data: Any, where: str | None = None) -> Observed:
        """Total and categories at each point, with the roles, the conditions and the joining of runs of the fit."""
        return observed_by_category(self, self.names, data, where)

    def design(self, terms: tuple[str, ...], points: Mapping[str, Floats]) -> Floats:
        """Values of terms (n, F), at factors by symbol (n,)."""
        values = term_values(terms, points)
        wrong = ~np.isfinite(values)
        if wrong.any():
            place, term = (int(number) for number in np.argwhere(wrong)[0])
            point = ", ".join(f"{self.shown_names[symbol]}={numbers[place]:g}" for symbol, numbers in points.items())
            raise DataError(f"term {renamed(terms[term], self.shown_names)!r} is {values[place, term]} at {point}")
        return values

    def design_rows(self, points: Points) -> DesignRows:
        """Rows of the categories' models, those of one form added up; see `perfcore.models.design_rows.DesignRows`."""
        coordinates, chosen = one_category(points, self.factors, self.names)
        total = np.maximum(self.design(self.terms, coordinates) @ self.coefficients, 0.0).sum(axis=1)
        relative = self.origin.options["weights"] == "relative"
        with np.errstate(divide="ignore"):
            weights = 1.0 / total if relative else np.ones(len(total))
        measured, values, formulas = self.fitted_points, self.fitted_values, self.formulas
        return rows_of_sum(
            [
                Part(*formulas[category], values[category])
                for category in (range(len(formulas)) if chosen is None else (chosen,))
            ],
            lambda terms: term_values(terms, measured),
            lambda terms: self.design(terms, coordinates),
            self.fitted_root_weights,
            weights,
            measured,
            self.fitted_repetitions,
            self.unit,
        )

    def remarks(self, points: Points) -> list[str]:
        """Where a factor is outside of what was measured, or a category would be negative."""
        coordinates, which = category_points(points, self.factors, self.names)
        each = self.design(self.terms, coordinates) @ self.coefficients
        tiny = 1e-9 * np.abs(each).sum(axis=1)  # what rounding makes of a 0
        negative = (each < -tiny[:, None]) & ((which < 0)[:, None] | (which[:, None] == np.arange(each.shape[1])))
        limits = {symbol: (values.min(), values.max()) for symbol, values in self.fitted_points.items()}
        lines = []
        for place in range(len(which)):
            parts = [
                f"{self.shown_names[symbol]} was {low:g} to {high:g}"
                for symbol, (low, high) in limits.items()
                if not low <= coordinates[symbol][place] <= high
            ]
            texts = [f"extrapolated: {', '.join(parts)}"] if parts else []
            below = np.flatnonzero(negative[place]).tolist()
            if below:
                names = ", ".join(self.names[k] for k in below[:_MOST_NAMED])
                texts.append(f"negative, taken as 0: {names}{', ...' if len(below) > _MOST_NAMED else ''}")
            lines.append("; ".join(texts))
        return lines


def term_values(terms: Sequence[str], points: Mapping[str, Floats]) -> Floats:
    """Values of terms (n, F), at factors by symbol (n,); not finite where a term is not."""
    return np.stack([_parsed(term).evaluate(points) for term in terms], axis=1)


_parsed = functools.lru_cache(Formula)


def figures_of_total(measured: Floats, predicted: Floats, prefix: str = "") -> dict[str, float | None]:
    """Relative errors and R^2 of totals (n,), unweighted; a point whose total is 0 has no relative error."""
    squares = float(((measured - predicted) ** 2).sum())
    total = float((measured**2).sum())
    centered = float(((measured - measured.mean()) ** 2).sum())
    errors = np.abs(predicted - measured)[measured > 0.0] / measured[measured > 0.0]
    return {
        f"{prefix}median_relative_error": float(np.median(errors)) if len(errors) else None,
        f"{prefix}max_relative_error": float(errors.max()) if len(errors) else None,
        # A statistic that begins with r2 ends with its kind.
        f"r2_{prefix}uncentered": float(r_squared(squares, total)) if total > 0.0 else None,
        f"r2_{prefix}centered": float(r_squared(squares, centered)) if centered > 0.0 else None,
    }
