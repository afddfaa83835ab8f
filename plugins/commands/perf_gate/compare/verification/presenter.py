"""How a verification is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perf_gate.compare.verification.verification import Verification
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class VerificationPresenter(Presenter):
    """Figures of each group of points, the worst categories and points, and measured over predicted values."""

    def title(self, result: Verification) -> str:
        """One line over a picture."""
        return f"{result.model}, against {result.source}"

    def summary(self, result: Verification) -> list[str]:
        """What was verified, and the figures of each group of points."""
        from perf_gate.compare.verification.tables import verification_summary

        return verification_summary(result)

    def tables(self, result: Verification) -> Tables:
        """Categories and points of the first group, the points that are new to the model where there are any."""
        from perf_gate.compare.verification.tables import verification_tables

        return verification_tables(result)

    def frame(self, result: Verification) -> pd.DataFrame:
        """A row for each point: measured and predicted value, bounds (NaN without), relative error."""
        import pandas as pd

        columns: dict[str, Any] = {**result.points, "measured": result.measured, "predicted": result.predicted}
        columns |= {"lower": result.lower, "upper": result.upper, "error": result.errors}
        return pd.DataFrame(columns if result.fitted is None else {**columns, "fitted": result.fitted})

    def draw(self, result: Verification, figure: Figure, data: Any = None) -> None:
        """Draw measured over predicted values, and the relative errors."""
        from perf_gate.compare.verification.picture import draw_verification

        draw_verification(result, figure)
