"""How likely sections of a run without iterations are as alike as these are: an analysis of variance.

Of any noise some sections are alike, and a search through all places and durations finds them: of two or three steps
each, four such sections are found in most runs of a thousand steps.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perf_worley.iterations.signal import Signal


Floats = npt.NDArray[np.float64]

_PARTS = 32
_MOST_CORRELATION = 0.97


def chance(signal: Signal, starts: Floats, ends: Floats) -> float:
    """Probability that the best sections of noise have as much in common."""
    from scipy.special import fdtrc

    n_sections, duration = len(starts), float(np.median(ends - starts))
    others = n_sections - 1
    n_values = max(signal.n_changes * duration / signal.n_cells, 2.0)
    parts = signal.sections(starts, ends, _PARTS)
    parts = parts - parts.mean(axis=1, keepdims=True)
    profile = parts.mean(axis=0)
    errors = parts - profile
    explained, left = n_sections * float((profile**2).sum()), float((errors**2).sum())
    if left <= 1e-12 * explained:  # exact repetition
        return 0.0
    correlation = min(max(float((errors[:, 1:] * errors[:, :-1]).sum()) / left, 0.0), _MOST_CORRELATION)
    freedom = max(min(n_values - 1.0, (_PARTS - 1) * (1.0 - correlation) / (1.0 + correlation)), 1.0)
    places = signal.n_cells / duration * min(n_values, _PARTS)
    return min(float(fdtrc(freedom, others * freedom, explained * others / left)) * places, 1.0)
