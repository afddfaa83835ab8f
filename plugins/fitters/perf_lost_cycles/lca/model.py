"""Models of categories of lost cycles over one factor, of the application as their sum, and the fitter `lca`."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

import perfcore
from perf_formulas.formula import Formula
from perf_formulas.parser import FormulaError
from perf_lost_cycles.categories.category_sum import CategorySum, figures_of_total, one_category, term_values
from perf_lost_cycles.categories.data import category_facts, category_table, root_weights
from perf_lost_cycles.default_models.sets import VARIABLE, find_models
from perf_lost_cycles.lca.categories import CategoryFit, DefaultFit, FittedCategories, fit_categories
from perf_lost_cycles.options import CRITERIA, LcaOptions
from perf_statistics.goodness import r_squared
from perf_tables.category_table import CategoryTable
from perfcore.base.arrays import Floats, Ints
from perfcore.base.errors import DataError, OptionError, PerfError, UnknownNameError, listing
from perfcore.contracts import Fitter
from perfcore.data.measurements import Measurements
from perfcore.hooks.options import to_dict
from perfcore.models.design_rows import Rival
from perfcore.models.model import Origin, Parameter, Points
from perfcore.models.ranking import Candidate, Ranking
from perfcore.report import Report

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
        return tuple(fit.category for fit in self.fits)

    @property
    def factors(self) -> Mapping[str, str]:
        return {self.factor: self.column}

    @property
    def factor_name(self) -> str:
        """What texts call the factor."""
        return self.shown_names[self.factor]

    @property
    def fitted_points(self) -> dict[str, Floats]:
        return {self.factor: np.array(self.levels_of_factor)}

    @property
    def fitted_values(self) -> Floats:
        return np.array([fit.measured for fit in self.fits], dtype=np.float64)

    @property
    def fitted_repetitions(self) -> Ints:
        return np.ones(len(self.levels_of_factor), dtype=np.int64)

    @functools.cached_property
    def formulas(self) -> tuple[tuple[tuple[str, ...], Floats], ...]:
        return tuple(
            (tuple(map(self.in_factor, fit.model.terms)), np.array(fit.model.coefficients, dtype=np.float64))
            for fit in self.fits
        )

    def candidate_terms(self, category: int) -> tuple[tuple[str, ...], ...]:
        """Terms of each default model of a category whose coefficients its points determine, best first."""
        fit = self.fits[category]
        known = (candidate for candidate in fit.candidates if None not in candidate.coefficients)
        determined = (candidate for candidate in known if len(candidate.terms) < fit.n_points)
        return tuple(dict.fromkeys(tuple(map(self.in_factor, candidate.terms)) for candidate in determined))

    def rivals(self, points: Points) -> tuple[Rival, ...]:
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

    def report(self, data: Any = None) -> Report:
        """Return the largest category with its model, and all categories."""
        from perf_lost_cycles.answers import lca_report

        return lca_report(self, data)

    @property
    def formula(self) -> str:
        return "\n".join(f"{fit.category} = {fit.model.text(self.factor_name)}" for fit in self.fits)


@functools.cache
def _in_factor(term: str, factor: str) -> str:
    return Formula(term).substituted({VARIABLE: Formula(factor)}).canonical


# Above this the coefficients have lost half of their digits: they are large and cancel.
_COLLINEAR = 1e8


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
    >>> import pandas as pd
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

    @classmethod
    def facts(cls, data: Any) -> dict[str, Any]:
        return category_facts(data)

    @classmethod
    def suits(cls, data: Any) -> bool:
        """Whether one factor varies, and each category was measured at levels enough; see `Fitter.suits`."""
        try:
            return bool(_fit(data, LcaOptions(duplicates="drop")).comparable.all())
        except PerfError:
            return False

    def fit(self, data: Any, options: LcaOptions, **parts: Any) -> LcaModel:
        fitted = _fit(data, options)
        table = fitted.table
        return LcaModel(
            origin=Origin("lca", to_dict(options), table.source, table.fingerprint(), perfcore.__version__),
            factor=fitted.factor,
            column=table.columns[fitted.factor],
            held={
                table.shown_names[symbol]: float(values[0])
                for symbol, values in table.points.items()
                if symbol != fitted.factor
            },
            value_name=table.value_name,
            unit=table.unit,
            notes=table.notes,
            levels_of_factor=tuple(table.points[fitted.factor].tolist()),
            total=tuple(table.total.tolist()),
            root_weights=tuple(fitted.root_weight.tolist()),
            fits=fitted.categories(),
        )

    def rank(self, data: Any, options: LcaOptions, **parts: Any) -> Ranking:
        fitted = _fit(data, options)
        names = fitted.table.categories if options.show is None else (options.show,)
        several = len(names) > 1
        candidates = [
            Candidate((f"{name}: {form}" if several else form,), _figures(category, fit, several), fit.note)
            for name in names
            for category in [fitted.category(name)]
            for fit in category.candidates
            for form in [fit.form(fitted.factor_name)]
        ]
        kinds = "each category" if several else names[0]
        summary = (
            f"{len(candidates)} default models of {kinds} over {fitted.factor_name}: {len(fitted.table)} points of "
            f"{fitted.table.value_name}, weights {options.weights}",
            f"ordered by {options.criterion}: {CRITERIA[options.criterion]}",
            *fitted.table.notes,
        )
        return Ranking(summary, tuple(candidates))


def _fit(data: Any, options: LcaOptions) -> FittedCategories:
    table, column = category_table(data, options, "lca", options.absent)
    if options.show is not None and options.show not in table.categories:
        raise UnknownNameError("category", options.show, table.categories)
    factor = _factor(table, options.factor)
    root = root_weights(table, options.weights)
    return fit_categories(table, factor, find_models(options.models), options, root, column)


def _factor(table: CategoryTable, name: str | None) -> str:
    """The factor to model over: the one that is named, or the only one that varies."""
    symbols = {
        **{column: symbol for symbol, column in table.columns.items()},
        **{symbol: symbol for symbol in table.points},
    }
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


def _figures(category: CategoryFit, fit: DefaultFit, several: bool) -> dict[str, float | int | None]:
    """What a ranking shows of one model; coefficients where all models are of one category."""
    uncentered = None
    if fit.sum_of_squares is not None and category.total_squares > 0:
        uncentered = float(r_squared(fit.sum_of_squares, category.total_squares))
    figures: dict[str, float | int | None] = {
        "n_parameters": len(fit.terms),
        "r2_uncentered": uncentered,
        "r2_centered": fit.r2,
        "r2_adjusted": fit.r2_adjusted,
        "r2_leave_one_out": fit.r2_leave_one_out,
    }
    if several:
        return figures
    pairs = zip(fit.names, fit.coefficients, fit.standard_errors, strict=True)
    return figures | {label: value for name, c, e in pairs for label, value in ((name, c), (f"{name} error", e))}
