"""How much the mean of many neighbouring cells varies: the noise that a phase's gain is measured against.

Cells of a utilization curve are not independent, since a processor stays busy for a while. The long-run variance of a
cell is n times the variance of the mean of n cells, for large n. Four estimates fail in different ways; the rule takes
several (`perf_worley.choice.number_of_phases`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perfcore.base.kernels import kernel

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_LAGS = 24  # longest autoregression
_BLOCKS = 32


@kernel
def residuals(values, breaks, degrees, errors):  # type: ignore[no-untyped-def]
    """Fill ``errors``: values (n,) minus the best polynomial of each phase."""
    for k in range(degrees.shape[0]):
        a, b = breaks[k], breaks[k + 1]
        n = b - a
        mean = 0.0
        for i in range(a, b):
            mean += values[i]
        mean /= n
        for i in range(a, b):
            errors[i] = values[i] - mean
        degree = min(degrees[k], n - 1)
        if degree >= 1:
            slope = norm = 0.0
            for i in range(a, b):
                x = i - a - 0.5 * (n - 1)
                slope += errors[i] * x
                norm += x * x
            for i in range(a, b):
                errors[i] -= slope / norm * (i - a - 0.5 * (n - 1))
        if degree >= 2:
            level = (n * n - 1) / 12.0  # mean of x^2
            bend = norm = 0.0
            for i in range(a, b):
                x = i - a - 0.5 * (n - 1)
                bend += errors[i] * (x * x - level)
                norm += (x * x - level) ** 2
            for i in range(a, b):
                x = i - a - 0.5 * (n - 1)
                errors[i] -= bend / norm * (x * x - level)
        if degree >= 3:
            power = (3.0 * n * n - 7.0) / 20.0  # of x^3 along x
            bend = norm = 0.0
            for i in range(a, b):
                x = i - a - 0.5 * (n - 1)
                bend += errors[i] * x * (x * x - power)
                norm += (x * (x * x - power)) ** 2
            for i in range(a, b):
                x = i - a - 0.5 * (n - 1)
                errors[i] -= bend / norm * x * (x * x - power)


@kernel
def first_order(errors, n_phases, degree, width):  # type: ignore[no-untyped-def]
    """Of residuals (n,), by an autoregression of first order of means of ``width`` cells.

    The correlation is corrected for what fitting takes from it, phase by phase: M. G. Kendall, "Note on Bias in the
    Estimation of Autocorrelation", Biometrika 41 (1954).
    """
    n = errors.shape[0] // width
    squares = products = before = 0.0
    for i in range(n):
        mean = 0.0
        for k in range(i * width, (i + 1) * width):
            mean += errors[k]
        mean /= width
        squares += mean * mean
        if i:
            products += mean * before
        before = mean
    variance = squares / max(n - (degree + 1) * n_phases, 1)
    correlation = products / max(squares, 1e-300)
    correlation += (1.0 + 3.0 * correlation) / n * n_phases
    correlation = min(max(correlation, -0.5), 0.97)
    return width * variance * (1.0 + correlation) / (1.0 - correlation)


@kernel
def autoregressive(errors, breaks, degree):  # type: ignore[no-untyped-def]
    """Of residuals (n,), by Yule and Walker's autoregression of the order that Schwarz' criterion chooses, up to 24.

    Products of cells on both sides of a break do not count.
    """
    n = errors.shape[0]
    n_phases = breaks.shape[0] - 1
    most = min(_LAGS, max(1, n // 12))
    covariance = np.zeros(most + 1)
    for k in range(n_phases):
        for lag in range(most + 1):
            total = 0.0
            for i in range(breaks[k] + lag, breaks[k + 1]):
                total += errors[i] * errors[i - lag]
            covariance[lag] += total / n
    if covariance[0] <= 0.0:
        return 0.0
    weights = np.zeros(most + 1)
    older = np.zeros(most + 1)
    variance = covariance[0]
    best = n * np.log(max(variance, 1e-300))
    chosen, decay = variance, 1.0
    for order in range(1, most + 1):
        reflection = covariance[order]
        for i in range(order - 1):
            reflection -= weights[i] * covariance[order - 1 - i]
        reflection = min(max(reflection / variance, -0.98), 0.98)
        for i in range(order - 1):
            older[i] = weights[i]
        for i in range(order - 1):
            weights[i] = older[i] - reflection * older[order - 2 - i]
        weights[order - 1] = reflection
        variance *= 1.0 - reflection * reflection
        criterion = n * np.log(max(variance, 1e-300)) + np.log(n) * order
        if criterion < best:
            best, chosen, decay = criterion, variance, 1.0 - weights[:order].sum()
    parameters = (degree + 1) * n_phases
    fewer = n / max(n - parameters, 1)
    return chosen / max(decay, 0.02) ** 2 * fewer * (1.0 + 6.0 * (parameters - degree - 1) / n)


def block_variance(values: Floats) -> float:
    """By the median of second differences of 32 block means: few breaks and any trend leave it alone."""
    length = max(1, len(values) // _BLOCKS)
    means = values[: len(values) // length * length].reshape(-1, length).mean(axis=1)
    bends = means[:-2] - 2.0 * means[1:-1] + means[2:]
    if not len(bends):
        return 0.0
    deviation = float(np.median(np.abs(bends - np.median(bends)))) / 0.6745
    if deviation == 0.0:  # most blocks are alike: the rest less the largest tenth
        deviation = float(np.sqrt(np.mean(np.sort(bends**2)[: max(1, int(0.9 * len(bends)))])))
    return length * deviation * deviation / 6.0


def event_variance(values: Floats) -> float:
    """Of short events on a level: the sum of their squared areas, a cell."""
    n = len(values)
    if n < 100:
        return 0.0
    half = (round(n / 30) | 1) // 2
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(values, half, mode="edge"), 2 * half + 1)
    deviations = values - np.median(windows, axis=1)
    far = np.abs(deviations) > max(5.0 * np.median(np.abs(deviations)) / 0.6745, 1e-9 * float(np.ptp(values)))
    places = np.flatnonzero(np.diff(np.concatenate([[0], far.astype(np.int64), [0]])))
    areas = [deviations[a:b].sum() for a, b in zip(places[::2], places[1::2], strict=True) if b - a <= max(1, n // 100)]
    return float(np.sum(np.square(areas))) / n
