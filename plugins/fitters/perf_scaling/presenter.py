"""How scaling laws are shown: paths by their share, call trees coloured by growth, and each path's laws."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf_scaling.model import LawModel
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from perf_scaling.views.law_views import LawViews


class LawPresenter(Presenter):
    """Text, tables, picture and page of `LawModel`."""

    def title(self, result: LawModel) -> str:
        """How many paths, and the source."""
        source = Path(result.origin.source).name
        if len(result.paths) == 1:
            return f"scaling law of {result.paths[0]} of {source}"
        return f"scaling laws of {len(result.paths):,} paths of {source}"

    def summary(self, result: LawModel) -> list[str]:
        """What was fitted, how it grows, what is not determined, and what to measure next."""
        from perf_scaling.tables import law_summary

        return law_summary(result)

    def tables(self, result: LawModel) -> Tables:
        """The paths by their share at the target: law, bounds, growth, and how sure it is."""
        from perf_scaling.tables import law_tables

        return law_tables(result)

    def plain_tables(self, result: LawModel) -> Tables:
        """Every path, one number in a cell."""
        from perf_scaling.tables import plain_law_tables

        return plain_law_tables(result)

    def frame(self, result: LawModel) -> pd.DataFrame:
        """Every path at the target, the largest share first: the columns of the plain table."""
        from perf_scaling.row_tables import law_frame

        return law_frame(result)

    def panels(self, result: LawModel, data: Any = None) -> dict[str, Callable[[Axes], None]]:
        """The paths that matter most at the target, a panel for each."""
        from perf_scaling.picture import law_panels

        return law_panels(result)

    def draw(self, result: LawModel, figure: Figure, data: Any = None) -> None:
        """Draw the paths that matter most at the target: means, law, bounds."""
        from perf_scaling.picture import draw_laws

        draw_laws(result, figure)

    def views(self, result: LawModel, data: Any = None, file: Path | None = None) -> LawViews:
        """The call tree coloured by growth, the growth of the whole, and each path's laws."""
        from perf_scaling.views.law_views import LawViews

        return LawViews(result)
