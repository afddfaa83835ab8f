"""What the page lists beside every view: where one can go from here."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Protocol, runtime_checkable

from perf_views.contents import Link, Query, Viewable, ViewPath

__all__ = ["MOST_WAYS", "Navigable", "ways_of"]

MOST_WAYS = 80  # more are not looked through; search fields and tables lead to the rest


@runtime_checkable
class Navigable(Protocol):
    """A viewable whose views are not only those of `Viewable.paths`, or where listing these would cost a fit."""

    def ways(self, path: ViewPath, query: Query) -> Iterable[Link]:
        """Views that can be reached without computing anything, the most important first.

        A link without a text is called by the last part of its path.

        Parameters
        ----------
        path : tuple of str
            Of the view that is shown now; it may be any text.
        query : mapping of str to str
            Its state.
        """


def ways_of(subject: Viewable, path: ViewPath, query: Query) -> tuple[Link, ...]:
    """The ways of a viewable; of one that names none, its `Viewable.paths`.

    Parameters
    ----------
    subject : Viewable
    path : tuple of str
    query : mapping of str to str
        The view that is shown now, and its state.

    Returns
    -------
    tuple of Link
        At most `MOST_WAYS`, the first view among them.
    """
    if isinstance(subject, Navigable):
        ways = subject.ways(path, query)
    else:
        ways = (Link("" if target else subject.title, target) for target in subject.paths())
    return tuple(islice(ways, MOST_WAYS))
