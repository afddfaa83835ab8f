"""The forecast of a series: distributions of its next values, what gave them, and how such ones have held."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import numpy as np

from perf_forecast.options import COVERAGE, JUDGED_COVERAGES, LEVELS, NOTEWORTHY
from perf_tables.points import by_symbol, of_one_length
from perfcore.base.arrays import Floats
from perfcore.base.errors import OptionError, UnknownNameError
from perfcore.data.units import NANOSECONDS
from perfcore.models.model import Model, Parameter
from perfcore.models.points import check_coverage

if TYPE_CHECKING:
    from perfcore.stochastic import StochasticValue


class Ahead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The value some steps ahead."""

    quantiles: tuple[float, ...]  # at `perf_forecast.options.LEVELS`, not decreasing
    chosen: tuple[str, ...]  # the predictors, each with what is carried over from its past, that are mixed evenly
    judged: int  # past forecasts that had no say in what was chosen to make them
    judged_at: int  # how many steps ahead these looked, which is as many as here or somewhat fewer
    held: tuple[float, ...] | None  # share of them whose value was within the central 50, 80 and 95% intervals
    crps: float | None  # their mean continuous ranked probability score, in the unit of the values
    # Mean absolute errors of their medians, of the last value, and of the value one season before if there is one.
    errors: tuple[float, ...] | None = None


class ForecastModel(Model, frozen=True, forbid_unknown_fields=True):
    """The next values of a series.

    Attributes
    ----------
    column : str
        What is forecast.
    time_unit : str
        Unit of `last_time` and `step`.
    last_time : float
        Time of the last sample.
    step : float
        Median time between samples.
    n_samples, n_missing : int
        Samples with and without a value.
    lower, upper : float, optional
        That no value is beyond.
    support : str
        Where these bounds are from.
    seasons : tuple of int
        After how many samples the series repeats itself; empty where it does not.
    ahead : tuple of Ahead
        1, 2, ... steps ahead.
    averaged : int
        Samples of which each value is the mean.
    at : int
        Steps ahead of the answer.
    naive_error : float, optional
        Mean absolute difference from one value to the next, in units of which MASE is.
    """

    column: str
    time_unit: str
    last_time: float
    step: float
    n_samples: int
    n_missing: int
    lower: float | None
    upper: float | None
    support: str
    seasons: tuple[int, ...]
    ahead: tuple[Ahead, ...]
    averaged: int = 1
    at: int = 1
    naive_error: float | None = None

    reporter: ClassVar[str] = "perf_forecast.answers:report_of"
    kind: ClassVar[str] = "forecast"

    def __post_init__(self) -> None:
        if not self.ahead:
            raise ValueError("a forecast is of one step at least")
        if self.time_unit not in NANOSECONDS:
            raise ValueError(f"time_unit {self.time_unit!r} is none of {', '.join(NANOSECONDS)}")
        for steps, ahead in enumerate(self.ahead, start=1):
            quantiles = ahead.quantiles
            if (
                len(quantiles) != len(LEVELS)
                or not all(map(math.isfinite, quantiles))
                or list(quantiles) != sorted(quantiles)
            ):
                raise ValueError(
                    f"quantiles {steps} steps ahead: {len(LEVELS)} numbers in increasing order are expected"
                )
            if ahead.held is not None and len(ahead.held) != len(JUDGED_COVERAGES):
                raise ValueError(f"held {steps} steps ahead: {len(JUDGED_COVERAGES)} shares are expected")
            if not ahead.chosen:
                raise ValueError(f"{steps} steps ahead: what was chosen is missing")

    @property
    def variables(self) -> Mapping[str, str]:
        return {"steps": "steps"}

    @property
    def variable_units(self) -> Mapping[str, str]:
        return {"steps": f"steps of {self.step:.15g} {self.time_unit} after {self.last_time:.15g} {self.time_unit}"}

    @property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        return {"steps": (1, len(self.ahead))}

    @property
    def target(self) -> Mapping[str, float]:
        return {"steps": self.at}

    def mases(self, steps: int) -> tuple[float, ...]:
        """Return the mean absolute scaled errors of the forecast, of persistence and of a seasonal naive one.

        Source: R. J. Hyndman and A. B. Koehler, "Another look at measures of forecast accuracy", 2006.
        """
        errors = self.ahead[steps - 1].errors
        return tuple(error / self.naive_error for error in errors) if errors and self.naive_error else ()

    @property
    def forecast(self) -> float:
        """The median of the next value."""
        return float(self.predict([1])[0])

    def predict_array(self, points: Any, interval: float | None = None) -> Floats:
        rows = [self._quantiles(steps) for steps in np.atleast_1d(np.asarray(points, dtype=np.float64))]
        if interval is None:
            return np.array([np.interp(0.5, LEVELS, row) for row in rows])
        check_coverage(interval)
        levels = np.round([0.5, 0.5 - 0.5 * interval, 0.5 + 0.5 * interval], 12)  # a bound stays one
        return np.array([np.interp(levels, LEVELS, row) for row in rows])

    def value(self, steps: int) -> StochasticValue:
        """The value so many steps ahead as a stochastic value: a histogram, or a point."""
        from perfcore.stochastic import as_value, from_dict

        edges = self._quantiles(steps)
        if edges[0] == edges[-1]:
            return as_value(float(edges[0]))
        return from_dict({"representation": "histogram", "edges": edges.tolist(), "masses": np.diff(LEVELS).tolist()})

    def _quantiles(self, steps: float) -> Floats:
        if not 1 <= steps <= len(self.ahead) or steps != int(steps):
            raise OptionError(
                f"steps {steps:g}: whole numbers from 1 to {len(self.ahead)} are expected; "
                "fit with a longer --horizon, which needs as many samples, to look farther ahead"
            )
        return np.array(self.ahead[int(steps) - 1].quantiles)

    def likeliest(self, steps: int) -> tuple[float, float]:
        """The single value with the largest probability so many steps ahead, and how much; NaN and 0 where none
        has.
        """
        quantiles = self._quantiles(steps)
        values, first, counts = np.unique(quantiles, return_index=True, return_counts=True)
        probabilities = np.array(LEVELS)[first + counts - 1] - np.array(LEVELS)[first]
        most = int(probabilities.argmax())
        return (float(values[most]), float(probabilities[most])) if probabilities[most] > 0.0 else (math.nan, 0.0)

    @property
    def bounds_meaning(self) -> str:
        return "of the value itself, from what the predictors' past says of so many steps"

    def remarks(self, points: Any) -> list[str]:
        """Of steps that no past forecast judged: that they were not; and of values with a probability of their own."""
        steps_ahead = np.atleast_1d(np.asarray(points, dtype=np.float64)).astype(int).tolist()
        lines = [self._remark(steps) for steps in steps_ahead]
        return lines if any(lines) else []

    def _remark(self, steps: int) -> str:
        if not self.ahead[steps - 1].judged:
            return f"too few samples to judge forecasts of {steps} steps"
        value, probability = self.likeliest(steps)
        return f"{value:.6g} with probability {probability:.2g}" if NOTEWORTHY <= probability < 1.0 else ""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        middle, lower, upper = self.predict_array([1], 0.5)[0]
        return Parameter("forecast", float(middle)), Parameter("interquartile_range", float(upper - lower))

    @property
    def statistics(self) -> dict[str, float | int | str | None]:
        following = self.ahead[0]
        return {
            "predictor": following.chosen[0],
            "n_samples": self.n_samples,
            "n_missing": self.n_missing,
            "seasons": ", ".join(map(str, self.seasons)) or None,
            "judged": following.judged,
            "crps": following.crps,
            **{
                f"held_by_{coverage * 100:.0f}": None if following.held is None else following.held[place]
                for place, coverage in enumerate(JUDGED_COVERAGES)
            },
        }

    @property
    def formula(self) -> str:
        middle, lower, upper = self.predict_array([1], COVERAGE)[0]
        return f"{self.column} = {middle:.6g} ({COVERAGE:.0%}: {lower:.6g} .. {upper:.6g})"


class SeriesForecasts(Model, frozen=True, forbid_unknown_fields=True):
    """The next values of several series of one quantity.

    Attributes
    ----------
    by : str
        What separates the series, such as ``host``.
    forecasts : dict of str to ForecastModel
        By its values.
    failures : dict of str to str
        Series without a forecast, and why.
    """

    by: str
    forecasts: dict[str, ForecastModel]
    failures: dict[str, str]

    reporter: ClassVar[str] = "perf_forecast.answers:report_of_several"
    kind: ClassVar[str] = "forecasts"

    def __post_init__(self) -> None:
        if not self.forecasts:
            raise ValueError("the forecast of one series at least is expected")

    @property
    def variables(self) -> Mapping[str, str]:
        return {"steps": "steps", self.by: self.by}

    @property
    def levels(self) -> Mapping[str, tuple[str, ...]]:
        return {self.by: tuple(self.forecasts)}

    @property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        return {"steps": (1, min(len(model.ahead) for model in self.forecasts.values()))}

    @property
    def target(self) -> Mapping[str, float]:
        return next(iter(self.forecasts.values())).target

    @property
    def unfitted(self) -> Mapping[str, str]:
        return self.failures

    def predict_array(self, points: Any, interval: float | None = None) -> Floats:
        columns = of_one_length(by_symbol(points, {"steps": "steps"}, {self.by}))
        rows = []
        for steps, name in zip(columns["steps"].tolist(), columns[self.by].astype(np.str_).tolist(), strict=True):
            if name not in self.forecasts:
                raise UnknownNameError(self.by, name, self.forecasts)
            rows.append(self.forecasts[name].predict_array([steps], interval)[0])
        return np.array(rows)

    @property
    def bounds_meaning(self) -> str:
        return next(iter(self.forecasts.values())).bounds_meaning

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(
            msgspec.structs.replace(parameter, name=f"{name}: {parameter.name}")
            for name, model in self.forecasts.items()
            for parameter in model.parameters
        )
