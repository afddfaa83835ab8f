"""The function behind ``perf overheads``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from perf_analysis.attribution import profile_overheads
from perf_analysis.categories import CategorySet, classify, read_categories
from perf_analysis.concurrency import usual_categories
from perf_analysis.efficiencies import COMPUTING
from perf_analysis.groups import groups_of
from perf_analysis.overhead_profile import (
    OverheadProfile,
    add_communication_metrics,
    check_same_categories,
    stacked,
    whole_run_only,
)
from perf_analysis.remedies import Remedies, remedies_of
from perf_analysis.scaling_efficiencies import ExternalMetrics, efficiencies_of_runs, losses_as_data, runs_of_table
from perf_analysis.stretches import phase_edges
from perf_analysis.time_components import TimeComponents, time_components
from perf_traces.messages.bursts import FACTORS, Definition, refuse_different_programs
from perf_traces.reading import write_csv
from perf_traces.runs import SeparateRuns
from perf_traces.summaries.summarized_trace import SummarizedTrace
from perfcore.base.errors import DataError
from perfcore.data import type_in_words
from perfcore.data.curve import UtilizationCurve
from perfcore.data.measurements import Measurements
from perfcore.data.series import Series
from perfcore.data.trace import Trace
from perfcore.models.model import Model
from perfcore.reading import Read
from perfcore.reading.recognise import read as read_data
from perfcore.report import Report, Table
from perfcore.results import Result

if TYPE_CHECKING:
    pass

By = Literal["category", "location", "phase", "marker", "burst"]
Named = str | os.PathLike[str]


@dataclass(frozen=True, eq=False, repr=False)
class OverheadRuns(Result):
    """Profiles of runs; its data frame has a row for each run, phase and category, which models can be fitted to."""

    json_kind: ClassVar[str] = "overheads"

    profiles: tuple[OverheadProfile, ...]  # at least one
    by: By | None = None  # the table that is shown next to the categories of each run
    settings: Mapping[str, Sequence[float]] = field(default_factory=dict)
    others: tuple[ExternalMetrics, ...] = ()  # what other tools say of such runs
    remedies: Remedies | None = None  # of a single run

    @property
    def is_comparison(self) -> bool:
        """Whether the runs are shown in one table."""
        several = len(self.profiles) + len(self.others) > 1 and not any(each.group for each in self.profiles)
        return several and self.by in (None, "burst")

    @property
    def data_table(self) -> Table:
        """A row for each run, phase and category."""
        return stacked(self.profiles, self.settings)

    def report(self, data: Any = None) -> Report:
        from perf_analysis.overhead_answers import report_of

        return report_of(self)

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
        remedies = {} if self.remedies is None else {"remedies": self.remedies.to_dict()}
        return {"profiles": [profile.to_dict() for profile in self.profiles], **scaling, **remedies}

    def components(self) -> TimeComponents:
        """The steps from computing to the elapsed time in each run, for models of how they scale."""
        check_same_categories(self.profiles)
        return time_components(self.profiles)

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Write times by category to a .csv file, one row for each; gives what the command line says of it."""
        write_csv(self.to_frame(), path)
        phases = any(profile.n_phases > 1 for profile in self)
        following = f"next: one phase at a time, perf fit {path} --fitter modgen --where phase=1"
        return [f"table: {path}", *([following] if phases else [])]


@dataclass(frozen=True)
class Question:
    """What is asked of runs; each as `perfcore.overheads` takes it."""

    phases: Named | int | Model | None = None
    degree: str = "auto"
    by: By | None = None
    categories: Named | CategorySet | None = None
    classes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ready: Any = None
    ready_column: str | None = None
    pop: Definition = "strict"
    settings: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @property
    def is_plain(self) -> bool:
        """Whether nothing but the whole run is asked for."""
        return self.by is None and self.phases is None and self.ready is None


def overheads_of(sources: Sequence[Named | Trace], question: Question, read: Read) -> OverheadRuns:
    """Break down runs, read one at a time."""
    categories, ready = question.categories, question.ready
    rules = read_categories(categories) if isinstance(categories, (str, os.PathLike)) else categories
    amount = read_data(ready, wanted=(Series,)) if isinstance(ready, (str, os.PathLike)) else ready
    if not isinstance(amount, (Series, UtilizationCurve, type(None))):
        raise DataError(f"{ready} was read as {type_in_words(amount)}; for a series call its columns time_us and ready")
    others: list[ExternalMetrics] = []
    profiles: list[OverheadProfile] = []
    remedies = None
    for item in _traces_of(sources, read, others):
        for part, group in groups_of(item):
            profile = replace(_profile(part, question, rules, amount), group=group, source=item.source)
            profiles.append(profile)
        is_whole = len(sources) == 1 and question.is_plain and not question.classes and rules is None
        remedies = remedies_of(part, profile) if is_whole and not group else None
    if not profiles:
        raise DataError(
            f"{others[0].source}: efficiencies of another tool are compared with those of traces; add a trace"
        )
    by = question.by
    if by == "burst" and (without := [each.source for each in profiles if each.bursts is None]):
        raise DataError(
            f"{without[0]}: --by burst needs the calls of a communication library in a whole run, with its usual "
            "classes; leave out --by burst"
        )
    if not any(each.group for each in profiles):
        called = [(each.source, each.bursts.calls) for each in profiles if each.bursts is not None]
        refuse_different_programs(called)
        computing = [(each.source, frozenset(each.states.get(COMPUTING, ()))) for each in profiles]
        refuse_different_programs(computing, "function that computes")
    table_by = by or (None if question.phases is None else "phase")
    remedies = remedies if len(profiles) == 1 and not others else None
    return OverheadRuns(tuple(profiles), table_by, dict(question.settings), tuple(others), remedies)


def _traces_of(sources: Sequence[Any], read: Read, others: list[ExternalMetrics]) -> Iterator[Trace]:
    """Each run; efficiencies of other tools are added to ``others``."""
    for item in sources:
        trace = item if isinstance(item, Trace) else read(os.fspath(item), (Trace,))
        if isinstance(trace, SeparateRuns):
            yield from _traces_of(trace.files, read, others)
        elif isinstance(trace, Measurements):
            others.extend(runs_of_table(trace, FACTORS))
        elif not isinstance(trace, Trace):
            raise DataError(f"{item} holds {type_in_words(trace)}; states of each location are needed: give a trace")
        else:
            yield trace


def _profile(trace: Trace, question: Question, rules: CategorySet | None, ready: Any) -> OverheadProfile:
    by_marker = question.by == "marker"
    if by_marker and not trace.markers:
        raise DataError(f"{trace.source}: there are no markers in it; leave out --by marker")
    edges = None
    if question.phases is not None:
        if isinstance(trace, SummarizedTrace):
            raise whole_run_only(trace)
        edges = edges_of_phases(trace, question.phases, question.degree, rules, question.classes)
    profile = profile_overheads(
        trace, rules, classes=question.classes, ready=ready, ready_column=question.ready_column, phase_edges_ns=edges,
        by_marker=by_marker,
    )  # fmt: skip
    return add_communication_metrics(trace, profile, question.pop)


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
