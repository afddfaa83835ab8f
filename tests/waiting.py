"""Waiting for what another process does, however busy the machine is."""

import time
from collections.abc import Callable
from pathlib import Path


def met(condition: Callable[[], object], limit_s: float = 60.0) -> bool:
    """Return True as soon as a condition holds, False if it does not within the limit."""
    end = time.monotonic() + limit_s
    while not (holds := condition()) and time.monotonic() < end:
        time.sleep(0.01)
    return bool(holds)


def gone(number: int) -> bool:
    """Return True as soon as a process has ended, also if nobody has asked for its status yet."""

    def ended() -> bool:
        try:
            return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except (FileNotFoundError, ProcessLookupError):
            return True

    return met(ended)
