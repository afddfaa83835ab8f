"""What a page asks for after it was opened: the part of long data that is seen, in any form but HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from perf_views.contents import Query, ViewPath


@dataclass(frozen=True)
class Feed:
    """An answer."""

    content: bytes
    media: str  # its type, such as ``application/json``
    file_name: str = ""  # under which a browser keeps it; empty where it is not kept


@runtime_checkable
class Feeding(Protocol):
    """A viewable whose page asks for more; several requests may come at once."""

    def feed(self, path: ViewPath, query: Query) -> Feed:
        """What a page asks for."""
