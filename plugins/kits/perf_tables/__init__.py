"""Tables of measurements: categories of runs, points of models, windows of series."""

import os


def thread_count(most: int) -> int:
    """As many as there are processors for this process, or as OMP_NUM_THREADS says: 1 in each of several processes."""
    setting = os.environ.get("OMP_NUM_THREADS", "")
    named = int(setting) if setting.isdecimal() else 0
    return min(named or len(os.sched_getaffinity(0)), most)
