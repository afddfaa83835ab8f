"""What a page asks for after it was opened: the part of long data that is seen, in any form but HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from perf_views.contents import Query, ViewPath

__all__ = ["Feed", "Feeding"]


@dataclass(frozen=True)
class Feed:
    """An answer.

    Parameters
    ----------
    content : bytes
    media : str
        Its type, such as ``application/json``.
    file_name : str
        Under which a browser keeps it; empty where it is not kept.
    """

    content: bytes
    media: str
    file_name: str = ""


@runtime_checkable
class Feeding(Protocol):
    """A viewable whose page asks for more; several requests may come at once."""

    def feed(self, path: ViewPath, query: Query) -> Feed:
        """What a page asks for.

        Raises
        ------
        NoViewError
            There is no such thing.
        PerfError
            The state is not accepted; the page shows the message.
        """
