"""Models of categories of lost cycles over one factor, and of the application as their sum."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from perf_formulas.formula import Formula
from perf_formulas.parser import FormulaError
from perf_lost_cycles.categories.category_sum import CategorySum, figures_of_total, one_category, term_values
from perf_lost_cycles.default_models.sets import VARIABLE
from perf_lost_cycles.lca.categories import CategoryFit
from perfcore.base.arrays import Floats, Ints
from perfcore.models.design_rows import Rival
from perfcore.models.model import Parameter, Points

# A rival's leave-one-out sum of squares is at most this many times that of the chosen model.
_NEARBY = 2.0


class LcaModel(CategorySum, frozen=True, forbid_unknown_fields=True, dict=True):
    """A model for each category over one factor; the application's model is their sum.

    Attributes
    ----------
    factor, column : str
        Symbol in formulas, and name in the data.
    held : dict
        The other parameters as texts call them, each at its only level.
    levels_of_factor : tuple of float
        Measured points.
    total : tuple of float
        Time of the whole run at each.
    fits : tuple of CategoryFit
    """

    factor: str
    column: str
    held: dict[str, float]
    levels_of_factor: tuple[float, ...]
    total: tuple[float, ...]
    fits: tuple[CategoryFit, ...]

    kind: ClassVar[str] = "lost cycles of one factor"

    def __post_init__(self) -> None:
        """Refuse what a file edited by hand may hold; `perfcore.load` makes one line of it."""
        n = len(self.levels_of_factor)
        lengths = {len(self.total), len(self.root_weights), *(len(fit.measured) for fit in self.fits)}
        if not self.fits or lengths != {n}:
            raise ValueError("the points have columns of different lengths, or there is no category")
        candidates = [candidate for fit in self.fits for candidate in fit.candidates]
        try:
            for text in dict.fromkeys((self.factor, *(text for c in candidates for text in (c.formula, *c.terms)))):
                Formula(text)
        except FormulaError as error:
            raise ValueError(str(error)) from None

    @property
    def names(self) -> tuple[str, ...]:
        """The categories."""
        return tuple(fit.category for fit in self.fits)

    @property
    def factors(self) -> Mapping[str, str]:
        """The factor's symbol, and its column's name in the data."""
        return {self.factor: self.column}

    @property
    def factor_name(self) -> str:
        """What texts call the factor."""
        return self.shown_names[self.factor]

    @property
    def fitted_points(self) -> dict[str, Floats]:
        """Measured levels of the factor (n,)."""
        return {self.factor: np.array(self.levels_of_factor)}

    @property
    def fitted_values(self) -> Floats:
        """Measured times of each category (C, n); NaN where there are none."""
        return np.array([fit.measured for fit in self.fits], dtype=np.float64)

    @property
    def fitted_repetitions(self) -> Ints:
        """One for each point: repeated runs are joined."""
        return np.ones(len(self.levels_of_factor), dtype=np.int64)

    @functools.cached_property
    def formulas(self) -> tuple[tuple[tuple[str, ...], Floats], ...]:
        """Terms of each category as formulas of the factor, and their coefficients."""
        return tuple(
            (tuple(map(self.in_factor, fit.model.terms)), np.array(fit.model.coefficients, dtype=np.float64))
            for fit in self.fits
        )

    def candidate_terms(self, category: int) -> tuple[tuple[str, ...], ...]:
        """Terms of each default model of a category whose coefficients its points determine, best first."""
        fit = self.fits[category]
        determined = (
            candidate
            for candidate in fit.candidates
            if None not in candidate.coefficients and len(candidate.terms) < fit.n_points
        )
        return tuple(dict.fromkeys(tuple(map(self.in_factor, candidate.terms)) for candidate in determined))

    def rivals(self, points: Points) -> tuple[Rival, ...]:
        """One category's model replaced by another that predicts its points nearly as well."""
        coordinates, chosen = one_category(points, self.factors, self.names)
        each = np.maximum(self.design(self.terms, coordinates) @ self.coefficients, 0.0)
        alternatives = []
        for category, fit in enumerate(self.fits):
            r2 = fit.model.r2_leave_one_out
            if r2 is None or chosen not in (None, category):
                continue
            others = np.zeros(len(each)) if chosen is not None else each.sum(axis=1) - each[:, category]
            for candidate in fit.candidates[1:]:
                if candidate.r2_leave_one_out is None or None in candidate.coefficients:
                    continue
                if 1.0 - candidate.r2_leave_one_out > _NEARBY * (1.0 - r2):
                    continue
                terms = tuple(map(self.in_factor, candidate.terms))
                values = self.design(terms, coordinates) @ np.array(candidate.coefficients, dtype=np.float64)
                figure = f"leave-one-out R^2 {candidate.r2_leave_one_out:.4f} instead of {r2:.4f}"
                name = f"{fit.category} = {candidate.text(self.factor_name)}"
                alternatives.append(Rival(name, figure, others + np.maximum(values, 0.0)))
        return tuple(alternatives)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Coefficients of every category."""
        return tuple(
            Parameter(
                f"{fit.category}: {_in_factor(term, self.factor_name)}", float(coefficient or 0.0), error, self.unit
            )
            for fit in self.fits
            for term, coefficient, error in zip(
                fit.model.terms, fit.model.coefficients, fit.model.standard_errors, strict=True
            )
        )

    def in_factor(self, term: str) -> str:
        """A term in the factor's own symbol."""
        return _in_factor(term, self.factor)

    @property
    def statistics(self) -> dict[str, float | int | str | None]:
        """Figures of the sum of the categories that were measured at each point, against the total."""
        # A term may be infinite where none of its categories was measured.
        design = np.nan_to_num(term_values(self.terms, self.fitted_points), posinf=0.0, neginf=0.0)
        each = np.maximum(design @ self.coefficients, 0.0)
        return {
            "n_points": len(self.total),
            "n_categories": len(self.fits),
            "n_parameters": sum(len(fit.model.terms) for fit in self.fits),
            "criterion": str(self.origin.options["criterion"]),
            **figures_of_total(np.array(self.total), (each * np.isfinite(self.fitted_values.T)).sum(axis=1)),
        }

    @property
    def formula(self) -> str:
        """One line for each category."""
        return "\n".join(f"{fit.category} = {fit.model.text(self.factor_name)}" for fit in self.fits)


@functools.cache
def _in_factor(term: str, factor: str) -> str:
    return Formula(term).substituted({VARIABLE: Formula(factor)}).canonical
