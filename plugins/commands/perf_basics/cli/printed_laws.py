"""A table of the laws of very many paths as `perf fit` prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perf_scaling.growth import CLASSES
from perf_scaling.row_tables import shown_rows
from perf_scaling.terms import point_text

if TYPE_CHECKING:
    from perf_io.tables.path_table import PathTable


_MOST_PATHS = 40


class PrintedLaws:
    """Summary and first rows.

    Parameters
    ----------
    table : PathTable
    """

    def __init__(self, table: PathTable) -> None:
        self._table = table
        self._symbols = tuple(table.facts["columns"])

    def summary(self) -> list[str]:
        """How many paths, of what, and how they grow."""
        facts = self._table.facts
        unit = f" [{facts['unit']}]" if facts["unit"] else ""
        over = " and ".join(
            f"{symbol} ({min(levels):.6g} to {max(levels):.6g})"
            for symbol, levels in zip(self._symbols, zip(*facts["points"], strict=True), strict=True)
        )
        return [
            f"scaling laws of {facts['paths']:,} paths of {facts['source']}",
            f"{len(facts['points'])} points of {facts['value']}{unit} over {over}",
            *facts["notes"],
            *(self._growths(symbol) for symbol in self._symbols),
            *([f"not fitted: {facts['unfitted']:,} paths, for the reasons in the notes"] if facts["unfitted"] else []),
        ]

    def tables(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """The paths with the largest shares."""
        facts = self._table.facts
        rows: list[dict[str, Any]] = [row for row in self._table.top(_MOST_PATHS) if row["law"] is not None]
        more = f"; the first {len(rows)} of {facts['paths']:,}" if len(rows) < facts["paths"] else ""
        return [(f"At {point_text(facts['target'])}; {self.share_text}{more}", *shown_rows(rows, self._symbols))]

    @property
    def share_text(self) -> str:
        """What shares are shares of."""
        of = " of a metric, program or system" if self._table.facts["several"] else ""
        if self._table.facts["inclusive"]:
            return f"share of the outermost paths{of}, each value with all that it calls"
        return f"share of the sum of all paths{of}"

    def _growths(self, symbol: str) -> str:
        """How many paths most probably grow how."""
        counts = self._table.counts("growth" if len(self._symbols) == 1 else f"growth_{symbol}")
        class_counts = ", ".join(f"{counts[name]:,} {name}" for name in CLASSES if name in counts)
        return f"growth over {symbol}, most probably: {class_counts}"
