"""Where the cycles of one or several runs went, as one result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from perf_analysis.overheads.other_tools import OtherRun
from perf_analysis.overheads.predicted import Predicted
from perf_analysis.overheads.profile import OverheadProfile
from perfcore.results import Result

By = Literal["category", "location", "phase", "marker", "burst"]


@dataclass(frozen=True, eq=False, repr=False)
class OverheadRuns(Result):
    """Profiles of runs; its data frame has a row for each run, phase and category, which models can be fitted to.

    Parameters
    ----------
    profiles : tuple of OverheadProfile
        At least one.
    by : {"category", "location", "phase", "marker", "burst"}, optional
        The table that is shown beside the categories of each run; without it several runs are shown in one table.
    settings : mapping of str to sequence of float
        What was varied: one value, or one for each run.
    predicted : tuple of Predicted
        Efficiencies at numbers of locations that were asked for.
    others : tuple of OtherRun
        What other tools say of such runs.
    """

    profiles: tuple[OverheadProfile, ...]
    by: By | None = None
    settings: Mapping[str, Sequence[float]] = field(default_factory=dict)
    predicted: tuple[Predicted, ...] = ()
    others: tuple[OtherRun, ...] = ()

    @property
    def is_comparison(self) -> bool:
        """Whether the runs are shown in one table."""
        return len(self.profiles) + len(self.others) > 1 and self.by in (None, "burst")

    def __len__(self) -> int:
        """Number of runs."""
        return len(self.profiles)

    def __iter__(self) -> Iterator[OverheadProfile]:
        """The profiles, in the order of the traces."""
        return iter(self.profiles)

    def __getitem__(self, run: int) -> OverheadProfile:
        """The profile of one run, counted from 0."""
        return self.profiles[run]

    def to_dict(self) -> dict[str, Any]:
        """All profiles as plain data, see `OverheadProfile.to_dict`; of several runs also their efficiencies."""
        from perf_analysis.overheads.by_burst import losses_as_data
        from perf_analysis.overheads.scaling import efficiencies_of_runs

        scaling: dict[str, Any] = {}
        if len(self.profiles) > 1:
            scaling = {
                "efficiencies_of_runs": efficiencies_of_runs(self.profiles),
                "losses_by_burst": losses_as_data(self.profiles),
            }
        if self.others:
            scaling["other_tools"] = [other.to_dict() for other in self.others]
        if self.predicted:
            scaling["predicted"] = [each.to_dict() for each in self.predicted]
        return {"profiles": [profile.to_dict() for profile in self.profiles], **scaling}
