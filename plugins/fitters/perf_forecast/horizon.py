"""What may come, from what came in the past: samples around a forecast, as a distribution within bounds.

Three things can be carried over from an earlier origin: the error that the predictor made there, that error in units of
how large errors were at the time, or the outcome that followed. They are carried over from the last origins, or from
those of them at which the forecast was most like the one of now: what follows a burst follows bursts. An outcome is the
value some steps after an origin, or the mean of all up to there; it is known as many steps later.

Sources: the Network Weather Service's forecasts with their past errors, here whole and not as one spread; S. Yakowitz,
"Nearest-neighbour methods for time series analysis" (1987) for what followed alike forecasts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from perf_forecast import options
from perf_forecast.options import JUDGED_COVERAGES
from perfcore.base.arrays import Floats

Places = npt.NDArray[np.intp]
Bounds = tuple[float, float]

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
    moved_quantiles: Floats = np.interp(np.round(moved, 12), LEVELS, quantiles)  # a bound stays one
    return moved_quantiles


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
    import pandas as pd

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

    def samples(self, forecasts: Mapping[str, Floats], outcomes: Floats, origins: Places, steps: int) -> Floats:
        """Return samples of the outcome of each origin; see `Resampling.samples`."""
        forecast = forecasts[self.predictor]
        return self.resampling.samples(forecast, outcomes, origins, steps, _first_finite(forecast))


def held_out_origins(count: int, steps: int) -> Places:
    """Origins that judge forecasts of so many steps: in the later half, each with enough errors before it (t,)."""
    last = count - steps - 1
    earliest = max(count // 2, steps + _FEWEST)
    stride = min(_STRIDE, max(1, (last - earliest) // _HELD_OUT))
    return np.arange(last, earliest - 1, -stride)[:_HELD_OUT][::-1]


def candidates_scored(
    forecasts: Mapping[str, Floats], outcomes: Floats, steps: int, origins: Places
) -> tuple[Sequence[Candidate], Floats]:
    """The candidates and their CRPS at each origin that judges."""
    if not len(origins):
        return [Candidate(PERSISTENCE, Resampling("errors", 1000))], np.empty((1, 0))
    actual = outcomes[origins]
    starts = {name: _first_finite(forecast) for name, forecast in forecasts.items()}
    misses = {
        name: float(np.abs(forecast[origins] - actual).mean())
        for name, forecast in forecasts.items()
        if starts[name] + steps + _FEWEST <= origins[0]
    }
    predictors = sorted(misses, key=misses.__getitem__)[:_PREDICTORS]
    candidates = [
        Candidate(name, resampling)
        for name in dict.fromkeys([*predictors, PERSISTENCE])
        for resampling in _different(int(origins[0]) - steps - starts[name] + 1)
    ]
    scores = [crps_of_samples(each.samples(forecasts, outcomes, origins, steps), actual) for each in candidates]
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

    def mixed(self, candidates: Sequence[Candidate], origins: Places) -> Floats:
        """Return quantiles at `LEVELS` of the even mixture of candidates at each origin (t, m)."""
        samples = [each.samples(self.forecasts, self.outcomes, origins, self.steps) for each in candidates]
        mixture = np.concatenate(samples, axis=1)
        weights = np.concatenate([np.full(each.shape[1], 1.0 / each.shape[1]) for each in samples])
        return np.array([quantiles_of(row, weights, self.resolution, self.bounds) for row in mixture])

    def _centralities(self, quantiles: Floats, origins: Places) -> Floats:
        return np.array([centrality(row, x) for row, x in zip(quantiles, self.outcomes[origins], strict=True)])

    def choose(self, baselines: Sequence[str] = ()) -> Choice:
        """Choose by the score on origins that are held out, and judge such a choice."""
        origins = held_out_origins(len(self.outcomes), self.steps)
        candidates, scores = candidates_scored(self.forecasts, self.outcomes, self.steps, origins)
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
