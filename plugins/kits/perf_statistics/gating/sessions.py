"""Versions measured in two sessions of which nobody knows what happened between them: two jobs, two days, two machines.

The runs of a session share the state of the machine, so that more of them make nothing surer about the versions. How
much sessions differ must be said (``between``). Where nobody says it, "not
slower" cannot be told, and "slower" only of what is more than `WORST` sessions differ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perf_statistics.gating.estimates import FEWEST_ROUNDS, Estimates
from perf_statistics.gating.moderation import moderated
from perf_statistics.gating.rounding import rounding_limits
from perf_statistics.gating.rounds import trimmed_means

Floats = npt.NDArray[np.float64]

# Standard deviation of a session's level where nobody says it, as a share; `--between` replaces it. Measured it is 1.1
# % (365 runs of a benchmark in CI, Apache Otava's example, no steps) to 50 % (six programs on a shared machine
# under changing load, medians of 3 to 20 seconds). No value serves both: 25 % is about the largest with which an exact
# threefold slowdown of a hundred benchmarks fails; on that machine 7 to 15 % of pairs of sessions, a minute apart, are
# then called slower.
WORST = 0.25


def unpaired_test(
    first: Sequence[Floats],
    second: Sequence[Floats],
    between: float | None = None,
    resolutions: Floats | None = None,
) -> Estimates:
    """Of runs of two sessions."""
    sides = [trimmed_means([np.asarray(each) for each in side]) for side in (first, second)]
    sizes = np.array([[len(each) for each in side] for side in (first, second)])
    share = WORST if between is None else between
    session_variance = math.log1p(share) ** 2 * 2.0
    squares, fourth = np.zeros(len(first)), np.zeros(len(first))
    for (_, variances, freedom, kept), count in zip(sides, sizes, strict=True):
        enough = count >= FEWEST_ROUNDS
        if enough.any():
            variances[enough], freedom[enough] = moderated(variances[enough], freedom[enough])
        of_mean = np.where(enough, variances / np.maximum(kept, 1.0), 0.0)
        squares += of_mean
        fourth += of_mean**2 / np.maximum(freedom, 1.0)
    total_variance = squares + session_variance
    spread = np.sqrt(np.nan_to_num(sides[0][1] + sides[1][1]))
    # Welch and Satterthwaite: how sessions differ is taken as known.
    freedom = np.where(fourth > 0.0, total_variance**2 / np.maximum(fourth, 1e-300), 1e6)
    return Estimates(
        log_ratio=sides[1][0] - sides[0][0],
        standard_error=np.sqrt(total_variance),
        freedom=np.minimum(freedom, 1e6),
        rounding=np.zeros(len(first)) if resolutions is None else rounding_limits(resolutions, spread),
        rounds=sizes.min(axis=0).astype(np.int64),
        may_pass=np.full(len(first), between is not None),
    )
