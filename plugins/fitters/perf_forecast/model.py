"""The forecast of a series: the predictor that won, what it expects, and how far it has been off."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist
from typing import Any, ClassVar

import msgspec
import numpy as np
import numpy.typing as npt

from perfcore.base.errors import OptionError
from perfcore.data.units import NANOSECONDS
from perfcore.models.model import Model, Parameter

__all__ = ["COVERAGE", "ForecastModel", "PredictorError"]

Floats = npt.NDArray[np.float64]

COVERAGE = 0.95  # of the bounds in summary and picture


class PredictorError(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one predictor expects next, and how it did on the past.

    Attributes
    ----------
    name : str
    forecast : float
    mse, mae : float
        Mean squared and mean absolute error of its forecasts of the next sample.
    """

    name: str
    forecast: float
    mse: float
    mae: float


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
    criterion : {"mse", "mae"}
        The error that chose.
    predictors : tuple of PredictorError
        Least error first: the first one gives the forecast.
    chosen_anew : PredictorError
        Whoever chose the best predictor so far at each step: free of the optimism of hindsight.
    spread : tuple of float
        Standard deviation of the error 1, 2, ... steps ahead.
    covered : float
        Share of the past that lay within the normal 95% bounds of the next value: far from 0.95 the errors are not
        normal, and the bounds are to be taken with care.
    """

    column: str
    time_unit: str
    last_time: float
    step: float
    n_samples: int
    n_missing: int
    criterion: str
    predictors: tuple[PredictorError, ...]
    chosen_anew: PredictorError
    spread: tuple[float, ...]
    covered: float

    kind: ClassVar[str] = "forecast"

    def __post_init__(self) -> None:
        """Refuse what a file edited by hand may hold; `perfcore.load` makes one line of it."""
        if not self.predictors or not self.spread:
            raise ValueError("a forecast has at least one predictor and one spread")
        if self.time_unit not in NANOSECONDS:
            raise ValueError(f"time_unit {self.time_unit!r} is none of {', '.join(NANOSECONDS)}")
        if min(self.spread) < 0.0:
            raise ValueError(f"spread {min(self.spread)}: a standard deviation is not negative")

    @property
    def variables(self) -> Mapping[str, str]:
        """How many steps ahead."""
        return {"steps": "steps"}

    @property
    def variable_units(self) -> Mapping[str, str]:
        """How long a step is, and when the first one begins."""
        return {"steps": f"steps of {self.step:.15g} {self.time_unit} after {self.last_time:.15g} {self.time_unit}"}

    @property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        """The horizon."""
        return {"steps": (1, len(self.spread))}

    @property
    def forecast(self) -> float:
        """The value expected next, and at all later steps."""
        return self.predictors[0].forecast

    def predict(self, points: Any, interval: float | None = None) -> Floats:
        """Values expected after the last sample.

        Parameters
        ----------
        points : (n,) int
            Steps ahead: 1 is the next sample.
        interval : float, optional
            Coverage of bounds, above 0 and below 1, from a normal distribution with the spread of that many steps.

        Returns
        -------
        (n,) or (n, 3) float
            Values, or value, lower and upper bound.

        Raises
        ------
        OptionError
            A step is no whole number, or lies beyond the horizon of the fit; or the coverage is not between 0 and 1.
        """
        steps = np.atleast_1d(np.asarray(points, dtype=np.float64))
        good = (steps >= 1) & (steps <= len(self.spread)) & (steps == np.floor(steps))
        if not good.all():
            raise OptionError(
                f"steps {steps[np.argmin(good)]:g}: whole numbers from 1 to {len(self.spread)} are expected; "
                "fit with a longer --horizon, which needs as many samples, to look farther ahead"
            )
        values = np.full(steps.shape, self.forecast)
        if interval is None:
            return values
        if not 0.0 < interval < 1.0:
            raise OptionError(f"interval {interval}: the coverage must be above 0 and below 1, such as 0.95")
        half = NormalDist().inv_cdf(0.5 + 0.5 * interval) * np.array(self.spread)[steps.astype(np.intp) - 1]
        return np.column_stack([values, values - half, values + half])

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The forecast, and its spread one step ahead."""
        return Parameter("forecast", self.forecast), Parameter("spread", self.spread[0])

    @property
    def statistics(self) -> dict[str, float | int | str | None]:
        """The predictor that won, its past errors, and the error of choosing anew at each step."""
        best = self.predictors[0]
        return {
            "predictor": best.name,
            "n_samples": self.n_samples,
            "n_missing": self.n_missing,
            "mse": best.mse,
            "mae": best.mae,
            "mse_chosen_anew": self.chosen_anew.mse,
            "mae_chosen_anew": self.chosen_anew.mae,
            "covered_by_95": self.covered,
        }

    @property
    def formula(self) -> str:
        """The predictor as an equation."""
        return f"{self.column} = {self.predictors[0].name} = {self.forecast:.6g} ± {self.spread[0]:.3g}"
