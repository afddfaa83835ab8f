"""The function behind ``perf overheads``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from perf_analysis.overheads.attribution import profile_overheads, usual_categories
from perf_analysis.overheads.category_set import CategorySet, read_categories
from perf_analysis.overheads.factors import FACTORS
from perf_analysis.overheads.of_summary import whole_run_only
from perf_analysis.overheads.other_tools import OtherRun, runs_of_table
from perf_analysis.overheads.phases import phase_edges
from perf_analysis.overheads.pop_efficiencies import COMPUTING
from perf_analysis.overheads.predicted import predicted_efficiencies, sizes_at
from perf_analysis.overheads.profile import OverheadProfile
from perf_analysis.overheads.runs import By, OverheadRuns
from perf_analysis.overheads.state_classes import classify
from perf_analysis.overheads.with_calls import with_calls
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

Path = str | os.PathLike[str]
Read = Callable[[str, Sequence[type]], Any]


def _read(path: str, types: Sequence[type]) -> Any:
    return read_data(path, wanted=types)


def overheads(
    traces: Path | Trace | Sequence[Path | Trace],
    *,
    phases: Path | int | Model | None = None,
    degree: str | int = "auto",
    by: By | None = None,
    categories: Path | CategorySet | None = None,
    classes: Mapping[str, Sequence[str]] | None = None,
    ready: Path | Series | UtilizationCurve | None = None,
    ready_column: str | None = None,
    pop: Definition = "strict",
    at: str | None = None,
    settings: Mapping[str, Sequence[float]] | None = None,
    read: Read = _read,
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
        Of the polynomials that model a phase that is found: 0 to 3, ``"mixed"``, or ``"auto"`` as the fitter chooses.
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
    amount = ready if ready is None or isinstance(ready, (Series, UtilizationCurve)) else _ready_work(ready)

    others: list[OtherRun] = []

    def profile(item: Path | Trace) -> OverheadProfile | None:
        trace = item if isinstance(item, Trace) else _trace(item, read)
        if isinstance(trace, Measurements):
            others.extend(runs_of_table(trace, FACTORS))
            return None
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
        return with_calls(trace, overhead_profile, pop)

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


def _trace(path: Path, read: Read) -> Trace | Measurements:
    trace = read(os.fspath(path), (Trace,))
    if not isinstance(trace, (Trace, Measurements)):
        raise DataError(
            f"{os.fspath(path)} holds {type(trace).__name__}; the states of each location are needed: give a trace"
        )
    return trace


def _ready_work(path: Path) -> Series | UtilizationCurve:
    data = read_data(path, wanted=(Series,))
    if not isinstance(data, (Series, UtilizationCurve)):
        raise DataError(
            f"{os.fspath(path)} was read as {type_in_words(data)}; for a series call its columns time_us and ready"
        )
    return data


def _edges(
    trace: Trace,
    phases: Path | int | Model,
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
