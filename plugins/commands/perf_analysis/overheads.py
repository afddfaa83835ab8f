"""The function behind ``perf overheads``."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from perf_analysis.categories import CategorySet, classify
from perf_analysis.concurrency import usual_categories
from perf_analysis.efficiencies import COMPUTING, DEFINITIONS
from perf_analysis.overhead_profile import OverheadProfile
from perf_analysis.scaling_efficiencies import ExternalMetrics, efficiencies_of_runs, losses_as_data
from perf_analysis.stretches import phase_edges
from perf_analysis.time_components import TimeComponents, time_components
from perfcore.base.errors import DataError, OptionError
from perfcore.base.files import atomic_path
from perfcore.data.trace import Trace
from perfcore.models.model import Model
from perfcore.results import Result

if TYPE_CHECKING:
    import pandas as pd


By = Literal["category", "location", "phase", "marker", "burst"]


@dataclass(frozen=True, eq=False, repr=False)
class OverheadRuns(Result):
    """Profiles of runs; its data frame has a row for each run, phase and category, which models can be fitted to."""

    json_kind: ClassVar[str] = "overheads"

    profiles: tuple[OverheadProfile, ...]  # at least one
    by: By | None = None  # the table that is shown next to the categories of each run
    settings: Mapping[str, Sequence[float]] = field(default_factory=dict)
    others: tuple[ExternalMetrics, ...] = ()  # what other tools say of such runs

    @property
    def is_comparison(self) -> bool:
        """Whether the runs are shown in one table."""
        return len(self.profiles) + len(self.others) > 1 and self.by in (None, "burst")

    def __len__(self) -> int:
        return len(self.profiles)

    def __iter__(self) -> Iterator[OverheadProfile]:
        return iter(self.profiles)

    def __getitem__(self, run: int) -> OverheadProfile:
        return self.profiles[run]

    def to_dict(self) -> dict[str, Any]:
        """All profiles as plain data, see `OverheadProfile.to_dict`; of several runs also their efficiencies."""
        scaling: dict[str, Any] = {}
        if len(self.profiles) > 1:
            scaling = {
                "efficiencies_of_runs": efficiencies_of_runs(self.profiles),
                "losses_by_burst": losses_as_data(self.profiles),
            }
        if self.others:
            scaling["other_tools"] = [other.to_dict() for other in self.others]
        return {"profiles": [profile.to_dict() for profile in self.profiles], **scaling}

    def components(self) -> TimeComponents:
        """The steps from computing to the elapsed time in each run, for models of how they scale."""
        check_same_categories(self.profiles)
        return time_components(self.profiles)

    def closing(self, width: int | None = None) -> list[str]:
        """How efficiencies are defined, below the tables of single runs."""
        return [*(() if self.is_comparison or width is not None else DEFINITIONS), *super().closing(width)]

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Write times by category to a .csv file, one row for each; gives what the command line says of it."""
        write_csv(self.to_frame(), path)
        phases = any(profile.n_phases > 1 for profile in self)
        following = f"next: one phase at a time, perf fit {path} --fitter modgen --where phase=1"
        return [f"table: {path}", *([following] if phases else [])]


def write_csv(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table to a .csv file; refuse other endings."""
    if not os.fspath(path).lower().endswith(".csv"):
        raise OptionError(f"--output {path}: the ending must be .csv")
    with atomic_path(path) as temporary:
        frame.to_csv(temporary, index=False)


_OWN = ("category", "phase", "time_s", "all_locations_ns")


def stacked(profiles: Sequence[OverheadProfile], settings: Mapping[str, Sequence[float]] | None = None) -> pd.DataFrame:
    """One row for each run and category, and for each phase where runs have several."""
    import pandas as pd

    check_same_categories(profiles)
    columns: dict[str, Sequence[float]] = {"p": [len(profile.locations) for profile in profiles]}
    for name, values in (settings or {}).items():
        if name in _OWN:
            raise OptionError(f"--label {name}: the table has a column of this name; choose another")
        if len(values) not in (1, len(profiles)):
            raise OptionError(
                f"--label {name}: {len(values)} values for {len(profiles)} traces; give one, or one for each"
            )
        columns[name] = [*values] * len(profiles) if len(values) == 1 else values
    with_phases = any(profile.n_phases > 1 for profile in profiles)
    rows = []
    for run, profile in enumerate(profiles):
        for phase in range(profile.n_phases):
            for name, time in zip(profile.categories, profile.by_phase_ns[:, phase], strict=True):
                row: dict[str, float | str] = {column: values[run] for column, values in columns.items()}
                if with_phases:
                    row["phase"] = phase + 1
                mean_s = int(time) / len(profile.locations) / 1e9
                rows.append(row | {"category": name, "time_s": mean_s, "all_locations_ns": int(time)})
    return pd.DataFrame(rows)


def common_notes(profiles: Sequence[OverheadProfile]) -> list[str]:
    """What must be known about several runs; notes that differ in one number are one."""
    texts: dict[str, set[int]] = {}
    for note in (note for profile in profiles for note in profile.notes):
        number = re.match(r"\d+ ", note)  # a note that counts something begins with the count
        text, counts = (note[number.end() :], {int(number[0])}) if number else (note, set[int]())
        texts.setdefault(text, set()).update(counts)
    ranges = {text: f"{min(counts)} to {max(counts)} " for text, counts in texts.items() if len(counts) > 1}
    return [ranges.get(text, "".join(f"{count} " for count in counts)) + text for text, counts in texts.items()]


def check_same_categories(profiles: Sequence[OverheadProfile]) -> None:
    """Refuse profiles by different sets."""
    first = profiles[0]
    for profile in profiles:
        if profile.categories != first.categories:
            raise DataError(f"{profile.source} has other categories than {first.source}; profile both by the same set")


Named = str | os.PathLike[str]
Read = Callable[[str, Sequence[type]], Any]


def edges_of_phases(
    trace: Trace,
    phases: Named | int | Model,
    degree: str,
    categories: CategorySet | None,
    classes: Mapping[str, Sequence[str]],
) -> list[int]:
    """Phases of the curve of the states that the categories take as computing."""
    rules = usual_categories(trace) if categories is None else categories
    if COMPUTING not in rules.classes:
        return phase_edges(trace, phases, degree=degree)
    computing = classify(trace, rules, classes).states_of(COMPUTING)
    return phase_edges(trace, phases, degree=degree, busy=[state for state in computing if state in trace.states])
