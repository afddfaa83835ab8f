"""Versions measured in turn: the difference of each round, trimmed, with moderated variances.

R. R. Wilcox, "Introduction to Robust Estimation and Hypothesis Testing", section 4.3: the trimmed mean and its standard
error by the winsorised variance. Nothing is trimmed of fewer than 8 rounds, where it would cost more than it saves.

One deviation: of h kept rounds the variance has (h - 1)(1 - share cut off) degrees of freedom, where Wilcox has h - 1.
That is twice the squared mean over the variance of winsorised variances of normal values, to 1 % from 8 to 60 rounds
(simulated); with h - 1 a probability of 0.0005 stood for up to 0.001, which many benchmarks together show.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perf_statistics.gating.estimates import FEWEST_ROUNDS, Estimates
from perf_statistics.gating.moderation import moderated
from perf_statistics.gating.rounding import rounding_limits

Floats = npt.NDArray[np.float64]

_TRIMMED = 0.2  # of the rounds, on each side
_FROM = 8  # rounds


def trimmed_means(samples: Sequence[Floats]) -> tuple[Floats, Floats, Floats, Floats]:
    """Trimmed mean of each sample."""
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
        freedom[chosen] = (h - 1) * (1.0 - cut / size) if size else 0.0
        means[chosen] = ordered[:, cut : size - cut].mean(axis=1) if size else np.nan
        if size > 1:
            winsorised = ordered.copy()
            winsorised[:, :cut], winsorised[:, size - cut :] = ordered[:, [cut]], ordered[:, [size - cut - 1]]
            variances[chosen] = (size - 1) * winsorised.var(axis=1, ddof=1) / (h - 1)
    return means, variances, freedom, kept


def paired_test(first: Sequence[Floats], second: Sequence[Floats], resolutions: Floats | None = None) -> Estimates:
    """Of rounds in which both versions were measured next to each other."""
    differences = [np.asarray(b) - np.asarray(a) for a, b in zip(first, second, strict=True)]
    means, variances, freedom, kept = trimmed_means(differences)
    enough = kept >= FEWEST_ROUNDS
    shared, total_freedom = variances.copy(), freedom.copy()
    if enough.any():
        shared[enough], total_freedom[enough] = moderated(variances[enough], freedom[enough])
    errors = np.sqrt(shared / np.maximum(kept, 1.0))
    return Estimates(
        log_ratio=means,
        standard_error=errors,
        freedom=total_freedom,
        rounding=np.zeros(len(means)) if resolutions is None else rounding_limits(resolutions, np.sqrt(variances)),
        rounds=np.array([len(each) for each in differences], dtype=np.int64),
        may_pass=np.ones(len(differences), dtype=np.bool_),
    )
