"""Histories for the page and the report."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf_views.opener import Opener

if TYPE_CHECKING:
    from perf_gate.history.gate import HistoryGate

__all__ = ["COMMIT", "HistoryOpener"]

COMMIT = "commit"  # the column that makes a table a history
_HEAD = 1 << 16  # bytes, in which a header ends


class HistoryOpener(Opener):
    """Opens tables with a column ``commit``, and ``data.js`` of github-action-benchmark."""

    def sniff(self, path: Path) -> float:
        """Whether a table names commits."""
        from perf_gate.reading.benchmark_action import is_benchmark_action
        from perf_gate.reading.json_lines import first_row

        if path.suffix.lower() == ".js":
            return float(is_benchmark_action(path))
        if path.suffix.lower() in (".csv", ".tsv"):
            return 0.9 * (COMMIT in _header(path))
        return 0.9 * (COMMIT in first_row(path))

    def open(self, path: str, options: Any, data: str | None = None) -> HistoryGate:
        """The verdict on the history.

        Raises
        ------
        PerfError
            As `perfcore.gate`.
        """
        import perfcore

        verdict: HistoryGate = perfcore.gate(path, commit=COMMIT)
        return verdict


def _header(path: Path) -> list[str]:
    """Names of the columns of a table of text."""
    with path.open("rb") as file:
        head = file.read(_HEAD).decode("utf-8", errors="replace")
    lines = [line for line in head.splitlines() if line.strip() and not line.startswith("#")]
    if not lines:
        return []
    delimiter = max(",;\t", key=lines[0].count)
    return [cell.strip() for cell in next(csv.reader([lines[0]], delimiter=delimiter))]
