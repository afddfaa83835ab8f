"""The distribution of the value some steps ahead, and how such distributions did on samples that had no say in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_forecast.distributions import LEVELS, centrality, dispersion_of, quantiles_of, redispersed
from perf_forecast.levels import JUDGED_COVERAGES
from perf_forecast.selection import Candidate, candidates_scored, held_out_origins


Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]
_MIXED = 3  # candidates, evenly: better than the best one alone


@dataclass(frozen=True)
class Choice:
    """What is to say how the value so many steps ahead is distributed."""

    candidates: Sequence[Candidate]  # least CRPS first; mixed evenly
    dispersion: float  # of the mixture; see `perf_forecast.distributions.dispersion_of`
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
