"""A normal distribution in bins."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import gammainc, gammaincinv, ndtr

Floats = npt.NDArray[np.float64]

REACH = 6.0  # standard deviations to each side; what is beyond, two in a billion, goes into the outer bins


def normal_bins(mean: float, std: float, bins: int) -> tuple[Floats, Floats, Floats]:
    """Edges, masses and means, with edges where they are best."""
    share: Floats = np.linspace(-1.0, 1.0, bins + 1)
    areas: Floats = np.abs(share) * float(gammainc(0.75, 0.25 * REACH**2))
    scores: Floats = np.sign(share) * 2.0 * np.sqrt(gammaincinv(0.75, areas))
    levels = ndtr(scores)
    levels[0], levels[-1] = 0.0, 1.0
    masses = np.diff(levels)
    density = np.exp(-0.5 * scores**2) / np.sqrt(2.0 * np.pi)
    density[0] = density[-1] = 0.0
    # E[Z; a < Z < b] = phi(a) - phi(b). In the outer bins what is beyond is included, and may pull the mean out.
    means = np.clip(-np.diff(density) / masses, scores[:-1], scores[1:])
    return mean + std * scores, masses, mean + std * means
