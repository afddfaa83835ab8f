"""The laws of one parameter that are considered, as shapes: a law up to a factor.

Beside powers and powers with a logarithm these are sums of a floor and a term, and of a falling and a rising one, with
shares on a grid: of the term at the last measured level, or at the first for terms that fall.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perf_scaling.posterior.prior import GROUPS

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

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

_Row = tuple[int, float, str, float, int, float, float]  # group, weight, kind, exponent, logarithm, share, second


class Shapes(NamedTuple):
    """Laws of one parameter up to a factor, ``a n^i log2(n)^j + b n^k log2(n)^l``; S of them."""

    group: Ints  # one of `GROUPS`
    log_weight: Floats  # of the prior within the group
    coefficients: Floats  # >= 0
    exponents: Floats
    logarithms: Ints
    logs: Floats  # logarithm of each at the levels, and far beyond the last


def shapes_of(
    levels: npt.ArrayLike, exponents: Sequence[str] | None = None, logarithms: Sequence[int] | None = None
) -> Shapes:
    """The shapes that can be told at some levels."""
    x = np.asarray(levels, dtype=np.float64)
    allowed = None if exponents is None and logarithms is None else (tuple(exponents or ()), tuple(logarithms or ()))
    group, weight, kind, i, j, share, second = _table(allowed)
    a, b = np.ones(len(group)), share.copy()
    first_power, first_log = np.where(kind == "p", i, 0.0), np.where(kind == "p", j, 0)
    second_power, second_log = np.where(kind == "p", 0.0, i), np.where(kind == "p", 0, j)
    with np.errstate(all="ignore"):
        two = kind == "two"
        reference = np.where(kind == "first", x[0], x[-1])
        a = np.where((kind == "p") | (kind == "c"), 1.0, 1.0 - share)
        a = np.where(two, (1.0 - share) * x[-1] ** -second, a)
        b = np.where((kind == "p") | (kind == "c"), 0.0, share / _terms(reference, i, j))
        first_power = np.where(two, second, first_power)
        rows = [
            np.log(
                a * _terms(level, first_power, first_log)
                + np.where(b > 0.0, b * _terms(level, second_power, second_log), 0.0)
            )
            for level in (*x, FAR * x[-1])
        ]
    logs = np.array(rows).T
    usable = np.isfinite(logs).all(axis=1) & (a > 0.0) & np.isfinite(b)
    if x[0] < 1.0:  # logarithms are negative there
        usable &= (first_log == 0) & (second_log == 0)
    chosen = np.flatnonzero(usable)
    sums = np.bincount(group[chosen], weight[chosen], len(GROUPS))
    return Shapes(
        group=group[chosen],
        log_weight=np.log(weight[chosen] / sums[group[chosen]]),
        coefficients=np.stack([a, b], axis=1)[chosen],
        exponents=np.stack([first_power, second_power], axis=1)[chosen],
        logarithms=np.stack([first_log, second_log], axis=1)[chosen],
        logs=logs[chosen],
    )


def _terms(x: npt.ArrayLike, i: Floats, j: Ints) -> Floats:
    """Generic terms at one level each."""
    return np.asarray(np.power(x, i) * np.where(j > 0, np.log2(x) ** j, 1.0))


@functools.lru_cache(maxsize=8)
def _table(allowed: tuple[tuple[str, ...], tuple[int, ...]] | None) -> tuple[npt.NDArray[Any], ...]:
    """Columns of all shapes."""
    rows = _free_rows() if allowed is None else _given_rows(*allowed)
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def _free_rows() -> list[_Row]:
    rows: list[_Row] = [(0, 1.0, "c", 0.0, 0, 0.0, 0.0)]
    rows += [(1, 1.0, "p", s, 0, 0.0, 0.0) for s in np.round(np.arange(-30, 0) * 0.1, 2).tolist()]
    rows += [(1, 3.0 if s in _USUAL_FALLS else 1.0, "p", -s, 0, 0.0, 0.0) for s in _FALLING]
    rows += [(2, 1.0, "p", s, 0, 0.0, 0.0) for s in np.round(np.arange(1, 36) * 0.1, 2).tolist()]
    rows += [(2, 4.0 if (i, j) in _COMMON else 1.0, "p", i, 0, 0.0, 0.0) for i, j in _GRID if j == 0]
    rows += _falling_to_floor(_FALLING_BESIDE_FLOOR)
    rows += [(5, w, "last", i, j, u, 0.0) for i, j in _GRID if (i, j) in _COMMON for u, w in _shares()]
    rows += [(6, w, "last", i, j, u, 0.0) for i, j in _GRID for u, w in _shares()]
    fine = np.round(np.arange(1, 16) * 0.2, 2).tolist()
    rows += [(7, w, "last", i, j, u, 0.0) for i in fine for j in (0, 1) for u, w in _shares()]
    rows += _falling_and_rising(_FALLING_BESIDE_RISING, _RISING_BESIDE_FALLING)
    rows += [(9, 3.0 if (i, j) in _COMMON else 1.0, "p", i, j, 0.0, 0.0) for i, j in _GRID if j > 0]
    rows += [(10, w, "last", i, j, u, 0.0) for i, j in _GRID if (i, j) in _COMMON for u, w in _SMALL_SHARES]
    return rows


def _given_rows(exponents: Sequence[str], logarithms: Sequence[int]) -> list[_Row]:
    """Shapes of the exponents that a user names, and no others."""
    powers = [float(Fraction(word)) for word in exponents or ("0", *_POWERS, *(f"-{word}" for word in _POWERS))]
    terms = [(i, j) for i in powers for j in logarithms or (0,) if i or j]
    falling, rising = ([(i, j) for i, j in terms if (i < 0.0) == falls] for falls in (True, False))
    rows: list[_Row] = [(0, 1.0, "c", 0.0, 0, 0.0, 0.0)]
    rows += [(1, 1.0, "p", i, j, 0.0, 0.0) for i, j in falling]
    rows += [(2 if j == 0 else 9, 1.0, "p", i, j, 0.0, 0.0) for i, j in rising]
    rows += _falling_to_floor([-i for i, j in falling if j == 0])
    rows += [(5, w, "last", i, j, u, 0.0) for i, j in rising for u, w in _shares()]
    rows += _falling_and_rising([-i for i, j in falling if j == 0], rising)
    rows += [(10, w, "last", i, j, u, 0.0) for i, j in rising for u, w in _SMALL_SHARES]
    return rows


def _falling_to_floor(exponents: Sequence[float]) -> list[_Row]:
    return [
        (group, 3.0 if a in _USUAL_FALLS else 1.0, kind, -a, 0, u, 0.0)
        for group, kind in ((3, "last"), (4, "first"))
        for a in exponents
        for u in ((np.arange(8) + 0.5) / 8).tolist()
    ]


def _falling_and_rising(falling: Sequence[float], rising: Sequence[tuple[float, int]]) -> list[_Row]:
    shares = ((np.arange(6) + 0.5) / 6).tolist()
    return [(8, 1.0, "two", i, j, u, -a) for a, (i, j), u in itertools.product(falling, rising, shares)]


@functools.cache
def _shares() -> list[tuple[float, float]]:
    """Shares of a growing term at the last level, and weights: what is left for the floor is log-uniform."""
    floor_shares = np.geomspace(0.01, 0.98, 17)
    return list(
        zip((1.0 - np.sqrt(floor_shares[1:] * floor_shares[:-1])).tolist(), np.diff(floor_shares).tolist(), strict=True)
    )
