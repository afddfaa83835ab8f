"""What the page lists beside every view: where one can go from here."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Protocol, runtime_checkable

from perf_views.contents import Link, Query, Viewable, ViewPath

MOST_WAYS = 80  # more are not looked through; search fields and tables lead to the rest


@runtime_checkable
class Navigable(Protocol):
    """A viewable whose views are not only those of `Viewable.paths`, or where listing these would cost a fit."""

    def ways(self, path: ViewPath, query: Query) -> Iterable[Link]:
        """Views that can be reached without computing anything, the most important first."""


def ways_of(subject: Viewable, path: ViewPath, query: Query) -> tuple[Link, ...]:
    """The ways of a viewable; of one that names none, its `Viewable.paths`."""
    if isinstance(subject, Navigable):
        ways = subject.ways(path, query)
    else:
        ways = (Link("" if target else subject.title, target) for target in subject.paths())
    return tuple(islice(ways, MOST_WAYS))
