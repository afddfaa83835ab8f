"""How many phases? What changes, and what stays, when one more phase is assumed.

Worley asks for a sensitivity analysis that takes into account "how much the fit changes when an additional phase is
assumed, and what features of the approximation are preserved" (section 1). The first is the drop of the error, the
second the persistence of each breakpoint.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

# Two breakpoints are the same feature when they are this close, as a share of the run.
NEAR = 0.01


def persistence(models: Sequence[Sequence[float]], duration: float) -> list[list[int]]:
    """For each break of each model in how many of the following models it stays."""
    import numpy as np

    near = NEAR * duration
    counts = []
    for number, breaks in enumerate(models):
        kept = [0] * len(breaks)
        for later in models[number + 1 :]:
            if len(later):
                distance = np.abs(np.subtract.outer(np.asarray(breaks), np.asarray(later)))
                kept = [k + bool(d <= near) for k, d in zip(kept, distance.min(axis=1), strict=True)]
        counts.append(kept)
    return counts


def knee(counts: Sequence[int], errors: Sequence[float], n_steps: int) -> int:
    """Number of phases at the knee of the error curve.

    The point that lies farthest below the chord of (n, error) scaled to the unit square: V. Satopaa, J. Albrecht, D.
    Irwin and B. Raghavan, "Finding a 'Kneedle' in a Haystack", ICDCS Workshops 2011, section III, without their
    smoothing since the curve is exact.
    """
    import numpy as np

    x, y = np.asarray(counts, float), np.asarray(errors, float)
    if len(x) < 3 or not y.max() > y.min():
        return int(counts[0] if not y.max() > y.min() else counts[int(np.argmin(y))])
    below = 1.0 - (x - x[0]) / (x[-1] - x[0]) - (y - y.min()) / (y.max() - y.min())
    return int(counts[int(np.argmax(below))])


def penalty(counts: Sequence[int], errors: Sequence[float], n_steps: int) -> int:
    """Number of phases that minimises Schwarz' criterion for change points.

    ``n_steps * log(error / n_steps) + 2 n log(n_steps)``: Y.-C. Yao, "Estimating the number of change-points via
    Schwarz' criterion", Statistics & Probability Letters 6 (1988), with a penalty for the place and one for the level
    of each phase. It takes steps for independent observations; where they are not, it tends to the largest n.
    """
    scores = [
        n_steps * math.log(max(error, 1e-300) / n_steps) + 2.0 * n * math.log(n_steps)
        for n, error in zip(counts, errors, strict=True)
    ]
    return int(counts[scores.index(min(scores))])


RULES: dict[str, Callable[[Sequence[int], Sequence[float], int], int]] = {
    "knee": knee,
    "penalty": penalty,
}
