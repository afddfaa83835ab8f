"""Histories as a page and in a report: all benchmarks, then each with its picture and its changes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from perf_gate.history.gate import HistoryGate, JudgedSeries
from perf_views.contents import Block, Cell, Link, NoViewError, Query, Table, Text, View, ViewPath
from perf_views.drawable import drawing_of, model_blocks

__all__ = ["HistoryViews"]


class HistoryViews:
    """A view of all benchmarks and, of several, one of each.

    Parameters
    ----------
    result : HistoryGate
    """

    def __init__(self, result: HistoryGate) -> None:
        self._result = result
        self._by_name = {each.series.name: each for each in result.judged}

    @property
    def title(self) -> str:
        """Source and verdict."""
        return self._result.title

    def view(self, path: ViewPath, query: Query) -> View:
        """All of them, or the one that the path names; see `perf_views.contents.Viewable.view`."""
        if not path:
            return View(self.title, self._overview())
        if len(path) > 1 or path[0] not in self._by_name or len(self._by_name) < 2:
            raise NoViewError(path)
        each = self._by_name[path[0]]
        alone = replace(self._result, judged=(each,))
        blocks = (*model_blocks(alone), _values(each))
        return View(path[0], blocks, path, (Link(self.title, ()),))

    def paths(self) -> Iterable[ViewPath]:
        """All together, then each; those that fail first."""
        yield ()
        if len(self._by_name) > 1:
            yield from ((name,) for name in self._by_name)

    def _overview(self) -> tuple[Block, ...]:
        result = self._result
        if len(self._by_name) == 1:
            return (*model_blocks(result), _values(result.judged[0]))
        (title, header, rows), *others = result.tables()
        cells: tuple[tuple[Cell | str, ...], ...] = tuple(
            (Cell(row[0], Link(row[0], (row[0],))), *row[1:]) for row in rows
        )
        return (
            Text(tuple(result.summary())),
            drawing_of(result),
            Table(tuple(header), cells, title),
            *(Table.of(*table) for table in others),
        )


def _values(each: JudgedSeries) -> Table:
    """All values, the newest first."""
    series, detected = each.series, each.detected
    marks = {} if detected is None else dict[int, str].fromkeys(detected.outliers, "outlier")
    if detected is not None:
        marks |= {step.place: "changed" for step in detected.steps}
    rows: tuple[tuple[Cell | str, ...], ...] = tuple(
        (series.commits[k], f"{series.values[k]:.6g}", series.machines[k], marks.get(k, ""))
        for k in reversed(range(len(series.values)))
    )
    unit = f"value [{series.unit}]" if series.unit else "value"
    return Table(("commit", unit, "machine", ""), rows, "Values, the newest first")
