"""Messages of several runs: as tables and picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perf_analysis.whatif.message_runs import MessageRuns, Traffic
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["MessageRunsPresenter"]

_MOST_RUNS = 8
_MOST_LINES = 8


class MessageRunsPresenter(Presenter):
    """Operations beside one another, over what was varied."""

    def title(self, result: MessageRuns) -> str:
        """Of which run, or of how many."""
        return f"Messages by operation: {result.source}"

    def summary(self, result: MessageRuns) -> list[str]:
        """How many runs, what the numbers count, and what is wrong with the traces."""
        runs = f"{len(result.runs)} runs" if len(result.runs) > 1 else result.source
        return [
            f"{runs} over {', '.join(result.parameters)}; of collectives their number counts, and the most bytes that "
            "one member sends or receives",
            *result.remarks(),
        ]

    def tables(self, result: MessageRuns) -> Tables:
        """Bytes and messages, a column for each run; of many runs the first and the last ones."""
        columns = list(result.parameters.values())
        runs = sorted(result.runs, key=lambda run: [run.parameters[column] for column in columns])
        runs = runs if len(runs) <= _MOST_RUNS else [runs[0], *runs[1 - _MOST_RUNS :]]
        header = ["operation", *(_label(result, run) for run in runs)]
        return [
            (title, header, [[name, *(str(_of(run, name)[field]) for run in runs)] for name in result.operations])
            for title, field in (("Bytes", 2), ("Messages", 1))
        ]

    def plain_tables(self, result: MessageRuns) -> Tables:
        """The whole table."""
        frame = result.table()
        return [("", list(map(str, frame.columns)), frame.astype(str).to_numpy().tolist())]

    def frame(self, result: MessageRuns) -> pd.DataFrame:
        """A row for each operation of each run."""
        return result.table()

    def draw(self, result: MessageRuns, figure: Figure, data: Any = None) -> None:
        """Bytes and messages over what was varied."""
        symbol, column = next(iter(result.parameters.items()))
        runs = sorted(result.runs, key=lambda run: float(run.parameters[column]))
        levels = [float(run.parameters[column]) for run in runs]
        for axes, (quantity, field) in zip(figure.subplots(1, 2), (("bytes", 2), ("messages", 1)), strict=True):
            for name in result.operations[:_MOST_LINES]:
                axes.plot(levels, [_of(run, name)[field] for run in runs], "o-", label=name, ms=4)
            axes.set(xlabel=symbol, ylabel=quantity, ylim=(0, None))
        figure.suptitle(self.title(result), fontsize="medium")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8, frameon=False)


def _of(run: Traffic, name: str) -> tuple[int, int, int]:
    return run.operations.get(name, (0, 0, 0))


def _label(result: MessageRuns, run: Traffic) -> str:
    return ", ".join(f"{symbol}={run.parameters[column]:g}" for symbol, column in result.parameters.items())
