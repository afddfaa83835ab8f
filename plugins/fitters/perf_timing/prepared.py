"""Measurements made ready for fitting: selected, joined, weighted, and brought to the scale of the fit."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_tables.categories.speeds import is_speed
from perf_tables.categories.unnamed_factors import refuse_unnamed_of_codes
from perf_timing.options import ScalingOptions
from perf_timing.preparation import OverCode, Preparation, Step, TimesParameter, TimesSystem
from perf_timing.quantities import quantities_of
from perfcore.base.errors import DataError, OptionError
from perfcore.data.measurements import Measurements
from perfcore.data.observations import Observations
from perfcore.data.roles import is_processors
from perfcore.data.units import unit_in_name


Floats = npt.NDArray[np.float64]

# Words in names of columns that count the size of a problem.
_SIZE = re.compile(r"size|length|bytes|elements|atoms|cells|points|particles|edges?\b|^n$", re.IGNORECASE)

# Values in the scale of the fit that differ by more than this count by their relative errors: with equal weights the
# largest few would decide. Those of Strohmaier's paper differ by 4 to 7; docs/how-we-know.md has the figures.
WIDE = 10.0

_LARGEST = 1e100  # in the scale of the fit

# As if so many more runs had been made with the spread that all points share: a spread estimated from two or three
# runs may be near zero by chance. The form is Smyth's moderated variance (Stat. Appl. Genet. Mol. Biol. 3, 2004).
_SHARED_RUNS = 4.0


@dataclass(frozen=True)
class Prepared:
    """Observations in the scale of the fit."""

    seen: Observations
    preparation: Preparation  # from the user's unit to the scale of the fit
    factor: Floats  # what each value is multiplied by in it
    by_point: Floats  # the part of the factor that depends on parameters
    target: Floats  # values in the scale of the fit
    root_weight: Floats  # square roots of the weights
    weights: str  # which weights they are, a name in `perf_timing.options.WEIGHTS`

    def select(self, kept: npt.NDArray[np.bool_]) -> Prepared:
        """The observations kept (n,) bool."""
        return replace(
            self,
            seen=self.seen.select(kept),
            factor=self.factor[kept],
            by_point=self.by_point[kept],
            target=self.target[kept],
            root_weight=self.root_weight[kept],
        )


def prepare(data: Any, options: ScalingOptions, fitter: str, *, adds_times: bool = False) -> Prepared:
    """Select, check, join and scale; see `ScalingOptions`."""
    runs = _as_measurements(data, fitter)
    runs = runs.with_roles(
        parameters=options.parameter,
        value=options.value,
        code=options.code,
        system=options.system,
        unit=options.unit,
    )
    if options.where:
        runs = runs.where(options.where)
    observed = runs.observations(options.aggregate, options.duplicates)
    refuse_unnamed_of_codes(runs)
    unit = f" ({observed.unit})" if observed.unit else ""
    if adds_times and options.prepare == ("auto",) and is_speed(observed.unit, observed.value_name):
        raise OptionError(
            f"{observed.source}: {observed.value_name} is a rate{unit}, and {fitter} adds up times of "
            "parts; name a column of times with --value, or take --fitter individual; --prepare none fits it as if "
            "rates added up"
        )
    preparation = _preparation(runs, observed, options)
    codes, systems = _names(observed)
    factor = preparation.factor(observed.points, codes, systems)
    by_point = preparation.of_parameters.factor(observed.points, codes, systems)
    target = observed.value * factor
    _check_range(observed, target)
    weights = options.weights
    if weights == "auto":
        weights = "relative" if span(target) > WIDE else "equal"
    return Prepared(
        seen=observed,
        preparation=preparation,
        factor=factor,
        by_point=by_point,
        target=target,
        root_weight=_root_weights(observed, target, weights),
        weights=weights,
    )


def _check_range(observed: Observations, target: Floats) -> None:
    """Refuse values whose squares, or the reciprocals of whose squares, no number can hold."""
    extreme = (target != 0.0) & ~((np.abs(target) >= 1.0 / _LARGEST) & (np.abs(target) <= _LARGEST))
    if extreme.any():
        raise DataError(
            f"{observed.source}: {observed.value_name} is {observed.value[extreme][0]:g} at "
            f"{observed.describe(int(np.argmax(extreme)))}; values from {1.0 / _LARGEST:g} to {_LARGEST:g} can be "
            "fitted: choose another unit"
        )


def span(values: Floats) -> float:
    """By what factor values (n,) differ, the largest and the smallest twentieth aside, where outliers are."""
    low, high = np.quantile(values, [0.05, 0.95])
    return float(high / low)


def _as_measurements(data: Any, fitter: str) -> Measurements:
    if isinstance(data, Measurements):
        return data
    import pandas as pd

    if isinstance(data, pd.DataFrame):
        return Measurements(data, source="table")
    raise DataError(f"{fitter} fits measurements, or a pandas table of them, not {type(data).__name__}")


def _preparation(runs: Measurements, observed: Observations, options: ScalingOptions) -> Preparation:
    """The steps that the options ask for, in the order of equation 4; for a rate only those that are named."""
    requested = options.prepare
    every = requested == ("auto",)
    steps: list[Step] = []
    unit = f" ({observed.unit})" if observed.unit else ""
    if every and is_speed(observed.unit, observed.value_name):
        if options.operations is not None or options.peak is not None:
            raise OptionError(
                f"{observed.source}: --operations and --peak scale times, and {observed.value_name} is a rate"
                f"{unit}; name a column of times with --value, or say with --prepare which steps to "
                "take all the same"
            )
        return Preparation()
    if every or "parameter" in requested:
        symbol = _processors(observed, options) if every else next(iter(observed.points))
        if symbol is not None:
            steps.append(TimesParameter(symbol))
    for name, option, role, step in (
        ("operations", options.operations, "code", OverCode),
        ("peak", options.peak, "system", TimesSystem),
    ):
        if option is not None and (every or name in requested):
            label, quantities = quantities_of(option, runs, role, f"--{name}")
            used = {key: quantities[key] for key in getattr(observed, f"{role}s") if key in quantities}
            steps.append(step(label.removeprefix("--"), used or quantities))
    return Preparation(tuple(steps))


def _processors(observed: Observations, options: ScalingOptions) -> str | None:
    """The first parameter, where its column or the user says that it is a number of processors."""
    symbol, column = next(iter(observed.columns.items()))
    unit = unit_in_name(column)
    if (unit is not None and unit.kind != "count") or _SIZE.search(column):
        return None
    words = (word.partition("=") for word in options.parameter or ())
    is_named = any(equals and name.strip() == "p" == symbol for name, equals, _ in words)
    return symbol if is_named or is_processors(column) else None


def _names(observed: Observations) -> tuple[list[str], list[str]]:
    return [observed.codes[k] for k in observed.code], [observed.systems[k] for k in observed.system]


def _root_weights(observed: Observations, target: Floats, weights: str) -> Floats:
    """Square roots of the weights (n,), their squares with mean 1 except for relative ones."""
    if weights == "equal":
        return np.ones(len(observed))
    if weights == "relative":
        return np.asarray(1.0 / target)
    runs = observed.repetitions.astype(np.float64)
    if (observed.repetitions < 2).all():
        raise OptionError(
            f"--weights {weights} needs repeated runs, and no point of {observed.source} was measured twice"
        )
    if weights == "repetitions":
        return np.asarray(np.sqrt(runs / runs.mean()))
    # The spread of run times grows with the run time, so what points share is the relative spread.
    freedom = runs - 1.0
    relative = np.where(freedom > 0, observed.spread / observed.value, 0.0) ** 2
    shared = float((freedom * relative).sum() / freedom.sum())
    if shared == 0.0:
        raise OptionError("--weights spread: all repeated runs took exactly the same time; use --weights repetitions")
    moderated = (_SHARED_RUNS * shared + freedom * relative) / (_SHARED_RUNS + freedom)
    weight = runs / (moderated * target**2)
    return np.asarray(np.sqrt(weight / weight.mean()))
