"""Noise of measurements in time: a slow state of the machine and white noise on top, an ARMA(1,1) process.

x_t = phi x_{t-1} + e_t - theta e_{t-1} with 0 <= theta <= phi: AR(1) plus white noise is of this form (G. E. P. Box,
G. M. Jenkins, "Time Series Analysis", section A4.4). A likelihood is taken at each pair of a grid, since it has several
maxima in short series.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_PHI = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95)
_PHI_WITH_WHITE = (0.5, 0.7, 0.8, 0.9, 0.95)
_THETA_OVER_PHI = (0.3, 0.55, 0.75, 0.88)

GRID: Floats = np.array(
    [(phi, 0.0) for phi in _PHI] + [(phi, round(phi * part, 3)) for phi in _PHI_WITH_WHITE for part in _THETA_OVER_PHI]
)
GAIN: Floats = (1.0 - GRID[:, 1]) / (1.0 - GRID[:, 0])  # of the noise of long means: 1 of white noise


def first_variance(phi: float, theta: float) -> float:
    """Variance of the process over that of its innovations, which is the first value's."""
    return (1.0 + theta * theta - 2.0 * phi * theta) / (1.0 - phi * phi)


def whitened(rows: Floats, phi: float, theta: float) -> Floats:
    """Rows in order of time with the noise's memory taken out."""
    from scipy.signal import lfilter

    first = rows[:, :1] / np.sqrt(first_variance(phi, theta))
    rest, _ = lfilter([1.0, -phi], [1.0, -theta], rows[:, 1:], axis=1, zi=theta * first - phi * rows[:, :1])
    return np.concatenate([first, rest], axis=1)
