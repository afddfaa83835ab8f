"""Tables that JUBE prints and keeps as ``result/NAME.dat``.

Source: JUBE, documentation, "Creating a result table", styles ``pretty`` and ``aligned``; tables of the style ``csv``
are read as CSV.
"""

from __future__ import annotations

import re

from perf_io.results.result_table import Row, number_or_text, one_line
from perf_io.shared.numbered_lines import numbered_lines
from perfcore.base.errors import InputError
from perfcore.contracts import NoOptions, Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

_RULE = re.compile(r"(?=.*---)[-+|\s]+")


class JubeReader(Reader):
    """A table of JUBE; each line is a row.

    JUBE does not say which columns were varied and which were measured: they are guessed by their names as in CSV,
    and otherwise named with ``--parameter`` and ``--value``.
    """

    def sniff(self, source: Source) -> float:
        """Sure by column names between bars above a rule."""
        lines = source.head.split(b"\n", 3)[:-1]
        if lines and lines[0].rstrip().endswith(b":") and b"|" not in lines[0]:
            lines = lines[1:]  # the name of the table
        ruled = len(lines) > 1 and b"|" in lines[0] and _RULE.fullmatch(lines[1].decode("latin-1"))
        return 0.9 if ruled else 0.0

    def read(self, source: Source, options: NoOptions) -> Measurements:
        """Read the table.

        Raises
        ------
        InputError
            No table, several tables, a line with another number of cells, or no rows; with its line.
        """
        import pandas as pd

        columns: list[str] = []
        rows: list[Row] = []
        lines: list[int] = []
        previous, barred = "", False
        for number, text in numbered_lines(source):
            if _RULE.fullmatch(text):
                if columns:
                    raise InputError(source.name, "a second table begins; put each in a file of its own", line=number)
                barred = _barred(previous)
                columns = [one_line(cell) for cell in _cells(previous)]
                if len(set(columns)) < len(columns):
                    raise InputError(source.name, "the names of the columns must differ", line=number - 1)
            elif columns and text.strip():
                cells = _cells(text)
                if barred != _barred(text):
                    raise InputError(
                        source.name,
                        "the line does not stand between bars as the column names do; is it cut short?",
                        line=number,
                    )
                if len(cells) != len(columns):
                    problem = f"has {len(cells)} cells for {len(columns)} columns"
                    raise InputError(source.name, problem, line=number)
                rows.append({name: number_or_text(cell) for name, cell in zip(columns, cells, strict=True)})
                lines.append(number)
            previous = text
        if not rows:
            raise InputError(source.name, "holds no table of JUBE with a rule below its column names and rows")
        table = pd.DataFrame(rows).replace({"": None})
        return Measurements(table, source=source.name, lines=lines)


def _cells(text: str) -> list[str]:
    """Cells of a line, which may stand between bars at both ends."""
    text = text.strip()
    return [cell.strip() for cell in (text[1:-1] if _barred(text) else text).split("|")]


def _barred(text: str) -> bool:
    text = text.strip()
    return text.startswith("|") and text.endswith("|") and len(text) > 1
