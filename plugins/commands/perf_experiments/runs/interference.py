"""Whether others use the machine just before a run."""

from __future__ import annotations

import math
import os
import time

from perf_experiments.sampling import sample_system
from perfcore.base.errors import MissingDependencyError


_LOOK_NS = 200_000_000  # twenty ticks of the kernel's clock, by which it counts processor time
_PAUSE_S = 1.0


def busy_share() -> float:
    """Share of all processors that is busy now, 0 to 1; this program only waits meanwhile."""
    try:
        sampled = sample_system("cpu", _LOOK_NS, _LOOK_NS)
    except MissingDependencyError:
        return min(os.getloadavg()[0] / (os.cpu_count() or 1), 1.0)
    share = float(sampled.columns["cpu all busy"][0])
    return 0.0 if math.isnan(share) else share  # nothing was counted: nothing ran


def quiet_or_noisy(most: float, wait_s: float) -> tuple[float | None, bool]:
    """Wait until the machine is quiet, but not for ever."""
    if most >= 1.0:
        return None, False
    deadline = time.monotonic() + wait_s
    while (share := busy_share()) > most and time.monotonic() < deadline:
        time.sleep(min(_PAUSE_S, max(deadline - time.monotonic(), 0.0)))
    return share, share > most
