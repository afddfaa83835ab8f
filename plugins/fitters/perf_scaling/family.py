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

import functools
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perf_scaling.options import Given
from perf_scaling.terms import Factor, function_slope, product_values
from perfcore.base.arrays import Booleans, Floats, Ints

TAUS = (0.003, 0.01, 0.03, 0.06, 0.12, 0.25, 0.5)
KAPPAS = (0.0, 0.06, 0.25, 1.0)
LENGTHS = (3.0, 64.0)  # in ln x

# A level deviates with this probability, by a further variance of 0.2^2 and nine times that of the scatter.
DEVIATES, DEVIATING_VARIANCE, DEVIATING_FACTOR = 0.15, 0.04, 9.0
# This more if it is the first of one parameter: collectives within a node are 4 to 15 times faster.
FIRST_VARIANCE = 2.0
# Of all levels: where tens were measured of which one deviates at most, a further one seldom does.
_MOST_DEVIATING = 1.2

# The slope in log-log scales changes by a normal deviation with a probability that grows with the square of ln of the
# distance beyond the last level, to so much at four times it. On the sources of `benchmarks/learn_prior.py` densities
# alone ask for 0.2 to 0.3, whoever is left out; then the bounds of exact laws double at four times.
CHANGES, CHANGE_OF_SLOPE, _MOST_CHANGES = 0.125, 0.5, 0.5
WEAK_CHANGES = 0.25  # of that where the problem grows with the processors, so that each has the same work

# How much narrower than the posterior intervals of real series are, by the logarithm d of the distance: by exp of
# INNER[0] + INNER[1] d at the median, and of OUTER (d - ln 2) at the ends. A slope that only the last step supports, by
# more than OTHER_SLOPE beyond all before, is followed up to twice the last level and no farther. Tuned on the sources
# of `benchmarks/real_extrapolation.py`, each judged with what all others ask for.
INNER, OUTER, _NEAREST, _FARTHEST = (-0.3, 0.25), -0.1, 0.3, math.log(4.0)
OTHER_SLOPE = 0.25

# A law that misses the last two levels on the same side, the last by at least TURNS, goes on from the last level, with
# twice what it missed as a further deviation of its 95 % interval: in one of 13 series another behaviour begins so.
# Far from the data, from FAR_FROM on and fully at FAR_AT, widths of intervals of real series differ less than those of
# the posterior: what exceeds a factor of e either way (at FAR_AT), and is not of noise, counts by a power of 1 - ALIKE,
# and what is below is widened likewise, by MOST_WIDER at most. That is where it is several of the last step: fully at 1
# and STEPS of them.
TURNS = 0.05
FAR_FROM, FAR_AT, ALIKE, STEPS, MOST_WIDER, BY_NOISE = math.log(2.0), math.log(4.0), 0.5, 0.75, 1.2, 20.0

# Laws of series that are known to many digits: a constant or what falls, and another term; how much narrower intervals
# beyond such are, so that those of exact laws are within 10 % at four times the data.
EXACT_WIDTH = 0.06
_EXACT_EXPONENTS = (0.25, 1 / 3, 0.5, 2 / 3, 0.75, 0.8, 1.0, 1.25, 4 / 3, 1.5, 5 / 3, 2.0, 2.5, 3.0)
EXACT_TERMS = ((0.0, 0), *((-e, 0) for e in _EXACT_EXPONENTS), *((e, 0) for e in _EXACT_EXPONENTS),
               *((e, j) for e in (0.0, 0.5, 1.0, 2.0) for j in (1, 2)))  # fmt: skip
EXACT_LAWS = tuple(
    (one, other)
    for one, (exponent, _) in enumerate(EXACT_TERMS)
    for other, (further, logarithm) in enumerate(EXACT_TERMS)
    if (exponent == 0.0 and one == 0 < other)
    or (exponent < 0.0 and (further > 0.0 or (further, logarithm) == (0.0, 1)))
)

USUAL_NOISE, _FREEDOM = 0.01, 1.0  # of a run, before any: 1 %, known as well as one observation would tell

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
_POWERS = ("1/4", "1/3", "1/2", "2/3", "3/4", "4/5", "1", "5/4", "4/3", "3/2", "5/3", "7/4", "2", "9/4", "7/3", "5/2",
           "8/3", "11/4", "3")  # fmt: skip
_ONE_LOG = ("0", "1/4", "1/3", "1/2", "2/3", "3/4", "1", "5/4", "4/3", "3/2", "2", "5/2", "3")
_TWO_LOGS = ("0", "1/4", "1/3", "1/2", "2/3", "3/4", "1", "3/2", "2", "5/2")
_GRID = tuple((float(Fraction(i)), j) for j, own in enumerate((_POWERS, _ONE_LOG, _TWO_LOGS)) for i in own)
_COMMON = frozenset([(0.0, 1), (0.0, 2), (0.5, 0), (1.0, 0), (1.0, 1), (1.5, 0), (2.0, 0), (2.0, 1), (3.0, 0)])
_FALLING = tuple(float(Fraction(i)) for i in ("1/4", "1/3", "1/2", "2/3", "3/4", "1", "3/2", "2"))
_FALLING_BESIDE_FLOOR = (*(float(Fraction(i)) for i in ("1/4", "1/3", "1/2", "2/3", "3/4", "1")), 1.25, 1.5, 2.0)
_FALLING_BESIDE_RISING = (0.5, 2 / 3, 1.0)
_RISING_BESIDE_FALLING = ((0.0, 1), (0.5, 0), (1.0, 0), (1.0, 1), (1.5, 0), (2.0, 0))
_USUAL_FALLS = (0.5, 1.0)
_SMALL_SHARES = ((0.08, 2.0), (0.04, 1.0), (0.02, 1.0), (0.01, 1.0), (0.005, 1.0))  # of a term at the last level
FAR = 4.0  # times the last level: where what shapes predict is put in order
# Group, weight, kind, exponent, logarithm, share; exponent and logarithm of the second term. A logarithm of -1, -2 ...
# is the first of the functions that a user names, the second ..., and the exponent its slope.
_Row = tuple[int, float, str, float, int, float, float, int]


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


def block_log_prior(present: Booleans, prior: Floats = PRIOR) -> Floats:
    """Return the logarithm of the prior of each noise and group (H, G): of its block, flat within its class."""
    shares = prior * present
    with np.errstate(divide="ignore"):
        blocks = np.log(shares / shares.sum())
    return np.asarray(blocks[NOISES.drift] - np.log(np.bincount(NOISES.drift))[NOISES.drift][:, None])


def run_variance(variances: Floats, counts: Floats) -> Floats:
    """Return the relative variance of one run of each path (K,), from those of the runs at each point."""
    freedom = np.maximum(counts - 1.0, 0.0)
    squares = (variances * freedom).sum(axis=1) + _FREEDOM * USUAL_NOISE**2
    return np.asarray(squares / (freedom.sum(axis=1) + _FREEDOM))


def deviating_variance(tau: Floats) -> Floats:
    """Return the further variance of a level that deviates, for each scatter."""
    return np.asarray(DEVIATING_VARIANCE + DEVIATING_FACTOR * tau**2)


def deviating_variances(tau: Floats, n_parameters: int) -> Floats:
    """Return the further variance of a level that deviates, by scatter (H, 2): the first, and any other."""
    usual = deviating_variance(tau)
    return np.stack([usual + (FIRST_VARIANCE if n_parameters == 1 else 0.0), usual], axis=-1)


def changes(lowest: Floats, highest: Floats, places: Floats) -> tuple[Floats, Floats]:
    """Return the probability that the slope changed on the way to points, and the deviation if it did."""
    distance = beyond(lowest, highest, places)
    return np.minimum(CHANGES * (distance / math.log(4.0)) ** 2, _MOST_CHANGES), CHANGE_OF_SLOPE * distance


def beyond(lowest: Floats, highest: Floats, places: Floats) -> Floats:
    """Return how far points (T, q) lie outside of what was measured of K paths, as a logarithm (K, T)."""
    log_ratio = np.log(np.maximum(places / highest[:, None], lowest[:, None] / places)).max(axis=2)
    return np.asarray(np.maximum(log_ratio, 0.0))


def spread_factor(distance: Floats, levels: Floats) -> Floats:
    """Factor of the distance of quantiles from the median: real errors are more sharply peaked near the data, and have
    shorter tails far from them.
    """
    d = np.minimum(distance, _FARTHEST)
    tail = np.minimum(np.square((2.0 * levels - 1.0) / 0.95), 1.0)
    inner = np.minimum(d / _NEAREST, 1.0) * (INNER[0] + INNER[1] * d)
    return np.asarray(np.exp(inner * (1.0 - tail) + OUTER * np.maximum(d - math.log(2.0), 0.0) * tail))


def settings() -> Floats:
    """Return scatter, drift and its length of all noises (H, 3)."""
    return np.stack([NOISES.tau, NOISES.kappa, NOISES.length], axis=1)


def deviating_rate(count: Ints) -> Floats:
    """Return the probability that a further level deviates, if so many were measured."""
    return np.minimum(DEVIATES, _MOST_DEVIATING / np.maximum(count, 1))


class Shapes(NamedTuple):
    """Laws of one parameter up to a factor, ``a n^i log2(n)^j + b n^k log2(n)^l``; S of them."""

    group: Ints  # one of `GROUPS`
    log_weight: Floats  # of the prior within the group
    coefficients: Floats  # >= 0
    exponents: Floats
    logarithms: Ints
    logs: Floats  # logarithm of each at the levels, and far beyond the last
    functions: tuple[Factor, ...]  # that logarithms below 0 stand for


def shapes_of(levels: npt.ArrayLike, given: Given | None = None) -> Shapes:
    """Return the shapes that can be told at some levels, of the terms that a user names if there are such."""
    x = np.asarray(levels, dtype=np.float64)
    symbol, names = (given.symbol, given.functions) if given else ("", ())
    functions = tuple(Factor(symbol, function_slope(name, symbol, float(x[-1])), 0, name) for name in names)
    terms = [(factor.exponent, -1 - number) for number, factor in enumerate(functions)]
    group, weight, kind, i, j, share, second, second_j = _table(
        None if given is None else (*given.terms(("0", *_POWERS, *(f"-{word}" for word in _POWERS))), *terms)
    )
    at_levels = {level: [float(product_values((f,), {f.symbol: np.array([level])})[0]) for f in functions]
                 for level in (*x, FAR * x[-1])}  # fmt: skip

    def terms_at(level: Any, i: Floats, j: Ints) -> Floats:
        values = np.power(level, i) * np.where(j > 0, np.log2(level) ** np.maximum(j, 0), 1.0)
        for number in range(len(functions)):
            own = j == -1 - number
            at = np.broadcast_to(level, j.shape)[own]
            values[own] = [at_levels[one][number] for one in at.tolist()]
        return np.asarray(values)

    a, b = np.ones(len(group)), share.copy()
    first_power, first_log = np.where(kind == "p", i, 0.0), np.where(kind == "p", j, 0)
    second_power, second_log = np.where(kind == "p", 0.0, i), np.where(kind == "p", 0, j)
    first_log = np.where(kind == "two", second_j, first_log)
    with np.errstate(all="ignore"):
        two = kind == "two"
        reference = np.where(kind == "first", x[0], x[-1])
        a = np.where((kind == "p") | (kind == "c"), 1.0, 1.0 - share)
        a = np.where(two, (1.0 - share) / terms_at(x[-1], second, second_j), a)
        b = np.where((kind == "p") | (kind == "c"), 0.0, share / terms_at(reference, i, j))
        first_power = np.where(two, second, first_power)
        rows = [
            np.log(
                a * terms_at(level, first_power, first_log)
                + np.where(b > 0.0, b * terms_at(level, second_power, second_log), 0.0)
            )
            for level in (*x, FAR * x[-1])
        ]
    logs = np.array(rows).T
    usable = np.isfinite(logs).all(axis=1) & (a > 0.0) & np.isfinite(b)
    if x[0] < 1.0:  # logarithms are negative there
        usable &= (first_log <= 0) & (second_log <= 0)
    chosen = np.flatnonzero(usable)
    sums = np.bincount(group[chosen], weight[chosen], len(GROUPS))
    return Shapes(
        group=group[chosen],
        log_weight=np.log(weight[chosen] / sums[group[chosen]]),
        coefficients=np.stack([a, b], axis=1)[chosen],
        exponents=np.stack([first_power, second_power], axis=1)[chosen],
        logarithms=np.stack([first_log, second_log], axis=1)[chosen],
        logs=logs[chosen],
        functions=functions,
    )


@functools.lru_cache(maxsize=8)
def _table(terms: tuple[tuple[float, int], ...] | None) -> tuple[npt.NDArray[Any], ...]:
    rows = _free_rows() if terms is None else _given_rows(terms)
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def _free_rows() -> list[_Row]:
    rows: list[_Row] = [(0, 1.0, "c", 0.0, 0, 0.0, 0.0, 0)]
    rows += [(1, 1.0, "p", s, 0, 0.0, 0.0, 0) for s in np.round(np.arange(-30, 0) * 0.1, 2).tolist()]
    rows += [(1, 3.0 if s in _USUAL_FALLS else 1.0, "p", -s, 0, 0.0, 0.0, 0) for s in _FALLING]
    rows += [(2, 1.0, "p", s, 0, 0.0, 0.0, 0) for s in np.round(np.arange(1, 36) * 0.1, 2).tolist()]
    rows += [(2, 4.0 if (i, j) in _COMMON else 1.0, "p", i, 0, 0.0, 0.0, 0) for i, j in _GRID if j == 0]
    rows += _falling_to_floor([(a, 0) for a in _FALLING_BESIDE_FLOOR])
    rows += [(5, w, "last", i, j, u, 0.0, 0) for i, j in _GRID if (i, j) in _COMMON for u, w in _shares()]
    rows += [(6, w, "last", i, j, u, 0.0, 0) for i, j in _GRID for u, w in _shares()]
    fine = np.round(np.arange(1, 16) * 0.2, 2).tolist()
    rows += [(7, w, "last", i, j, u, 0.0, 0) for i in fine for j in (0, 1) for u, w in _shares()]
    rows += _falling_and_rising([(a, 0) for a in _FALLING_BESIDE_RISING], _RISING_BESIDE_FALLING)
    rows += [(9, 3.0 if (i, j) in _COMMON else 1.0, "p", i, j, 0.0, 0.0, 0) for i, j in _GRID if j > 0]
    rows += [(10, w, "last", i, j, u, 0.0, 0) for i, j in _GRID if (i, j) in _COMMON for u, w in _SMALL_SHARES]
    return rows


def _given_rows(terms: Sequence[tuple[float, int]]) -> list[_Row]:
    """Return shapes of the terms that a user names, and no others."""
    falling, rising = ([(i, j) for i, j in terms if (i < 0.0) == falls] for falls in (True, False))
    rows: list[_Row] = [(0, 1.0, "c", 0.0, 0, 0.0, 0.0, 0)]
    rows += [(1, 1.0, "p", i, j, 0.0, 0.0, 0) for i, j in falling]
    rows += [(9 if j > 0 else 2, 1.0, "p", i, j, 0.0, 0.0, 0) for i, j in rising]
    rows += _falling_to_floor([(-i, j) for i, j in falling if j <= 0])
    rows += [(5, w, "last", i, j, u, 0.0, 0) for i, j in rising for u, w in _shares()]
    rows += _falling_and_rising([(-i, j) for i, j in falling if j <= 0], rising)
    rows += [(10, w, "last", i, j, u, 0.0, 0) for i, j in rising for u, w in _SMALL_SHARES]
    return rows


def _falling_to_floor(terms: Sequence[tuple[float, int]]) -> list[_Row]:
    return [
        (group, 3.0 if a in _USUAL_FALLS else 1.0, kind, -a, j, u, 0.0, 0)
        for group, kind in ((3, "last"), (4, "first"))
        for a, j in terms
        for u in ((np.arange(8) + 0.5) / 8).tolist()
    ]


def _falling_and_rising(falling: Sequence[tuple[float, int]], rising: Sequence[tuple[float, int]]) -> list[_Row]:
    shares = ((np.arange(6) + 0.5) / 6).tolist()
    return [(8, 1.0, "two", i, j, u, -a, k) for (a, k), (i, j), u in itertools.product(falling, rising, shares)]


@functools.cache
def _shares() -> list[tuple[float, float]]:
    """Return shares of a growing term at the last level, and weights: the rest, the floor, is log-uniform."""
    floor_shares = np.geomspace(0.01, 0.98, 17)
    return list(
        zip((1.0 - np.sqrt(floor_shares[1:] * floor_shares[:-1])).tolist(), np.diff(floor_shares).tolist(), strict=True)
    )
