"""What mbw prints, a benchmark of memory copies: the time and the rate of each run of each method."""

import re
from typing import Any

from perfcore import Measurements
from perfcore.base.errors import InputError
from perfcore.contracts import Reader
from perfcore.reading.source import Source

_RUN = re.compile(r"[0-9]+\tMethod: (\w+)\tElapsed: ([0-9.]+)\tMiB: ([0-9.]+)\tCopy: ([0-9.]+) MiB/s")
_COLUMNS = ("elapsed [s]", "size [MiB]", "rate [MiB/s]")


class MbwReader(Reader):
    """Reads the runs; one row for each, without the averages that follow them."""

    def sniff(self, source: Source) -> float:
        """Whether it holds runs of the benchmark."""
        return 0.95 if b"\tMethod: MEMCPY\t" in source.head else 0.0

    def read(self, source: Source, options: Any) -> Measurements:
        """A table of methods, their times and their rates."""
        import pandas as pd

        rows: list[dict[str, Any]] = []
        with source.open() as lines:
            for number, raw in enumerate(lines, start=1):
                line = raw.decode(errors="replace").strip()
                if "\tMethod: " not in line or line.startswith("AVG"):
                    continue
                run = _RUN.fullmatch(line)
                if run is None:
                    raise InputError(
                        source.name, f"expected a method, its time and rate, not {line[:40]!r}", line=number
                    )
                method, *numbers = run.groups()
                rows.append({"method": method} | dict(zip(_COLUMNS, map(float, numbers), strict=True)))
        if not rows:
            raise InputError(source.name, "holds no runs: the benchmark did not come to its first result")
        return Measurements(pd.DataFrame(rows), value="elapsed [s]", source=source.name)
