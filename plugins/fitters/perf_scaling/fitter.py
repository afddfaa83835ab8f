"""The fitter `scaling`: how each call path grows, as sure as the data allow, and a law where they determine one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import perfcore
from perf_scaling.data import ScalingData, scaling_data
from perf_scaling.engine import fit_posterior
from perf_scaling.model import ScalingModel
from perf_scaling.options import Given, ScalingOptions
from perf_scaling.posterior.family import run_variance
from perf_scaling.posterior.posterior import Posterior, stored
from perf_scaling.posterior.several import left_out
from perf_scaling.terms import function_values
from perf_tables.arguments import parse_values
from perfcore.base.arrays import Floats
from perfcore.base.errors import OptionError, PerfError, UnknownNameError
from perfcore.contracts import Fitter
from perfcore.data.columns import shown_names
from perfcore.data.measurements import Measurements
from perfcore.hooks.options import to_dict
from perfcore.models.model import Origin

_LESS = 0.25  # of what a mean counts by its runs
_BEYOND = 4.0  # the scale to look at where none is given, times the largest level
_SHARE = "share"  # unit of efficiencies


class ScalingFitter(Fitter):
    """Fits a scaling model of up to four parameters to each call path and metric.

    Choose it to see which functions grow, and how fast. Models of powers and logarithms are averaged by how well they
    explain the runs. The slope may drift and one value may deviate from a model: the intervals allow for both.

    Source: the terms are those of A. Calotoiu et al., "Using automated performance modeling to find scalability bugs in
    complex codes", SC 2013. Deviations: models are averaged by probability (J. A. Hoeting et al., Statistical Science
    14, 1999), and the misfit is a Gaussian process (M. Kennedy and A. O'Hagan, J. R. Statist. Soc. B 63, 2001).

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [(p, "solve", 10 + 1000 / p) for p in (4, 8, 16, 32, 64)]
    >>> rows += [(p, "exchange", 2 + 0.5 * p) for p in (4, 8, 16, 32, 64)]
    >>> model = perfcore.fit(pd.DataFrame(rows, columns=["p", "callpath", "time_s"]), fitter="scaling")
    >>> print(model.formula)
    solve = 10 + 1000/p
    exchange = 2 + 0.5*p
    """

    Options = ScalingOptions
    model_type = ScalingModel
    takes = (Measurements,)

    @classmethod
    def suits(cls, data: Any) -> bool:
        """Whether some path was measured at enough points, and is no efficiency; see `Fitter.suits`.

        Efficiencies are at most 1 and multiply; laws are those of the times that they are made of.
        """
        if data.roles.unit == _SHARE:
            return False
        try:
            scaling_data(data, ScalingOptions(duplicates="drop"))
        except PerfError:
            return False
        return True

    def fit(self, data: Any, options: ScalingOptions, **parts: Any) -> ScalingModel:
        measurements = scaling_data(data, options)
        points = np.stack(list(measurements.points.values()), axis=1)
        given = Given.of(to_dict(options), measurements.columns)
        _check_functions(given, measurements)
        fewer = left_out(points, given)
        runs = measurements.runs
        counts = np.where(np.isfinite(runs.means), runs.counts, 0.0)
        spread = run_variance(runs.variances, counts)
        posterior = fit_posterior(points, runs.means, counts, spread, given, measurements.reciprocal)
        laws, settings, data = stored(posterior, tuple(measurements.points))
        return ScalingModel(
            origin=Origin(
                "scaling", to_dict(options), measurements.source, measurements.fingerprint, perfcore.__version__
            ),
            columns=dict(measurements.columns),
            value_name=measurements.value_name,
            unit=measurements.unit,
            notes=(*measurements.notes, *([fewer] if fewer else []), *_far_levels(measurements, posterior)),
            points={symbol: tuple(values.tolist()) for symbol, values in measurements.points.items()},
            paths=measurements.paths,
            metrics=measurements.metrics,
            laws=laws,
            settings=settings,
            data=data,
            unfitted=dict(measurements.unfitted),
            target=target_of(options.at, measurements.columns, measurements.points),
            scaling=measurements.scaling,
            reciprocal=measurements.reciprocal,
        )


def _check_functions(given: Given | None, measurements: ScalingData) -> None:
    """Refuse functions that are no terms: constants, and those that are negative at a measured level."""
    if given is None or given.terms(("1",)):
        return
    if not given.functions:
        raise OptionError("--functions: no function of a parameter; a constant is a term of every model anyway")
    levels = measurements.points[given.symbol]
    for name in given.functions:
        values = function_values(name, given.symbol, levels)
        wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0.0)))
        if len(wrong):
            at = f"{shown_names(measurements.columns)[given.symbol]}={levels[wrong[0]]:g}"
            raise OptionError(f"--functions {name}: is {values[wrong[0]]:g} at {at}; terms are positive")


def _far_levels(measurements: ScalingData, posterior: Posterior) -> list[str]:
    """How many means are so far from what is predicted that they count for less."""
    measured = np.isfinite(posterior.means)
    count = int((measured & (posterior.counts < measurements.runs.counts * _LESS)).sum())
    return [f"{count:,} of {int(measured.sum()):,} means are outliers of all models and count less"] if count else []


def target_of(
    assignments: tuple[str, ...], columns: Mapping[str, str], points: Mapping[str, Floats]
) -> dict[str, float]:
    """The scale to look at."""
    symbols = {**{column: symbol for symbol, column in columns.items()}, **{s: s for s in columns}}
    defaults = {symbol: _BEYOND * float(values.max()) for symbol, values in points.items()}
    named = {}
    for word in assignments:
        name, _, level = word.partition("=")
        if not level:  # of the only parameter
            name, level = next(iter(columns)), word
            if len(columns) > 1:
                raise OptionError(f"--at {word}: name the parameters: {', '.join(columns.values())}")
        if name not in symbols:
            raise UnknownNameError("parameter", name, columns)
        named[symbols[name]] = parse_values(level)[0]
        if not named[symbols[name]] > 0.0:
            raise OptionError(f"--at {word}: a positive level is expected")
    missing = [symbol for symbol in defaults if symbol not in named] if named else []
    if missing:
        raise OptionError(f"--at {','.join(assignments)}: {missing[0]} is missing; give a level of each parameter")
    return {**defaults, **named}
