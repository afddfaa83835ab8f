"""How models by category are shown: as tables and pictures, and on a page from the overview of R^2 down to one fit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf_lost_cycles.lca.model import LcaModel
from perf_lost_cycles.modgen.model import ModgenModel
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from perf_lost_cycles.views.category_views import LostCyclesViews


class _CategoryPresenter(Presenter):
    """The page that both models have."""

    def views(self, result: LcaModel | ModgenModel, data: Any = None, file: Path | None = None) -> LostCyclesViews:
        """From the overview of R^2 down to one fit, with formulas to edit, and verification."""
        from perf_lost_cycles.views.category_views import LostCyclesViews

        return LostCyclesViews(result, data, file)


class LcaPresenter(_CategoryPresenter):
    """Text, tables, picture and page of `LcaModel`."""

    def title(self, result: LcaModel) -> str:
        """How many categories over what, and the source."""
        held_text = "".join(f", {symbol}={value:g}" for symbol, value in result.held.items())
        categories = "1 category" if len(result.fits) == 1 else f"{len(result.fits)} categories"
        return f"{categories} of {Path(result.origin.source).name} over {result.column}{held_text}"

    def summary(self, result: LcaModel) -> list[str]:
        """What was fitted, by what models were chosen, and how well the sum does."""
        from perf_lost_cycles.lca.tables import lca_summary

        return lca_summary(result)

    def tables(self, result: LcaModel) -> Tables:
        """The categories, largest first; and the candidates of the one that ``show`` names."""
        from perf_lost_cycles.lca.tables import lca_tables

        return lca_tables(result)

    def frame(self, result: LcaModel) -> pd.DataFrame:
        """Every category, largest first: share, formula, and how good it is."""
        from perf_lost_cycles.lca.tables import lca_frame

        return lca_frame(result)

    def panels(self, result: LcaModel, data: Any = None) -> dict[str, Callable[[Axes], None]]:
        """The categories, the largest first."""
        from perf_lost_cycles.lca.picture import lca_panels

        return lca_panels(result)

    def draw(self, result: LcaModel, figure: Figure, data: Any = None) -> None:
        """Draw a panel for each category: measured points, all its default models, the chosen one heavy."""
        from perf_lost_cycles.lca.picture import draw_lca

        draw_lca(result, figure)


class ModgenPresenter(_CategoryPresenter):
    """Text, tables, picture and page of `ModgenModel`."""

    def title(self, result: ModgenModel) -> str:
        """How many categories over what, and the source."""
        categories = "1 category" if len(result.categories) == 1 else f"{len(result.categories):,} categories"
        return f"{categories} over {', '.join(result.columns.values())} of {Path(result.origin.source).name}"

    def summary(self, result: ModgenModel) -> list[str]:
        """What was fitted and how well."""
        from perf_lost_cycles.modgen.tables import summary_lines

        return summary_lines(result)

    def tables(self, result: ModgenModel) -> Tables:
        """Overview of determination coefficients, and the categories with their formulas, worst first."""
        from perf_lost_cycles.modgen.tables import modgen_tables

        return modgen_tables(result)

    def frame(self, result: ModgenModel) -> pd.DataFrame:
        """Every category, worst first: share, error, R^2 by factor and of all points, formula."""
        from perf_lost_cycles.modgen.tables import modgen_frame

        return modgen_frame(result)

    def draw(self, result: ModgenModel, figure: Figure, data: Any = None) -> None:
        """Draw measured against predicted times, residuals, and the categories' shares over the first factor."""
        from perf_lost_cycles.modgen.picture import draw_modgen

        draw_modgen(result, figure)
