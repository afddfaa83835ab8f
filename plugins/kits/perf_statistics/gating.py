"""Slower or not: paired rounds and separate sessions, in three verdicts, with corrections for many tests.

Means are trimmed by 20% from 8 rounds on, with winsorised variances (R. R. Wilcox, "Introduction to Robust Estimation
and Hypothesis Testing", section 4.3). Deviation: (h - 1)(1 - share cut off) degrees of freedom for h kept rounds, which
are those of winsorised variances of normal values to 1%; Wilcox has h - 1.

Variances of many benchmarks are moderated (G. K. Smyth, "Linear models and empirical Bayes methods for assessing
differential expression in microarray experiments", Statistical Applications in Genetics and Molecular Biology 3, 2004).
Deviations, without which benchmarks of unequal noise had 6 to 12% false alarms where 5% were asked
(`benchmarks/gates.py`): the prior's degrees of freedom are capped and count half (three quarters from 50 benchmarks
on), and no variance becomes smaller.

Versions measured one after the other on one machine (`blocked_test`) are a step at known places in noise with memory.
All of A, then all of B, is the usual layout of benchmark runners and the worst: what the machine did meanwhile looks
like a difference. Nothing can take that out; but the noise's memory shows in the runs, and makes the test as unsure as
it is. The statistic is a likelihood ratio with the noise's parameters profiled under both hypotheses, so that a
difference does not pass for memory, and memory does not pass for a difference. The noise is a slow state of the machine
and white noise on top, an ARMA(1,1) process x_t = phi x_{t-1} + e_t - theta e_{t-1} with 0 <= theta <= phi: AR(1) plus
white noise is of this form (G. E. P. Box, G. M. Jenkins, "Time Series Analysis", section A4.4). A likelihood is taken
at each pair of a grid, since it has several maxima in short series.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np

from perf_statistics.student import distributions_for, stdtrit
from perfcore.base import special
from perfcore.base.arrays import Booleans, Floats, Ints

FEWEST_ROUNDS = 3  # fewer decide nothing
SURE = 0.95  # confidence of intervals and verdicts
POSSIBLE = 0.05  # probability without a change, below which an estimate over the limit is possibly slower
LIKELY = 0.9  # probability with which a slowdown of the resolution is found, and enough rounds decide
MOST_ROUNDS = 10_000  # that are looked at
ERRORS = ("fwer", "fdr")  # the chance of any false alarm; or the share of alarms that are false
_EXACT = 1e-12  # logarithms that differ by less, differ by rounding of the arithmetic

_LOOKED_AT = 12  # values, which show how many digits a benchmark's have
_MOST_DIGITS = 9  # significant ones: more come of computing, not of a clock

_FEWEST = 10  # benchmarks from which on their variances say something of each other
_MANY = 50
_MOST_PRIOR = 20.0  # degrees of freedom that the others may be worth
_TRIMMED = 0.2  # of the rounds, on each side
_FROM = 8  # rounds

# Two sessions of one version differ by more than their runs show. On public A/A sessions the difference of two medians
# has a standard deviation of 0.8 to 1.2 of the noise within a run, and a part that is large for short benchmarks, where
# addresses and frequencies decide: 0.6% at 1 ms, by (time / 1 ms)^-0.2. Sources: SciPy and Django asv, php
# real-time-benchmark (`benchmarks/gates_sessions.py`).
_WITHIN, _SHORT, _SHORT_POWER = 0.85, 0.006, -0.2
_LARGEST = 0.25  # standard deviation between two sessions: no machine of these data differs more
_MEDIAN = math.pi / 2.0  # variance of a median over that of a mean
# One or two benchmarks: degrees of freedom of the difference, and what sessions differ by however quiet their runs are.
_TAIL, _FLOOR = 4.0, 0.01
# Of three benchmarks or more, each one's noise is moderated towards the median of the file, and the variance grows with
# the scatter of the ratios about their median (`benchmarks/gates_sources.py`).
_PRIOR_NOISE = 15.0  # degrees of freedom that the file's noise is worth
_LEAST_NOISE = 0.2  # of the file's, below which a benchmark's noise is not believed
_PRIOR_SCATTER = 1.0  # benchmarks that the rule counts as, against the scatter
_TAIL_MODERATED, _WIDER = 8.0, 1.5  # degrees of freedom, and the factor of the variance for what is beyond such tails
# One or two benchmarks above this noise have 12 to 18% false alarms: they fail only beyond the ratio below.
NOISY, NOISY_LIMIT = 0.03, 1.3
_PHI = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95)
_PHI_WITH_WHITE = (0.5, 0.7, 0.8, 0.9, 0.95)
_THETA_OVER_PHI = (0.3, 0.55, 0.75, 0.88)

GRID: Floats = np.array(
    [(phi, 0.0) for phi in _PHI] + [(phi, round(phi * part, 3)) for phi in _PHI_WITH_WHITE for part in _THETA_OVER_PHI]
)
GAIN: Floats = (1.0 - GRID[:, 1]) / (1.0 - GRID[:, 0])  # of the noise of long means: 1 of white noise

_NEGLIGIBLE = 1e-16  # weight of values long ago
# By how much the noise's gain makes a statistic smaller: memory near the end of the grid is estimated too small from
# few runs. Set on simulated AR(1) noise with 5 to 30 runs of each version, where the plain statistic calls 3 to 11 %
# slower that 5 % should be.
_SHRINK = 0.2


@dataclass(frozen=True)
class Estimates:
    """Logarithms of ratios of n benchmarks, slower is positive."""

    log_ratio: Floats
    standard_error: Floats
    freedom: Floats  # degrees of freedom of the standard error
    rounding: Floats  # by how much the values' last digits may have moved the logarithm
    rounds: Ints  # runs of each version that count
    decides: Booleans  # whether the data suffice for a verdict
    least: Floats | float = 0.0  # logarithm of the ratio below which no benchmark fails, whatever the limit
    sure: float = SURE  # confidence: more than 95% where interim analyses share the error rate

    def __len__(self) -> int:
        return len(self.log_ratio)

    def p_slow(self, log_threshold: float) -> Floats:
        """Return probability of such data if no benchmark were slower than the threshold (n,); 1 of too few rounds."""
        return self.tail(self.log_ratio - self.rounding - np.maximum(log_threshold, self.least))

    def p_not_slower(self, log_threshold: float) -> Floats:
        """Return the probability of such data if a benchmark were as slow as the threshold or slower (n,)."""
        return self.tail(log_threshold - self.log_ratio - self.rounding)

    def bounds(self) -> Floats:
        """Return the two-sided confidence interval of each logarithm (n, 2); NaN if nothing shows how runs differ."""
        freedom = np.maximum(self.freedom, 1.0)
        quantile = distributions_for(freedom).stdtrit(freedom, 0.5 + 0.5 * self.sure)
        side = quantile * self.standard_error + self.rounding
        return np.stack([self.log_ratio - side, self.log_ratio + side], axis=1)

    def rounds_that_decide(self, log_threshold: float) -> Ints:
        """Return how many rounds in all decide with a probability of `LIKELY` (n,); 0 if `MOST_ROUNDS` do not.

        k = variance (t_.95 + t_.9)^2 / distance^2. The distance is that of no change from the threshold where the
        data leave open that there is none, and of the estimate otherwise. None decide where the last digits hide it.
        """
        bounds = self.bounds()
        no_change = (bounds[:, 0] <= 0.0) & (bounds[:, 1] >= 0.0)
        distance = np.where(no_change, log_threshold, np.abs(self.log_ratio - log_threshold)) - self.rounding
        variance = self.standard_error**2 * self.rounds
        ladder = np.unique(np.r_[np.arange(FEWEST_ROUNDS, 200), np.geomspace(200, MOST_ROUNDS, 200).astype(np.int64)])
        quantiles = stdtrit(ladder - 1.0, self.sure) + stdtrit(ladder - 1.0, LIKELY)
        with np.errstate(divide="ignore", invalid="ignore"):
            enough = variance[:, None] * quantiles**2 <= ladder * distance[:, None] ** 2
        enough &= (distance > 0.0)[:, None]
        return np.where(enough.any(axis=1), ladder[enough.argmax(axis=1)], 0)

    def resolution(self, log_threshold: float) -> Floats:
        """Return the slowdown that is found, as slower or possibly slower, with a probability of `LIKELY` (n,)."""
        freedom = np.maximum(self.freedom, 1.0)
        quantile = distributions_for(freedom).stdtrit
        least = np.maximum(log_threshold, quantile(freedom, 1.0 - POSSIBLE) * self.standard_error + self.rounding)
        logs = least + quantile(freedom, LIKELY) * self.standard_error
        return np.where(self.decides, np.exp(np.minimum(logs, 700.0)), np.inf)

    def tail(self, distance: Floats) -> Floats:
        """Return the one-sided probability that chance makes a distance this large."""
        statistic, freedom = distance / np.maximum(self.standard_error, _EXACT), np.maximum(self.freedom, 1.0)
        return np.where(self.decides, distributions_for(freedom).stdtr(freedom, -statistic), 1.0)


def adjusted(probabilities: Floats, errors: str) -> Floats:
    """Return probabilities adjusted for the kind of errors that are to be rare: ``"fwer"`` by Holm, ``"fdr"`` by BH."""
    return holm(probabilities) if errors == "fwer" else benjamini_hochberg(probabilities)


def holm(probabilities: Floats) -> Floats:
    """Return probabilities of which those below a level have any false one among them with that probability at most.

    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979.
    """
    order = np.argsort(probabilities, kind="stable")
    count = len(probabilities)
    adjusted = np.empty(count)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate((count - np.arange(count)) * probabilities[order]))
    return adjusted


def benjamini_hochberg(probabilities: Floats) -> Floats:
    """Return probabilities of which those below a level are false by that share, on average.

    Y. Benjamini, Y. Hochberg, "Controlling the false discovery rate", Journal of the Royal Statistical Society B 57,
    1995.
    """
    order, count = np.argsort(-probabilities, kind="stable"), len(probabilities)
    adjusted = np.empty(count)
    adjusted[order] = np.minimum.accumulate(count / np.arange(count, 0, -1) * probabilities[order])
    return adjusted


class Outcome(StrEnum):
    """What a gate says."""

    PASSED = "pass"
    FAILED = "fail"
    UNDECIDED = "inconclusive"

    @property
    def status(self) -> int:
        return {"pass": 0, "fail": 1, "inconclusive": 3}[self.value]


@dataclass(frozen=True)
class Judged:
    """Verdicts on n benchmarks."""

    threshold: float  # how many times as slow is too slow
    p_slow: Floats  # adjusted for their number
    p_not_slower: Floats
    slower: Booleans
    not_slower: Booleans
    possibly_slower: Booleans  # not slower with confidence, but estimated beyond the limit; or not decidable

    @property
    def outcome(self) -> Outcome:
        """Verdict on all together; inconclusive if there are none."""
        if self.slower.any():
            return Outcome.FAILED
        return Outcome.PASSED if len(self.slower) and not self.possibly_slower.any() else Outcome.UNDECIDED

    @property
    def is_decided(self) -> bool:
        """Whether more rounds change nothing: one is slower, or none is with 95% confidence."""
        return bool(self.slower.any() or self.not_slower.all())

    def outcome_of(self, number: int) -> Outcome:
        if self.slower[number]:
            return Outcome.FAILED
        return Outcome.UNDECIDED if self.possibly_slower[number] else Outcome.PASSED


def judge(estimates: Estimates, threshold: float, errors: str = "fwer", is_strict: bool = False) -> Judged:
    """Decide which benchmarks are slower than the threshold, and which possibly are."""
    log_threshold = math.log(threshold)
    p_slow = adjusted(estimates.p_slow(log_threshold), errors)
    return verdicts(estimates, threshold, p_slow, estimates.p_not_slower(log_threshold), is_strict)


def verdicts(
    estimates: Estimates, threshold: float, p_slow: Floats, p_not_slower: Floats, is_strict: bool = False
) -> Judged:
    """Return the verdicts of adjusted probabilities; strict ones pass only what is not slower with confidence."""
    slower, not_slower = p_slow <= 1.0 - SURE, p_not_slower <= 1.0 - SURE
    is_over = estimates.log_ratio >= math.log(threshold)
    no_change = estimates.tail(estimates.log_ratio)  # probability of such data without any
    is_change = (no_change <= POSSIBLE) | (estimates.rounding > 0.0)  # which digits hide
    possibly = ~not_slower & (is_strict | ~estimates.decides | (is_over & is_change))
    return Judged(threshold, p_slow, p_not_slower, slower, not_slower, possibly & ~slower)


def resolution(values: Floats) -> float:
    """Return half of the last decimal place of a benchmark's values, relative to them; 0 of too many digits."""
    places = [_decimals(value) for value in values[:_LOOKED_AT].tolist()]
    decimals = [place for place in places if place is not None]
    if len(decimals) < len(places):
        return 0.0
    return 0.5 * 10.0 ** -max(decimals) / float(np.median(values))


def resolution_error(last_digits: Floats | None, spread: Floats) -> Floats:
    """Return how far rounding may have moved each logarithm of a ratio (n,): all of it if the spread does not hide it.

    Without ``last_digits`` nothing was rounded.
    """
    if last_digits is None:
        return np.zeros(len(spread))
    return np.where(spread > last_digits / 2.0, 0.0, last_digits)


def _decimals(value: float) -> int | None:
    """Return decimal places of a value; None if it has so many digits that it was computed."""
    digits = f"{value:.{_MOST_DIGITS}g}"
    if not math.isclose(float(digits), value, rel_tol=1e-12):
        return None
    mantissa, _, exponent = f"{value:.{_MOST_DIGITS - 1}e}".partition("e")
    return max(0, len(mantissa.rstrip("0").partition(".")[2]) - int(exponent))


def moderated(variances: Floats, freedom: Floats) -> tuple[Floats, Floats]:
    """Return variances and degrees of freedom with those of the prior."""
    positive = variances > 0.0
    if positive.sum() < _FEWEST:
        return variances, freedom
    prior_freedom, prior = _prior(variances[positive], freedom[positive])
    shared = (prior_freedom * prior + freedom * variances) / (prior_freedom + freedom)
    counted = 0.75 if positive.sum() >= _MANY else 0.5
    return np.maximum(shared, variances), freedom + counted * prior_freedom


def _prior(variances: Floats, freedom: Floats) -> tuple[float, float]:
    logs = np.log(variances) - special.digamma(freedom / 2.0) + np.log(freedom / 2.0)
    excess = float(logs.var(ddof=1) - special.polygamma(1, freedom / 2.0).mean())
    if excess <= 0.0:
        return _MOST_PRIOR, float(np.exp(logs.mean()))
    from scipy.optimize import brentq

    # The inverse of trigamma, which at x lies between 1/x and 1/x + 1/x^2.
    low, high, close = 0.5 / excess, (1.0 + math.sqrt(excess)) / excess, 1e-15
    root = brentq(lambda x: float(special.polygamma(1, x)) / excess - 1.0, low, high, xtol=close / excess, rtol=close)
    half = float(root)
    scale = float(np.exp(logs.mean() + special.digamma(half) - np.log(half)))
    return min(2.0 * half, _MOST_PRIOR), scale


def trimmed_means(samples: Sequence[Floats]) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the trimmed mean of each sample."""
    count = len(samples)
    means, variances = np.full(count, np.nan), np.full(count, np.nan)
    sizes = np.array([len(sample) for sample in samples])
    kept, freedom = np.zeros(count), np.zeros(count)
    for size in np.unique(sizes).tolist():
        chosen = np.flatnonzero(sizes == size)
        ordered = np.sort(np.stack([samples[k] for k in chosen.tolist()]), axis=1)
        cut = int(_TRIMMED * size) if size >= _FROM else 0
        h = size - 2 * cut
        kept[chosen] = h
        freedom[chosen] = (h - 1) * (1.0 - cut / size)
        means[chosen] = ordered[:, cut : size - cut].mean(axis=1)
        if size > 1:
            winsorised = ordered.copy()
            winsorised[:, :cut], winsorised[:, size - cut :] = ordered[:, [cut]], ordered[:, [size - cut - 1]]
            variances[chosen] = (size - 1) * winsorised.var(axis=1, ddof=1) / (h - 1)
    return means, variances, freedom, kept


def paired_test(first: Sequence[Floats], second: Sequence[Floats], last_digits: Floats | None = None) -> Estimates:
    """Of rounds in which both versions were measured next to each other."""
    differences = [np.asarray(b) - np.asarray(a) for a, b in zip(first, second, strict=True)]
    means, variances, freedom, kept = trimmed_means(differences)
    enough = kept >= FEWEST_ROUNDS
    shared, total_freedom = variances.copy(), freedom.copy()
    if enough.any():
        shared[enough], total_freedom[enough] = moderated(variances[enough], freedom[enough])
    rounds = np.array([len(each) for each in differences], dtype=np.int64)
    return Estimates(
        log_ratio=means,
        standard_error=np.sqrt(shared / kept),
        freedom=total_freedom,
        rounding=resolution_error(last_digits, np.sqrt(variances)),
        rounds=rounds,
        decides=rounds >= FEWEST_ROUNDS,
    )


@dataclass(frozen=True)
class Sessions:
    """One version's sessions: of each of n benchmarks the logarithms of session medians, and the noise within them."""

    levels: Sequence[Floats]
    noise: Floats  # (n,) standard deviation of single runs as a share; NaN of single runs
    runs: Floats  # (n,) of a session

    @property
    def count(self) -> Floats:
        """Sessions of each benchmark (n,)."""
        return np.array([len(each) for each in self.levels], dtype=np.float64)


class SessionVariation(NamedTuple):
    """How one version's sessions differ (n,)."""

    cv: Floats  # standard deviation of one session's level, as a share
    source: tuple[str, ...]  # "given", "measured", "scatter", "short" or "noise": what it comes from for the most part


def session_test(
    first: Sessions,
    second: Sessions,
    seconds: Floats,
    session_cv: float | None = None,
    last_digits: Floats | None = None,
) -> tuple[Estimates, SessionVariation]:
    """Compare separate sessions; ``seconds`` is what a run of each benchmark takes.

    The rule's variance of a session counts as some degrees of freedom beyond those of repeated sessions, which measure
    it. ``session_cv`` replaces both.
    """
    count, runs = np.stack([first.count, second.count]), np.stack([first.runs, second.runs])
    noise = np.stack([first.noise, second.noise])
    several = (runs > 1) & np.isfinite(noise)
    known = np.asarray(several.any(axis=0))
    typical = np.sqrt(np.where(several, noise**2, 0.0).sum(axis=0) / np.maximum(several.sum(axis=0), 1))
    inner_freedom = np.maximum((runs - 1.0).sum(axis=0), 1.0)
    ratio = np.array([b.mean() - a.mean() for a, b in zip(first.levels, second.levels, strict=True)])
    shares = 1.0 / count
    is_suite = known.sum() >= FEWEST_ROUNDS
    if session_cv is not None:
        between = np.full(len(ratio), math.log1p(session_cv) ** 2)
        inner = _MEDIAN * (np.where(several, noise, typical) ** 2 / runs * shares).sum(axis=0)
        variance = inner + between * shares.sum(axis=0)
        freedom = np.minimum(variance**2 / np.maximum(inner**2 / inner_freedom, 1e-300), 1e6)
        repeated, sources = np.zeros(len(ratio)), ["given"] * len(ratio)
    else:
        own = _moderated_noise(typical, inner_freedom, known) if is_suite else np.maximum(typical, 1e-5)
        within = _MEDIAN * (own if is_suite else np.where(several, noise, typical)) ** 2 / runs
        parts = np.stack([_WITHIN * own, _SHORT * (seconds / 1e-3) ** _SHORT_POWER])
        parts = parts if is_suite else np.stack([np.hypot(parts[0], _FLOOR), parts[1]])
        rule = 0.5 * np.minimum((parts**2).sum(axis=0), _LARGEST**2) + within.mean(axis=0)
        wider = _scatter(ratio, np.sqrt(rule * shares.sum(axis=0)), known) if is_suite else 1.0
        repeated = (count - 1.0).sum(axis=0)
        squares = sum(np.array([float(len(x) * np.var(x)) for x in side.levels]) for side in (first, second))
        weight = np.where(known, _TAIL_MODERATED if is_suite else np.minimum(inner_freedom, _TAIL), 0.0)
        freedom = weight + repeated
        with np.errstate(invalid="ignore"):
            rule *= wider * (_WIDER if is_suite else 1.0)
            between = np.where(freedom > 0.0, (weight * rule + squares) / freedom, np.nan)
        variance = between * shares.sum(axis=0)
        by_noise = 0.5 * parts[0] ** 2 + within.mean(axis=0) >= 0.5 * parts[1] ** 2
        sources = ["scatter" if wider > 2.0 else "noise" if each else "short" for each in by_noise.tolist()]
        sources = ["measured" if r > w else name for name, r, w in zip(sources, repeated, weight, strict=True)]
    measured = repeated >= FEWEST_ROUNDS - 1
    enough = ((runs * count).min(axis=0) >= FEWEST_ROUNDS) & known
    noisy = (typical > NOISY) & ~measured & (session_cv is None) & ~is_suite
    estimates = Estimates(
        log_ratio=ratio,
        standard_error=np.sqrt(variance),
        freedom=freedom,
        rounding=resolution_error(last_digits, 1.4 * typical),
        rounds=(runs * count).min(axis=0).astype(np.int64),
        decides=(enough | measured) & np.isfinite(variance),
        least=np.where(noisy, math.log(NOISY_LIMIT), 0.0),
    )
    return estimates, SessionVariation(np.sqrt(between), tuple(sources))


def _moderated_noise(typical: Floats, freedom: Floats, known: Booleans) -> Floats:
    """Return the noise of single runs, moderated towards the median of the file (n,)."""
    middle = max(float(np.median(typical[known])), 1e-5)
    weight = _PRIOR_NOISE / (_PRIOR_NOISE + freedom)
    return np.asarray(middle**weight * np.maximum(typical, _LEAST_NOISE * middle) ** (1.0 - weight))


def _scatter(ratio: Floats, error: Floats, known: Booleans) -> float:
    """Return how many times the rule's variance the ratios have about their median, at least 1."""
    count = int(known.sum())
    distance = np.abs(ratio[known] - np.median(ratio[known])) / np.maximum(error[known], _EXACT)
    square = (float(np.median(distance)) / 0.6745) ** 2 * count / (count - 1.0)
    return max(1.0, (_PRIOR_SCATTER + count * square) / (_PRIOR_SCATTER + count))


def is_confident(probability: Floats, confidence: float) -> Booleans:
    """Return which of several statements hold, so that all of these are right with a probability.

    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979, with
    the probabilities that the statements are wrong: the likeliest of K must be as sure as all are to be together.
    """
    wrong = np.where(np.isnan(probability), np.inf, 1.0 - probability)
    # Rounding of 1 - 0.95 must not decide.
    return np.asarray(holm(wrong) <= 1.0 - confidence + 1e-9)


def first_variance(phi: Any, theta: Any) -> Any:
    """Return the variance of the process over that of its innovations, which is the first value's."""
    return (1.0 + theta * theta - 2.0 * phi * theta) / (1.0 - phi * phi)


def whitened(rows: Floats, phi: float | Floats, theta: float | Floats) -> Floats:
    """Return rows (p, n) in order of time without the noise's memory; (G, p, n) for G pairs of parameters.

    Rows may differ for each pair, (G, p, n).
    """
    phi, theta = np.asarray(phi)[..., None, None], np.asarray(theta)[..., None, None]
    white: Floats = np.empty(np.broadcast_shapes(phi.shape, rows.shape))
    white[..., 1:] = rows[..., 1:] - phi * rows[..., :-1]
    white[..., :1] = rows[..., :1] / np.sqrt(first_variance(phi, theta))
    step = 1  # z_t = u_t + theta z_{t-1}, summed over twice as many values each time
    while step < white.shape[-1] and np.max(theta) > _NEGLIGIBLE:
        earlier = white[..., :-step].copy()
        white[..., step:] += theta * earlier
        step, theta = 2 * step, theta * theta
    return white


def blocked_test(
    series: Sequence[Floats], is_second: Sequence[Booleans], log_threshold: float, last_digits: Floats | None = None
) -> Estimates:
    """Of runs whose order is known, in any layout."""
    count = len(series)
    ratio, error, spread = np.full(count, np.nan), np.full(count, np.nan), np.full(count, np.nan)
    freedom = np.zeros(count)
    sides = np.array([[int((~np.asarray(s)).sum()), int(np.asarray(s).sum())] for s in is_second]).reshape(count, 2)
    for k in np.flatnonzero(sides.min(axis=1) >= FEWEST_ROUNDS).tolist():
        y, second = np.asarray(series[k]), np.asarray(is_second[k])
        ratio[k], error[k], spread[k] = _step(y, second, log_threshold)
        freedom[k] = len(y) - 3.0
    return Estimates(
        log_ratio=ratio,
        standard_error=error,
        freedom=freedom,
        rounding=resolution_error(last_digits, spread),
        rounds=sides.min(axis=1).astype(np.int64),
        decides=sides.min(axis=1) >= FEWEST_ROUNDS,
    )


def _step(y: Floats, second: Booleans, log_threshold: float) -> tuple[float, float, float]:
    """Return the step, the standard error of a t statistic of the likelihood ratio, and the spread of single runs."""
    n = len(y)
    rows = np.stack([np.ones(n), second.astype(float), y - np.median(y)])
    likelihoods = np.empty((2, len(GRID)))
    sizes, errors = np.empty(len(GRID)), np.empty(len(GRID))
    for k, (phi, theta) in enumerate(GRID.tolist()):
        constant, step, z = whitened(rows, phi, theta)
        constant = constant / math.sqrt(constant @ constant)
        step, z = step - (constant @ step) * constant, z - (constant @ z) * constant
        square = float(step @ step)
        sizes[k] = step @ z / square
        residues = [z - sizes[k] * step, z - log_threshold * step]
        sums = [max(float(r @ r), 1e-300) for r in residues]
        errors[k] = math.sqrt(sums[0] / (n - 3.0) / square)
        likelihoods[:, k] = [-0.5 * n * math.log(s) - 0.5 * math.log(first_variance(phi, theta)) for s in sums]
    free, fixed = likelihoods.argmax(axis=1).tolist()
    size = float(sizes[free])
    deviations = np.where(second, y - y[second].mean(), y - y[~second].mean())
    spread = math.sqrt(float(deviations @ deviations) / (n - 2.0))
    shrink = 1.0 + _SHRINK * math.log(max(GAIN[free], GAIN[fixed]))
    ratio = 2.0 * float(likelihoods[0, free] - likelihoods[1, fixed])
    square = math.expm1(min(ratio / n, 600.0)) * (n - 3.0)  # of the statistic
    by_ratio = abs(size - log_threshold) / math.sqrt(square) if square > 1.0 else float(errors[free])
    return size, shrink * max(by_ratio, float(errors[free])), spread
