"""One thread for linear algebra on small matrices.

A joint fit takes thousands of singular value decompositions of some hundred rows. OpenBLAS deals each out to all cores,
which costs more than it gains: on two busy cores the 28 models of a table with 146 observations and 40 parameters took
20 s with its own choice of threads, and 3 s with one.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def single_thread() -> Iterator[None]:
    """Keep BLAS to one thread within; what it was set to comes back."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


@functools.cache
def _controller() -> Any:
    """The libraries that are loaded; scipy brings a BLAS of its own, so it must be there first."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
