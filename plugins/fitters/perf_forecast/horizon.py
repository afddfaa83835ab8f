"""Samples of what may come as a distribution: quantiles between and beyond them, within bounds, and recalibrated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from perf_forecast import options
from perf_forecast.options import JUDGED_COVERAGES
from perfcore.base.arrays import Floats

LEVELS: Floats = np.array(options.LEVELS)
_OUTERMOST = 5e-4  # probability beyond the first and the last edge, which are no infinite quantiles
_EVIDENCE = 30.0  # origins whose places weigh as much as the belief that a distribution is right as it is
_LEAST_DISPERSION, _MOST_DISPERSION = 0.75, 1.0 / 0.75  # beyond, values that repeat are the cause, not the width


def resolution_of(values: Floats) -> float:
    """The step by which values are rounded; 0 where most are different."""
    distinct = np.unique(values)
    if len(distinct) < 2 or len(distinct) > 0.5 * len(values):
        return 0.0
    steps = np.diff(distinct)
    return float(steps[steps > 1e-9 * np.ptp(distinct)].min())


def quantiles_of(samples: Floats, weights: Floats, resolution: float, bounds: tuple[float, float]) -> Floats:
    """Quantiles of weighted samples at `LEVELS`.

    A sample stands for the values that are rounded to it, except at a bound. Between samples quantiles are linear;
    beyond them they go on as those of a normal distribution from the median to the outermost sample would.
    """
    order = np.argsort(samples, kind="stable")
    values = np.clip(samples[order], *bounds)
    share = weights[order] / weights.sum()
    if resolution > 0.0:
        values = _unrounded(values, resolution, bounds)
    tail_probability = 1.0 / (
        1.0 + 1.0 / float(np.sum(share**2))
    )  # probability outside of as many samples as these are worth
    places = (np.cumsum(share) - 0.5 * share) * (1.0 - tail_probability) + 0.5 * tail_probability
    probabilities = np.clip(LEVELS, _OUTERMOST, 1.0 - _OUTERMOST)
    interpolated = np.interp(probabilities, places, values)
    middle = float(np.interp(0.5, places, values))
    for outside, end in ((probabilities < places[0], 0), (probabilities > places[-1], -1)):
        if places[end] != 0.5:
            interpolated[outside] = middle + (values[end] - middle) * ndtri(probabilities[outside]) / ndtri(places[end])
    quantiles: Floats = np.maximum.accumulate(np.clip(interpolated, *bounds))
    return quantiles


def _unrounded(values: Floats, resolution: float, bounds: tuple[float, float]) -> Floats:
    """Equal values, spread evenly over what is rounded to them; those at a bound stay."""
    starts = np.flatnonzero(np.diff(values, prepend=-np.inf) > 0.0)
    counts = np.diff(starts, append=len(values))
    offsets = (np.arange(len(values)) - np.repeat(starts, counts) + 0.5) / np.repeat(counts, counts) - 0.5
    free = (values > bounds[0]) & (values < bounds[1])
    return np.where(free, values + resolution * offsets, values)


def centrality(quantiles: Floats, actual: float) -> float:
    """Coverage of the narrowest central interval that holds a value: 0 at the median, 1 at and beyond the ends."""
    first, after = (int(quantiles.searchsorted(actual, side=side)) for side in ("left", "right"))
    if after > first:  # one of the edges, or several: whichever level is nearest to the middle
        low, high = LEVELS[first], LEVELS[after - 1]
        return float(2.0 * max(low - 0.5, 0.5 - high, 0.0))
    return float(abs(2.0 * np.interp(actual, quantiles, LEVELS) - 1.0))


def dispersion_of(centralities: Floats) -> float:
    """The exponent g with which central intervals of coverage c held c^g of the values; 1 where they were right."""
    mean = (float(centralities.sum()) + 0.5 * _EVIDENCE) / (len(centralities) + _EVIDENCE)
    return round(min(max(mean / (1.0 - mean), _LEAST_DISPERSION), _MOST_DISPERSION), 12)


def redispersed(quantiles: Floats, dispersion: float) -> Floats:
    """Quantiles at `LEVELS` whose central intervals hold what they say, after those that held another share."""
    central = 2.0 * LEVELS - 1.0
    moved = 0.5 + 0.5 * np.sign(central) * np.abs(central) ** (1.0 / dispersion)
    moved_quantiles: Floats = np.interp(moved, LEVELS, quantiles)
    return moved_quantiles


# What may come, from what came in the past: samples of a distribution around a forecast.
#
# Three things can be carried over from an earlier origin: the error that the predictor made there, that error in
# units
# of how large errors were at the time, or the value that followed. It is carried over from the last origins, or from
# those of them at which the forecast was most like the one of now: what follows a burst follows bursts.
#
# Sources: the Network Weather Service's forecasts with their past errors, here whole and not as one spread; S.
# Yakowitz,
# "Nearest-neighbour methods for time series analysis" (1987) for what followed alike forecasts.

Places = npt.NDArray[np.intp]

_SCALE_GAIN = 0.05  # of the smoothing of absolute errors: the last twenty count most
_LEAST_SCALE = 1e-3  # of the mean absolute error, so that a still stretch is no division by nothing


@dataclass(frozen=True)
class Resampling:
    """Which earlier origins count, and what is carried over from them."""

    carried: str
    window: int  # how many origins count, from the last one on
    nearest: int | None = None  # how many of these, by the distance of their forecasts; all if not given

    @property
    def name(self) -> str:
        if self.nearest is None:
            return f"{self.carried} of the last {self.window}"
        carried_text = "what followed" if self.carried == "values" else self.carried
        return f"{carried_text} at the {self.nearest} most alike forecasts of {self.window}"

    def samples(self, forecasts: Floats, values: Floats, origins: Places, steps: int, first: int) -> Floats:
        """Samples of what comes some steps after each origin, from what was known there."""
        window = min(self.window, int(origins.min()) - steps - first + 1)
        earlier = (origins - steps)[:, None] - np.arange(window)
        origin_forecasts = forecasts[origins][:, None]
        if self.nearest is not None and self.nearest < window:
            distance = np.abs(forecasts[earlier] - origin_forecasts)
            # Of equally alike ones the later: the term is smaller than any other difference that counts.
            distance += np.arange(window) * (1e-12 * float(np.ptp(forecasts[first:])) + np.finfo(float).tiny)
            chosen = np.argpartition(distance, self.nearest - 1, axis=1)[:, : self.nearest]
            earlier = np.take_along_axis(earlier, chosen, axis=1)
        followed: Floats = values[earlier + steps]
        if self.carried == "values":
            return followed
        errors: Floats = followed - forecasts[earlier]
        if self.carried == "scaled errors":
            scales = _scales(forecasts, values, steps, first)
            errors *= scales[origins][:, None] / scales[earlier]
        samples: Floats = origin_forecasts + errors
        return samples


def _scales(forecasts: Floats, values: Floats, steps: int, first: int) -> Floats:
    """How large absolute errors were lately, as it was known at each origin (n,)."""
    import pandas as pd

    misses = pd.Series(np.abs(values[first + steps :] - forecasts[first : len(values) - steps]))
    lately = misses.ewm(alpha=_SCALE_GAIN).mean() + _LEAST_SCALE * misses.expanding().mean()
    scales = np.full(len(values), lately.iloc[0])  # before the first error: the same for all
    scales[first + steps :] = lately
    return np.where(scales > 0.0, scales, 1.0)  # nothing was missed until then


RESAMPLINGS = (
    *(Resampling("errors", window) for window in (50, 300, 1000)),
    Resampling("scaled errors", 1000),
    *(
        Resampling(carried, window, nearest)
        for carried in ("errors", "values")
        for window in (300, 1000)
        for nearest in (30, 100)
    ),
)


def crps_of_samples(samples: Floats, actual: Floats) -> Floats:
    """Continuous ranked probability score of equally probable samples."""
    count = samples.shape[1]
    ranks = 2.0 * np.arange(1, count + 1) - count - 1.0
    between = np.sort(samples, axis=1) @ ranks / count**2
    score: Floats = np.abs(samples - actual[:, None]).mean(axis=1) - between
    return score


_HELD_OUT = 128  # origins that judge
_STRIDE = 8  # at most, between them: errors of neighbours are alike
_PREDICTORS = 6  # by absolute error, that are tried with every resampling
_FEWEST = 8  # errors before the first origin that judges


@dataclass(frozen=True)
class Candidate:
    """A predictor and what is carried over from its past."""

    predictor: str
    resampling: Resampling

    @property
    def name(self) -> str:
        return f"{self.predictor}; {self.resampling.name}"

    def samples(self, forecasts: Mapping[str, Floats], values: Floats, origins: Places, steps: int) -> Floats:
        """Samples of what comes so many steps after each origin; see `Resampling.samples`."""
        forecast = forecasts[self.predictor]
        return self.resampling.samples(forecast, values, origins, steps, _first_finite(forecast))


def held_out_origins(count: int, steps: int) -> Places:
    """Origins that judge forecasts of so many steps: in the later half, each with enough errors before it (t,)."""
    last = count - steps - 1
    earliest = max(count // 2, steps + _FEWEST)
    stride = min(_STRIDE, max(1, (last - earliest) // _HELD_OUT))
    return np.arange(last, earliest - 1, -stride)[:_HELD_OUT][::-1]


def candidates_scored(
    forecasts: Mapping[str, Floats], values: Floats, steps: int, origins: Places
) -> tuple[Sequence[Candidate], Floats]:
    """The candidates and their CRPS at each origin that judges."""
    if not len(origins):
        return [Candidate("last value", Resampling("errors", 1000))], np.empty((1, 0))
    actual = values[origins + steps]
    starts = {name: _first_finite(forecast) for name, forecast in forecasts.items()}
    misses = {
        name: float(np.abs(forecast[origins] - actual).mean())
        for name, forecast in forecasts.items()
        if starts[name] + steps + _FEWEST <= origins[0]
    }
    predictors = sorted(misses, key=misses.__getitem__)[:_PREDICTORS]
    candidates = [
        Candidate(name, resampling)
        for name in dict.fromkeys([*predictors, "last value"])
        for resampling in _different(int(origins[0]) - steps - starts[name] + 1)
    ]
    scores = [crps_of_samples(each.samples(forecasts, values, origins, steps), actual) for each in candidates]
    return candidates, np.array(scores)


def _different(available: int) -> Iterable[Resampling]:
    """Of resamplings that are the same where so few earlier origins are known, the first."""
    resamplings: dict[tuple[str, int, int], Resampling] = {}
    for each in RESAMPLINGS:
        window = min(each.window, available)
        resamplings.setdefault((each.carried, window, min(each.nearest or window, window)), each)
    return resamplings.values()


def _first_finite(forecast: Floats) -> int:
    """The first origin with a forecast: what comes before is missing."""
    return int(np.isfinite(forecast).argmax())


_MIXED = 3  # candidates, evenly: better than the best one alone


@dataclass(frozen=True)
class Choice:
    """What is to say how the value so many steps ahead is distributed."""

    candidates: Sequence[Candidate]  # least CRPS first; mixed evenly
    dispersion: float  # of the mixture; see `perf_forecast.horizon.dispersion_of`
    judged: int
    held: tuple[float, ...]
    crps: float  # their mean score, in the unit of the values


def chosen_at(
    forecasts: Mapping[str, Floats], values: Floats, steps: int, resolution: float, bounds: tuple[float, float]
) -> Choice:
    """Choose by the score on origins that are held out, and judge such a choice."""
    origins = held_out_origins(len(values), steps)
    candidates, scores = candidates_scored(forecasts, values, steps, origins)
    before, after = np.arange(len(origins) // 2), np.arange(len(origins) // 2, len(origins))

    def mixture(chosen: Sequence[Candidate], places: Places) -> Floats:
        return _mixed(chosen, forecasts, values, steps, origins[places], resolution, bounds)

    def centralities(quantiles: Floats, places: Places) -> Floats:
        actual = values[origins[places] + steps]
        return np.array([centrality(row, x) for row, x in zip(quantiles, actual, strict=True)])

    observed_coverages: tuple[float, ...] = (float("nan"),) * len(JUDGED_COVERAGES)
    crps = float("nan")
    if len(before):
        early = _best(candidates, scores[:, before])
        dispersion = dispersion_of(centralities(mixture(early, before), before))
        later = np.array([redispersed(row, dispersion) for row in mixture(early, after)])
        central = centralities(later, after)
        observed_coverages = tuple(float(np.mean(central <= coverage)) for coverage in JUDGED_COVERAGES)
        actual = values[origins[after] + steps]
        crps = float(np.mean([_crps(row, x) for row, x in zip(later, actual, strict=True)]))
    best = _best(candidates, scores)
    everything = np.arange(len(origins))
    dispersion = dispersion_of(centralities(mixture(best, everything), everything)) if len(origins) else 1.0
    return Choice(best, dispersion, len(after) if len(before) else 0, observed_coverages, crps)


def distribution_now(
    choice: Choice,
    forecasts: Mapping[str, Floats],
    values: Floats,
    steps: int,
    resolution: float,
    bounds: tuple[float, float],
) -> Floats:
    """Quantiles at `LEVELS` of the value so many steps after the last sample (m,)."""
    now = np.array([len(values) - 1])
    mixed = _mixed(choice.candidates, forecasts, values, steps, now, resolution, bounds)
    return redispersed(mixed[0], choice.dispersion)


def _best(candidates: Sequence[Candidate], scores: Floats) -> list[Candidate]:
    mean = scores.mean(axis=1) if scores.shape[1] else np.zeros(len(candidates))
    return [candidates[place] for place in np.argsort(mean, kind="stable")[:_MIXED]]


def _mixed(
    candidates: Sequence[Candidate],
    forecasts: Mapping[str, Floats],
    values: Floats,
    steps: int,
    origins: Places,
    resolution: float,
    bounds: tuple[float, float],
) -> Floats:
    """Quantiles at `LEVELS` of the even mixture of candidates at each origin (t, m)."""
    samples = [each.samples(forecasts, values, origins, steps) for each in candidates]
    mixture = np.concatenate(samples, axis=1)
    weights = np.concatenate([np.full(each.shape[1], 1.0 / each.shape[1]) for each in samples])
    return np.array([quantiles_of(row, weights, resolution, bounds) for row in mixture])


def _crps(quantiles: Floats, actual: float) -> float:
    """Twice the mean quantile loss over the levels, each with the probability that is nearest to it."""
    widths = np.diff(np.concatenate([[0.0], 0.5 * (LEVELS[1:] + LEVELS[:-1]), [1.0]]))
    losses = np.maximum(LEVELS * (actual - quantiles), (LEVELS - 1.0) * (actual - quantiles))
    return float(2.0 * np.sum(widths * losses))
