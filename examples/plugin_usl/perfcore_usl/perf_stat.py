"""Counters of one run, as ``perf stat -x,`` of Linux prints them: value, unit, event, ..."""

from typing import Any

from perfcore import Measurements
from perfcore.base.errors import InputError
from perfcore.contracts import Reader
from perfcore.reading.source import Source

_FIELDS = 3  # value, unit and event come first, whatever the version of the kernel appends


class PerfStatReader(Reader):
    """Reads counters; one row for each event."""

    def sniff(self, source: Source) -> float:
        """Whether the first line that counts begins with a number or a word for none, and names an event."""
        lines = [line for line in source.head.decode(errors="replace").splitlines() if line and line[0] != "#"]
        fields = lines[0].split(",") if lines else []
        # Surer than a table of any kind, whose reader claims the same ending.
        return 0.95 if len(fields) > _FIELDS and _number(fields[0]) is not None and ":" in "".join(fields[2:4]) else 0.0

    def read(self, source: Source, options: Any) -> Measurements:
        """A table of events and their values."""
        import pandas as pd

        rows = []
        with source.open() as stream:
            for number, raw in enumerate(stream, start=1):
                line = raw.decode(errors="replace").strip()
                if not line or line.startswith("#"):
                    continue
                fields = line.split(",")
                value = _number(fields[0])
                if len(fields) < _FIELDS or value is None:
                    raise InputError(source.name, f"expected value,unit,event but found {line[:40]!r}", line=number)
                rows.append({"event": fields[2], "count": value})
        if not rows:
            raise InputError(source.name, "holds no counter")
        return Measurements(pd.DataFrame(rows), value="count", source=source.name)


def _number(text: str) -> float | None:
    """The value of a counter; 0 for those that the machine does not count."""
    try:
        return 0.0 if text.startswith("<not ") else float(text)
    except ValueError:
        return None
