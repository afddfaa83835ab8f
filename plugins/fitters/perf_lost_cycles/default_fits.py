"""Every default model of a category fitted along one line of points.

Source: W. Meira, "Modeling performance of parallel programs", University of Rochester, 1995 (the tool `lca`); general
linear least squares after W. H. Press et al., "Numerical Recipes in C", 2nd edition, 1992, section 15.4. Deviation:
they set small singular values to zero by hand; here those are dropped that rounding alone explains, and reported.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec
import numpy as np

from perf_formulas.formula import Formula
from perf_lost_cycles.default_models import VARIABLE
from perf_lost_cycles.forms import Scores, criterion, term_values, weighted_r2
from perf_statistics.batched import fit_subsets
from perf_statistics.goodness import finite
from perfcore.base.arrays import Floats

# Above this the coefficients have lost half of their digits: they are large and cancel.
_COLLINEAR = 1e8


class LinearModel(Protocol):
    """What is fitted: a `DefaultModel`, or one that a model was made with."""

    @property
    def formula(self) -> str: ...
    @property
    def origin(self) -> str: ...
    @property
    def terms(self) -> tuple[str, ...]: ...
    @property
    def coefficients(self) -> tuple[str, ...]: ...


class DefaultFit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One default model fitted to one category."""

    formula: str  # as the default model has them
    origin: str
    terms: tuple[str, ...]  # what the coefficients multiply, in ``x``
    names: tuple[str, ...]  # of the coefficients in the formula
    coefficients: tuple[float | None, ...]  # None if a term is not finite
    standard_errors: tuple[float | None, ...]
    sum_of_squares: float | None  # weighted squares of the residuals
    r2: float | None  # centered; adjusted for the number of coefficients; of predicting each point from the others
    r2_adjusted: float | None
    r2_leave_one_out: float | None
    note: str  # what stands against the fit, such as dropped singular values

    def __post_init__(self) -> None:
        lengths = {len(part) for part in (self.terms, self.names, self.coefficients, self.standard_errors)}
        if len(lengths) > 1 or not self.terms:
            raise ValueError(f"{self.formula} has not as many coefficients as terms")

    def form(self, factor: str) -> str:
        """Return the formula with its coefficients' names, in the factor's symbol unless a coefficient has it."""
        return self.formula if factor in self.names else self._substituted(factor, {})

    def text(self, factor: str, digits: int = 6) -> str:
        """Return the formula with its coefficients, as a person reads it."""
        numbers = {n: Formula(f"{c or 0.0:.{digits}g}") for n, c in zip(self.names, self.coefficients, strict=True)}
        return self._substituted(factor, numbers).replace("+ -", "- ")

    def _substituted(self, factor: str, numbers: Mapping[str, Formula]) -> str:
        formula = Formula(self.formula)
        symbols = {name: Formula(factor) for name in formula.names if name not in self.names}
        return formula.substituted({**symbols, **numbers}).canonical


def fit_default_models(
    models: Sequence[LinearModel], x: Floats, values: Floats, root_weight: Floats, name: str
) -> tuple[tuple[DefaultFit, ...], bool]:
    """Return fits of each model to values (n,) at levels x (n,), best by a criterion first, and if that can be judged.

    Those whose coefficients the points do not determine come last; models of equally many terms are fitted together.
    """
    n, terms = len(x), list(dict.fromkeys(term for model in models for term in model.terms))
    design = term_values(terms, {VARIABLE: x}) * root_weight[:, None]
    targets, is_finite = (values * root_weight)[None], np.asarray(np.isfinite(design).all(axis=0))
    members = [[terms.index(term) for term in model.terms] for model in models]
    ranked: list[tuple[float, int, int, DefaultFit]] = []
    for size in {len(columns) for columns in members}:
        of_size = [k for k, columns in enumerate(members) if len(columns) == size]
        finite = [k for k in of_size if is_finite[members[k]].all()]
        for k in set(of_size) - set(finite):
            none = np.full(size, np.nan)
            fit = _fit_of(models[k], none, none, np.full(4, np.nan), "a term is not finite at a level")
            ranked.append((np.inf, size, k, fit))
        if not finite:
            continue
        used = sorted({column for k in finite for column in members[k]})
        subsets = [[used.index(column) for column in members[k]] for k in finite]
        fits = fit_subsets(design[None][:, :, used], [0], targets, subsets)
        squares, left_out, rank = fits.sum_of_squares[0], fits.leave_one_out[0], fits.rank[0]
        total, same = np.full(len(finite), targets[0] @ targets[0]), np.ones(len(finite), dtype=np.int64)
        judged = criterion(Scores(squares, left_out, total, rank, size * same, n * same), name)
        scale = (n - 1.0) / (n - size) if n > size else np.nan
        r2 = [weighted_r2(sums, values, root_weight) for sums in (squares, squares * scale, left_out)]
        figures = np.stack([squares, *r2], axis=1)
        for row, k in enumerate(finite):
            is_determined = bool(rank[row] == size)
            coefficients = fits.coefficients[0, row]
            if not is_determined:  # of all that fit as well, those of least norm
                coefficients = np.linalg.lstsq(design[:, members[k]], targets[0], rcond=None)[0]
            note = _note(size, int(rank[row]), n, float(fits.condition[0, row]))
            fit = _fit_of(models[k], coefficients, fits.standard_errors[0, row], figures[row], note)
            ranked.append((float(judged[row]) if is_determined else np.inf, size, k, fit))
    ranked.sort(key=lambda entry: entry[:3])
    return tuple(fit for *_, fit in ranked), bool(np.isfinite(ranked[0][0]))


@functools.cache
def in_factor(term: str, factor: str) -> str:
    """Return a term of a default model in a factor's own symbol."""
    return Formula(term).substituted({VARIABLE: Formula(factor)}).canonical


def _fit_of(model: LinearModel, coefficients: Floats, errors: Floats, figures: Floats, note: str) -> DefaultFit:
    squares, r2, r2_adjusted, r2_leave_one_out = map(finite, figures.tolist())
    return DefaultFit(
        formula=model.formula,
        origin=model.origin,
        terms=model.terms,
        names=model.coefficients,
        coefficients=tuple(map(finite, coefficients.tolist())),
        standard_errors=tuple(map(finite, errors.tolist())),
        sum_of_squares=squares,
        r2=r2,
        r2_adjusted=r2_adjusted,
        r2_leave_one_out=r2_leave_one_out,
        note=note,
    )


def _note(size: int, rank: int, n: int, condition: float) -> str:
    if rank < size:
        dropped = f"{size - rank} of {size} singular values dropped, coefficients of least norm"
        return f"fewer points than coefficients: {dropped}" if n < size else f"dependent terms: {dropped}"
    if n == size:
        return "as many coefficients as points"
    if condition > _COLLINEAR:
        return f"nearly dependent terms: smallest singular value {1.0 / condition:.1e} of the largest"
    return ""
