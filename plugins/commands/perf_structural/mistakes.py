"""Mistakes in a structural model are said with the file and the key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from perfcore.base.errors import PerfError


class StructuralModelError(PerfError):
    """A structural model that cannot be read or evaluated; one line with the file, the key and what is accepted."""


@contextmanager
def located(source: str, key: str) -> Iterator[None]:
    """Put the file and the key before the message of an error, once."""
    try:
        yield
    except StructuralModelError:
        raise
    except PerfError as error:
        raise StructuralModelError(f"{source}: {key}: {error}") from None
