"""Every default model of every category over one factor, fitted together."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from perf_formulas.formula import Formula
from perf_lost_cycles.default_models.sets import VARIABLE, DefaultModel, models_for
from perf_lost_cycles.options import LcaOptions
from perf_statistics.batched import fit_subsets
from perf_statistics.goodness import r_squared
from perf_tables.category_table import CategoryTable
from perfcore.base.arrays import Booleans, Floats, Ints
from perfcore.base.errors import DataError, OptionError


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
        lengths = {len(part) for part in (self.terms, self.names, self.coefficients, self.standard_errors)}
        if len(lengths) > 1 or not self.terms:
            raise ValueError(f"{self.formula} has not as many coefficients as terms")

    def form(self, factor: str) -> str:
        """The formula with the names of its coefficients, in the factor's symbol unless one of them is called so."""
        if factor in self.names:
            return self.formula
        return Formula(self.formula).substituted(self._factor_in(factor)).canonical

    def text(self, factor: str, digits: int = 6) -> str:
        """The formula with its coefficients, as a person reads it."""
        numbers = {n: Formula(f"{c or 0.0:.{digits}g}") for n, c in zip(self.names, self.coefficients, strict=True)}
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
        if not self.candidates or None in self.candidates[0].coefficients:
            raise ValueError(f"category {self.category!r} has no model")
        if len(self.measured) != len(self.spread):
            raise ValueError(f"category {self.category!r} has columns of different lengths")

    @property
    def model(self) -> DefaultFit:
        return self.candidates[0]

    @property
    def n_points(self) -> int:
        return sum(value is not None for value in self.measured)


# Every default model fitted to every category over one factor: general linear least squares by SVD, in batches.
#
# All categories that were measured at the same points share one design, whatever models they are fitted with; models of
# equally many terms are one call of `perf_statistics.batched.fit_subsets`. Nothing loops over categories.
#
# Source: W. Meira, "Modeling performance of parallel programs", University of Rochester, 1995 (the tool `lca`); general
# linear least squares after W. H. Press et al., "Numerical Recipes in C", 2nd edition, 1992, section 15.4. Deviation:
# they set small singular values to zero by hand; here those are dropped that rounding alone explains, and reported.


# Share of the sum of squares that rounding leaves of an exact fit: ten digits of the values.
_EXACT = 1e-20


@dataclass(frozen=True)
class DefaultFits:
    """Fits of K series with M default models of up to T terms."""

    models: tuple[tuple[str, ...], ...]  # terms of each model
    coefficients: Floats  # 0 beyond a model's own terms
    standard_errors: Floats  # naN where the points do not determine the coefficients, or leave no degree of freedom
    sum_of_squares: Floats  # weighted squares of the residuals; infinite where a term is not finite
    leave_one_out: Floats  # weighted squares of the errors of predicting each point from the others
    total_squares: Floats  # weighted squares of the values, and of the values about their weighted mean
    centered_squares: Floats
    n_points: Ints
    rank: Ints  # singular values that were kept
    condition: Floats  # largest over smallest singular value of columns of unit norm; infinite where one was dropped

    @functools.cached_property
    def sizes(self) -> Ints:
        """Terms of each model (M,)."""
        return np.array([len(model) for model in self.models], dtype=np.int64)

    @functools.cached_property
    def determined(self) -> Booleans:
        """Where every coefficient has one value (M, K)."""
        return np.asarray(self.rank == self.sizes[:, None])

    @functools.cached_property
    def r2(self) -> Floats:
        """Centered determination coefficient (M, K); NaN for a series that is constant."""
        return self._against_mean(self.sum_of_squares)

    @functools.cached_property
    def r2_adjusted(self) -> Floats:
        """R^2 from mean squares, which falls when a term does not pay (M, K); NaN without degrees of freedom."""
        n = self.n_points
        freedom = n - self.sizes[:, None]
        scale = np.divide(n - 1.0, freedom, out=np.full(freedom.shape, np.nan), where=freedom > 0)
        return self._against_mean(self.sum_of_squares * scale)

    @functools.cached_property
    def r2_leave_one_out(self) -> Floats:
        """R^2 of predicting each point from the others (M, K); -inf where these do not determine it."""
        return self._against_mean(self.leave_one_out)

    def _against_mean(self, squares: Floats) -> Floats:
        varies = self.centered_squares > _EXACT * self.total_squares
        return np.asarray(r_squared(squares, np.where(varies, self.centered_squares, np.nan)))


def fit_default_models(
    models: Sequence[Sequence[str]], x: npt.ArrayLike, values: npt.ArrayLike, root_weight: npt.ArrayLike | None = None
) -> DefaultFits:
    """Fit every model to every series."""
    levels, table = np.asarray(x, dtype=np.float64), np.asarray(values, dtype=np.float64)
    n, n_series = table.shape
    root = np.ones(n) if root_weight is None else np.asarray(root_weight, dtype=np.float64)
    terms = tuple(dict.fromkeys(term for model in models for term in model))
    members = [[terms.index(term) for term in model] for model in models]
    most = max(map(len, members), default=1)
    shape = (len(models), n_series)
    weighted = table * root[:, None]
    fits = DefaultFits(
        models=tuple(map(tuple, models)),
        coefficients=np.full((*shape, most), np.nan),
        standard_errors=np.full((*shape, most), np.nan),
        sum_of_squares=np.full(shape, np.inf),
        leave_one_out=np.full(shape, np.inf),
        total_squares=np.nansum(weighted**2, axis=0),
        centered_squares=_centered(table, root),
        n_points=np.isfinite(table).sum(axis=0),
        rank=np.full(shape, -1, dtype=np.int64),
        condition=np.full(shape, np.inf),
    )
    design = term_values(terms, levels) * root[:, None]
    patterns, pattern = np.unique(np.isfinite(table), axis=1, return_inverse=True)
    for number, measured in enumerate(patterns.T):
        series = np.flatnonzero(pattern.ravel() == number)
        if not measured.any():
            continue
        finite = np.isfinite(design[measured]).all(axis=0)
        for size in range(1, most + 1):
            chosen = [m for m, model in enumerate(members) if len(model) == size and finite[model].all()]
            if chosen:
                _fit(fits, design[measured], weighted[measured], np.array(chosen), members, series)
    return fits


def term_values(terms: Sequence[str], x: Floats) -> Floats:
    """Values of terms (n, F); not finite where a term is not."""
    return np.stack([_parsed(term).evaluate({VARIABLE: x}) for term in terms], axis=1)


_parsed = functools.lru_cache(Formula)


def ranked(fits: DefaultFits, criterion: str, allowed: Booleans | None = None) -> tuple[Ints, Booleans]:
    """The models of each series in order (M, K), best first, and which of these can be compared (M, K)."""
    freedom = fits.n_points - fits.sizes[:, None]
    if criterion == "loo":
        figures = fits.leave_one_out
    elif criterion == "adjusted":
        figures = np.divide(fits.sum_of_squares, freedom, out=np.full(freedom.shape, np.inf), where=freedom > 0)
    else:
        figures = fits.sum_of_squares
    usable = np.ones(figures.shape, dtype=np.bool_) if allowed is None else allowed
    figures = np.where(fits.determined & (freedom > 0), np.maximum(figures, _EXACT * fits.total_squares), np.inf)
    sizes = np.broadcast_to(fits.sizes[:, None], figures.shape)
    order = np.lexsort((sizes, np.where(usable, figures, np.inf), ~usable), axis=0)
    return order, np.take_along_axis(np.isfinite(figures) & usable, order, axis=0)


def best(fits: DefaultFits, criterion: str, allowed: Booleans | None = None) -> Ints:
    """The model of each series (K,), -1 where none can be compared; see `ranked`."""
    order, comparable = ranked(fits, criterion, allowed)
    return np.where(comparable[0], order[0], -1)


def _centered(table: Floats, root: Floats) -> Floats:
    """Weighted squares about the weighted mean (K,)."""
    weight = np.where(np.isfinite(table), root[:, None] ** 2, 0.0)
    filled = np.nan_to_num(table)
    summed = weight.sum(axis=0)
    mean = np.divide((weight * filled).sum(axis=0), summed, out=np.zeros(len(summed)), where=summed > 0)
    return np.asarray((weight * (filled - mean) ** 2).sum(axis=0))


def _fit(
    fits: DefaultFits, design: Floats, weighted: Floats, chosen: Ints, members: Sequence[Sequence[int]], series: Ints
) -> None:
    """Fit models of one size to series that were measured at the same points, and write them into the result."""
    size = len(members[int(chosen[0])])
    used = sorted({term for model in chosen.tolist() for term in members[model]})
    place = {term: position for position, term in enumerate(used)}
    subsets = [[place[term] for term in members[model]] for model in chosen.tolist()]
    columns = design[:, used]
    subset_fits = fit_subsets(columns[None], np.zeros(len(series), dtype=np.int64), weighted[:, series].T, subsets)
    coefficients = subset_fits.coefficients.transpose(1, 0, 2).copy()
    for position in np.flatnonzero(subset_fits.rank[0] < size).tolist():
        coefficients[position] = _least_norm(columns[:, subsets[position]], coefficients[position])
    cells = np.ix_(chosen, series)
    padding = ((0, 0), (0, 0), (0, fits.coefficients.shape[2] - size))
    fits.coefficients[cells] = np.pad(coefficients, padding)
    fits.standard_errors[cells] = np.pad(
        subset_fits.standard_errors.transpose(1, 0, 2), padding, constant_values=np.nan
    )
    fits.sum_of_squares[cells] = subset_fits.sum_of_squares.T
    fits.leave_one_out[cells] = subset_fits.leave_one_out.T
    fits.rank[cells] = subset_fits.rank[0][:, None]
    fits.condition[cells] = subset_fits.condition[0][:, None]


def _least_norm(design: Floats, coefficients: Floats) -> Floats:
    """Of all coefficients (K, m) that fit as well, those of least norm."""
    norms = np.linalg.norm(design, axis=0)
    norms[norms == 0.0] = 1.0
    _, sigma, rows = np.linalg.svd(design / norms, full_matrices=True)
    rounding = 4.0 * max(design.shape) * np.finfo(np.float64).eps * sigma[0]
    null = rows[int((sigma > rounding).sum()) :] / norms
    basis = np.linalg.qr(null.T)[0]
    return np.asarray(coefficients - coefficients @ basis @ basis.T)


# Above this the coefficients have lost half of their digits: they are large and cancel.
_COLLINEAR = 1e8


class FittedCategories(NamedTuple):
    """All default models of all categories over one factor."""

    table: CategoryTable
    factor: str
    models: tuple[DefaultModel, ...]
    allowed: Booleans  # (M, C)
    root_weight: Floats  # (n,)
    fits: DefaultFits
    order: Ints  # (M, C) models, best first
    comparable: Booleans  # (C,) whether the first can be compared
    category_column: str

    @property
    def factor_name(self) -> str:
        """What texts call the factor."""
        return self.table.shown_names[self.factor]

    def categories(self) -> tuple[CategoryFit, ...]:
        """Each category with its default models, best first."""
        return tuple(map(self.category, self.table.categories))

    def category(self, name: str) -> CategoryFit:
        return _category(self, self.table.categories.index(name))


def fit_categories(
    table: CategoryTable,
    factor: str,
    models: Sequence[DefaultModel],
    options: LcaOptions,
    root: Floats,
    category_column: str,
) -> FittedCategories:
    """Fit every default model of each category over one factor."""
    different = list(dict.fromkeys(model.terms for model in models))
    position = {terms: number for number, terms in enumerate(different)}
    allowed = np.zeros((len(different), len(table.categories)), dtype=np.bool_)
    column_of_factor = table.columns[factor]
    chosen_models = [models_for(models, category, factor, column_of_factor) for category in table.categories]
    for category, category_models in enumerate(chosen_models):
        if not category_models:
            shown = table.shown_names[factor]
            raise OptionError(
                f"{', '.join(options.models)}: no default model of {table.categories[category]!r} over {shown!r}; add "
                f'a [[model]] with factor = "{shown}" and category = "{table.categories[category]}" or "*"'
            )
        allowed[[position[model.terms] for model in category_models], category] = True
    used = np.flatnonzero(allowed.any(axis=1))
    formulas = {model.terms: model for category_models in reversed(chosen_models) for model in category_models}
    fits = fit_default_models([different[k] for k in used], table.points[factor], table.values, root)
    order, comparable = ranked(fits, options.criterion, allowed[used])
    return FittedCategories(
        table=table,
        factor=factor,
        models=tuple(formulas[different[k]] for k in used),
        allowed=allowed[used],
        root_weight=root,
        fits=fits,
        order=order,
        comparable=comparable[0],
        category_column=category_column,
    )


def _category(fitted: FittedCategories, k: int) -> CategoryFit:
    """One category: what was measured, and its default models, best first."""
    fits, values, name = fitted.fits, fitted.table.values[:, k], fitted.table.categories[k]
    if not fitted.comparable[k]:
        count = int(fits.n_points[k])
        raise DataError(
            f"{fitted.table.source}: category {name!r} was measured at {count} level{'s' if count != 1 else ''} of "
            f"{fitted.factor_name}, and none of its default models has fewer coefficients; measure at more, or "
            f"leave it out with --where '{fitted.category_column}!={name}'"
        )
    order = fitted.order[: int(fitted.allowed[:, k].sum()), k]
    return CategoryFit(
        category=name,
        measured=tuple(_number(value) for value in values),
        spread=tuple(_number(value) for value in fitted.table.spread[:, k]),
        total_squares=float(fits.total_squares[k]),
        centered_squares=float(fits.centered_squares[k]),
        candidates=tuple(_default_fit(fitted, int(m), k) for m in order),
    )


def _default_fit(fitted: FittedCategories, m: int, k: int) -> DefaultFit:
    fits, model, size = fitted.fits, fitted.models[m], int(fitted.fits.sizes[m])
    return DefaultFit(
        formula=model.formula,
        origin=model.origin,
        terms=model.terms,
        names=model.coefficients,
        coefficients=tuple(_number(value) for value in fits.coefficients[m, k, :size]),
        standard_errors=tuple(_number(value) for value in fits.standard_errors[m, k, :size]),
        sum_of_squares=_number(fits.sum_of_squares[m, k]),
        r2=_number(fits.r2[m, k]),
        r2_adjusted=_number(fits.r2_adjusted[m, k]),
        r2_leave_one_out=_number(fits.r2_leave_one_out[m, k]),
        note=_note(fits, m, k),
    )


def _note(fits: DefaultFits, m: int, k: int) -> str:
    size, rank, n = int(fits.sizes[m]), int(fits.rank[m, k]), int(fits.n_points[k])
    if rank < 0:
        return "a term is not finite at a level"
    if rank < size:
        dropped = f"{size - rank} of {size} singular values dropped, coefficients of least norm"
        return f"fewer points than coefficients: {dropped}" if n < size else f"dependent terms: {dropped}"
    if n == size:
        return "as many coefficients as points"
    if fits.condition[m, k] > _COLLINEAR:
        return f"nearly dependent terms: smallest singular value {1.0 / fits.condition[m, k]:.1e} of the largest"
    return ""


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
