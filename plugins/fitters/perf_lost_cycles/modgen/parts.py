"""What a model of an application consists of: its categories' models, its measurements, its default models."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from perf_formulas.formula import Formula
from perf_formulas.functions import renamed
from perf_formulas.sums import sum_of_terms

__all__ = ["CategoryFit", "Measured", "UsedModel"]


class CategoryFit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model of one category.

    Attributes
    ----------
    name : str
    terms : tuple of str
        Formulas of the factors.
    coefficients : tuple of float
        In the unit of the data.
    standard_errors : tuple of float or None
        None where the data do not determine them.
    covariance : tuple of tuple of float
        Unscaled, the inverse of the weighted X'X.
    n_points : int
        To which it was fitted.
    sum_of_squares : float
        Weighted residuals.
    r2_centered, r2_leave_one_out : float or None
        Centered, weighted; of the fit, and of predicting each point from the others.
    """

    name: str
    terms: tuple[str, ...]
    coefficients: tuple[float, ...]
    standard_errors: tuple[float | None, ...]
    covariance: tuple[tuple[float, ...], ...]
    n_points: int
    sum_of_squares: float
    r2_centered: float | None
    r2_leave_one_out: float | None

    def __post_init__(self) -> None:
        """Refuse lists of different lengths."""
        lengths = {len(self.terms), len(self.coefficients), len(self.standard_errors), len(self.covariance)}
        if len(lengths) > 1 or not self.terms or any(len(row) != len(self.terms) for row in self.covariance):
            raise ValueError(f"category {self.name!r} has not as many coefficients as terms")

    def text(self, names: Mapping[str, str]) -> str:
        """The model as a person reads it, in other names of factors; a term that is a sum stands in parentheses."""
        # A product with a sum is written with parentheses around it.
        terms = [Formula(f"1*({renamed(term, names)})").canonical.removeprefix("1*") for term in self.terms]
        return sum_of_terms(self.coefficients, terms)


class Measured(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The measurements, those set aside included.

    Attributes
    ----------
    points : dict of str to tuple of float
        Factors by symbol.
    values : tuple of tuple of float or None
        For each category its times; None where it was not measured.
    total : tuple of float
    repetitions : tuple of int
    """

    points: dict[str, tuple[float, ...]]
    values: tuple[tuple[float | None, ...], ...]
    total: tuple[float, ...]
    repetitions: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse columns of different lengths."""
        columns = (*self.points.values(), *self.values, self.repetitions)
        if not self.total or any(len(column) != len(self.total) for column in columns):
            raise ValueError("the observations have columns of different lengths, or none")


class UsedModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A default model and what it was tried for.

    Attributes
    ----------
    categories : tuple of str
    factor : str
        Symbol.
    formula : str
    terms : tuple of str
        What its coefficients multiply, as formulas of ``x``.
    origin : str
    """

    categories: tuple[str, ...]
    factor: str
    formula: str
    terms: tuple[str, ...]
    origin: str
