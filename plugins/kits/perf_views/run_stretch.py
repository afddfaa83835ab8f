"""Stretches of a run that cells of tables stand for, and the way from each to the timeline beside the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from perf_views.contents import Block, Cell, Chart, Link, Query, RunStretch, Table, View, ViewPath


@runtime_checkable
class Timeline(Protocol):
    """Views of a trace in which every stretch of the run has an address."""

    def way_to(self, text: str, stretch: RunStretch) -> Link:
        """The way to a stretch, with a path of the timeline's own views."""


def led_to_timeline(view: View, timeline: Timeline, path: ViewPath, query: Query) -> View:
    """The view, in whose tables every cell that stands for a stretch of the run leads there."""

    def cells(row: Sequence[Cell | str]) -> tuple[Cell | str, ...]:
        return tuple(
            replace(cell, link=timeline.way_to(cell.text, cell.stretch).mounted(path, query))
            if isinstance(cell, Cell) and cell.stretch is not None
            else cell
            for cell in row
        )

    def table(each: Table) -> Table:
        return replace(each, header=cells(each.header), rows=tuple(map(cells, each.rows)))

    def led(block: Block) -> Block:
        if isinstance(block, Chart):
            return replace(block, tables=tuple(map(table, block.tables)))
        return table(block) if isinstance(block, Table) else block

    return replace(view, blocks=tuple(map(led, view.blocks)))
