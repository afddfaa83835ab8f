"""How timing models of codes on systems are shown: tables of pairs and parameters, panels of curves, residuals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf_timing.individual.model import IndividualModel
from perf_timing.joint.model import JointModel
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from perf_timing.individual.views import IndividualViews
    from perf_timing.joint.views import JointViews


class _ScalingPresenter(Presenter):
    """The picture and the plain table that both models have."""

    def plain_tables(self, result: IndividualModel | JointModel) -> Tables:
        """The data frame as a table: every row, one number in a cell, empty where there is none."""
        frame = self.frame(result)
        cells = frame.astype(object).where(frame.notna(), "").to_numpy().tolist()
        return [("", list(frame.columns), [[str(cell) for cell in row] for row in cells])]

    def panels(self, result: IndividualModel | JointModel, data: Any = None) -> dict[str, Callable[[Axes], None]]:
        """A panel for each code, and the residuals."""
        from perf_timing.pictures.panels import scaling_panels

        return scaling_panels(result, data)

    def draw(self, result: IndividualModel | JointModel, figure: Figure, data: Any = None) -> None:
        """Draw measured points and models, residuals and their quantiles, and the parameters of a joint model."""
        from perf_timing.pictures.overview import draw_scaling_model

        draw_scaling_model(result, figure, data)


class IndividualPresenter(_ScalingPresenter):
    """Text, tables, picture and page of `IndividualModel`."""

    def title(self, result: IndividualModel) -> str:
        """How many pairs, and the source."""
        count = len(result.pairs)
        return f"{count} individual fit{'s' if count > 1 else ''} of {Path(result.origin.source).name}"

    def summary(self, result: IndividualModel) -> list[str]:
        """What was fitted, in which scale, and how well."""
        from perf_timing.individual.tables import individual_summary

        return individual_summary(result)

    def tables(self, result: IndividualModel) -> Tables:
        """The pairs, worst first, outliers, and the ranking that the functions were chosen from."""
        from perf_timing.individual.tables import individual_tables

        return individual_tables(result)

    def frame(self, result: IndividualModel) -> pd.DataFrame:
        """Every pair, worst first: how well it fits, and its coefficients with their standard errors."""
        from perf_timing.individual.tables import individual_frame

        return individual_frame(result)

    def views(self, result: IndividualModel, data: Any = None, file: Path | None = None) -> IndividualViews:
        """The pairs with their R^2, curves, residuals."""
        from perf_timing.individual.views import IndividualViews

        return IndividualViews(result, data)


class JointPresenter(_ScalingPresenter):
    """Text, tables, picture and page of `JointModel`."""

    def title(self, result: JointModel) -> str:
        """The functions, and the source."""
        return f"Joint model {' + '.join(result.functions)} of {Path(result.origin.source).name}"

    def summary(self, result: JointModel) -> list[str]:
        """What was fitted, in which scale, how well, and how it predicts."""
        from perf_timing.joint.tables import joint_summary

        return joint_summary(result)

    def tables(self, result: JointModel) -> Tables:
        """Parameters, cells, outliers, correlations, and the ranking that the functions were chosen from."""
        from perf_timing.joint.tables import joint_tables

        return joint_tables(result)

    def frame(self, result: JointModel) -> pd.DataFrame:
        """Every parameter: its function, its code or system, estimate, standard error and interval."""
        from perf_timing.joint.tables import joint_frame

        return joint_frame(result)

    def views(self, result: JointModel, data: Any = None, file: Path | None = None) -> JointViews:
        """The pairs, curves, work and speed, residuals."""
        from perf_timing.joint.views import JointViews

        return JointViews(result, data)
