"""What the STREAM benchmark prints: the best rate of each kernel, and the times of all its repetitions."""

from typing import Any

from perfcore import Measurements
from perfcore.base.errors import InputError
from perfcore.contracts import Reader
from perfcore.reading.source import Source

_HEADING = "Function    Best Rate MB/s"
_COLUMNS = ("rate [MB/s]", "time [s]", "shortest [s]", "longest [s]")


class StreamReader(Reader):
    """Reads the table of a run; one row for each kernel."""

    def sniff(self, source: Source) -> float:
        """Whether it begins as the benchmark does."""
        return 0.95 if b"STREAM version" in source.head else 0.0

    def read(self, source: Source, options: Any) -> Measurements:
        """A table of kernels, their rates and their times."""
        import pandas as pd

        rows: list[dict[str, Any]] = []
        inside = False
        with source.open() as stream:
            for number, raw in enumerate(stream, start=1):
                line = raw.decode(errors="replace").strip()
                if not inside or line.startswith("---"):
                    inside = line.startswith(_HEADING) if not inside else False
                    continue
                kernel, *fields = line.split()
                if len(fields) != len(_COLUMNS) or not all(map(_is_number, fields)):
                    raise InputError(
                        source.name, f"expected a kernel, a rate and times, not {line[:40]!r}", line=number
                    )
                rows.append({"kernel": kernel.rstrip(":")} | dict(zip(_COLUMNS, map(float, fields), strict=True)))
        if not rows:
            raise InputError(source.name, "holds no rates: the benchmark did not come to its end")
        return Measurements(pd.DataFrame(rows), value="time [s]", source=source.name)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
