"""A curve as means of equal cells: what the number of phases is chosen on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from perf_traces.scratch_arrays import chunks
from perf_worley.moment_tree import MomentTree
from perfcore.base.arrays import Floats, Ints

CELLS = 512  # the constants of the rule are calibrated at this number
TOLERANCE = 0.02  # of the processors: how far a phase may leave [0, P], so that a ramp from 0 to P is one

LONGEST_OUTLIER = 3  # cells
_FAR = 3.5  # standard deviations of what is one; both set on samples of t(3) and rare dips
_SHORTEST = 4  # cells of a period; shorter ones are averaged out by the cells
_FEWEST_PERIODS = 12
_SEEN_PERIODS = 3  # that a longer one must have to be seen
# Of independent cells the correlation stays below 0.2; of barriers whose iterations differ by 10 % it is 0.34 and more.
_LIKE = 0.3
_FEWEST_JUMPS = 20  # that tell: larger ones count as this largest, be they breaks or a few dips at equal distances
_LONGER = 1.2  # times as alike: twice a period is no better than the period
_LAGS = 24  # longest autoregression
_BLOCKS = 32
COVERAGE = 0.95
LIMIT = -2.0 * math.log(1.0 - math.sqrt(COVERAGE))  # 7.35
_SHORT, _MIDDLE = 24, 80  # cells of a phase below which its noise is everyone's, and is not averaged over four cells
_FEWEST_REPEATS = 8  # also, of a curve that repeats itself
_POOLED = 0.25  # of everyone's noise: no phase has less


@dataclass(frozen=True)
class Cells:
    """Means over cells of equal duration."""

    values: Floats  # in processors
    width: float  # duration of a cell, in the curve's time unit
    low: float  # what a phase must stay within; ``high`` is infinite where the number of processors is not known
    high: float
    scale: float  # number of processors, else the highest height: what a small difference is small next to
    period: float = 0.0

    def times(self, places: Ints, duration: float) -> Floats:
        """Return the times of breaks that are given in cells, the last at the end of the curve."""
        times = places.astype(np.float64) * self.width
        times[-1] = duration
        return times


def cells_of(tree: MomentTree, n_locations: int | None, *, fine: bool = False) -> Cells:
    """Return means of 512 cells; of evenly sampled series with fewer samples the samples themselves."""
    samples = _samples(tree)
    n_cells = CELLS if samples is None else samples * (max(1, CELLS // samples) if fine else 1)
    cuts = np.linspace(0.0, tree.duration, n_cells + 1)
    means = np.array([tree.interval(begin, end)[1] for begin, end in pairwise(cuts.tolist())])
    scale = float(n_locations or tree.extremes[1]) or 1.0
    high = (1.0 + TOLERANCE) * scale if n_locations else np.inf
    return Cells(means + tree.origin, tree.duration / n_cells, -TOLERANCE * scale, high, scale)


def without_outliers(cells: Cells) -> Cells:
    """Return cells with those far from their neighbours' median moved near it; the same object without any."""
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(cells.values, LONGEST_OUTLIER, mode="edge"), 2 * LONGEST_OUTLIER + 1
    )
    middle = np.median(windows, axis=1)
    deviations = cells.values - middle
    most = _FAR * float(np.median(np.abs(deviations))) / 0.6745
    if most <= 0.0 or (np.abs(deviations) <= most).all():
        return cells
    return replace(cells, values=middle + np.clip(deviations, -most, most))


def _samples(tree: MomentTree) -> int | None:
    """Return how many samples an even series has; None where the steps are uneven, or there are more than cells."""
    if tree.n_steps > CELLS:
        return None
    widths = np.diff(tree.edges)
    number = tree.duration / float(widths.min())
    multiples = widths / float(widths.min())
    even = bool((np.abs(multiples - np.round(multiples)) < 1e-3 * multiples).all())
    return round(number) if even and round(number) <= CELLS else None


def period_of(values: Floats) -> float:
    """Return how many cells it takes until the curve repeats itself; 0 where it does not.

    By the autocorrelation of differences, to which breaks and trends are single cells.
    """
    jumps = np.diff(values)
    longest = len(values) // _FEWEST_PERIODS
    if longest <= _SHORTEST or len(jumps) < _FEWEST_JUMPS:
        return 0.0
    most = float(np.sort(np.abs(jumps))[-_FEWEST_JUMPS])
    if most <= 0.0:
        return 0.0
    jumps = np.clip(jumps, -most, most)
    spectrum = np.fft.rfft(jumps - jumps.mean(), 2 * len(jumps))
    # What repeats itself seldom may have parts that are alike: these are no period.
    last = len(values) // _SEEN_PERIODS
    autocorrelation = np.fft.irfft(np.abs(spectrum) ** 2)[: last + 2]
    autocorrelation = autocorrelation / autocorrelation[0]
    inner = autocorrelation[_SHORTEST : last + 1]
    peaks = (inner >= autocorrelation[_SHORTEST - 1 : last]) & (inner >= autocorrelation[_SHORTEST + 1 : last + 2])
    best = 0
    for lag in _SHORTEST + np.flatnonzero(peaks & (inner >= _LIKE)):
        if not best or autocorrelation[lag] > _LONGER * autocorrelation[best]:
            best = int(lag)
    if not best or best > longest:
        return 0.0
    before, peak, after = autocorrelation[best - 1 : best + 2]
    bend = before - 2.0 * peak + after
    return float(best + (0.5 * (before - after) / bend if bend < 0.0 else 0.0))


def averaged_over_period(cells: Cells) -> Cells:
    """Return the mean over one period about each cell; the same object where the curve does not repeat itself.

    Iterations that end with a barrier drop to a few processors again and again. That is no noise of the level: it adds
    up to the same in each iteration, but estimates from neighbouring cells take it for much noise, and a search for
    phases finds the drops. On means over one period only what changes from one iteration to the next is left.
    """
    period = period_of(cells.values)
    if not period:
        return cells
    n_cells, half = len(cells.values), 0.5 * period
    places = np.arange(n_cells + 1)
    summed = np.concatenate([[0.0], np.cumsum(cells.values)])
    middle = np.clip(places[:-1] + 0.5, half, n_cells - half)
    means = (np.interp(middle + half, places, summed) - np.interp(middle - half, places, summed)) / period
    return replace(cells, values=means, period=period)


def residuals(values: Floats, breaks: Ints, degrees: Ints) -> Floats:
    """Return values (n,) minus the best polynomial of each phase."""
    lengths = np.diff(breaks)
    phase = np.repeat(np.arange(len(lengths)), lengths)
    n, degrees = lengths.astype(np.float64), np.minimum(degrees, lengths - 1)
    x = np.arange(len(values)) - breaks[phase] - 0.5 * (n[phase] - 1.0)
    # Orthogonal polynomials on each phase's cells.
    square = x * x
    cubic = x * (square - ((3.0 * n * n - 7.0) / 20.0)[phase])
    polynomials = (np.ones_like(x), x, square - ((n * n - 1.0) / 12.0)[phase], cubic)
    errors = values
    for degree in range(int(degrees.max()) + 1):
        shape = polynomials[degree] * (degrees >= degree)[phase]
        products, norms = (np.add.reduceat(each, breaks[:-1]) for each in (errors * shape, shape * shape))
        errors = errors - (products / np.maximum(norms, 1e-300))[phase] * shape
    return errors


def first_order(errors: Floats, n_phases: int, degree: int, width: int) -> float:
    """Of residuals (n,), by an autoregression of first order of means of ``width`` cells.

    The correlation is corrected for what fitting takes from it, phase by phase: M. G. Kendall, "Note on Bias in the
    Estimation of Autocorrelation", Biometrika 41 (1954).
    """
    n = len(errors) // width
    means = errors[: n * width].reshape(n, width).mean(axis=1)
    squares = float(means @ means)
    variance = squares / max(n - (degree + 1) * n_phases, 1)
    correlation = float(means[1:] @ means[:-1]) / max(squares, 1e-300)
    correlation += (1.0 + 3.0 * correlation) / n * n_phases
    correlation = min(max(correlation, -0.5), 0.97)
    return width * variance * (1.0 + correlation) / (1.0 - correlation)


def autoregressive(errors: Floats, breaks: Ints, degree: int) -> float:
    """Of residuals (n,), by Yule and Walker's autoregression of the order that Schwarz' criterion chooses, up to 24.

    Products of cells on both sides of a break do not count.
    """
    n, n_phases = len(errors), len(breaks) - 1
    most = min(_LAGS, max(1, n // 12))
    phase = np.repeat(np.arange(n_phases), np.diff(breaks))
    covariance = (
        np.array([np.sum(errors[k:] * errors[: n - k], where=phase[k:] == phase[: n - k]) for k in range(most + 1)]) / n
    )
    if covariance[0] <= 0.0:
        return 0.0
    weights = np.zeros(0)
    chosen = variance = float(covariance[0])
    best, decay = n * math.log(max(variance, 1e-300)), 1.0
    for order in range(1, most + 1):
        reflection = float(covariance[order] - weights @ covariance[order - 1 : 0 : -1]) / variance
        reflection = min(max(reflection, -0.98), 0.98)
        weights = np.append(weights - reflection * weights[::-1], reflection)
        variance *= 1.0 - reflection * reflection
        criterion = n * math.log(max(variance, 1e-300)) + math.log(n) * order
        if criterion < best:
            best, chosen, decay = criterion, variance, 1.0 - float(weights.sum())
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


@dataclass(frozen=True)
class PhaseErrors:
    """How sure one phase is."""

    coefficients: tuple[float, ...]  # standard errors, of powers of ``t - start``
    level: float  # standard error of the phase's mean
    start: tuple[float, float] | None  # interval of the break at its start, from the curve's start


def phase_errors(
    tree: MomentTree, cells: Cells, breaks: Floats, degrees: Sequence[int], n_locations: int | None
) -> list[PhaseErrors] | None:
    """Return standard errors and intervals of breaks by the long-run variance; None where cells are too few to tell.

    Least squares over dependent cells is unbiased, but its usual errors are too small by far: intervals that take the
    cells for independent hold 42 to 85 % where 95 % are meant. The covariance of the coefficients of a phase is ``noise
    (X'X)^-1`` with the long-run variance of its residual.

    A break's interval are the places whose sum of squares is near the least, with the neighbouring breaks fixed: those
    within 7.35 long-run variances of the side that loses cells. Its start is one processor cycle earlier, since breaks
    of utilization are seen late: a processor in the middle of its old cycle keeps its old behaviour. So the curve
    changes at the break, and the program changed within the interval.

    Source of the limit: for independent noise ``P(V(true) - V(best) <= x noise) = (1 - exp(-x/2))^2``, Y.-C. Yao,
    "Approximating the Distribution of the Maximum Likelihood Estimate of the Change-Point", Annals of Statistics 15
    (1987).
    """
    n_cells, n_phases = len(cells.values), len(degrees)
    if n_cells < 3 * n_phases * (max(degrees) + 1) or n_cells < 8:
        return None
    places = np.round(breaks / cells.width).astype(np.int64)
    if (np.diff(places) < 1).any():
        return None
    averaged = averaged_over_period(cells)
    noises = noises_of_phases(averaged, places, np.asarray(degrees, np.int64))
    cycle = processor_cycle(tree, n_locations)
    # What each break adds to a phase's sum over cells if it lies anywhere within a period: standard deviation.
    half, last = math.ceil(0.5 * averaged.period), n_cells - 1
    jumps = averaged.values[np.minimum(places + half, last)] - averaged.values[np.maximum(places - 1 - half, 0)]
    jumps[[0, -1]] = 0.0
    misplaced = jumps * averaged.period / math.sqrt(12.0)
    per_phase = []
    for k in range(n_phases):
        length = float(breaks[k + 1] - breaks[k])
        # Of powers of time, for noise per time: in units of the length, integrals of t^(i + j) are Hilbert's matrix.
        powers = np.arange(degrees[k] + 1)
        inverse = np.diag(np.linalg.inv(1.0 / (powers[:, None] + powers + 1.0)))
        errors = tuple((np.sqrt(noises[k] * cells.width / length * inverse) / length**powers).tolist())
        start = None
        if k:
            around, pair = breaks[k - 1 : k + 2], slice(k - 1, k + 1)
            low, high = _break_interval(tree, averaged, around, degrees[pair], noises[pair])
            start = max(low - cycle, float(around[0])), high
        level = math.hypot(math.sqrt(noises[k] * cells.width / length), *(misplaced[k : k + 2] * cells.width / length))
        per_phase.append(PhaseErrors(errors, level, start))
    return per_phase


def processor_cycle(tree: MomentTree, n_locations: int | None) -> float:
    """Return the mean time from one start of work of a processor to its next; 0 where their number is not known."""
    if not n_locations:
        return 0.0
    heights = tree.heights
    upward = float(heights[0])
    for part in chunks(tree.n_steps - 1):
        upward += float(np.maximum(np.diff(heights[part.start : part.stop + 1]), 0.0).sum())
    return min(n_locations * tree.duration / upward, tree.duration) if upward > 0.0 else 0.0


def noises_of_phases(cells: Cells, places: Ints, degrees: Ints) -> Floats:
    """Return the long-run variance of a cell of each phase."""
    values = cells.values
    errors = residuals(values, places, degrees)
    highest, period = int(degrees.max()), math.ceil(cells.period)
    # Over how many cells residuals are averaged; of several the largest variance counts.
    widths = (period,) if period else (1, 2, 4)
    pooled = max(first_order(errors, len(degrees), highest, m) for m in widths if len(values) >= 4 * m)
    noises = np.empty(len(degrees))
    for k, degree in enumerate(degrees):
        phase_residuals = errors[places[k] : places[k + 1]]
        if len(phase_residuals) < max(_SHORT, _FEWEST_REPEATS * period):
            noises[k] = pooled
            continue
        inner = widths if len(phase_residuals) >= _MIDDLE else widths[:2]
        noises[k] = max(*(first_order(phase_residuals, 1, int(degree), m) for m in inner), _POOLED * pooled)
    return noises


def _break_interval(
    tree: MomentTree, cells: Cells, breaks: Floats, degrees: Sequence[int], noises: Floats
) -> tuple[float, float]:
    """Return where the middle of three breaks may be, without the cycle: edges of cells with squares near the least."""
    begin, middle, end = (float(value) for value in breaks)
    width = cells.width
    inner = np.arange(math.floor(begin / width) + 2, math.ceil(end / width) - 1) * width
    places = np.unique(np.append(inner[(inner > begin) & (inner < end)], middle))
    squares = np.array([
        tree.error(tree.interval(begin, place), degrees[0]) + tree.error(tree.interval(place, end), degrees[1])
        for place in places.tolist()
    ])  # fmt: skip
    limits = LIMIT * width * np.where(places < middle, noises[0], noises[1])
    near = places[squares - squares.min() <= limits]
    low, high = min(float(near.min(initial=middle)), middle), max(float(near.max(initial=middle)), middle)
    # One cell more; a mean over a period is blurred by half of it.
    blur = max(1.0, 0.5 * cells.period) * width
    return max(low - blur, begin), min(high + blur, end)
