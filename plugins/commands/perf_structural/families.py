"""Which representation foretells samples that it has not seen: families compete with the bins, by score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perfcore.base.errors import DataError, OptionError
from perfcore.hooks.registry import registry
from perfcore.stochastic import representation_named

if TYPE_CHECKING:
    from perfcore.stochastic import StochasticValue


Floats = npt.NDArray[np.float64]

AUTO = "auto"
_FOLDS = 5
_LEAST_IN_FOLD = 4  # samples: a standard error of fewer says little
_MOST_SCORED = 5000  # samples: more change neither the choice nor what is waited for
_LEVELS = (np.arange(400) + 0.5) / 400
_ROUNDING = 1e-9
_SURE = 2.0  # standard errors that a score must be better by


@dataclass(frozen=True)
class FamilyChoice:
    """What `choose_family` found."""

    name: str  # the representation to take
    statement: str  # what won, by how much, over what
    scores: dict[str, float]  # mean continuous ranked probability score of each on held-out samples, in their unit


def choose_family(
    samples: Floats, baseline: str, options: Any, family: str = AUTO, *, in_order: bool = False
) -> FamilyChoice:
    """Let families foretell samples that were held out, and compare them with another representation.

    Each fifth of the samples is foretold from the other four, and scored by the continuous ranked probability score:
    twice the integral of the quantile loss over all levels (T. Gneiting and R. Ranjan, JBES 29 (2011), equation 7),
    here at 400 levels.
    """
    names = [name for name in registry().entries("representations") if name != baseline] if family == AUTO else [family]
    if family != AUTO and not _has_distribution(representation_named(family)):
        raise OptionError(f"--family {family}: it knows no distribution that could be scored")
    few = _FOLDS * _LEAST_IN_FOLD
    if len(samples) < few:
        family_name = baseline if family == AUTO else family
        statement = f"{len(samples)} samples are too few to compare families, {few} are needed; taken as {family_name}"
        return FamilyChoice(family_name, statement, {})
    if len(samples) > _MOST_SCORED:
        samples = samples[np.linspace(0, len(samples) - 1, _MOST_SCORED).round().astype(np.intp)]
    folds = np.arange(len(samples)) * _FOLDS // len(samples) if in_order else np.arange(len(samples)) % _FOLDS
    reference = _scores(baseline, options, samples, folds)
    scores: dict[str, Floats] = {}
    for name in names:
        try:
            scores[name] = _scores(name, None, samples, folds)
        except (DataError, FloatingPointError):
            if family != AUTO:
                raise
    means = {name: float(each.mean()) for name, each in ({baseline: reference} | scores).items()}
    if not scores:
        return FamilyChoice(baseline, f"no family can hold these samples; taken as {baseline}", means)
    # A family that holds another as a special case scores the same where that is right.
    least = min(means[name] for name in scores) * (1.0 + _ROUNDING)
    equals = [name for name in scores if means[name] <= least]
    best = min(equals, key=lambda name: representation_named(name).generality)
    gain = reference - scores[best]
    error = float(gain.std(ddof=1)) / math.sqrt(len(gain))
    is_better = float(gain.mean()) > _SURE * error
    return FamilyChoice(
        best if is_better or family != AUTO else baseline,
        _statement(best, baseline, means, error, is_better=is_better),
        means,
    )


def _has_distribution(representation: type[StochasticValue]) -> bool:
    return representation.from_samples(np.array([1.0, 2.0, 3.0])).has_distribution


def _scores(name: str, options: Any, samples: Floats, folds: npt.NDArray[np.intp]) -> Floats:
    """The score of each sample (n,), foretold from those of other folds."""
    representation = representation_named(name)
    scores = np.empty(len(samples))
    for fold in range(_FOLDS):
        held_out = folds == fold
        value = representation.from_samples(samples[~held_out], options)
        if not value.has_distribution:
            raise DataError(f"{name}: it knows no distribution that could be scored")
        scores[held_out] = _crps(np.asarray(value.quantile(_LEVELS), dtype=np.float64), samples[held_out])
    return scores


def _crps(places: Floats, actual: Floats) -> Floats:
    """Of a value with these quantiles at `_LEVELS`, for each actual one (n,)."""
    off = actual[:, None] - places
    losses: Floats = 2.0 * np.where(off >= 0.0, _LEVELS * off, (_LEVELS - 1.0) * off).mean(axis=1)
    return losses


def _statement(best: str, baseline: str, means: dict[str, float], error: float, *, is_better: bool) -> str:
    gain = means[baseline] - means[best]
    share, spread = gain / means[baseline], error / means[baseline]
    scored = f"mean score {means[best]:.4g} against {means[baseline]:.4g} of {baseline} on held-out samples"
    if is_better:
        return f"{best} is better than {baseline} by {share:.2%} ± {_SURE * spread:.2%}: {scored}"
    others: Sequence[str] = [name for name in means if name != baseline]
    whose = "no family is" if len(others) > 1 else f"{best} is not"
    return f"{whose} surely better than {baseline}: {best} by {share:+.2%} ± {_SURE * spread:.2%}, {scored}"
