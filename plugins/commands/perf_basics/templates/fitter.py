"""The fitter ``example``: a power law."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_statistics.curve_fitter import CurveFitter

Floats = npt.NDArray[np.float64]


class Example(CurveFitter):
    """Fits a power law of p by least squares of logarithms."""

    coefficients = ("factor", "exponent")
    variables = ("p",)
    formula = "factor * p^exponent"

    def estimate(self, points: Mapping[str, Floats], values: Floats, options: Any) -> tuple[float, float]:
        """Return the coefficients that fit best."""
        exponent, logarithm = np.polyfit(np.log(points["p"]), np.log(values), 1)
        return float(np.exp(logarithm)), float(exponent)

    def curve(self, coefficients: Floats, points: Mapping[str, Floats]) -> Floats:
        """Return the values of the law at points."""
        factor, exponent = coefficients
        return np.asarray(factor * points["p"] ** exponent)
