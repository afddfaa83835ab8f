"""What a model of categories over one factor keeps: every category with all of its default models."""

from __future__ import annotations

import msgspec

from perf_formulas.formula import Formula


class DefaultFit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One default model fitted to one category."""

    formula: str  # as the default model has them
    origin: str
    terms: tuple[str, ...]  # what the coefficients multiply, in ``x``
    names: tuple[str, ...]  # of the coefficients in the formula
    coefficients: tuple[float | None, ...]  # none where they are not defined
    standard_errors: tuple[float | None, ...]
    sum_of_squares: float | None  # weighted squares of the residuals
    r2: float | None  # centered; adjusted for the number of coefficients; of predicting each point from the others
    r2_adjusted: float | None
    r2_leave_one_out: float | None
    note: str  # what stands against the fit, such as dropped singular values

    def __post_init__(self) -> None:
        """Refuse lists of different lengths."""
        lengths = {len(part) for part in (self.terms, self.names, self.coefficients, self.standard_errors)}
        if len(lengths) > 1 or not self.terms:
            raise ValueError(f"{self.formula} has not as many coefficients as terms")

    def form(self, factor: str) -> str:
        """The formula with the names of its coefficients, in the factor's symbol unless one of them is called so."""
        if factor in self.names:
            return self.formula
        return Formula(self.formula).substituted(self._factor_in(factor)).canonical

    def text(self, factor: str) -> str:
        """The formula with its coefficients, as a person reads it."""
        numbers = {n: Formula(f"{c or 0.0:.6g}") for n, c in zip(self.names, self.coefficients, strict=True)}
        return Formula(self.formula).substituted({**self._factor_in(factor), **numbers}).canonical.replace("+ -", "- ")

    def _factor_in(self, factor: str) -> dict[str, Formula]:
        """The factor's symbol for whatever the formula calls it."""
        return {name: Formula(factor) for name in Formula(self.formula).names if name not in self.names}


class CategoryFit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One category with all of its default models."""

    category: str
    measured: tuple[float | None, ...]  # time at each point; None where it was not measured
    spread: tuple[float | None, ...]  # standard deviation of repeated runs
    total_squares: float  # weighted squares of the values, and of the values about their mean
    centered_squares: float
    candidates: tuple[DefaultFit, ...]  # best first; the first is the category's model

    def __post_init__(self) -> None:
        """Refuse a category without a model."""
        if not self.candidates or None in self.candidates[0].coefficients:
            raise ValueError(f"category {self.category!r} has no model")
        if len(self.measured) != len(self.spread):
            raise ValueError(f"category {self.category!r} has columns of different lengths")

    @property
    def model(self) -> DefaultFit:
        """The one that was chosen."""
        return self.candidates[0]

    @property
    def n_points(self) -> int:
        """Points at which it was measured."""
        return sum(value is not None for value in self.measured)
