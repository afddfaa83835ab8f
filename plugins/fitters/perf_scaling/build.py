"""From measurements to the model of a fit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import perfcore
from perf_scaling.data import ScalingData
from perf_scaling.engine import fit_posterior
from perf_scaling.family import run_variance
from perf_scaling.model import ScalingModel, bounded
from perf_scaling.options import Given, ScalingOptions
from perf_scaling.posterior import stored, used_alone
from perf_scaling.terms import PathData, function_values
from perf_tables.arguments import parse_values
from perfcore.base.arrays import Floats
from perfcore.base.errors import OptionError, UnknownNameError
from perfcore.data.columns import shown_names
from perfcore.hooks.options import to_dict
from perfcore.models.model import Origin

# What a model has of its measurements as it is.
_AS_MEASURED = ("columns", "value_name", "unit", "paths", "metrics", "unfitted", "scaling", "reciprocal")
_LESS = 0.25  # of what a mean counts by its runs
_BEYOND = 4.0  # the scale to look at where none is given, times the largest level


def fitted(measurements: ScalingData, options: ScalingOptions, apart: bool = False) -> ScalingModel:
    """Return the model of measurements; with `apart`, each series is as one alone, and none is to be stored."""
    points = np.stack(list(measurements.points.values()), axis=1)
    given = Given.of(to_dict(options), measurements.columns)
    _check_functions(given, measurements)
    notes = list(measurements.notes)
    if len(measurements.points) > 1:
        from perf_scaling.several import left_out  # what one parameter does without

        notes += filter(None, [left_out(points, given)])
    runs = measurements.runs
    counts = np.where(np.isfinite(runs.means), runs.counts, 0.0)
    spread = run_variance(runs.variances, counts)
    posterior = fit_posterior(points, runs.means, counts, spread, given, measurements.reciprocal)
    measured, symbols = np.isfinite(posterior.means), tuple(measurements.points)
    if far := int((measured & (posterior.counts < runs.counts * _LESS)).sum()):
        notes.append(f"{far:,} of {int(measured.sum()):,} means are outliers of all models and count less")
    if apart:
        laws, posterior = used_alone(posterior, symbols)
        settings = tuple(map(tuple, posterior.settings.tolist()))
        rows = zip(runs.means.tolist(), counts.tolist(), spread.tolist(), strict=True)
        data = tuple(  # of series whose posterior is at hand
            PathData(tuple(m if m > 0.0 else None for m in means), tuple(runs_of), s, (0,), (0,), (-1,), (1.0,))
            for means, runs_of, s in rows
        )
    else:
        laws, settings, data = stored(posterior, symbols)
    model = ScalingModel(
        origin=Origin(
            "scaling", to_dict(options), measurements.source, measurements.fingerprint, perfcore.__version__
        ),
        **{name: getattr(measurements, name) for name in _AS_MEASURED},
        notes=tuple(notes),
        points={symbol: tuple(values.tolist()) for symbol, values in measurements.points.items()},
        laws=laws,
        settings=settings,
        data=data,
        target=target_of(options.at, measurements.columns, measurements.points, measurements.held),
        apart=apart,
    )  # fmt: skip
    if apart:
        vars(model)["posterior"] = bounded(model, posterior)
    return model


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


def target_of(
    assignments: tuple[str, ...], columns: Mapping[str, str], points: Mapping[str, Floats], held: Mapping[str, float]
) -> dict[str, float]:
    """Return the target by symbol: as named, else four times the largest levels."""
    symbols = {**{column: symbol for symbol, column in columns.items()}, **{s: s for s in columns}}
    defaults = {symbol: _BEYOND * float(values.max()) for symbol, values in points.items()} | dict(held)
    named = {}
    for word in assignments:
        name, _, level = word.partition("=")
        if not level:  # of the only parameter
            name, level = next(iter(columns)), word
            if len(columns) > 1:
                raise OptionError(f"--at {word}: name the parameters: {', '.join(columns.values())}")
        if name not in symbols:
            raise UnknownNameError("parameter", name, shown_names(columns).values())
        named[symbols[name]] = parse_values(level)[0]
        if not named[symbols[name]] > 0.0:
            raise OptionError(f"--at {word}: a positive level is expected")
    missing = [symbol for symbol in defaults if symbol not in named and symbol not in held] if named else []
    if missing:
        name = shown_names(columns)[missing[0]]
        given = ",".join(assignments)
        raise OptionError(f"--at {given}: {name} is missing; give all in one: --at {given},{name}=LEVEL")
    return {**defaults, **named}
