"""Which regions of a program are waiting: patterns of names that the user can replace."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence
from typing import Any

from perfcore.hooks.options import option

__all__ = ["WAITING_REGIONS", "busy_regions", "matches", "waiting_option"]

# MPI and SHMEM as a whole; barriers and waits of OpenMP as Score-P names them (``!$omp implicit barrier @file:line``,
# ``!$omp taskwait``); of POSIX threads; waits of a host for its GPU; and what tracers call a thread without work.
WAITING_REGIONS = (
    *("MPI_*", "shmem_*", "*barrier*", "*taskwait*"),
    *("pthread_join*", "pthread_cond_*wait*", "pthread_mutex_lock*", "sem_wait*"),
    *("*Synchronize*", "*EventQuery*", "idle", "wait", "waiting", "sleep", "sleeping", "blocked"),
)


def waiting_option() -> Any:
    """The option by which the user replaces `WAITING_REGIONS`."""
    return option(
        WAITING_REGIONS,
        "regions in which nothing is computed, as patterns with * and ?, without regard to case",
        metavar="PATTERNS",
    )


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name fits one of the patterns, without regard to case.

    Examples
    --------
    >>> matches("MPI_Recv", ["mpi_*"])
    True
    """
    return any(re.match(fnmatch.translate(pattern.lower()), name.lower()) for pattern in patterns)


def busy_regions(names: Sequence[str], waiting: Sequence[str]) -> tuple[str, ...]:
    """The names that fit none of the patterns; all, should every one fit.

    Examples
    --------
    >>> busy_regions(["solve", "MPI_Recv"], WAITING_REGIONS)
    ('solve',)
    """
    one = re.compile("|".join(fnmatch.translate(pattern.lower()) for pattern in waiting) or "(?!)")
    return tuple(name for name in names if not one.match(name.lower())) or tuple(names)
