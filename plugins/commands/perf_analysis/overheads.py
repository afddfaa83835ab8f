"""The function behind ``perf overheads``."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from perf_analysis.attribution import profile_overheads, usual_categories
from perf_analysis.categories import CategorySet, classify, read_categories
from perf_analysis.efficiencies import COMPUTING, FACTORS
from perf_analysis.messages import read_trace
from perf_analysis.overhead_profile import OverheadProfile, add_communication_metrics, whole_run_only
from perf_analysis.predicted_efficiencies import Predicted, predicted_efficiencies, sizes_at
from perf_analysis.scaling_efficiencies import ExternalMetrics, efficiencies_of_runs, losses_as_data, runs_of_table
from perf_analysis.stretches import phase_edges
from perf_traces.messages.bursts import Definition, refuse_different_programs
from perf_traces.summaries.summarized_trace import SummarizedTrace
from perfcore.base.errors import DataError, OptionError, UnknownNameError
from perfcore.data.curve import UtilizationCurve
from perfcore.data.kinds import type_in_words
from perfcore.data.measurements import Measurements
from perfcore.data.series import Series
from perfcore.data.trace import Trace
from perfcore.models.model import Model
from perfcore.reading.recognise import read as read_data
from perfcore.results import Result

if TYPE_CHECKING:
    import pandas as pd


By = Literal["category", "location", "phase", "marker", "burst"]


@dataclass(frozen=True, eq=False, repr=False)
class OverheadRuns(Result):
    """Profiles of runs; its data frame has a row for each run, phase and category, which models can be fitted to."""

    profiles: tuple[OverheadProfile, ...]  # at least one
    by: By | None = None  # the table that is shown beside the categories of each run
    settings: Mapping[str, Sequence[float]] = field(default_factory=dict)
    predicted: tuple[Predicted, ...] = ()  # efficiencies at numbers of locations that were asked for
    others: tuple[ExternalMetrics, ...] = ()  # what other tools say of such runs

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


def overheads(
    traces: Named | Trace | Sequence[Named | Trace],
    *,
    phases: Named | int | Model | None = None,
    degree: str | int = "auto",
    by: By | None = None,
    categories: Named | CategorySet | None = None,
    classes: Mapping[str, Sequence[str]] | None = None,
    ready: Named | Series | UtilizationCurve | None = None,
    ready_column: str | None = None,
    pop: Definition = "strict",
    at: str | None = None,
    settings: Mapping[str, Sequence[float]] | None = None,
    read: Read = read_trace,
) -> OverheadRuns:
    """Say where the cycles of runs go: computation, load imbalance, and kinds of loss.

    Every nanosecond of every location is in exactly one category. Take it to see what a run loses; its data frame is
    what models of each category are fitted to.

    Parameters
    ----------
    traces : Trace, str or path, or a sequence of them
        One for each run; files are read one at a time. Tables of efficiencies by TALP and by BSC's model factors may be
        among the files: their runs are set beside those of the traces.
    phases : int, str, path or Model, optional
        Also for each phase of a run: a number, a range such as ``"1..20"``, or ``"auto"``, which are found as
        `perfcore.fit` finds them; or those of a model of the trace, or its file.
    degree : str or int
        Of the polynomials that model a phase that is found: 0 to 3, or ``"auto"`` as the fitter chooses.
    by : {"category", "location", "phase", "marker", "burst"}, optional
        What is shown beside the categories; by default phases where there are any, and of several runs a comparison;
        with bursts, which are the stretches between two calls, also what each lost when the run got larger.
    categories : CategorySet, str or path, optional
        A set, or the TOML file of one; by default the standard categories, or those of GPUs where all locations are
        GPUs or their streams.
    classes : mapping of str to sequence of str, optional
        Patterns of state names by class, which go before those of the set (``--class``).
    ready : Series, UtilizationCurve, str or path, optional
        Amount of ready work over time, on the clock of the only trace.
    ready_column : str, optional
        Column of ``ready``, where it has several.
    pop : {"strict", "bsc"}
        How serialisation and transfer are told apart, where there are messages: by the rules that the trace shows, or
        as BSC's tools do, to compare with published tables.
    at : str, optional
        Numbers of locations for which the efficiencies of several runs are modelled: ``"p=4096"``, ``"p=64..4096*4"``.
    settings : mapping of str to sequence of float, optional
        Columns of the data frame: one value, or one for each trace (``--label``). ``p`` is by default the locations.
    read : callable, optional
        Reads files; takes a path and the wanted types, as `perfcore.read` does by default.

    Returns
    -------
    OverheadRuns

    Raises
    ------
    OptionError
        Options do not go together, or are not accepted.
    UnknownNameError
        There is no such definition ``pop``.
    DataError
        A file holds no trace, or its states cannot be put into the categories; runs are of different programs; or there
        are too few numbers of locations for ``at``.
    InputError
        A file cannot be read.

    Examples
    --------
    >>> runs = overheads(Trace([0, 1], [0, 0], [0, 0], [2_000_000_000, 1_000_000_000], ["a", "b"], ["run"]))
    >>> table = runs.to_frame().set_index("category")["time_s"]
    >>> float(table["pure computation"]), float(table["insufficient parallelism"])
    (1.5, 0.5)
    """
    sources = [traces] if isinstance(traces, (str, os.PathLike, Trace)) else list(traces)
    if not sources:
        raise OptionError("there is no trace; give one or several")
    if pop not in get_args(Definition):
        raise UnknownNameError("definition of serialisation", pop, get_args(Definition))
    if at is not None and (len(sources) < 2 or phases is not None or by not in (None, "burst")):
        raise OptionError("--at compares several traces by their efficiencies: give them, without --phases and --by")
    sizes = [] if at is None else sizes_at(at)
    if by == "phase" and phases is None:
        raise OptionError("--by phase needs --phases N")
    if ready is not None and len(sources) > 1:
        raise OptionError("--ready belongs to one trace; profile the others each with its own")
    if ready is None and ready_column is not None:
        raise OptionError("--ready-column belongs to --ready SERIES")
    rules = read_categories(categories) if isinstance(categories, (str, os.PathLike)) else categories
    amount = read_data(ready, wanted=(Series,)) if isinstance(ready, (str, os.PathLike)) else ready
    if not isinstance(amount, (Series, UtilizationCurve, type(None))):
        raise DataError(f"{ready} was read as {type_in_words(amount)}; for a series call its columns time_us and ready")

    others: list[ExternalMetrics] = []

    def profile(item: Named | Trace) -> OverheadProfile | None:
        trace = item if isinstance(item, Trace) else read(os.fspath(item), (Trace,))
        if isinstance(trace, Measurements):
            others.extend(runs_of_table(trace, FACTORS))
            return None
        if not isinstance(trace, Trace):
            raise DataError(
                f"{item} holds {type(trace).__name__}; the states of each location are needed: give a trace"
            )
        if by == "marker" and not trace.markers:
            raise DataError(f"{trace.source}: there are no markers in it; leave out --by marker")
        if phases is not None and isinstance(trace, SummarizedTrace):
            raise whole_run_only(trace)
        edges = None if phases is None else _edges(trace, phases, str(degree), rules, classes or {})
        overhead_profile = profile_overheads(
            trace,
            rules,
            classes=classes,
            ready=amount,
            ready_column=ready_column,
            phase_edges_ns=edges,
            by_marker=by == "marker",
        )
        return add_communication_metrics(trace, overhead_profile, pop)

    table_by = by or (None if phases is None else "phase")
    profiles = tuple(each for each in map(profile, sources) if each is not None)
    if not profiles:
        raise DataError(
            f"{others[0].source}: efficiencies of another tool are set beside those of traces; give one, too"
        )
    if table_by == "burst" and (without := [each.source for each in profiles if each.bursts is None]):
        raise DataError(
            f"{without[0]}: --by burst needs the calls of a communication library in a whole run, with its usual "
            "classes; leave out --by burst"
        )
    refuse_different_programs([(each.source, each.bursts.calls) for each in profiles if each.bursts is not None])
    refuse_different_programs(
        [(each.source, frozenset(each.states.get(COMPUTING, ()))) for each in profiles], "function that computes"
    )
    predicted = tuple(predicted_efficiencies(profiles, sizes)) if sizes else ()
    return OverheadRuns(profiles, table_by, dict(settings or {}), predicted, tuple(others))


def _edges(
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
