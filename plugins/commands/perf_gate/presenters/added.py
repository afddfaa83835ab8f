"""How additions to a history are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perf_gate.history.adding import Added
from perfcore.results import Presenter

if TYPE_CHECKING:
    import pandas as pd


class AddedPresenter(Presenter):
    """A line that counts."""

    def summary(self, result: Added) -> list[str]:
        """What was added, and what there is."""
        count = len(result.benchmarks)
        return [f"{result.path}: {count} value{'s' * (count != 1)} of {result.commit} added; {result.values} in all"]

    def frame(self, result: Added) -> pd.DataFrame:
        """A row for each value that was added."""
        import pandas as pd

        return pd.DataFrame({"benchmark": list(result.benchmarks), "commit": result.commit, "file": result.path})
