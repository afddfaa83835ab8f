"""The fitter `lca`: every default model of every category over one factor."""

from __future__ import annotations

from typing import Any

import numpy as np

import perfcore
from perf_lost_cycles.categories.data import category_facts, category_table, root_weights
from perf_lost_cycles.default_models.sets import find_models
from perf_lost_cycles.lca.categories import CategoryFit, DefaultFit, FittedCategories, fit_categories
from perf_lost_cycles.lca.model import LcaModel
from perf_lost_cycles.options import CRITERIA, LcaOptions
from perf_statistics.goodness import r_squared
from perf_tables.category_table import CategoryTable
from perfcore.base.errors import DataError, OptionError, PerfError, UnknownNameError, listing
from perfcore.contracts import Fitter
from perfcore.data.measurements import Measurements
from perfcore.hooks.options import to_dict
from perfcore.models.model import Origin
from perfcore.models.ranking import Candidate, Ranking

# Above this the coefficients have lost half of their digits: they are large and cancel.
_COLLINEAR = 1e8


class LcaFitter(Fitter):
    """Fits every default model of each category of lost cycles to one factor and takes the best.

    Choose it to see which formula suits each overhead over processors, or over data size, and how well; `modgen` models
    several factors together. The model of the application is the sum of its categories' models.

    Models are compared by the error of predicting each point from the others. In a study of data drawn from the
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
        """Points, categories and totals; see `Fitter.facts`."""
        return category_facts(data)

    @classmethod
    def suits(cls, data: Any) -> bool:
        """Whether one factor varies, and each category was measured at levels enough; see `Fitter.suits`."""
        try:
            return bool(_fit(data, LcaOptions(duplicates="drop")).comparable.all())
        except PerfError:
            return False

    def fit(self, data: Any, options: LcaOptions, **parts: Any) -> LcaModel:
        """Fit; see `perfcore.fit`.

        Raises
        ------
        PerfError
            Data or options that do not go together, in one line.
        """
        fitted = _fit(data, options)
        table = fitted.table
        return LcaModel(
            origin=Origin(
                fitter="lca",
                options=to_dict(options),
                source=table.source,
                fingerprint=table.fingerprint(),
                version=perfcore.__version__,
            ),
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
        """Compare the default models of each category, or of the one that ``show`` names; see `perfcore.rank`."""
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
    """The factor to model over: the one that is named, or the only one that varies.

    Raises
    ------
    OptionError
        It is none of the parameters, or several vary.
    DataError
        It has one level.
    """
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
