"""Forecasts by many simple predictors, of which past errors choose: constants, trends, seasons, autoregressions.

R. Wolski, "Dynamically Forecasting Network Performance Using the Network Weather Service", Cluster Computing 1 (1998):
means, medians and exponential smoothings compete. The windows and gains are a selection of those there, and the
adaptive ones are at each step the fixed window with the least recent error, which needs no loop over samples.

Sources: C. C. Holt (1957) and E. S. Gardner, E. McKenzie, "Forecasting Trends in Time Series" (1985) for damped
trends, with gains that compete as those of the Network Weather Service's smoothings do, instead of being optimised;
P. R. Winters (1960) for seasons, whose profile is the mean of the last cycles here; V. Assimakopoulos and
K. Nikolopoulos, "The theta model" (2000), as R. J. Hyndman and B. Billah (2003) write it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import fft, stats
from scipy.special import ndtri

from perf_forecast import options
from perf_forecast.options import JUDGED_COVERAGES, Bounds
from perfcore.base.arrays import Floats

_MEAN_WINDOWS = (5, 10, 20, 50)
_MEDIAN_WINDOWS = (5, 11, 21, 51)  # odd, so that the median is a sample
_TRIMMED_WINDOWS = (11, 31, 51)
_TRIMMED_SHARE = 0.3  # of the window, cut off at each end
_GAINS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 0.9)
_RECENT_GAIN = 0.1  # of the smoothing that says which window did best lately: the last ten errors count most
_CHUNK = 20_000  # windows that are sorted at a time: bounded memory
_FITS = 5  # of an autoregression in the course of the origins: one costs more than the forecasts of a hundred samples
_MOST_FITTED = 2000  # samples before a fit that it is made of
_FEWEST_ROWS = 3  # for each coefficient
_TRENDS = ((0.3, 0.1, 0.9), (0.5, 0.3, 0.9), (0.8, 0.3, 0.8), (0.2, 0.05, 0.98), (0.1, 0.1, 0.98))
_THETA_GAINS = (0.1, 0.3, 0.7)
_LAGS = (1, 2, 4, 12)  # of autoregressions without a season: so many each
_CYCLES = (1, 3)  # that a season's profile is the mean of
_DRIFT_GAINS = (0.1, 0.5, 1.0)  # of the smoothing that says how far the series is off its profile lately
_DRIFT_KEPT = (0.9, 0.97, 1.0)  # from one step to the next
_SHORTEST = 4  # samples of a season: what returns sooner is left to the autoregressions
# That must have been seen: five to learn from and as many to judge; with fewer, steps look like seasons.
_LEAST_CYCLES = 10
_AVERAGED = 5  # cycles
_LEAST_SKILL = 0.1  # share of the squared error without a season that it must explain
_BESIDE = (0.8, 0.9, 1.1, 1.2)  # of the length: cycles as long as that must do worse
_NEARLY = 0.12  # of a length: peaks of the autocorrelation nearer than this are one
_UNSURE = 0.05  # of a length: how far noise moves a peak
_LONGER_GAIN = 0.1  # share of the squared error that a multiple must still take away: a week after a day
_AS_GOOD = 0.05  # share of the least error by which a shorter one may do worse: two weeks are no better than one

Places = npt.NDArray[np.intp]

LEVELS: Floats = np.array(options.LEVELS)
_OUTERMOST = 5e-4  # probability beyond the first and the last edge, which are no infinite quantiles
_EVIDENCE = 30.0  # origins whose places weigh as much as the belief that a distribution is right as it is
_LEAST_DISPERSION, _MOST_DISPERSION = 0.75, 1.0 / 0.75  # beyond, values that repeat are the cause, not the width
_SCALE_GAIN = 0.05  # of the smoothing of absolute errors: the last twenty count most
_LEAST_SCALE = 1e-3  # of the mean absolute error, so that a still stretch is no division by nothing
_HELD_OUT = 128  # origins that judge
_STRIDE = 8  # at most, between them: errors of neighbours are alike
_PREDICTORS = 6  # by absolute error, that are tried with every resampling
_FEWEST = 8  # errors before the first origin that judges
_MIXED = 3  # candidates, evenly: better than the best one alone
PERSISTENCE = "last value"


def one_step_forecasts(values: npt.ArrayLike) -> dict[str, Floats]:
    """What each predictor says of each sample, knowing only those before it, and of the sample after the last.

    Windows that reach back before the first sample use what there is.
    """
    history: Floats = np.asarray(values, dtype=np.float64)
    samples = pd.Series(history)
    after: dict[str, npt.ArrayLike] = {"last value": samples, "running mean": samples.expanding().mean()}
    means = {f"mean of {width}": samples.rolling(width, min_periods=1).mean() for width in _MEAN_WINDOWS}
    medians = {f"median of {width}": samples.rolling(width, min_periods=1).median() for width in _MEDIAN_WINDOWS}
    trimmed = {f"trimmed mean of {width}": _trimmed_mean(history, width) for width in _TRIMMED_WINDOWS}
    # Without adjustment this is simple exponential smoothing from the first sample on.
    smoothed = {f"smoothing {gain:g}": samples.ewm(alpha=gain, adjust=False).mean() for gain in _GAINS}
    forecasts = {
        name: np.concatenate([[np.nan], np.asarray(forecast, dtype=np.float64)])
        for name, forecast in (after | means | medians | trimmed | smoothed).items()
    }
    for name, group in (("adaptive mean", means), ("adaptive median", medians)):
        table = np.array([forecasts[member] for member in group])
        errors = pd.DataFrame((table[:, 1:-1] - history[1:]).T ** 2)
        choice = np.zeros(table.shape[1], dtype=np.intp)  # the first two steps have no errors before them
        choice[2:] = errors.ewm(alpha=_RECENT_GAIN).mean().to_numpy().argmin(axis=1)
        forecasts[name] = table[choice, np.arange(table.shape[1])]  # of the least recent error
    return forecasts


def _trimmed_mean(values: Floats, width: int) -> Floats:
    """Mean of the middle of each window that ends at a sample (n,)."""
    starting = min(width - 1, len(values))
    means = np.empty(len(values))
    for size in range(1, starting + 1):
        means[size - 1] = stats.trim_mean(values[:size], _TRIMMED_SHARE)
    if len(values) >= width:
        windows = np.lib.stride_tricks.sliding_window_view(values, width)
        for first in range(0, len(windows), _CHUNK):
            middle: Floats = np.asarray(stats.trim_mean(windows[first : first + _CHUNK], _TRIMMED_SHARE, axis=1))
            means[starting + first : starting + first + len(middle)] = middle
    return means


def autoregression(values: Floats, lags: Sequence[int], steps: int, first: int) -> Floats:
    """Forecasts of the samples one to ``steps`` after each origin."""
    count, longest = len(values), lags[-1]
    forecasts = np.full((steps, count - first), np.nan)
    start = max(first, longest + _FEWEST_ROWS * (len(lags) + 1))
    if start >= count:
        return forecasts
    fits = np.unique(np.linspace(start, count, _FITS, endpoint=False).astype(int)).tolist()
    for fitted, after in zip(fits, [*fits[1:], count], strict=True):
        history = values[max(0, fitted + 1 - _MOST_FITTED - longest) : fitted + 1]
        # Not by statsmodels' AutoReg, which makes a column of each lag up to the longest: thousands with a season. The
        # pseudo-inverse is right for a constant or periodic history, too.
        columns = [np.ones(len(history) - longest), *(history[longest - lag : len(history) - lag] for lag in lags)]
        coefficients = np.linalg.pinv(np.stack(columns, axis=1)) @ history[longest:]
        paths = _continued(values, np.arange(fitted, after), lags, coefficients, steps)
        # A root outside of the unit circle must not lead far beyond what was seen.
        reach = np.ptp(history)
        forecasts[:, fitted - first : after - first] = np.clip(paths, history.min() - reach, history.max() + reach)
    return forecasts


def _continued(
    values: Floats, origins: npt.NDArray[np.intp], lags: Sequence[int], coefficients: Floats, steps: int
) -> Floats:
    """Each forecast takes the ones before it for the samples that are not known yet (steps, origins)."""
    paths = np.empty((steps, len(origins)))
    for step in range(1, steps + 1):
        paths[step - 1] = coefficients[0]
        for coefficient, lag in zip(coefficients[1:], lags, strict=True):
            paths[step - 1] += coefficient * (paths[step - lag - 1] if lag < step else values[origins + step - lag])
    return paths


def forecasts_ahead(values: npt.ArrayLike, steps: int, seasons: Sequence[int], first: int) -> Mapping[str, Floats]:
    """What each predictor says of the samples one to ``steps`` after each origin, knowing no later one."""
    history: Floats = np.asarray(values, dtype=np.float64)
    forecasts: dict[str, Floats] = {
        name: np.broadcast_to(forecast[first + 1 :], (steps, len(history) - first))
        for name, forecast in one_step_forecasts(history).items()
    }
    for level_gain, trend_gain, kept in _TRENDS:
        name = f"damped trend {level_gain:g}, {trend_gain:g}, {kept:g}"
        forecasts[name] = damped_trend(history, level_gain, trend_gain, kept, steps, first)
    for gain in _THETA_GAINS:
        forecasts[f"theta {gain:g}"] = theta(history, gain, steps, first)
    for count in _LAGS:
        forecasts[f"autoregression of {count}"] = autoregression(history, range(1, count + 1), steps, first)
    for season in seasons:
        forecasts.update(_seasonal(history, season, steps, first))
        for cycles in (1, 2):
            around = [cycle * season + by for cycle in range(1, cycles + 1) for by in (-1, 0, 1)]
            lags = sorted({1, 2, 3, *around})
            name = f"autoregression of 3 and {cycles} season{'s' if cycles > 1 else ''} of {season}"
            forecasts[name] = autoregression(history, lags, steps, first)
    return forecasts


def damped_trend(
    values: Floats, level_gain: float, trend_gain: float, kept: float, steps: int, first: int = 0
) -> Floats:
    """Forecasts by exponential smoothing of level and trend, of which a share is kept from step to step."""
    from statsmodels.tsa.holtwinters import Holt

    start: dict[str, Any] = {"initialization_method": "known", "initial_level": values[0], "initial_trend": 0.0}
    with np.errstate(all="ignore"):  # information criteria of a perfect fit are infinite
        smoothed = Holt(values, damped_trend=True, **start).fit(
            level_gain, trend_gain, damping_trend=kept, optimized=False
        )
    level, trend = np.asarray(smoothed.level), np.asarray(smoothed.trend)
    shares = np.cumsum(kept ** np.arange(1.0, steps + 1.0))
    forecasts: Floats = level[first:] + shares[:, None] * trend[first:]
    return forecasts


def theta(values: Floats, gain: float, steps: int, first: int = 0) -> Floats:
    """Forecasts by exponential smoothing with half the slope of all samples up to each origin."""
    count = np.arange(1.0, len(values) + 1.0)
    times, sums = np.cumsum(count - 1.0), np.cumsum(values)
    squares, products = np.cumsum((count - 1.0) ** 2), np.cumsum((count - 1.0) * values)
    spread = count * squares - times**2
    slope = np.divide(count * products - times * sums, spread, out=np.zeros(len(values)), where=spread > 0.0)
    level = pd.Series(values).ewm(alpha=gain, adjust=False).mean().to_numpy()
    level = level + 0.5 * slope * (1.0 - (1.0 - gain) ** count) / gain
    forecasts: Floats = level[first:] + 0.5 * np.arange(steps)[:, None] * slope[first:]
    return forecasts


def _seasonal(values: Floats, season: int, steps: int, first: int) -> Iterator[tuple[str, Floats]]:
    """The profile of the last cycles, and how far the series has been off it lately, which fades out."""
    count = len(values)
    ahead = np.arange(1, steps + 1)[:, None]
    targets = np.arange(first, count) + ahead
    for cycles in _CYCLES:
        profile = mean_of_cycles(values, season, cycles)
        # Beyond one season the profile repeats itself: what would be needed of the next cycle is not known yet.
        expected = profile[targets - season * ((ahead - 1) // season)]
        off = pd.Series(values - profile[:count])
        yield f"season of {season}, mean of {cycles}", expected
        for gain in _DRIFT_GAINS:
            lately = off.ewm(alpha=gain, adjust=False).mean().to_numpy()[first:]
            for kept in _DRIFT_KEPT:
                name = f"season of {season}, mean of {cycles}, off by smoothing {gain:g}, {kept:g} kept"
                yield name, expected + kept**ahead * lately


def find_seasons(values: npt.ArrayLike) -> tuple[int, ...]:
    """Lengths of the seasons in samples, shortest first; at most two, such as a day and a week."""
    samples: Floats = np.asarray(values, dtype=np.float64)
    if len(samples) < _LEAST_CYCLES * _SHORTEST or np.ptp(samples) == 0.0:
        return ()
    ranks = stats.rankdata(samples) / len(samples)
    longest = len(ranks) // _LEAST_CYCLES
    spectrum = fft.rfft(ranks - ranks.mean(), fft.next_fast_len(2 * len(ranks)))
    correlation = fft.irfft(np.abs(spectrum) ** 2)
    peaks = []
    for lag in range(_SHORTEST, longest + 1):
        reach = max(1, round(_NEARLY * lag))
        if correlation[lag] > 0.0 and correlation[lag] >= correlation[lag - reach : lag + reach + 1].max():
            peaks.append(lag)
    for peak in peaks:
        near = _best_within(ranks, peak, max(1, round(0.2 * _UNSURE * peak)))
        if _stands_out(ranks, near, tuple({round(near * share) for share in _BESIDE} - {near})):
            short = _best_within(ranks, near, round(_UNSURE * near))
            long = _longer(ranks, short)
            return (short,) if long is None else (short, long)
    return ()


def _best_within(ranks: Floats, length: int, reach: int) -> int:
    lengths = range(max(_SHORTEST, length - reach), length + reach + 1)
    return max(lengths, key=lambda each: (_skill(ranks, each), -each))


def _stands_out(ranks: Floats, length: int, others: tuple[int, ...]) -> bool:
    skill = _skill(ranks, length)
    return skill >= _LEAST_SKILL and all(skill >= _skill(ranks, other) + _LEAST_SKILL for other in others)


def _longer(ranks: Floats, short: int) -> int | None:
    """The multiple of a season that foretells best, if it is better than the season and the neighbouring multiples."""
    multiples = [k * short for k in range(2, len(ranks) // (_LEAST_CYCLES * short) + 1)]
    if not multiples:
        return None
    first = _AVERAGED * multiples[-1]
    errors = {length: _errors(ranks, length, first)[0] for length in (short, *multiples)}
    least = min(errors.values())
    long = next(length for length in errors if errors[length] <= (1.0 + _AS_GOOD) * least)
    better = errors[long] < (1.0 - _LONGER_GAIN) * errors[short]  # not the season itself, then
    return long if better and _stands_out(ranks, long, (long - short, long + short)) else None


def _skill(values: Floats, length: int) -> float:
    """Share of the squared error of the last cycle's level that the mean of the last cycles takes away."""
    error, without = _errors(values, length, _AVERAGED * length)
    return 1.0 - error / without if without > 0.0 else -np.inf


def _errors(values: Floats, length: int, first: int) -> tuple[float, float]:
    """Mean squared errors of samples from ``first`` on, with the season and with the level of the last cycle alone."""
    now, before = values[first:], mean_of_cycles(values, length, _AVERAGED)[first : len(values)]
    sums = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(first, len(values))
    level = (sums[ends] - sums[ends - length]) / length
    levels = (sums[ends] - sums[ends - _AVERAGED * length]) / (_AVERAGED * length)
    return float(np.mean((now - level - (before - levels)) ** 2)), float(np.mean((now - level) ** 2))


def mean_of_cycles(values: Floats, length: int, cycles: int) -> Floats:
    """The mean of the samples one to ``cycles`` lengths before, for each sample and one length beyond the last."""
    count = len(values) + length
    total, number = np.zeros(count), np.zeros(count)
    for place in range(length, min(cycles * length, count - 1) + 1, length):
        shifted = values[: count - place]
        total[place : place + len(shifted)] += shifted
        number[place : place + len(shifted)] += 1
    means: Floats = np.divide(total, number, out=np.full(count, np.nan), where=number > 0)
    return means


# What may come, from what came in the past: samples around a forecast, as a distribution within bounds.
#
# Three things can be carried over from an earlier origin: the error that the predictor made there, that error in units
# of how large errors were at the time, or the outcome that followed. They are carried over from the last origins, or
# from those of them at which the forecast was most like the one of now: what follows a burst follows bursts. An outcome
# is the value some steps after an origin, or the mean of all up to there; it is known as many steps later.
#
# Sources: the Network Weather Service's forecasts with their past errors, here whole and not as one spread; S.
# Yakowitz, "Nearest-neighbour methods for time series analysis" (1987) for what followed alike forecasts.


def resolution_of(values: Floats) -> float:
    """Return the step by which values are rounded; 0 if most are different."""
    distinct = np.unique(values)
    if len(distinct) < 2 or len(distinct) > 0.5 * len(values):
        return 0.0
    steps = np.diff(distinct)
    return float(steps[steps > 1e-9 * np.ptp(distinct)].min())


def quantiles_of(samples: Floats, weights: Floats, resolution: float, bounds: Bounds) -> Floats:
    """Quantiles of weighted samples at `LEVELS`.

    A sample stands for the values that are rounded to it, except at a bound. Between samples quantiles are linear;
    beyond them they go on as those of a normal distribution from the median to the outermost sample would.
    """
    order = np.argsort(samples, kind="stable")
    values = np.clip(samples[order], *bounds)
    share = weights[order] / weights.sum()
    if resolution > 0.0:
        # Equal values are spread evenly over what is rounded to them; those at a bound stay.
        starts = np.flatnonzero(np.diff(values, prepend=-np.inf) > 0.0)
        counts = np.diff(starts, append=len(values))
        offsets = (np.arange(len(values)) - np.repeat(starts, counts) + 0.5) / np.repeat(counts, counts) - 0.5
        free = (values > bounds[0]) & (values < bounds[1])
        values = np.where(free, values + resolution * offsets, values)
    # Probability outside of as many samples as these are worth.
    tail_probability = 1.0 / (1.0 + 1.0 / float(np.sum(share**2)))
    places = (np.cumsum(share) - 0.5 * share) * (1.0 - tail_probability) + 0.5 * tail_probability
    probabilities = np.clip(LEVELS, _OUTERMOST, 1.0 - _OUTERMOST)
    interpolated = np.interp(probabilities, places, values)
    middle = float(np.interp(0.5, places, values))
    for outside, end in ((probabilities < places[0], 0), (probabilities > places[-1], -1)):
        if places[end] != 0.5:
            interpolated[outside] = middle + (values[end] - middle) * ndtri(probabilities[outside]) / ndtri(places[end])
    quantiles: Floats = np.maximum.accumulate(np.clip(interpolated, *bounds))
    return quantiles


def centrality(quantiles: Floats, actual: float) -> float:
    """Coverage of the narrowest central interval that holds a value: 0 at the median, 1 at and beyond the ends."""
    first, after = (int(quantiles.searchsorted(actual, side=side)) for side in ("left", "right"))
    if after > first:  # one of the edges, or several: whichever level is nearest to the middle
        low, high = LEVELS[first], LEVELS[after - 1]
        return float(2.0 * max(low - 0.5, 0.5 - high, 0.0))
    return float(abs(2.0 * np.interp(actual, quantiles, LEVELS) - 1.0))


def dispersion_of(centralities: Floats) -> float:
    """Return the exponent g with which central intervals of coverage c held c^g of the values; 1 if they were right."""
    mean = (float(centralities.sum()) + 0.5 * _EVIDENCE) / (len(centralities) + _EVIDENCE)
    return round(min(max(mean / (1.0 - mean), _LEAST_DISPERSION), _MOST_DISPERSION), 12)


def redispersed(quantiles: Floats, dispersion: float) -> Floats:
    """Quantiles at `LEVELS` whose central intervals hold what they say, after those that held another share."""
    central = 2.0 * LEVELS - 1.0
    moved = 0.5 + 0.5 * np.sign(central) * np.abs(central) ** (1.0 / dispersion)
    moved_quantiles: Floats = np.interp(np.round(moved, 12), LEVELS, quantiles)  # a bound stays one
    return moved_quantiles


@dataclass(frozen=True)
class Resampling:
    """Return which earlier origins count, and what is carried over from them."""

    carried: str
    window: int  # how many origins count, from the last one on
    nearest: int | None = None  # how many of these, by the distance of their forecasts; all if not given

    @property
    def name(self) -> str:
        if self.nearest is None:
            return f"{self.carried} of the last {self.window}"
        carried_text = "what followed" if self.carried == "values" else self.carried
        return f"{carried_text} at the {self.nearest} most alike forecasts of {self.window}"

    def samples(self, forecasts: Floats, outcomes: Floats, origins: Places, steps: int, first: int) -> Floats:
        """Return samples of the outcome of each origin, from what was known there: outcomes so many steps before."""
        window = min(self.window, int(origins.min()) - steps - first + 1)
        earlier = (origins - steps)[:, None] - np.arange(window)
        origin_forecasts = forecasts[origins][:, None]
        if self.nearest is not None and self.nearest < window:
            distance = np.abs(forecasts[earlier] - origin_forecasts)
            # Of equally alike ones the later: the term is smaller than any other difference that counts.
            distance += np.arange(window) * (1e-12 * float(np.ptp(forecasts[first:])) + np.finfo(float).tiny)
            chosen = np.argpartition(distance, self.nearest - 1, axis=1)[:, : self.nearest]
            earlier = np.take_along_axis(earlier, chosen, axis=1)
        followed: Floats = outcomes[earlier]
        if self.carried == "values":
            return followed
        errors: Floats = followed - forecasts[earlier]
        if self.carried == "scaled errors":
            scales = _scales(forecasts, outcomes, steps, first)
            errors *= scales[origins][:, None] / scales[earlier]
        samples: Floats = origin_forecasts + errors
        return samples


def _scales(forecasts: Floats, outcomes: Floats, steps: int, first: int) -> Floats:
    """Return how large absolute errors were lately, as it was known at each origin (n,)."""
    misses = pd.Series(np.abs(outcomes - forecasts)[first : len(outcomes) - steps])
    lately = misses.ewm(alpha=_SCALE_GAIN).mean() + _LEAST_SCALE * misses.expanding().mean()
    scales = np.full(len(outcomes), lately.iloc[0])  # before the first error: the same for all
    scales[first + steps :] = lately
    return np.where(scales > 0.0, scales, 1.0)  # nothing was missed until then


RESAMPLINGS = (
    *(Resampling("errors", window) for window in (50, 300, 1000)),
    Resampling("scaled errors", 1000),
    *(Resampling(carried, 1000, nearest) for carried in ("errors", "values") for nearest in (30, 100)),
)


def crps_of_samples(samples: Floats, actual: Floats) -> Floats:
    """Continuous ranked probability score of equally probable samples."""
    count = samples.shape[1]
    ranks = 2.0 * np.arange(1, count + 1) - count - 1.0
    between = np.sort(samples, axis=1) @ ranks / count**2
    score: Floats = np.abs(samples - actual[:, None]).mean(axis=1) - between
    return score


@dataclass(frozen=True)
class Candidate:
    """A predictor and what is carried over from its past."""

    predictor: str
    resampling: Resampling

    @property
    def name(self) -> str:
        return f"{self.predictor}; {self.resampling.name}"


def _different(available: int) -> Iterable[Resampling]:
    """Of resamplings that are the same where so few earlier origins are known, the first."""
    resamplings: dict[tuple[str, int, int], Resampling] = {}
    for each in RESAMPLINGS:
        window = min(each.window, available)
        resamplings.setdefault((each.carried, window, min(each.nearest or window, window)), each)
    return resamplings.values()


@dataclass(frozen=True)
class Choice:
    """What is to say how an outcome is distributed."""

    candidates: Sequence[Candidate]  # least CRPS first; mixed evenly
    dispersion: float  # of the mixture; see `dispersion_of`
    judged: int
    held: tuple[float, ...]
    crps: float  # their mean score, in the unit of the values
    errors: Mapping[str, float]  # mean absolute errors at the same origins: of the median, and of predictors by name


@dataclass(frozen=True)
class Mixer:
    """Outcomes of origins with the forecasts of them, of which mixtures of candidates make distributions."""

    forecasts: Mapping[str, Floats]  # by predictor, of the outcome of each origin (n,)
    outcomes: Floats  # (n,), NaN if not known yet
    steps: int  # after which an outcome is known
    resolution: float
    bounds: Bounds

    @functools.cached_property
    def starts(self) -> dict[str, int]:
        """Return the first origin that each predictor forecasts from; its forecasts before are NaN."""
        return {name: int(np.isfinite(forecast).argmax()) for name, forecast in self.forecasts.items()}

    def samples(self, candidate: Candidate, origins: Places) -> Floats:
        """Return samples of the outcome of each origin; see `Resampling.samples`."""
        name = candidate.predictor
        return candidate.resampling.samples(self.forecasts[name], self.outcomes, origins, self.steps, self.starts[name])

    def scored(self, origins: Places) -> tuple[Sequence[Candidate], Floats]:
        """Return the candidates and their CRPS at each origin that judges."""
        if not len(origins):
            return [Candidate(PERSISTENCE, Resampling("errors", 1000))], np.empty((1, 0))
        actual = self.outcomes[origins]
        misses = {
            name: float(np.abs(forecast[origins] - actual).mean())
            for name, forecast in self.forecasts.items()
            if self.starts[name] + self.steps + _FEWEST <= origins[0]
        }
        predictors = sorted(misses, key=misses.__getitem__)[:_PREDICTORS]
        candidates = [
            Candidate(name, resampling)
            for name in dict.fromkeys([*predictors, PERSISTENCE])
            for resampling in _different(int(origins[0]) - self.steps - self.starts[name] + 1)
        ]
        return candidates, np.array([crps_of_samples(self.samples(each, origins), actual) for each in candidates])

    def mixed(self, candidates: Sequence[Candidate], origins: Places) -> Floats:
        """Return quantiles at `LEVELS` of the even mixture of candidates at each origin (t, m)."""
        samples = [self.samples(each, origins) for each in candidates]
        mixture = np.concatenate(samples, axis=1)
        weights = np.concatenate([np.full(each.shape[1], 1.0 / each.shape[1]) for each in samples])
        return np.array([quantiles_of(row, weights, self.resolution, self.bounds) for row in mixture])

    def _centralities(self, quantiles: Floats, origins: Places) -> Floats:
        return np.array([centrality(row, x) for row, x in zip(quantiles, self.outcomes[origins], strict=True)])

    def choose(self, baselines: Sequence[str] = ()) -> Choice:
        """Choose by the score on origins that are held out, and judge such a choice."""
        count = len(self.outcomes)  # judged are origins in the later half, each with enough errors before it
        last = count - self.steps - 1
        earliest = max(count // 2, self.steps + _FEWEST)
        stride = min(_STRIDE, max(1, (last - earliest) // _HELD_OUT))
        origins = np.arange(last, earliest - 1, -stride)[:_HELD_OUT][::-1]
        candidates, scores = self.scored(origins)
        half = len(origins) // 2
        before, after = origins[:half], origins[half:]
        held: tuple[float, ...] = (float("nan"),) * len(JUDGED_COVERAGES)
        crps, errors = float("nan"), dict[str, float]()
        if half:
            early = _best(candidates, scores[:, :half])
            dispersion = dispersion_of(self._centralities(self.mixed(early, before), before))
            later = np.array([redispersed(row, dispersion) for row in self.mixed(early, after)])
            central = self._centralities(later, after)
            held = tuple(float(np.mean(central <= coverage)) for coverage in JUDGED_COVERAGES)
            actual = self.outcomes[after]
            crps = float(np.mean([_crps(row, x) for row, x in zip(later, actual, strict=True)]))
            points = {"": later[:, len(LEVELS) // 2], **{name: self.forecasts[name][after] for name in baselines}}
            errors = {name: float(np.abs(each - actual).mean()) for name, each in points.items()}
        best = _best(candidates, scores)
        dispersion = dispersion_of(self._centralities(self.mixed(best, origins), origins)) if len(origins) else 1.0
        return Choice(best, dispersion, len(after) if half else 0, held, crps, errors)

    def now(self, choice: Choice) -> Floats:
        """Return quantiles at `LEVELS` of the outcome of the last origin (m,)."""
        return redispersed(self.mixed(choice.candidates, np.array([len(self.outcomes) - 1]))[0], choice.dispersion)


def _best(candidates: Sequence[Candidate], scores: Floats) -> list[Candidate]:
    mean = scores.mean(axis=1) if scores.shape[1] else np.zeros(len(candidates))
    return [candidates[place] for place in np.argsort(mean, kind="stable")[:_MIXED]]


def _crps(quantiles: Floats, actual: float) -> float:
    """Twice the mean quantile loss over the levels, each with the probability that is nearest to it."""
    widths = np.diff(np.concatenate([[0.0], 0.5 * (LEVELS[1:] + LEVELS[:-1]), [1.0]]))
    losses = np.maximum(LEVELS * (actual - quantiles), (LEVELS - 1.0) * (actual - quantiles))
    return float(2.0 * np.sum(widths * losses))
