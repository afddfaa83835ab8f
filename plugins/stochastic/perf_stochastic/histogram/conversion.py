"""Any distribution in bins, by its quantiles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from perf_stochastic.exact.mixtures import PlainLaw
from perf_stochastic.histogram.bins import Bins, spread
from perf_stochastic.histogram.rebinning import rebin
from perfcore.stochastic import StochasticValue

Floats = npt.NDArray[np.float64]

_REACH = 6.0  # normal scores to each side: what is beyond, two in a billion, goes into the outer bins
_CELLS = 2400  # many times the bins that are of use
_NODES = 4  # of Gauss-Legendre in each cell


def bins_of(value: StochasticValue, bins: int) -> Bins:
    """At most so many bins of a distribution, placed where it bends; their means are its means there.

    An end of the support becomes an end of the bins where it is finite and not 0. Distributions of positive values come
    close to 0 and do not reach it; with 0 in a bin they would have neither quotients nor logarithms.
    """
    levels = ndtr(np.linspace(-_REACH, _REACH, _CELLS + 1))
    edges: Floats = np.asarray(value.quantile(levels), dtype=np.float64)
    levels[0], levels[-1] = 0.0, 1.0
    for end, bound in zip((0, -1), value.support, strict=True):
        if np.isfinite(bound) and bound != 0.0:
            edges[end] = bound
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    masses = np.diff(levels)
    node_levels = levels[:-1, None] + masses[:, None] * (0.5 * (nodes + 1.0))
    # In the outer cells what is beyond is included, and may pull the mean out.
    means = np.clip(np.asarray(value.quantile(node_levels)) @ (0.5 * weights), edges[:-1], edges[1:])
    law = PlainLaw(spread(Bins(edges, masses, means)), is_smooth=True)
    return Bins(*rebin(law, bins))
