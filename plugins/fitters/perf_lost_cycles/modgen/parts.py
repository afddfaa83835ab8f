"""What a model of an application consists of: its categories' models, its measurements, its default models."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from perf_formulas.formula import Formula, renamed, sum_of_terms


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
    """The measurements, those set aside included."""

    points: dict[str, tuple[float, ...]]  # factors by symbol
    values: tuple[tuple[float | None, ...], ...]  # for each category its times; None where it was not measured
    total: tuple[float, ...]
    repetitions: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse columns of different lengths."""
        columns = (*self.points.values(), *self.values, self.repetitions)
        if not self.total or any(len(column) != len(self.total) for column in columns):
            raise ValueError("the observations have columns of different lengths, or none")


class UsedModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A default model and what it was tried for."""

    categories: tuple[str, ...]
    factor: str  # symbol
    formula: str
    terms: tuple[str, ...]  # what its coefficients multiply, as formulas of ``x``
    origin: str
