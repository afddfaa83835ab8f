"""One format of data: the contract of the hook `register_readers`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from perfcore.hooks.options import NoOptions

if TYPE_CHECKING:
    import os

    from perfcore.reading.source import Source


class Reader(ABC):
    """Turns one format into data.

    A reader that can also write sets `writes` and overrides `write`. One whose format is several files names the
    endings of those that are read with the one the user names in `parts`, without that of a compression: next to
    ``hello.sts``, in a folder or a pattern, ``hello.0.log`` and what lies in ``hello/`` are then no data of their own.
    """

    Options: ClassVar[type] = NoOptions
    writes: ClassVar[bool] = False
    keeps: ClassVar[tuple[str, ...]] = ()  # what its files hold of a trace beside intervals, such as ``"markers"``
    parts: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def options_for(cls, wanted: Sequence[type]) -> Mapping[str, Any]:
        """Options with which it reads one of the types wanted, where a file could be read as several."""
        return {}

    @abstractmethod
    def sniff(self, source: Source) -> float:
        """How sure it is that this is its format, 0 to 1, from ``source.head`` and ``source.suffix`` alone."""

    @abstractmethod
    def read(self, source: Source, options: Any) -> Any:
        """Read the whole input: a `Trace`, `UtilizationCurve`, `Series` or `Measurements`."""

    def write(self, data: Any, path: str | os.PathLike[str]) -> None:
        """Write ``data`` to ``path`` (already made atomic by the caller)."""
        raise NotImplementedError
