"""What of a timeline is shown: a stretch of the run, some lanes, and a pattern of states that are searched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from perf_traces.windows import ends_in, moment_text, stretch_ns
from perf_views.contents import Query
from perfcore.base.errors import OptionError
from perfcore.data.trace import Trace
from perfcore.data.units import nanoseconds_per, shown_origin

MOST_COLUMNS, MOST_ROWS = 4096, 200  # of one answer; a screen is about as wide, and lower
ROWS = 32  # that are shown unasked


def shown_start_ns(run_ns: tuple[int, int]) -> int:
    """What addresses and tables show for the run's start: its time, or 0 where that is a date."""
    return 0 if shown_origin(*run_ns) else run_ns[0]


@dataclass(frozen=True)
class Window:
    """A state of the timeline, as the address of its page has it."""

    start_ns: int  # since the run's start; ``end_ns`` is beyond ``start_ns``
    end_ns: int
    top: int = 0  # the first lane of those that are shown
    toggled: frozenset[int] = frozenset()  # groups of lanes that were folded or opened
    find: str = ""  # pattern of states; empty for none
    rows: int = ROWS  # lanes that are shown at once

    @classmethod
    def of(cls, query: Query, trace: Trace, run: tuple[int, int]) -> Window:
        """From an address, whose times are those that ``--from`` and ``--to`` take. By default all of the run."""
        try:
            top, rows = int(query.get("top") or 0), int(query.get("rows") or ROWS)
            toggled = frozenset(int(part) for part in (query.get("toggled") or "").split(".") if part)
        except (ValueError, OverflowError):
            raise OptionError(
                "the address of a timeline takes numbers: top, rows, and toggled such as 0.4; open the view anew"
            ) from None
        begin, stop = stretch_ns(
            query.get("from") or None, query.get("to") or None, run, trace.time_unit, ends_in(trace)
        )
        start, end = max(round(begin), run[0]) - run[0], min(round(stop), run[1]) - run[0]
        if not start < end:
            shown_from = shown_start_ns(run)
            ends = " to ".join(moment_text(time + shown_from) for time in (0, run[1] - run[0]))
            raise OptionError(
                f"from {query.get('from')!r} to {query.get('to')!r}: no part of the run, which goes from {ends}"
            )
        rows = min(max(rows, 1), MOST_ROWS)
        return cls(start, end, max(top, 0), toggled, query.get("find", ""), rows)

    def query(self, run_ns: tuple[int, int], time_unit: str) -> Mapping[str, str]:
        """The same as an address has it, without what is so unasked."""
        factor, shown_from = nanoseconds_per(time_unit), shown_start_ns(run_ns)
        fields = {
            "from": f"{(self.start_ns + shown_from) / factor:.15g}" if self.start_ns else "",
            "to": f"{(self.end_ns + shown_from) / factor:.15g}" if self.end_ns < run_ns[1] - run_ns[0] else "",
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
