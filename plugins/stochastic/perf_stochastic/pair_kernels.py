"""Compiled sums over pairs of a knot and a place, for histograms of many bins; `laws` and `products` say what they are.

For each place the knots of Y fall into three stretches. Those that leave X beyond its last knot, or before its first,
add polynomials, whose sums go along from place to place. For those between, the piece of X is found by a guide: even
steps over the knots of X, each with the number of knots up to it. From there a few steps forward are left, where a
binary search would wait for as many branches as the number of knots has bits. What a pair needs of a piece lies in one
row, which is one line of the processor's cache; unsigned places spare a check for negative ones.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perf_stochastic.piecewise_uniform import PiecewiseUniform, log_or_zero
from perfcore.base.arrays import Floats
from perfcore.base.kernels import announce_compilation, kernel

Places = npt.NDArray[np.uint32]

_THIRD = 1.0 / 3.0
_ROW = 8  # numbers of 8 bytes: a line of the cache
_STEPS_PER_KNOT = 16
_MORE = 4  # times as many steps, where many knots share one
_MOST_IN_STEP = 16.0  # knots that share the step of one, in the mean
_MOST_STEPS = 2**17
_SMALL = 0.02  # up to which what the series of the logarithm leaves out, with the tenth power, is below rounding


@kernel
def _sum(
    z: Floats, knots: Floats, jumps: Floats, ends: Floats, rows: Floats, guide: Places, cdf: Floats, integral: Floats
) -> None:
    first, last, scale = ends[0], ends[-2], (len(guide) - 1) / (ends[-2] - ends[0])
    total_row = rows[len(rows) - 1]
    # Of the knots that a place is beyond by all of X: the jumps, times the distance, times half of its square.
    reached, level, slope, area = knots[0], 0.0, 0.0, 0.0
    beyond = inside = 0
    for n in range(len(z)):
        while beyond < len(knots) and z[n] - knots[beyond] >= last:
            step = knots[beyond] - reached
            area += step * (level + 0.5 * step * slope)
            level += step * slope
            slope += jumps[beyond]
            reached = knots[beyond]
            beyond += 1
        while inside < len(knots) and z[n] - knots[inside] > first:
            inside += 1
        step = z[n] - last - reached
        level_here = level + step * slope
        mass = total_row[3] * slope + level_here
        total = total_row[4] * slope + total_row[3] * level_here + area + step * (level + 0.5 * step * slope)
        for k in range(beyond, inside):
            t = z[n] - knots[k]
            j = guide[np.uint32((t - first) * scale)]
            j += np.uint32(ends[j] <= t)
            while ends[j] <= t:
                j += np.uint32(1)
            row = rows[j]
            ahead = t - row[0]
            rise = 0.5 * ahead * row[2]
            mass += jumps[k] * (row[3] + ahead * (row[1] + rise))
            total += jumps[k] * (row[4] + ahead * (row[3] + ahead * (0.5 * row[1] + rise * _THIRD)))
        cdf[n] = mass
        integral[n] = total


@kernel
def _series(ratio: float) -> float:
    """Of log(r/t), for (r - t)/(r + t)."""
    square = ratio * ratio
    return ratio * (2.0 + square * (2 / 3 + square * (2 / 5 + square * (2 / 7 + square * (2 / 9)))))


@kernel
def _over_s(ahead: float, start: float, inverse: float, log: float) -> tuple[float, float, float]:
    """The integrals of 1, s - l and (s - l)^2, each over s, from l as far ahead as given; ``log`` is the first."""
    square, share = 0.5 * ahead * ahead, ahead * inverse
    if share < _SMALL:
        series = 1 / 10
        for n in (9, 8, 7, 6, 5, 4, 3):
            series = 1 / n - share * series
        third = 2.0 * square * share * series
        second = (square - third) * inverse
        return (ahead - second) * inverse, second, third
    second = ahead - start * log
    return log, second, square - start * second


@kernel
def _product(
    z: Floats, knots: Floats, jumps: Floats, ends: Floats, rows: Floats, guide: Places, cdf: Floats, integral: Floats
) -> None:
    # As if all were parts of the largest: logarithms of what matters are then small, and differ by little rounding.
    z_logs, y_logs = np.log(z / (ends[-2] * knots[-1])), np.log(knots / knots[-1])
    inverse_knots, weights = 1.0 / knots, -jumps * knots
    squares = weights * knots
    first, last, scale = ends[0], ends[-2], (len(guide) - 1) / (ends[-2] - ends[0])
    mean_of_all, inverse_of_all = rows[len(rows) - 1, 3], rows[0, 4]
    pieces = np.empty(len(knots), np.uint32)
    ahead_of_all = jumps.sum()
    first_moment = second_moment = 0.0
    beyond = inside = 0
    for n in range(len(z)):
        while beyond < len(knots) and z[n] * inverse_knots[beyond] >= last:
            first_moment += weights[beyond]
            second_moment += squares[beyond]
            beyond += 1
        while inside < len(knots) and z[n] * inverse_knots[inside] > first:
            ahead_of_all -= jumps[inside]
            inside += 1
        starts, means = first_moment, mean_of_all * second_moment
        inverses = ahead_of_all * inverse_of_all if inside < len(knots) else 0.0
        for k in range(beyond, inside):
            t = z[n] * inverse_knots[k]
            j = guide[np.uint32((t - first) * scale)]
            j += np.uint32(ends[j] <= t)
            while ends[j] <= t:
                j += np.uint32(1)
            pieces[k] = j
        for k in range(beyond, inside):  # apart from the search, whose wrong guesses would throw away what is begun
            row = rows[pieces[k]]
            t = z[n] * inverse_knots[k]
            behind, both = row[0] - t, row[0] + t
            rise = row[2] * behind
            starts += weights[k] * (row[1] - rise)
            means += squares[k] * (row[3] - 0.5 * rise * both)
            ratio = behind / both
            log = _series(ratio) if ratio < _SMALL else row[5] - (z_logs[n] - y_logs[k])
            inverses += jumps[k] * (row[4] + row[2] * log)
        inverses *= -z[n]
        cdf[n] = starts + inverses
        integral[n] = z[n] * (starts + 0.5 * inverses) - 0.5 * means


@kernel
def _quotient(
    z: Floats, knots: Floats, jumps: Floats, ends: Floats, rows: Floats, guide: Places, cdf: Floats, integral: Floats
) -> None:
    # As if all were parts of the largest, as for products. The knots of Y fall.
    z_logs, y_logs = np.log(z * (knots[0] / ends[-2])), np.log(knots / knots[0])
    weights, log_weights = jumps * knots, jumps * y_logs
    first, last, scale = ends[0], ends[-2], (len(guide) - 1) / (ends[-2] - ends[0])
    for j in range(1, len(rows)):
        before, ahead = rows[j - 1], rows[j, 0] - rows[j - 1, 0]
        log, second, third = _over_s(ahead, before[0], before[5], rows[j, 6] - before[6])
        rows[j, 4] = before[4] + log * before[1] + second * before[2] + 0.5 * third * before[3]
    whole = rows[len(rows) - 1]
    mean_of_all = last - whole[1]
    step_of = np.empty(len(knots), np.uint32)
    sum_of_jumps = sum_of_weights = sum_of_logs = 0.0
    beyond = inside = 0
    for n in range(len(z)):
        while beyond < len(knots) and z[n] * knots[beyond] >= last:
            sum_of_jumps += jumps[beyond]
            sum_of_weights += weights[beyond]
            sum_of_logs += log_weights[beyond]
            beyond += 1
        while inside < len(knots) and z[n] * knots[inside] > first:
            inside += 1
        ahead_of_all = z[n] * sum_of_weights - last * sum_of_jumps
        mass = whole[1] * sum_of_jumps + ahead_of_all
        total = whole[4] * sum_of_jumps + ahead_of_all - mean_of_all * (z_logs[n] * sum_of_jumps + sum_of_logs)
        for k in range(beyond, inside):
            t = z[n] * knots[k]
            j = guide[np.uint32((t - first) * scale)]
            j += np.uint32(ends[j] <= t)
            while ends[j] <= t:
                j += np.uint32(1)
            step_of[k] = j
        for k in range(beyond, inside):  # apart from the search, whose wrong guesses would throw away what is begun
            row = rows[step_of[k]]
            ahead = z[n] * knots[k] - row[0]
            square = 0.5 * ahead * ahead
            log, second, third = _over_s(ahead, row[0], row[5], z_logs[n] + y_logs[k] - row[6])
            mass += jumps[k] * (row[1] + ahead * row[2] + square * row[3])
            total += jumps[k] * (row[4] + log * row[1] + second * row[2] + 0.5 * third * row[3])
        cdf[n] = -mass / z[n]
        integral[n] = -total


def _guide(knots: Floats) -> Places:
    """The number of knots before each of even steps over them, as many as keep these apart."""
    steps = _STEPS_PER_KNOT * len(knots)
    while True:
        # As the kernels find the step of a place, so that none is taken for one beyond it.
        step_of = ((knots - knots[0]) * (steps / (knots[-1] - knots[0]))).astype(np.intp)
        in_step = np.bincount(step_of, minlength=steps + 1)
        if steps * _MORE > _MOST_STEPS or in_step @ in_step <= _MOST_IN_STEP * len(knots):
            return np.concatenate([[0], np.cumsum(in_step[:-1])]).astype(np.uint32)
        steps *= _MORE


def _summed(
    compiled: object, x: PiecewiseUniform, columns: Floats, z: Floats, knots: Floats, jumps: Floats
) -> tuple[Floats, Floats]:
    announce_compilation(_sum, _product, _quotient)
    sums = np.empty((2, len(z)))
    ends = np.append(x.knots, np.inf)
    rows = np.zeros((columns.shape[1], _ROW))
    rows[:, : len(columns)] = columns.T
    compiled(z, knots, jumps, ends, rows, _guide(x.knots), sums[0], sums[1])  # type: ignore[operator]
    return sums[0], sums[1]


def sum_pairs(x: PiecewiseUniform, z: Floats, knots: Floats, jumps: Floats) -> tuple[Floats, Floats]:
    """What `SumLaw.of_knots` gives."""
    return _summed(_sum, x, np.vstack([x.table, x.second]), z, knots, jumps)


def product_pairs(
    x: PiecewiseUniform, columns: tuple[Floats, ...], z: Floats, knots: Floats, jumps: Floats
) -> tuple[Floats, Floats]:
    """What `ProductLaw.of_knots` gives, for places and knots above 0."""
    left, start, slope, right, mean, inverse = columns
    rise = slope * (right - left)
    rows = [right, start + rise, slope, mean + 0.5 * rise * (right + left), inverse, log_or_zero(right / x.knots[-1])]
    return _summed(_product, x, np.vstack(rows), z, knots, jumps)


def quotient_pairs(x: PiecewiseUniform, z: Floats, knots: Floats, jumps: Floats) -> tuple[Floats, Floats]:
    """What `QuotientLaw.of_knots` gives, for places and knots above 0."""
    left, start, slope, integral = x.table
    inverse = np.divide(1.0, left, out=np.full(len(left), np.inf), where=left > 0.0)
    rows = [left, integral, start, slope, np.zeros(len(left)), inverse, log_or_zero(left / x.knots[-1])]
    return _summed(_quotient, x, np.vstack(rows), z, knots[::-1].copy(), jumps[::-1].copy())
