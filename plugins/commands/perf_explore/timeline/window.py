"""What of a timeline is shown: a stretch of the run, some lanes, and a pattern of states that are searched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from perf_views.contents import Query
from perfcore.base.errors import OptionError
from perfcore.data.units import nanoseconds_per

__all__ = ["MOST_COLUMNS", "MOST_ROWS", "ROWS", "Window"]

MOST_COLUMNS, MOST_ROWS = 4096, 200  # of one answer; a screen is about as wide, and lower
ROWS = 32  # that are shown unasked


@dataclass(frozen=True)
class Window:
    """A state of the timeline, as the address of its page has it.

    Parameters
    ----------
    start_ns, end_ns : int, nanoseconds
        Since the run's start; ``end_ns`` is beyond ``start_ns``.
    top : int
        The first lane of those that are shown.
    toggled : frozenset of int
        Groups of lanes that were folded or opened.
    find : str
        Pattern of states; empty for none.
    rows : int
        Lanes that are shown at once.
    """

    start_ns: int
    end_ns: int
    top: int = 0
    toggled: frozenset[int] = frozenset()
    find: str = ""
    rows: int = ROWS

    @classmethod
    def of(cls, query: Query, duration_ns: int, time_unit: str) -> Window:
        """From an address; times are in the trace's unit and count from the run's start. By default all of it.

        Raises
        ------
        OptionError
            A value is no number, or nothing of the run lies there.

        Examples
        --------
        >>> Window.of({"from": "2", "to": "4.5"}, 10_000, "us")
        Window(start_ns=2000, end_ns=4500, top=0, toggled=frozenset(), find='', rows=32)
        """
        factor = nanoseconds_per(time_unit)
        try:
            start = round(float(query.get("from") or 0.0) * factor)
            end = round(float(query["to"]) * factor) if query.get("to") else duration_ns
            top, rows = int(query.get("top") or 0), int(query.get("rows") or ROWS)
            toggled = frozenset(int(part) for part in (query.get("toggled") or "").split(".") if part)
        except (ValueError, OverflowError):
            raise OptionError(
                "the address of a timeline takes numbers: from, to, top, rows, and toggled such as 0.4; open the view "
                "anew"
            ) from None
        start, end = max(start, 0), min(end, duration_ns)
        if not start < end:
            raise OptionError(
                f"from {query.get('from')!r} to {query.get('to')!r}: no part of the run, which lasts "
                f"{duration_ns / factor:.9g} {time_unit}"
            )
        rows = min(max(rows, 1), MOST_ROWS)
        return cls(start, end, max(top, 0), toggled, query.get("find", ""), rows)

    def query(self, duration_ns: int, time_unit: str) -> Mapping[str, str]:
        """The same as an address has it, without what is so unasked.

        Examples
        --------
        >>> Window(2000, 10_000, top=3).query(10_000, "us")
        {'from': '2', 'top': '3'}
        """
        factor = nanoseconds_per(time_unit)
        fields = {
            "from": f"{self.start_ns / factor:.15g}" if self.start_ns else "",
            "to": f"{self.end_ns / factor:.15g}" if self.end_ns < duration_ns else "",
            "top": str(self.top) if self.top else "",
            "toggled": ".".join(map(str, sorted(self.toggled))),
            "find": self.find,
            "rows": str(self.rows) if self.rows != ROWS else "",
        }
        return {name: text for name, text in fields.items() if text}

    def stretched(self, factor: float, shift: float, duration_ns: int) -> Window:
        """One of ``factor`` times the width around the same middle, moved by ``shift`` of this width."""
        width = self.end_ns - self.start_ns
        middle = (self.start_ns + self.end_ns) / 2 + shift * width
        wide = min(max(round(width * factor), 1), duration_ns)
        start = min(max(round(middle - wide / 2), 0), duration_ns - wide)
        return replace(self, start_ns=start, end_ns=start + wide)
