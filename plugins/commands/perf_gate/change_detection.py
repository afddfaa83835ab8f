"""Where the level of a series changed: steps and outliers in noise with memory.

y = level + steps + single outliers + ARMA(1,1) noise. Forward, the likeliest step or outlier is taken while it is above
its critical value, then a pair of steps that only together is; backward, each step is placed again, or dropped if the
others leave it no reason. The critical value of a step grows with the noise's gain, so that memory does not pass for
steps; constants are set on simulated series (`benchmarks/gates.py` judges them on others).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from perf_statistics.gating import GAIN, GRID, first_variance, whitened
from perf_statistics.kernels import kernel
from perfcore.base.arrays import Floats

# All places of a series tried at once: how much likelier is it with a step there, or an outlier?
#
# The noise is ARMA(1,1) (`perf_statistics.gating`), its parameters profiled over a grid under both hypotheses. A
# whitened step is a + c theta^k from its place on and a whitened outlier 1, -(phi - theta) theta^(k-1), so that their
# products with any series are suffix sums: O(T p) for each point of the grid, with p regressors.

NEVER = -1e300  # likelihood of what is not tried
EXACT = 1e-10  # variance below which values of unit variance have no noise
_NEGLIGIBLE = 1e-12  # of a whitened outlier's tail
_DEPENDENT = 0.02  # squared length of a whitened step or outlier that the regressors leave, below which it is not tried
_FREEDOMS = (2.5, 3.0, 4.0, 6.0, 10.0)
_LIGHTEST = 10.0  # the first to be tried: it too is better than normal where tails are heavy
# Twice the difference of log-likelihoods from which on tails are heavy: normal noise with a step has less in 19 of 20
# series of 120 values, tails of t_3 more in all of 500 values, and in half of 120.
_HEAVY = 3.5
_ITERATIONS = 12  # the likelihood then changes by less than 0.01
_ROUGH, _FAR_BEHIND = 3, 10.0  # iterations, after which a noise that is so much less likely is not the likeliest
_STRICTER = 1.15  # critical values, set on tails of t_3 at 120 and 500 values

LEVEL = 0.002  # of alarms of one look; .01 raised up to a fifth more on three sources, .0005 no fewer
FEWEST_VALUES = 12
_MARGIN = 3  # points on a side of a step, of which
_REGULAR = 2  # are no outliers
_OUTLIER = 16.0  # critical value of one
_MOST_OUTLIERS = 0.1  # of the values
_PAIR = 12.5  # more than a single step
_KEPT = 0.75  # of the critical value, which a step must have when the others are known
_MOST_STEPS = 40
_WIDER = 1.15  # standard errors: the noise's parameters are estimated too
_RECENT = 6  # values after the step for which the sensitivity is given
_NINE_IN_TEN = 1.28  # standard normal quantile
_OF_LENGTH = 0.35  # critical value for each factor e of the length: more places to be wrong at
_OF_ALPHA = 2.3  # critical value for each factor e of the level
_LARGEST_LOGARITHM = 709.0  # of a change that a float holds
_SHORTEST = 8  # values of a gradual change

# Steps among the newest values, judged by the noise of the values before them.
RECENT_LEVEL = 2e-5  # of one look: on public histories about two alarms in 1,000 commits
WINDOW = 12  # of the last commits, in which a change is new
# Values after a step, of which most are above its middle: fewer may be a disturbance that passes, unless times double.
FEWEST_AFTER, DOUBLE = 5, math.log(2.0)
_FEWEST_BEFORE = 20  # values that show the noise and its memory; of fewer the series is short
_PLACES = 4.0  # independent places among the newest
_DOUBT = 50.0  # a shift must be 1 + 50/values times the largest of as many values that the history had before
_AT_ONCE = 1 << 18  # values that are rid of the memory of noise
# A short series: at least so many values before a step, its level for all places, and how much likelier than a random
# walk it must be.
_BEFORE_SHORT, _SHORT_LEVEL, _CLEARLY = 4, 3e-4, 8.0


@kernel
def scan(y, dense, steps, outliers, grid, margin):  # type: ignore[no-untyped-def]
    """Profile log-likelihoods of one more step or outlier.

    Parameters
    ----------
    y : (T,) float
        Of unit variance.
    dense : (q, T) float
        Regressors of any form, the constant among them.
    steps, outliers : (s,), (o,) int
        Places of those that are in the model, ascending.
    grid : (G, 2) float
        phi and theta.
    margin : int
        Points that a step leaves on either side.

    Returns
    -------
    with_step, with_outlier : (T,) float
        Largest over the grid; NEVER where none is tried.
    grid_of_step : (T,) int
        Where the largest is.
    without : float
    grid_without : int
    """
    n, n_dense, n_steps, n_outliers = y.size, dense.shape[0], steps.size, outliers.size
    p = n_dense + n_steps + n_outliers
    with_step, with_outlier = np.full(n, NEVER), np.full(n, NEVER)
    grid_of_step = np.zeros(n, np.int64)
    without, grid_without = NEVER, 0
    basis = np.zeros((p, n))
    begins, ends = np.zeros(p, np.int64), np.full(p, n, np.int64)
    residual, raw = np.empty(n), np.empty(n)
    step_square, outlier_square = np.empty(n), np.empty(n)
    step_product, outlier_product = np.empty(n), np.empty(n)
    for grid_index in range(grid.shape[0]):
        phi, theta = grid[grid_index, 0], grid[grid_index, 1]
        first = 1.0 / math.sqrt((1.0 + theta * theta - 2.0 * phi * theta) / (1.0 - phi * phi))
        constant = math.log(first)
        reach = 3
        if theta > 0.0:
            reach += int(math.log(_NEGLIGIBLE) / math.log(theta))
        _whiten(y, phi, theta, first, residual)
        for j in range(p):
            vector = basis[j]
            vector[:] = 0.0
            if j < n_outliers:  # first, since they are short: most pairs don't overlap
                place = outliers[j]
                begins[j], ends[j] = place, min(n, place + reach)
                vector[place] = first if place == 0 else 1.0
                value = -(phi - theta) if place else -phi + theta * first
                for t in range(place + 1, ends[j]):
                    vector[t] = value
                    value *= theta
            else:
                begins[j], ends[j] = 0, n
                if j < n_outliers + n_dense:
                    for t in range(n):
                        raw[t] = dense[j - n_outliers, t]
                else:
                    raw[:] = 0.0
                    raw[steps[j - n_outliers - n_dense] :] = 1.0
                _whiten(raw, phi, theta, first, vector)
            for k in range(j):
                low, high = max(begins[j], begins[k]), min(ends[j], ends[k])
                if low >= high:
                    continue
                product = 0.0
                for t in range(low, high):
                    product += vector[t] * basis[k, t]
                if product != 0.0:
                    begins[j], ends[j] = min(begins[j], begins[k]), max(ends[j], ends[k])
                    for t in range(begins[k], ends[k]):
                        vector[t] -= product * basis[k, t]
            square = 0.0
            for t in range(begins[j], ends[j]):
                square += vector[t] * vector[t]
            scale = 1.0 / math.sqrt(max(square, _NEGLIGIBLE))
            product = 0.0
            for t in range(begins[j], ends[j]):
                vector[t] *= scale
                product += vector[t] * residual[t]
            for t in range(begins[j], ends[j]):
                residual[t] -= product * vector[t]
        squares = 0.0
        for t in range(n):
            squares += residual[t] * residual[t]
        likelihood = -0.5 * n * math.log(max(squares, n * EXACT)) + constant
        if likelihood > without:
            without, grid_without = likelihood, grid_index
        level = (1.0 - phi) / (1.0 - theta)
        fading = 1.0 - level
        # Squared lengths of whitened steps and outliers, by how many points are left of the series.
        step_sum, outlier_sum, power, tail = 0.0, 0.0, 1.0, 1.0
        for k in range(n):
            step_sum += (level + fading * power) ** 2
            outlier_sum += tail * tail
            step_square[n - 1 - k], outlier_square[n - 1 - k] = step_sum, outlier_sum
            tail = -(phi - theta) * power
            power *= theta
        for j in range(p + 1):
            total, faded = 0.0, 0.0
            for t in range(n - 1, -1, -1):
                value = residual[t] if j == p else basis[j, t]
                of_outlier = value - (phi - theta) * faded
                total += value
                faded = value + theta * faded
                of_step = level * total + fading * faded
                if j == p:
                    step_product[t], outlier_product[t] = of_step, of_outlier
                else:
                    step_square[t] -= of_step * of_step
                    outlier_square[t] -= of_outlier * of_outlier
        for t in range(1, n):
            if margin <= t <= n - margin and step_square[t] > _DEPENDENT:
                left = max(squares - step_product[t] ** 2 / step_square[t], n * EXACT)
                likelihood = -0.5 * n * math.log(left) + constant
                if likelihood > with_step[t]:
                    with_step[t], grid_of_step[t] = likelihood, grid_index
            if outlier_square[t] > _DEPENDENT:
                left = max(squares - outlier_product[t] ** 2 / outlier_square[t], n * EXACT)
                likelihood = -0.5 * n * math.log(left) + constant
                with_outlier[t] = max(with_outlier[t], likelihood)
    return with_step, with_outlier, grid_of_step, without, grid_without


@kernel
def _whiten(x, phi, theta, first, out):  # type: ignore[no-untyped-def]
    """`perf_statistics.gating.whitened` of one row."""
    out[0] = x[0] * first
    for t in range(1, x.size):
        out[t] = x[t] - phi * x[t - 1] + theta * out[t - 1]


# Steps in noise with heavy tails: which are more than shocks that die away?
#
# Where shocks of the machine are large now and then and its memory is long, a shock jumps up and comes back slowly, and
# a normal likelihood takes it for a step. A likelihood with Student's t for the shocks does not: a jump that the
# noise's own tails make probable counts little, and what counts is that the level stays. Its weights are those of
# K. L. Lange, R. J. A. Little, J. M. G. Taylor, "Robust statistical modeling using the t distribution", Journal of the
# American Statistical Association 84, 1989; the scale's update is that of C. Liu, D. B. Rubin, Y. N. Wu, "Parameter
# expansion to accelerate EM", Biometrika 85, 1998.


def lasting_steps(
    y: Floats, dense: Floats, steps: Sequence[int], critical: Callable[[float], float], pair: float, kept: float
) -> list[int]:
    """Return the steps of a series that heavy tails do not explain; all of them if tails are not heavy."""
    ordered, everything = sorted(steps), frozenset(steps)
    rows = [*dense, *((np.arange(len(y)) >= step).astype(float) for step in ordered), y]
    white, constant = whitened(np.stack(rows), *GRID.T), -0.5 * np.log(first_variance(*GRID.T))

    def likelihoods(chosen: frozenset[int], freedom: float, places: Any = slice(None)) -> Floats:
        """Return those of a regression on some steps, at places of the grid."""
        columns = [*range(len(dense)), *(len(dense) + k for k, step in enumerate(ordered) if step in chosen)]
        of_places = white[places]
        return np.asarray(constant[places] + _log_likelihoods(of_places[:, columns], of_places[:, -1], freedom))

    @functools.cache
    def best(chosen: frozenset[int], freedom: float) -> tuple[float, int]:
        """Return the likelihood of the likeliest noise of the grid, and its place there."""
        found = likelihoods(chosen, freedom)
        return float(found.max()), int(found.argmax())

    normal, place = best(everything, math.inf)
    if float(likelihoods(everything, _LIGHTEST, [place])[0]) < normal:
        return list(steps)
    freedom = max(_FREEDOMS, key=lambda each: best(everything, each)[0])
    if 2.0 * (best(everything, freedom)[0] - normal) < _HEAVY:
        return list(steps)

    def ratio(more: frozenset[int], fewer: frozenset[int]) -> tuple[float, float]:
        """Return twice the difference, and the value that it must exceed."""
        (one, at_one), (other, at_other) = best(more, freedom), best(fewer, freedom)
        return 2.0 * (one - other), _STRICTER * critical(float(max(GAIN[at_one], GAIN[at_other])))

    chosen: frozenset[int] = frozenset()
    while chosen < everything:
        ratios = {step: ratio(chosen | {step}, chosen) for step in everything - chosen}
        step = max(ratios, key=lambda each: ratios[each][0])
        if ratios[step][0] > ratios[step][1]:
            chosen |= {step}
            continue
        together = {other: ratio(chosen | {step, other}, chosen) for other in everything - chosen - {step}}
        other = max(together, key=lambda each: together[each][0], default=step)
        if other == step or together[other][0] <= together[other][1] + pair:
            break
        chosen |= {step, other}
    while chosen:
        needs = {step: ratio(chosen, chosen - {step}) for step in chosen}
        margins = {step: value - kept * needed for step, (value, needed) in needs.items()}
        worst = min(margins, key=lambda each: margins[each])
        if margins[worst] >= 0.0:
            break
        chosen -= {worst}
    return sorted(chosen)


def _log_likelihoods(design: Floats, values: Floats, freedom: float) -> Floats:
    """Of regressions with errors of Student's t, each with its own scale; -inf of those far behind the likeliest."""
    n = values.shape[1]
    if math.isinf(freedom):
        _, variance = _weighted_regression(design, values, np.ones_like(values))
        return np.asarray(-0.5 * n * (np.log(variance) + math.log(2.0 * math.pi) + 1.0))
    constant = math.lgamma((freedom + 1.0) / 2.0) - math.lgamma(freedom / 2.0) - 0.5 * math.log(freedom * math.pi)
    likelihoods = np.full(len(values), -np.inf)
    left, weights = np.arange(len(values)), np.ones_like(values)
    for iterations in (_ROUGH, _ITERATIONS - _ROUGH):
        for _ in range(iterations):
            rest, variance = _weighted_regression(design[left], values[left], weights)
            relative = rest**2 / variance[:, None]
            weights = (freedom + 1.0) / (freedom + relative)
        tails = np.log1p(relative / freedom).sum(axis=1)
        found = -0.5 * n * np.log(variance) + n * constant - 0.5 * (freedom + 1.0) * tails
        likelihoods[left] = found
        near = found > found.max() - _FAR_BEHIND
        likelihoods[left[~near]] = -np.inf
        left, weights = left[near], weights[near]
    return likelihoods


def _weighted_regression(design: Floats, values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return residuals (G, n) and variances (G,)."""
    weighted = design * weights[:, None]
    gram = weighted @ design.transpose(0, 2, 1)
    ridge = 1e-12 * np.trace(gram, axis1=1, axis2=2)[:, None, None] * np.eye(gram.shape[1])
    estimate = np.linalg.solve(gram + ridge, weighted @ values[:, :, None])
    rest = values - (estimate.transpose(0, 2, 1) @ design)[:, 0]
    return rest, np.maximum((weights * rest**2).sum(axis=1) / weights.sum(axis=1), 1e-300)


def change_of(logarithm: float) -> float:
    """Share by which a value changes whose logarithm changes so much; infinite beyond floats."""
    return math.expm1(logarithm) if logarithm < _LARGEST_LOGARITHM else math.inf


class Step(NamedTuple):
    """A change of the level."""

    place: int  # of the first value after it
    first: int  # between which it is, 95 % sure
    last: int
    size: float  # change of the logarithm, with 95 % bounds
    lower: float
    upper: float
    probability: float  # of such a step anywhere in a series without one
    is_gradual: bool = False  # it lasts to the newest value


class Noise(NamedTuple):
    """Noise about the level."""

    spread: float  # standard deviation of the logarithm
    autocorrelation: float  # of neighbouring values
    drifts: bool  # its memory is at the end of what is known: the level drifts, rather than that it steps


class Detected(NamedTuple):
    """What a series holds."""

    steps: tuple[Step, ...]
    outliers: tuple[int, ...]
    noise: Noise
    levels: Floats  # the logarithm without noise and outliers
    sight: float  # size of a step before the last 6 values that would have been found, 90 % likely


class _Scan(NamedTuple):
    step_ratio: Floats
    outlier_ratio: Floats
    gain: Floats  # of the noise with a step at each place, or without, whichever is larger


def detect(values: Floats, alpha: float = 0.05, machines: Floats | None = None) -> Detected:
    """Find steps and outliers."""
    n = len(values)
    extra = np.zeros((0, n)) if machines is None else machines
    dense = np.concatenate([np.ones((1, n)), extra])
    centre, scale = float(np.median(values)), float(np.std(values))
    if n < FEWEST_VALUES or scale < 1e-12:
        return Detected((), (), Noise(scale, 0.0, False), np.array(values, dtype=float), 0.0)
    y = (np.asarray(values, dtype=float) - centre) / scale

    def scan_with(steps: list[int], outliers: list[int]) -> tuple[Any, ...]:
        places = (np.array(sorted(each), dtype=np.int64) for each in (steps, outliers))
        return tuple(scan(y, dense, *places, GRID, _MARGIN))

    def scanned(steps: list[int], outliers: list[int]) -> _Scan:
        with_step, with_outlier, grid_of_step, without, grid_without = scan_with(steps, outliers)
        _exclude(with_step, with_outlier, steps, outliers)
        gain = np.maximum(GAIN[grid_of_step], GAIN[grid_without])
        return _Scan(2.0 * (with_step - without), 2.0 * (with_outlier - without), gain)

    steps, outliers = _forward(n, scanned, alpha)
    placed = _backward(n, scanned, steps, outliers, alpha)
    if steps:
        lasting = lasting_steps(y, dense, steps, lambda gain: _critical(gain, n, alpha), _PAIR, _KEPT)
        if len(lasting) < len(steps):
            steps[:] = lasting
            placed = _backward(n, scanned, steps, outliers, alpha)
    phi, theta = GRID[scan_with(steps, outliers)[4]].tolist()
    fitted = _fitted(y, dense, steps, outliers, phi, theta)
    sizes = [
        Step(step, low, high, scale * size, scale * lower, scale * upper, probability)
        for step, (low, high, probability), (size, lower, upper) in zip(steps, placed, fitted.bounds, strict=True)
    ]
    noise = Noise(fitted.spread * scale, fitted.autocorrelation, fitted.drifts)
    critical = _critical(fitted.gain, n, alpha)
    levels = np.asarray(centre + scale * fitted.levels)
    sight = scale * fitted.recent_error * (math.sqrt(critical) + _NINE_IN_TEN)
    return Detected(tuple(sorted(sizes)), tuple(sorted(outliers)), noise, levels, sight)


def _critical(gain: float, n: int, alpha: float) -> float:
    """Value that the likelihood ratio of the best step exceeds in a share alpha of series without one."""
    base = min(18.0, 11.0 + 3.0 * math.log(gain))
    length = 1.3 * math.log(max(1.0, 100.0 / n)) + _OF_LENGTH * math.log(n / 1500.0)
    return base + length + _OF_ALPHA * math.log(0.05 / alpha)


def _forward(n: int, scanned: Callable[[list[int], list[int]], _Scan], alpha: float) -> tuple[list[int], list[int]]:
    """Take the likeliest while it is above its critical value."""
    steps: list[int] = []
    outliers: list[int] = []
    for _ in range(_MOST_STEPS):
        profile = scanned(steps, outliers)
        step = int(profile.step_ratio.argmax())
        ratio = float(profile.step_ratio[step])
        most = int(_MOST_OUTLIERS * n) - len(outliers)
        if several := _apart(profile.outlier_ratio, max(_OUTLIER, ratio), most):
            outliers += several
            continue
        if ratio > _critical(float(profile.gain[step]), n, alpha):
            steps.append(step)
            continue
        if several := _apart(profile.outlier_ratio, _OUTLIER, most):
            outliers += several
            continue
        if ratio <= 0.0:
            break
        pair = scanned([*steps, step], outliers)
        other = int(pair.step_ratio.argmax())
        together = ratio + float(pair.step_ratio[other])
        if together <= _critical(float(max(pair.gain[other], profile.gain[step])), n, alpha) + _PAIR:
            break
        steps += [step, other]
    return steps, outliers


def _apart(ratios: Floats, least: float, most: int) -> list[int]:
    """Outliers that are above a value and no neighbours, the likeliest first: so that each need not have its scan."""
    chosen: list[int] = []
    for place in np.argsort(-ratios, kind="stable").tolist():
        if len(chosen) >= most or not ratios[place] > least:
            break
        if all(abs(place - other) > _MARGIN for other in chosen):
            chosen.append(place)
    return chosen


def _backward(
    n: int, scanned: Callable[[list[int], list[int]], _Scan], steps: list[int], outliers: list[int], alpha: float
) -> list[tuple[int, int, float]]:
    """Place each step again, given the others, and drop steps without need; where each may be, how probable."""
    while steps:
        placed, margins = [], []
        for k in range(len(steps)):
            profile = scanned(steps[:k] + steps[k + 1 :], outliers)
            steps[k] = int(profile.step_ratio.argmax())
            ratio = float(profile.step_ratio[steps[k]])
            critical = _critical(float(profile.gain[steps[k]]), n, alpha)
            margins.append(ratio - _KEPT * critical)
            probability = min(1.0, alpha * math.exp(min(0.0, (critical - ratio) / _OF_ALPHA)))
            placed.append((*_places(profile.step_ratio), probability))
        worst = int(np.argmin(margins))
        if margins[worst] >= 0.0:
            return placed
        steps.pop(worst)
    return []


def _places(ratios: Floats) -> tuple[int, int]:
    """Between which places a step is, 95 % sure: by weights exp(LR / 2)."""
    weights = np.exp(0.5 * (ratios - ratios.max()))
    order = np.argsort(-weights, kind="stable")
    count = int(np.searchsorted(np.cumsum(weights[order]) / weights.sum(), 0.95)) + 1
    return int(order[:count].min()), int(order[:count].max())


def _exclude(with_step: Floats, with_outlier: Floats, steps: list[int], outliers: list[int]) -> None:
    """Leave out places too near to a step, and those that would leave a level with too few regular values."""
    n = len(with_step)
    for step in steps:
        with_step[max(0, step - _MARGIN + 1) : step + _MARGIN] = NEVER
    regular = np.ones(n)
    regular[outliers] = 0.0
    cuts = [0, *sorted(steps), n]
    for low, high in itertools.pairwise(cuts):
        count = np.cumsum(regular[low:high])
        before = count - regular[low:high]
        bad = (before < _REGULAR) | (count[-1] - before < _REGULAR)
        bad[0] = True
        with_step[low:high][bad] = NEVER
        if count[-1] <= _REGULAR:
            with_outlier[low:high] = NEVER
    with_outlier[outliers] = NEVER


class _Fitted(NamedTuple):
    bounds: list[tuple[float, float, float]]  # size, lower, upper of each step
    levels: Floats
    spread: float
    autocorrelation: float
    drifts: bool
    gain: float
    recent_error: float  # standard error of a step before the last values


def _fitted(y: Floats, dense: Floats, steps: list[int], outliers: list[int], phi: float, theta: float) -> _Fitted:
    """Generalised least squares in noise of these parameters."""
    from scipy.special import stdtrit

    n = len(y)
    places = np.arange(n)
    rows = [*dense, *((places >= step).astype(float) for step in steps)]
    design = np.stack([*rows, *((places == outlier).astype(float) for outlier in outliers)])
    white = whitened(np.concatenate([design, y[None]]), phi, theta)
    inverse = np.linalg.pinv(white[:-1] @ white[:-1].T, hermitian=True)
    estimate = inverse @ (white[:-1] @ white[-1])
    rest = white[-1] - estimate @ white[:-1]
    innovation = math.sqrt(max(float(rest @ rest), n * EXACT) / max(1, n - len(design) - 2))
    errors = np.sqrt(np.maximum(np.diag(inverse), 0.0)) * innovation
    side = _WIDER * float(stdtrit(max(3, n - len(design) - 2), 0.975)) * errors
    step_rows = [len(dense) + k for k in range(len(steps))]
    variance = first_variance(phi, theta)
    recent = whitened((places >= n - _RECENT).astype(float)[None], phi, theta)[0]
    known = [k for k in range(len(design)) if k not in step_rows or n - steps[k - len(dense)] > 2 * _RECENT]
    shared = white[known] @ recent
    gram = np.linalg.pinv(white[known] @ white[known].T, hermitian=True)
    recent_square = float(recent @ recent - shared @ gram @ shared)  # that regressors leave, but for recent steps
    return _Fitted(
        bounds=[(float(estimate[k]), float(estimate[k] - side[k]), float(estimate[k] + side[k])) for k in step_rows],
        levels=estimate[0] + estimate[step_rows] @ design[step_rows] if step_rows else np.full(n, estimate[0]),
        spread=innovation * math.sqrt(variance),
        autocorrelation=(phi - theta) * (1.0 - phi * theta) / (1.0 + theta * theta - 2.0 * phi * theta),
        drifts=phi >= float(GRID[:, 0].max()),
        gain=(1.0 - theta) / (1.0 - phi),
        recent_error=innovation / math.sqrt(max(recent_square, 1e-12)),
    )


def _parts(size: int) -> list[Floats]:
    """Return the noise of the grid, as much at a time as little memory holds of rows of so many values."""
    return np.array_split(GRID, min(len(GRID), 1 + len(GRID) * size // _AT_ONCE))


def gradual_change(values: Floats, detected: Detected, alpha: float, machines: Floats | None = None) -> Step | None:
    """Find a gradual change up to the newest value, in addition to steps: by the likelihood ratio of `detect`."""
    from scipy.special import stdtrit

    n, scale = len(values), float(np.std(values))
    if n < FEWEST_VALUES or scale < 1e-12:
        return None
    places, y = np.arange(n), (np.asarray(values, dtype=float) - float(np.median(values))) / scale
    starts = np.arange(_MARGIN, n - _SHORTEST + 1)
    known = [*(places >= step.place for step in detected.steps), *(places == out for out in detected.outliers)]
    base = np.stack([np.ones(n), *([] if machines is None else machines), *known]).astype(float)
    freedom = max(3, n - len(base) - 3)
    rows = np.concatenate([base, y[None]])

    def ramps(grid: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Return likelihoods without a ramp and with each; what each leaves, its product with the rest, its square."""
        white = whitened(rows, *grid.T)
        gram = white[:, :-1] @ white[:, :-1].transpose(0, 2, 1)
        basis = np.linalg.solve(np.linalg.cholesky(gram + 1e-12 * n * np.eye(len(base))), white[:, :-1])
        rest = white[:, -1:] - (white[:, -1:] @ basis.transpose(0, 2, 1)) @ basis
        # A ramp that begins at s is 1, 2, 3, ... from there on, so that products with all whitened ramps are suffix
        # sums of suffix sums of the rows whitened backward; a zero in front keeps the first value as it is.
        backward = np.concatenate([basis, rest], axis=1)[..., ::-1]
        zeros = np.zeros((*backward.shape[:2], 1))
        sums = whitened(np.concatenate([zeros, backward], axis=2), *grid.T)[..., 1:].cumsum(axis=2).cumsum(axis=2)
        products = sums[..., n - 1 - starts] / (n - starts)  # of ramps that are 1 at the newest value
        lengths = (whitened(np.arange(n + 1.0)[None], *grid.T)[:, 0, 1:] ** 2).cumsum(axis=1)[:, n - 1 - starts]
        square = lengths / (n - starts) ** 2 - (products[:, :-1] ** 2).sum(axis=1)
        product, total = products[:, -1], (rest[:, 0] ** 2).sum(axis=1)
        square = np.where(square > 1e-9 * lengths / (n - starts) ** 2, square, np.inf)  # others depend on what is known
        left = np.maximum(total[:, None] - product**2 / square, n * 1e-12)
        constant = -0.5 * np.log(first_variance(*grid.T))
        without = constant - 0.5 * n * np.log(np.maximum(total, n * 1e-12))
        return without, constant[:, None] - 0.5 * n * np.log(left), left, product, square

    of_white, with_ramp, *_ = ramps(GRID[:1])
    if 2.0 * (with_ramp.max() - of_white[0]) <= _critical(1.0, n, alpha):  # white noise: the most
        return None
    found = [ramps(grid)[:2] for grid in _parts(rows.size)]
    without, likelihood = (np.concatenate(columns) for columns in zip(*found, strict=True))
    ratio = 2.0 * (likelihood.max(axis=0) - without.max())
    place = int(ratio.argmax())
    best = int(likelihood[:, place].argmax())
    critical = _critical(float(max(GAIN[best], GAIN[int(without.argmax())])), n, alpha)
    if ratio[place] <= critical:
        return None
    left, product, square = (column[0, place] for column in ramps(GRID[best : best + 1])[2:])
    error = math.sqrt(left / freedom / square)
    size = scale * product / square
    side = scale * error * _WIDER * float(stdtrit(freedom, 0.975))
    first, last = (int(starts[k]) for k in _places(ratio))
    probability = alpha * math.exp(min(0.0, (critical - float(ratio[place])) / _OF_ALPHA))
    return Step(int(starts[place]), first, last, float(size), float(size - side), float(size + side), probability, True)


class Recent(NamedTuple):
    """A step among the newest values."""

    step: Step
    spread: float  # standard deviation of the noise about both levels
    is_clear: bool  # rather than a random walk that explains a short series equally well


def with_recent(values: Floats, detected: Detected, recent: Recent) -> Detected:
    """Return what was detected with the step, and the noise without it."""
    step = recent.step
    steps = (*(each for each in detected.steps if each.place < step.place), step)
    begin = max((each.place for each in steps[:-1]), default=0)
    levels = np.array(detected.levels)
    levels[begin : step.place] = np.median(values[begin : step.place])
    levels[step.place :] = levels[step.place - 1] + step.size
    outliers = tuple(place for place in detected.outliers if place < step.place)
    noise = detected.noise._replace(spread=recent.spread, drifts=False)
    return detected._replace(steps=steps, outliers=outliers, noise=noise, levels=levels)


def recent_step(values: Floats, detected: Detected, window: int, machines: Floats | None = None) -> Recent | None:
    """Find a step up among the last `window` values, by the noise that the values before them have.

    Unlike in `detect` the step itself is in no estimate of the noise, so that it is found however large it is, and the
    more values there are after it, the smaller it may be.
    """
    from scipy.special import stdtr, stdtrit

    n = len(values)
    begin = max((step.place for step in detected.steps if step.place <= n - window), default=0)
    if n < FEWEST_VALUES or window < _MARGIN or float(np.std(values)) < 1e-12:
        return None
    outliers = [place for place in detected.outliers if begin <= place < n - window]
    y = np.asarray(values, dtype=float)[begin:].copy()
    count, before = len(y), len(y) - window
    if before < _FEWEST_BEFORE:
        return _short_step(y, min(window, WINDOW)) if machines is None and begin == 0 else None
    y -= float(np.median(y[:before]))
    fixed = np.ones((1, count)) if machines is None else np.concatenate([np.ones((1, count)), machines[:, begin:]])
    fixed = np.concatenate([fixed, *((np.arange(count) == place - begin)[None].astype(float) for place in outliers)])
    rows = np.concatenate([fixed, y[None]])
    squares = list[Floats]()
    for grid in _parts(rows.size):
        old = whitened(rows[:, :before], *grid.T)
        basis = np.linalg.qr(old[:, :-1].transpose(0, 2, 1))[0]
        rest = old[:, -1] - np.einsum("gnp,gp->gn", basis, np.einsum("gnp,gn->gp", basis, old[:, -1]))
        squares.append((rest**2).sum(axis=1))
    freedom = max(3, before - len(fixed) - 2)
    variance = np.maximum(np.concatenate(squares) / freedom, EXACT * float(np.var(y)))
    best = int(np.argmax(-0.5 * before * np.log(variance) - 0.5 * np.log(first_variance(*GRID.T))))
    sizes_of = np.arange(_MARGIN, min(window, WINDOW) + 1)
    steps = (np.arange(count) >= count - sizes_of[:, None]).astype(float)
    white = whitened(np.concatenate([rows, steps]), *GRID[best].tolist())
    columns = np.linalg.qr(white[: len(fixed)].T)[0]
    white = white[len(fixed) :] - (white[len(fixed) :] @ columns) @ columns.T
    square = (white[1:] ** 2).sum(axis=1)
    spread = math.sqrt(variance[best] * first_variance(*GRID[best].tolist()))
    sizes, errors = white[1:] @ white[0] / square, np.sqrt(variance[best] / square)
    statistic = sizes / errors
    place_of_best = int(statistic.argmax())
    after, size, error = int(sizes_of[place_of_best]), float(sizes[place_of_best]), float(errors[place_of_best])
    probability = min(1.0, _PLACES * float(stdtr(freedom, -size / error)))
    sums = np.cumsum(np.r_[0.0, y[:before]])
    earlier = np.abs(sums[after:] - sums[:-after]) / after
    is_usual = (1.0 + _DOUBT / before) * float(earlier.max()) > float(y[-after:].mean())
    if probability > RECENT_LEVEL or size <= 0.0 or is_usual:
        return None
    if float(np.quantile(y[-after:], 0.5, method="lower")) < 0.5 * size:  # a few outliers
        return None
    side = _WIDER * float(stdtrit(freedom, 0.975)) * error
    last, first = (n - int(sizes_of[k]) for k in _places(statistic**2))
    return Recent(Step(n - after, first, last, size, size - side, size + side, probability), spread, True)


def _short_step(y: Floats, window: int) -> Recent | None:
    """Find a step in a series that is too short to show its memory: segments first, then the noise within them."""
    from scipy.special import stdtr, stdtrit

    n = len(y)
    places = np.arange(max(_BEFORE_SHORT, n - window), n - _MARGIN + 1)
    if n < FEWEST_VALUES or not len(places):
        return None
    sums, squares = np.cumsum(y), np.cumsum(y**2)
    before, after = places.astype(float), (n - places).astype(float)
    first, second = sums[places - 1] / before, (sums[-1] - sums[places - 1]) / after
    within = np.maximum(squares[-1] - before * first**2 - after * second**2, n * EXACT * float(np.var(y)))
    errors = np.sqrt(within / (n - 2.0) * (1.0 / before + 1.0 / after))
    statistic = (second - first) / errors
    best = int(statistic.argmax())
    probability = min(1.0, len(places) * float(stdtr(n - 2.0, -statistic[best])))
    if probability > _SHORT_LEVEL:
        return None
    wandering = float((np.diff(y) ** 2).mean())
    evidence = 0.5 * n * math.log(wandering / (float(within[best]) / n))
    size, side = float(second[best] - first[best]), _WIDER * float(stdtrit(n - 2.0, 0.975)) * float(errors[best])
    low, high = (int(places[k]) for k in _places(-n * np.log(within)))
    step = Step(int(places[best]), low, high, size, size - side, size + side, probability)
    return Recent(step, math.sqrt(float(within[best]) / (n - 2.0)), evidence > _CLEARLY)


Found = tuple[Detected, Step | None] | None  # None if there are too few values


def look_for_steps(values: Sequence[float], machines: Sequence[Sequence[float]] | None, window: int) -> Found:
    """Return what a series holds, with a step among its `window` new values that is clear, and one that is not."""
    if len(values) < FEWEST_VALUES:
        return None
    logs, effects = np.asarray(values, dtype=float), None if machines is None else np.asarray(machines, dtype=float)
    detected = detect(logs, LEVEL, effects)
    if window == 0 or newest_step(detected, window, 0.0) is not None:
        return detected, None
    recent = recent_step(logs, detected, window, effects)
    if recent is None or not recent.is_clear:
        return detected, None if recent is None else recent.step
    return with_recent(logs, detected, recent), None


def look_elsewhere(values: Sequence[float], machines: Sequence[Sequence[float]] | None, window: int) -> bytes:
    """Return what `look_for_steps` does as JSON, from a worker."""
    return msgspec.json.encode(look_for_steps(values, machines, window), enc_hook=np.ndarray.tolist)


def newest_step(detected: Detected, window: int, limit: float) -> Step | None:
    """Return the newest step to slower among `window` new values, beyond a limit and not mostly undone later."""
    later = 0.0
    for step in reversed(detected.steps):
        if step.place >= len(detected.levels) - window and step.size > limit and later > -0.5 * step.size:
            return step
        later += step.size
    return None
