"""How a design is shown: its points, how many runs they are, and what these cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perf_experiments.advice.costs import Budgeted, duration_text
from perf_experiments.design.factors import level_text
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    import pandas as pd

    from perf_experiments.design.design import Design


_MOST_NAMED = 10  # points that a budget left out; the file has all


class DesignPresenter(Presenter):
    """A line that counts, lines of costs, and a table of the points."""

    def title(self, result: Design) -> str:
        """The factors."""
        return f"design of {', '.join(result.factors)}"

    def summary(self, result: Design) -> list[str]:
        """How many points and runs, what the constraints refuse, and the costs where they are known."""
        count, runs = len(result.chosen()), sum(result.counts(result.chosen()))
        refused = {text: number for text, number in result.candidates()[1].items() if number}
        without = "".join(f"; {text} refuses {number}" for text, number in refused.items())
        replications = f"{result.replications} replication{'s' * (result.replications > 1)}"
        counted = f"{count} point{'s' * (count > 1)} of {', '.join(result.factors)}, {replications}: {runs} runs"
        return [counted + without, *(_costs(result) if isinstance(result, Budgeted) else [])]

    def tables(self, result: Design) -> Tables:
        """The levels of each point."""
        rows = [[level_text(level) for level in point.values()] for point in result.chosen()]
        return [("", list(result.factors), rows)]

    def frame(self, result: Design) -> pd.DataFrame:
        """One row for each point: its levels, and how often it is measured."""
        import pandas as pd

        points = result.chosen()
        return pd.DataFrame(points).assign(replications=result.counts(points))


def _costs(design: Budgeted) -> list[str]:
    lines = [f"about {duration_text(design.total_s)} in all"]
    for number, (point, seconds) in enumerate(design.too_dear_s.items()):
        if number == _MOST_NAMED:
            lines.append(f"left out: {len(design.too_dear_s) - number} more, see left_out in the design")
            break
        lines.append(f"left out: {point}, {duration_text(seconds)} each run")
    return lines
