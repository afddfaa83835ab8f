"""What is taken for granted before the data are seen: noise, drift, and how usual each kind of law is.

The mean of the runs at level x is ``c h(x) exp(drift(ln x) + scatter + noise)``: a law h of some family, a drift of the
slope in log-log scales away from it, scatter of the level (layout of nodes, decomposition) that repeated runs share,
and noise of the runs. All of it is relative to what is predicted, so that a law far below its data is no explanation.

- Scatter is normal with a deviation of `TAUS`; at most one level deviates by more, and by far the most where it is the
  first: one node, or one process, does without the network.
- Drift is the integral of an Ornstein-Uhlenbeck process over ln x: the slope strays by `KAPPAS` per root of ln x and
  comes back over `LENGTHS`. Without any, the law is exact.
- Beyond what was measured the slope may change at once (`changes`): a bus saturates, an algorithm is switched.
- Which kinds of laws are usual, given how much they drift, was learned on 1,600 measured series of real programs of
  nine families, leaving families out (`GROUPS`, `PRIOR`); within a block of both the prior is flat. What
  `benchmarks/learn_prior.py` learns on other sources predicts a source that was left out no better.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

TAUS = (0.003, 0.01, 0.03, 0.06, 0.12, 0.25, 0.5)
KAPPAS = (0.0, 0.06, 0.25, 1.0)
LENGTHS = (3.0, 64.0)  # in ln x

# A level deviates with this probability, by a further variance of 0.2^2 and nine times that of the scatter.
DEVIATES, DEVIATING_VARIANCE, DEVIATING_FACTOR = 0.15, 0.04, 9.0
FIRST_VARIANCE = (
    2.0  # this more if it is the first of one parameter: collectives within a node are 4 to 15 times faster
)
_MOST_DEVIATING = (
    1.2  # of all levels: where tens were measured of which one deviates at most, a further one seldom does
)

# The slope in log-log scales changes by a normal deviation with a probability that grows with the square of ln of the
# distance beyond the last level, to so much at four times it. On the sources of `benchmarks/learn_prior.py` densities
# alone ask for 0.2 to 0.3, whoever is left out; then the bounds of exact laws double at four times.
CHANGES, CHANGE_OF_SLOPE, _MOST_CHANGES = 0.125, 0.5, 0.5

_USUAL_NOISE, _FREEDOM = 0.01, 1.0  # of a run, before any: 1 %, known as well as one observation would tell

GROUPS = (
    "constant", "falling power", "rising power", "floor and falling, by the last level",
    "floor and falling, by the first level", "floor and common growth", "floor and growth of the grid",
    "floor and fine power", "falling and rising", "power with a logarithm", "floor and growth that is small yet",
)  # fmt: skip

# Rows: no drift, slow, free.
PRIOR = np.array([
    [0.1500, 0.0061, 0.0045, 0.0037, 0.0030, 0.0536, 0.0040, 0.0035, 0.0015, 0.0060, 0.0200],
    [0.0433, 0.0559, 0.0189, 0.2840, 0.0113, 0.0201, 0.0138, 0.0103, 0.0049, 0.0220, 0.0200],
    [0.0265, 0.0192, 0.0478, 0.0462, 0.0249, 0.0233, 0.0169, 0.0144, 0.0198, 0.0406, 0.0300],
])  # fmt: skip
DRIFTS_FREELY = 0.1  # from this on


class Noises(NamedTuple):
    """Combinations of scatter and drift (H)."""

    tau: Floats
    kappa: Floats
    length: Floats
    drift: Ints  # class of the drift: 0 none, 1 slow, 2 free


def _noises() -> Noises:
    rows = [(t, k, w) for t in TAUS for k in KAPPAS for w in LENGTHS if k > 0.0 or w == LENGTHS[0]]
    tau, kappa, length = np.array(rows).T
    return Noises(tau, kappa, length, np.where(kappa == 0.0, 0, np.where(kappa < DRIFTS_FREELY, 1, 2)))


NOISES = _noises()


def block_log_prior(present: npt.NDArray[np.bool_], prior: Floats = PRIOR) -> Floats:
    """Logarithm of the prior of each noise and group (H, G): that of its block, flat over the noises of its class."""
    shares = prior * present
    with np.errstate(divide="ignore"):
        blocks = np.log(shares / shares.sum())
    return np.asarray(blocks[NOISES.drift] - np.log(np.bincount(NOISES.drift))[NOISES.drift][:, None])


def run_variance(variances: Floats, counts: Floats) -> Floats:
    """Relative variance of one run of each path (K,), from those of the runs at each point and how many these are."""
    freedom = np.maximum(counts - 1.0, 0.0)
    squares = (variances * freedom).sum(axis=1) + _FREEDOM * _USUAL_NOISE**2
    return np.asarray(squares / (freedom.sum(axis=1) + _FREEDOM))


def deviating_variance(tau: Floats) -> Floats:
    """Further variance of a level that deviates, for each scatter."""
    return np.asarray(DEVIATING_VARIANCE + DEVIATING_FACTOR * tau**2)


def deviating_variances(tau: Floats, n_parameters: int) -> Floats:
    """Further variance of a level that deviates, for each scatter (H, 2): of the first level, and of any other."""
    usual = deviating_variance(tau)
    return np.stack([usual + (FIRST_VARIANCE if n_parameters == 1 else 0.0), usual], axis=-1)


def changes(lowest: Floats, highest: Floats, places: Floats) -> tuple[Floats, Floats]:
    """Probability that the slope changed on the way to points, and the deviation of the logarithm there if it did."""
    log_ratio = np.log(np.maximum(places / highest[:, None], lowest[:, None] / places)).max(axis=2)
    distance = np.maximum(log_ratio, 0.0)
    return np.minimum(CHANGES * (distance / math.log(4.0)) ** 2, _MOST_CHANGES), CHANGE_OF_SLOPE * distance


def settings() -> Floats:
    """Scatter, drift and its length of all noises (H, 3)."""
    return np.stack([NOISES.tau, NOISES.kappa, NOISES.length], axis=1)


def deviating_rate(count: Ints) -> Floats:
    """Probability that a further level deviates, where so many were measured."""
    return np.minimum(DEVIATES, _MOST_DEVIATING / np.maximum(count, 1))
