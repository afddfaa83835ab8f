"""The reader ``example``: rows ``p seconds`` after a line ``# example 1``."""

from typing import Any

from perfcore import Measurements
from perfcore.base.errors import InputError
from perfcore.contracts import Reader
from perfcore.reading.source import Source

_MAGIC = b"# example 1"


class Example(Reader):
    """Reads runs as a table of measurements."""

    def sniff(self, source: Source) -> float:
        """Return how sure it is, 0 to 1, from the first bytes."""
        return 1.0 if source.head.startswith(_MAGIC) else 0.0

    def read(self, source: Source, options: Any) -> Measurements:
        """Return the table; the parameter is p, the value time."""
        import pandas as pd

        rows = []
        with source.open() as lines:
            for number, line in enumerate(lines, start=1):
                if line.startswith(b"#") or not line.strip():
                    continue
                try:
                    p, seconds = map(float, line.split())
                except ValueError:
                    shown = line.strip()[:40].decode(errors="replace")
                    raise InputError(source.name, f"expected `p seconds`, not {shown!r}", line=number) from None
                rows.append((p, seconds))
        if not rows:
            raise InputError(source.name, "has no runs")
        return Measurements(pd.DataFrame(rows, columns=["p", "time_s"]), source=source.name)
