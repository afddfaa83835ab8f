"""Every default model of every category over one factor, fitted together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perf_lost_cycles.default_models.sets import DefaultModel, models_for
from perf_lost_cycles.lca.candidates import DefaultFits, fit_default_models, ranked
from perf_lost_cycles.lca.fits import CategoryFit, DefaultFit
from perf_lost_cycles.lca.options import LcaOptions
from perf_tables.category_table import CategoryTable
from perfcore.base.errors import DataError, OptionError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

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
        """One of them; see `categories`."""
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
    """One default model of one category."""
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
    """What stands against a fit."""
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
