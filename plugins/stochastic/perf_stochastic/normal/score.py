"""How good a normal distribution was as a prediction."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr


Floats = npt.NDArray[np.float64]


def crps_of_normals(mean: npt.ArrayLike, std: npt.ArrayLike, actual: npt.ArrayLike) -> Floats:
    """Continuous ranked probability score of normal distributions.

    Source: T. Gneiting and A. E. Raftery, "Strictly Proper Scoring Rules, Prediction, and Estimation", Journal of the
    American Statistical Association 102 (2007), section 4.2; there it is a gain, here a loss.
    """
    centre, spread, x = (np.asarray(argument, dtype=np.float64) for argument in (mean, std, actual))
    error = x - centre
    z = np.divide(error, spread, out=np.zeros(np.broadcast_shapes(error.shape, spread.shape)), where=spread > 0.0)
    density = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    score = spread * (z * (2.0 * ndtr(z) - 1.0) + 2.0 * density - 1.0 / np.sqrt(np.pi))
    return np.where(spread > 0.0, score, np.abs(error))
