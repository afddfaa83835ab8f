"""Mistakes in a structural model are said with the file and the key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from perfcore.base.errors import PerfError

__all__ = ["StructuralModelError", "located"]


class StructuralModelError(PerfError):
    """A structural model that cannot be read or evaluated; one line with the file, the key and what is accepted."""


@contextmanager
def located(source: str, key: str) -> Iterator[None]:
    """Put the file and the key before the message of an error, once.

    Examples
    --------
    >>> with located("sor.toml", "inputs.load"):
    ...     raise PerfError("the list is empty")
    Traceback (most recent call last):
        ...
    perf_structural.mistakes.StructuralModelError: sor.toml: inputs.load: the list is empty
    """
    try:
        yield
    except StructuralModelError:
        raise
    except PerfError as error:
        raise StructuralModelError(f"{source}: {key}: {error}") from None
