"""How a comparison is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perf_gate.compare.comparison.comparison import Comparison
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class ComparisonPresenter(Presenter):
    """Both models at the points, and what differs."""

    def title(self, result: Comparison) -> str:
        """One line over a picture."""
        return f"{result.names[1]} against {result.names[0]}"

    def summary(self, result: Comparison) -> list[str]:
        """The crossings, or which model is smaller throughout, and what could not be compared."""
        from perf_gate.compare.comparison.tables import comparison_summary

        return comparison_summary(result)

    def tables(self, result: Comparison) -> Tables:
        """Both models at the points, and their parts at the last of them."""
        from perf_gate.compare.comparison.tables import comparison_tables

        return comparison_tables(result)

    def frame(self, result: Comparison) -> pd.DataFrame:
        """A row for the total and for each part at each point; the ratio with its 95 % bounds, NaN without."""
        import pandas as pd

        totals, frames = result.total_draws(), []
        for place in range(len(result)):
            level = result.by_name({symbol: values[place] for symbol, values in result.points.items()})
            sides: list[tuple[Any, ...]] = [
                (["total"], result.totals.values[:, [place]], result.ratio[[place]], totals.rows([place]))
            ]
            if result.parts:
                values, draws = result.of_part.values[:, :, place], result.part_draws(place)
                sides.append((list(result.parts), values, result.part_ratio(place), draws))
            for names, values, ratio, draws in sides:
                lower, upper = draws.bounds().T
                columns = {"part": names, "first": values[0], "second": values[1], "ratio": ratio}
                frames.append(
                    pd.DataFrame({**level, **columns, "lower": lower, "upper": upper, "larger": draws.above(1.0)})
                )
        return pd.concat(frames, ignore_index=True)

    def draw(self, result: Comparison, figure: Figure, data: Any = None) -> None:
        """Draw both models along the parameter, and what differs."""
        from perf_gate.compare.comparison.picture import draw_comparison

        draw_comparison(result, figure)
