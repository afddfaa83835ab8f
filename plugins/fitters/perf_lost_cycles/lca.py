"""Models of categories of lost cycles over one factor, of the application as their sum, and the fitter `lca`."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from perf_lost_cycles import modgen
from perf_lost_cycles.default_models import DefaultModel, find_models, models_for
from perf_lost_cycles.forms import DefaultFit, category_table, fit_default_models, root_weights, terms_in
from perf_lost_cycles.options import CRITERIA, LcaOptions
from perf_statistics.goodness import r_squared
from perf_tables.category_table import CategoryTable
from perfcore.base.arrays import Floats, Ints
from perfcore.base.errors import DataError, OptionError, UnknownNameError, listing
from perfcore.contracts import Fitter
from perfcore.data.columns import shown_names
from perfcore.data.measurements import Measurements
from perfcore.models.model import Points
from perfcore.models.points import Rival
from perfcore.models.ranking import Candidate, Ranking

# A rival's leave-one-out sum of squares is at most this many times that of the chosen model.
_NEARBY = 2.0


class LcaModel(modgen.ModgenModel, frozen=True, forbid_unknown_fields=True, dict=True):
    """The model of `modgen` over one factor: one line of points, of which each category has its best default model."""

    kind: ClassVar[str] = "lost cycles of one factor"

    def __post_init__(self) -> None:
        super().__post_init__()
        if len({factor.symbol for each in self.generations for factor in each.factors}) != 1:
            raise ValueError("the categories are not over one factor")

    @property
    def factor(self) -> str:
        """Symbol in formulas of the one of `columns` that varies."""
        return self.generations[0].factors[0].symbol

    @property
    def factors(self) -> Mapping[str, str]:
        return {self.factor: self.columns[self.factor]}

    @property
    def factor_name(self) -> str:
        """What texts call the factor."""
        return self.shown_names[self.factor]

    @property
    def held(self) -> Mapping[str, float]:
        points, names = self.observations.points, shown_names(self.columns)
        return {names[symbol]: points[symbol][0] for symbol in self.columns if symbol != self.factor}

    @property
    def fitted_repetitions(self) -> Ints:
        return np.ones(len(self.observations.total), dtype=np.int64)

    @functools.cached_property
    def default_fits(self) -> tuple[tuple[DefaultFit, ...], ...]:
        """All default models of each category (C,), the chosen one first."""
        return tuple(tuple(fit for fit, _ in self.fits_on(name, self.factor, 0)) for name in self.names)

    def candidate_terms(self, category: int) -> tuple[tuple[str, ...], ...]:
        """Return terms of each default model of a category whose coefficients its points determine, best first."""
        n_points = int(np.isfinite(self.fitted_values[category]).sum())
        known = [fit.model.terms for fit in self.default_fits[category] if None not in fit.coefficients]
        return tuple(dict.fromkeys(terms_in(terms, self.factor) for terms in known if len(terms) < n_points))

    def rivals(self, points: Points) -> tuple[Rival, ...]:
        coordinates, chosen = modgen.one_category(points, self.factors, self.names)
        values_by_category = np.maximum(self.design(self.terms, coordinates) @ self.coefficients, 0.0)
        alternatives = []
        for number, name in enumerate(self.names):
            r2 = self.categories[number].r2_leave_one_out
            if r2 is None or chosen not in (None, number):
                continue
            others = values_by_category.sum(axis=1) - values_by_category[:, number]
            for candidate in self.default_fits[number][1:]:
                if candidate.r2_leave_one_out is None or None in candidate.coefficients:
                    continue
                if 1.0 - candidate.r2_leave_one_out > _NEARBY * (1.0 - r2):
                    continue
                design = self.design(terms_in(candidate.model.terms, self.factor), coordinates)
                values = np.maximum(design @ np.array(candidate.coefficients, dtype=np.float64), 0.0)
                figure = f"leave-one-out R^2 {candidate.r2_leave_one_out:.4f} instead of {r2:.4f}"
                text = f"{name} = {candidate.text(self.factor_name)}"
                alternatives.append(Rival(text, figure, values if chosen is not None else others + values))
        return tuple(alternatives)

    def texts(self) -> tuple[str, ...]:
        return tuple(fits[0].text(self.factor_name) for fits in self.default_fits)

    def averages(self) -> dict[str, list[float | None]]:
        fits = self.categories
        return {self.factor: [fit.r2_centered for fit in fits], modgen.LEFT_OUT: [fit.r2_leave_one_out for fit in fits]}


class LcaFitter(Fitter):
    """Fits every default model of each category of lost cycles to one factor and takes the best.

    Choose it to see which formula suits each overhead over processors, or over data size, and how well; `modgen` models
    several factors together. The model of the application is the sum of its categories' models.

    Models are compared by the leave-one-out cross-validation error. In a study of data drawn from the
    standard models (2 to 10% noise, 5 to 7 levels) what was so chosen missed four times the largest level by 1 to 8%
    in the median, against 1 to 12% with adjusted R^2 and 2 to 30% with the plain R^2 of the paper.

    Source: W. Meira, "Modeling performance of parallel programs", University of Rochester, 1995; M. E. Crovella and
    T. J. LeBlanc, "Parallel performance prediction using lost cycles analysis", Supercomputing 1994. Deviations: points
    are weighted for errors that are proportional to the run time, and models are not compared by R^2, which rewards
    every further term; ``weights="equal", criterion="r2"`` is the paper's way.

    Examples
    --------
    >>> import pandas as pd, perfcore
    >>> parts = {"computation": lambda p: 64 / p + 1, "communication": lambda p: 0.5 + 0.25 * p}
    >>> rows = [(p, name, time(p)) for p in (1, 2, 4, 8, 16) for name, time in parts.items()]
    >>> model = perfcore.fit(pd.DataFrame(rows, columns=["p", "category", "time_s"]), fitter="lca")
    >>> print(model.formula)
    computation = 1 + 64/p
    communication = 0.5 + 0.25*p
    """

    Options = LcaOptions
    model_type = LcaModel
    takes = (Measurements,)

    def fit(self, data: Any, options: LcaOptions, **parts: Any) -> LcaModel:
        table, factor, root, column = _prepare(data, options)
        return lca_model(table, factor, find_models(options.models), options, root, column)

    def rank(self, data: Any, options: LcaOptions, **parts: Any) -> Ranking:
        table, factor, root, column = _prepare(data, options)
        shown = [name == options.show or options.show is None for name in table.categories]
        chosen, several, name = table.only(np.array(shown)), sum(shown) > 1, table.shown_names[factor]
        _, fits_of = _fit_categories(chosen, factor, find_models(options.models), options, root, column)
        candidates = []
        for category, fits, values in zip(chosen.categories, fits_of, chosen.values.T, strict=True):
            total, prefix = float(np.nansum((values * root) ** 2)), f"{category}: " if several else ""
            for fit in fits:
                squares = fit.sum_of_squares
                figures: dict[str, float | int | None] = {
                    "n_parameters": len(fit.model.terms),
                    "r2_uncentered": None if squares is None or total <= 0 else float(r_squared(squares, total)),
                    "r2_centered": fit.r2,
                    "r2_adjusted": fit.r2_adjusted,
                    "r2_leave_one_out": fit.r2_leave_one_out,
                }
                if not several:  # coefficients, where all models are of one category
                    names = fit.model.coefficients
                    for label, value, error in zip(names, fit.coefficients, fit.standard_errors, strict=True):
                        figures |= {label: value, f"{label} error": error}
                candidates.append(Candidate((prefix + fit.form(name),), figures, fit.note))
        kinds = "each category" if several else chosen.categories[0]
        summary = (
            f"{len(candidates)} default models of {kinds} over {name}: {len(table)} points of "
            f"{table.value_name}, weights {options.weights}",
            f"ordered by {options.criterion}: {CRITERIA[options.criterion]}",
            *table.notes,
        )
        return Ranking(summary, tuple(candidates))


def lca_model(
    table: CategoryTable, factor: str, models: Sequence[DefaultModel], options: LcaOptions, root: Floats, column: str
) -> LcaModel:
    """Return the model of a table by category over one factor."""
    chosen, fits_of = _fit_categories(table, factor, models, options, root, column)
    categories, generations = [], []
    patterns, pattern = np.unique(np.isfinite(table.values).T, axis=0, return_inverse=True)
    for name, values, (fit, *_) in zip(table.categories, table.values.T, fits_of, strict=True):
        assert fit.sum_of_squares is not None  # it was judged
        categories.append(
            modgen.CategoryFit(
                name=name,
                terms=terms_in(fit.model.terms, factor),
                coefficients=tuple(value or 0.0 for value in fit.coefficients),
                standard_errors=fit.standard_errors,
                n_points=int(np.isfinite(values).sum()),
                sum_of_squares=fit.sum_of_squares,
                r2_centered=fit.r2,
                r2_leave_one_out=fit.r2_leave_one_out,
            )
        )
    for number, measured in enumerate(patterns):
        members, points = np.flatnonzero(pattern.ravel() == number).tolist(), tuple(np.flatnonzero(measured).tolist())
        forms = tuple(dict.fromkeys(categories[k].terms for k in members))
        line = tuple(forms.index(categories[k].terms) for k in members)
        r2 = tuple(categories[k].r2_centered for k in members)
        lines = (modgen.FactorLines(factor, (points,), 0, (line,), (r2,)),)
        generations.append(modgen.Generation(tuple(members), points, forms, lines, (), (), (), ()))
    tried = {
        (factor, model): [name for name, of in zip(table.categories, chosen, strict=True) if model in of]
        for model in models
    }
    model = LcaModel.of("lca", table, options, root, categories, tried, generations, has_spread=True)
    vars(model)["default_fits"] = tuple(fits_of)  # which a model that is loaded fits again
    return model


def _fit_categories(
    table: CategoryTable, factor: str, models: Sequence[DefaultModel], options: LcaOptions, root: Floats, column: str
) -> tuple[list[tuple[DefaultModel, ...]], list[tuple[DefaultFit, ...]]]:
    """Return the default models of each category over one factor, and their fits if it was measured, best first."""
    fits_of, shown = [], table.shown_names[factor]
    fits: tuple[DefaultFit, ...]
    chosen = [models_for(models, name, factor, table.columns[factor]) for name in table.categories]
    for name, category_models in zip(table.categories, chosen, strict=True):
        if not category_models:
            raise OptionError(
                f"{', '.join(options.models)}: no default model of {name!r} over {shown!r}; add "
                f'a [[model]] with factor = "{shown}" and category = "{name}" or "*"'
            )
    for name, category_models, values in zip(table.categories, chosen, table.values.T, strict=True):
        used = np.isfinite(values)
        count, x = int(used.sum()), table.points[factor][used]
        fits, can_judge = (), False
        if count:
            fits, can_judge = fit_default_models(category_models, x, values[used], root[used], options.criterion)
        if not can_judge:
            raise DataError(
                f"{table.source}: category {name!r} was measured at {count} level{'s' if count != 1 else ''} of "
                f"{shown}, and none of its default models has fewer coefficients; measure at more, or "
                f"leave it out with --where '{column}!={name}'"
            )
        fits_of.append(fits)
    return chosen, fits_of


def _prepare(data: Any, options: LcaOptions) -> tuple[CategoryTable, str, Floats, str]:
    """Return the table by category, the factor to model over, the roots of weights, and the column of categories."""
    table, column = category_table(data, options, "lca", options.absent)
    if options.show is not None and options.show not in table.categories:
        raise UnknownNameError("category", options.show, table.categories)
    return table, _factor(table, options.factor), root_weights(table, options.weights), column


def _factor(table: CategoryTable, name: str | None) -> str:
    """Return the factor to model over: the one that is named, or the only one that varies."""
    symbols = {**{column: symbol for symbol, column in table.columns.items()}, **{s: s for s in table.points}}
    shown = table.shown_names
    levels = {symbol: np.unique(values) for symbol, values in table.points.items()}
    varied = [symbol for symbol, values in levels.items() if len(values) > 1]
    if name is not None and name not in symbols:
        raise OptionError(
            f"{table.source}: factor {name!r} is none of the parameters ({listing(table.columns.values())}); name "
            f"its column as one of them: --parameter {','.join([*table.columns.values(), name])}"
        )
    if name is None and len(varied) > 1:
        names = ", ".join(f"{shown[symbol]} ({len(levels[symbol])} levels)" for symbol in varied)
        raise OptionError(
            f"{table.source}: several parameters vary: {names}; lca models one: name it with "
            f"--factor {shown[varied[0]]}, and hold the others with "
            f"--where {table.columns[varied[1]]}={levels[varied[1]][0]:g}; modgen models all"
        )
    factor = symbols[name] if name is not None else (varied or list(levels))[0]
    if len(levels[factor]) < 2:
        raise DataError(
            f"{table.source}: factor {shown[factor]!r} has one level, {shown[factor]}={levels[factor][0]:g}; nothing "
            "says how the time depends on it; measure at more levels, or choose another --factor"
        )
    for symbol in varied:
        if symbol != factor:
            few = listing([f"{value:g}" for value in levels[symbol]], 4)
            raise OptionError(
                f"{table.source}: {shown[symbol]!r} varies with {shown[factor]!r} ({few}); hold it with "
                f"--where {table.columns[symbol]}={levels[symbol][0]:g}, or model both with --fitter modgen"
            )
    return factor
