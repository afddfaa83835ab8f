"""Waiting for what another process does, however busy the machine is."""

import time
from collections.abc import Callable


def met(condition: Callable[[], object], limit_s: float = 60.0) -> bool:
    """Return True as soon as a condition holds, False if it does not within the limit."""
    end = time.monotonic() + limit_s
    while not (holds := condition()) and time.monotonic() < end:
        time.sleep(0.01)
    return bool(holds)
