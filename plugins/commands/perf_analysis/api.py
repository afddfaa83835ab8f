"""What ``perf overheads``, ``profile``, ``messages``, ``whatif`` and ``summarize`` do, in Python."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from perf_traces.options import CELLS, RANK, HowToReadTraces
from perfcore.base.errors import DataError, OptionError, UnknownNameError
from perfcore.hooks.parameters import OptionGroup, OptionRules, names_of
from perfcore.reading import Read

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from perf_analysis.categories import CategorySet
    from perf_analysis.gpu_whatif import GpuAnswers
    from perf_analysis.messages import MessageRuns, MessageTable
    from perf_analysis.operators import GpuMemory, LaunchTimes, OperatorTimes
    from perf_analysis.overheads import OverheadRuns
    from perf_analysis.profiles import By, Profiles, RunProfile
    from perf_analysis.replay_answers import Answers
    from perf_analysis.summarize import RunSummary, SubmittedJobs
    from perfcore.data.curve import UtilizationCurve
    from perfcore.data.series import Series
    from perfcore.data.trace import Trace
    from perfcore.models.model import Model

Named = str | os.PathLike[str]
_NOT_REPEATED = ("since", "until", "region", "only", "locations", "from_name")  # options that not all commands have
ProfileBy = Literal[
    "function", "location", "rank", "phase", "marker", "operator", "shape", "kernel", "group", "module", "memory"
]


def _print_categories(requested: bool) -> None:
    if requested:
        from perf_analysis.categories import STANDARD

        typer.echo(STANDARD.read_text(encoding="utf-8"), nl=False)
        raise typer.Exit


@dataclass(frozen=True)
class HowToReadOverheads(HowToReadTraces):
    """How traces are read, and ``--print-categories``."""

    print_categories: Annotated[
        bool,
        typer.Option(
            "--print-categories",
            is_eager=True,
            callback=_print_categories,
            help="Print the standard categories, to start a file of your own from.",
        ),
    ] = False


def overheads(
    traces: Annotated[
        Named | Trace | Sequence[Named | Trace],
        typer.Argument(metavar="TRACES", help="One for each run: files, folders, or quoted patterns."),
    ],
    *,
    phases: Annotated[
        Named | int | Model | None,
        typer.Option(
            metavar="N|A..B|auto|MODEL",
            help="Also for each of N phases, found as `perf fit` finds them, or for those of a model of the trace.",
        ),
    ] = None,
    degree: Annotated[
        str | int, typer.Option(metavar="D", help='Polynomial degree of detected phases: 0 to 3, or "auto".')
    ] = "auto",
    by: Annotated[
        Literal["category", "location", "phase", "marker", "burst", "launch"] | None,
        typer.Option(
            help="Table next to the categories; several traces are compared without it, and by burst, which "
            "is computing between two calls."
        ),
    ] = None,
    categories: Annotated[
        Named | CategorySet | None, typer.Option(metavar="FILE.toml", help="Categories and predicates of your own.")
    ] = None,
    classes: Annotated[
        Mapping[str, Sequence[str]] | Sequence[str] | None,
        typer.Option(
            "--class",
            metavar="CLASS=STATE,...",
            help="Patterns of state names by class, such as waiting='Wait*,Lock', which go before those of the set.",
        ),
    ] = None,
    ready: Annotated[
        Named | Series | UtilizationCurve | None,
        typer.Option(
            metavar="SERIES", help="File with the amount of ready work over time, on the clock of the only trace."
        ),
    ] = None,
    ready_column: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Column of ready, where it has several."),
        OptionRules(needs="--ready SERIES"),
    ] = None,
    pop: Annotated[
        Literal["strict", "bsc"],
        typer.Option(
            help="Serialisation and transfer from the observed MPI semantics, or as BSC's tools define them, "
            "to compare with published tables."
        ),
    ] = "strict",
    settings: Annotated[
        Mapping[str, Sequence[float]] | Sequence[str] | None,
        typer.Option(
            "--label",
            metavar="KEY=VALUE,...",
            help="Column of the output, one value or one for each trace (default: p, the locations).",
        ),
        OptionRules(needs="--output FILE"),
    ] = None,
    reading: Annotated[Mapping[str, Any] | None, OptionGroup("perf_analysis.api:HowToReadOverheads", "reading")] = None,
) -> OverheadRuns | LaunchTimes:
    """Break down where time is lost: computation, load imbalance and kinds of overhead.

    The categories split the time of each location without a rest; otherwise the error names the states and times.
    Without ``--ready``, an idle location counts as load imbalance while two or more others compute, as insufficient
    parallelism otherwise.

    Parameters
    ----------
    traces : Trace, str or path, or a sequence of them
        Files are read one at a time. Tables of efficiencies by TALP and by BSC's model factors may be among the files:
        their runs are compared with those of the traces.
    phases : int, str, path or Model, optional
        A number, a range such as ``"1..20"``, ``"auto"``, or the model or its file.
    by : {"category", "location", "phase", "marker", "burst", "launch"}, optional
        By default phases where there are any, and of several runs a comparison; with bursts, which are the stretches
        between two calls, also what each lost when the run got larger. By launch: delays, launch calls and queues of a
        GPU's streams, of a PyTorch trace.
    categories : CategorySet, str or path, optional
        A set, or the TOML file of one; by default the standard categories, or those of GPUs where all locations are
        GPUs or their streams.
    reading : mapping of str to Any, optional
        Options of reading, as of `perfcore.read`, such as ``{"since": "1s"}``.

    Raises
    ------
    OptionError
        Options do not go together, or are not accepted.
    UnknownNameError
        There is no such definition ``pop``.
    DataError
        A file holds no trace, or its states cannot be put into the categories; or runs are of different programs.
    InputError
        A file cannot be read.

    Examples
    --------
    As a command::

        perf overheads trace.prv --phases 4 --plot lost.png
        perf overheads trace.prv --phases model.json
        perf overheads p2.prv p4.prv p8.prv --by burst
        perf overheads p2.prv p4.prv p8.prv -o lost.csv
        perf fit lost.csv --fitter modgen
        perf overheads p4.prv p8.prv --phases 3 -o phases.csv
        perf fit phases.csv --fitter modgen --where phase=2
        perf overheads pytorch.json.gz --by launch

    >>> from perfcore.data.trace import Trace
    >>> runs = overheads(Trace([0, 1], [0, 0], [0, 0], [2_000_000_000, 1_000_000_000], ["a", "b"], ["run"]))
    >>> table = runs.to_frame().set_index("category")["time_s"]
    >>> float(table["pure computation"]), float(table["insufficient parallelism"])
    (1.5, 0.5)
    """
    from perf_analysis.overheads import Question, overheads_of

    sources = _sources(traces)
    if pop not in ("strict", "bsc"):
        raise UnknownNameError("definition of serialisation", pop, ("strict", "bsc"))
    if by == "phase" and phases is None:
        raise OptionError("--by phase needs --phases N")
    if ready is not None and len(sources) > 1:
        raise OptionError("--ready belongs to one trace; profile the others each with its own")
    if ready is None and ready_column is not None:
        raise OptionError("--ready-column belongs to --ready SERIES")
    if by == "launch":
        from perf_analysis.operators import launch_times

        if phases is not None or categories is not None or classes or ready is not None or settings:
            raise OptionError("--by launch has no phases, categories, classes, ready work or labels; leave them out")
        return launch_times(sources, reading or {})
    columns = settings if isinstance(settings, Mapping) else {
        name: _numbers(name, words) for name, words in _lists(settings or (), "--label").items()
    }  # fmt: skip
    patterns = classes if isinstance(classes, Mapping) else _lists(classes or (), "--class")
    question = Question(phases, str(degree), by, categories, patterns, ready, ready_column, pop, columns)
    return overheads_of(sources, question, _reader(reading))


def _sources(traces: Named | Trace | Sequence[Named | Trace]) -> list[Any]:
    """Return traces, without files that are read with another of them."""
    from perf_traces.runs import without_sidecars
    from perfcore.data.trace import Trace

    sources = [traces] if isinstance(traces, (str, os.PathLike, Trace)) else without_sidecars(traces)
    if not sources:
        raise OptionError("there is no trace; give one or several")
    return sources


def _reader(reading: Mapping[str, Any] | None) -> Read:
    """Return a function that reads a path as one of some types, and repeats its options in suggested commands."""
    from perf_views.names import READ_BY
    from perfcore.reading.recognise import read

    pairs = {name: value for name, value in (reading or {}).items() if name not in _NOT_REPEATED}
    words = [f"--reader {v}" if name == "reader" else f"-r {shlex.quote(f'{name}={v}')}" for name, v in pairs.items()]

    def read_with_options(path: Any, wanted: Sequence[type]) -> Any:
        if words:
            READ_BY[os.fspath(path)] = "".join(f" {word}" for word in words)
        return read(path, wanted=wanted, **(reading or {}))

    return read_with_options


def _lists(pairs: Sequence[str], option: str) -> dict[str, list[str]]:
    """``KEY=A,B`` words, several of one key joined."""
    lists: dict[str, list[str]] = {}
    for pair in pairs:
        key, equals, values = pair.partition("=")
        words = [word.strip() for word in values.split(",") if word.strip()]
        if not equals or not key or not words:
            raise OptionError(f"{option} {pair!r}: NAME=VALUE,... is expected")
        lists.setdefault(key, []).extend(words)
    return lists


def _numbers(name: str, words: Sequence[str]) -> list[float]:
    try:
        return [int(word) if word.lstrip("-").isdecimal() else float(word) for word in words]
    except ValueError:
        raise OptionError(f"--label {name}={','.join(words)}: numbers are expected") from None


def profile(
    traces: Annotated[
        Named | Trace | Sequence[Named | Trace],
        typer.Argument(metavar="TRACES", help="Runs of one program: files, folders, or quoted patterns."),
    ],
    *,
    by: Annotated[
        ProfileBy | None,
        typer.Option(
            help='Groups of times: "function", "location", "rank", "phase" or "marker"; by default '
            "functions, or phases where there are any."
        ),
    ] = None,
    phases: Annotated[
        str | int | None, typer.Option(metavar="N|A..B|auto|MODEL.json", help="By phases, found or those of a model.")
    ] = None,
    peak: Annotated[
        str | None,
        typer.Option(
            metavar="TYPE=RATE,...", help='Peaks of the GPU for a roofline by shape, as "bf16=989.4TFLOP/s,3.35TB/s".'
        ),
        OptionRules(needs="--by shape"),
    ] = None,
    groups: Annotated[
        Named | None,
        typer.Option(metavar="FILE.toml", help="TOML file with groups of GPU work that go before the standard ones."),
        OptionRules(needs="--by group"),
    ] = None,
    from_name: str | None = None,
    reading: Annotated[
        Mapping[str, Any] | None, OptionGroup("perf_traces.options:HowToReadTraces", "reading_of_runs")
    ] = None,
) -> Profiles | OperatorTimes | GpuMemory:
    """Time and calls of every function of one or several runs.

    Times are exclusive: a function is a state, region or kernel, and each nanosecond of a location is in the innermost
    one, or in none. Inclusive times are those with callees, of a function that calls itself once; where no states are
    nested both are the same, and calls are intervals. The table, from which the fitters `scaling`, `lca` and `modgen`
    find the model of each function, has a column of the varied parameter: from ``--from-name``, or else p, the number
    of locations.

    Parameters
    ----------
    traces : Trace, str or path, or a sequence of them
        Files are read one at a time. A folder or a pattern is as many runs as it has files, or one run where they are
        its ranks.
    by : str, optional
        Of GPU traces "operator" (their default), "shape" (operators with their shapes), "kernel", "group" (such as GEMM
        or attention), or "module" (of PyTorch, or function of Python): GPU time, own and total. "memory": what is
        allocated over time, and by which operators.
    phases : int or str, optional
        A number, a range such as ``"1..20"``, ``"auto"``, or the model file of the only trace.
    from_name : str, optional
        What the names of the files say, as ``"run_p{p:int}.prv"``; without a number of processors there, ``p`` is the
        number of locations.
    reading : mapping of str to Any, optional
        Options of reading, as of `perfcore.read`, such as ``{"since": "1s"}``; of these ``files`` says whether the
        files of a folder or a pattern are "ranks" of one run or "runs" (by default as they or their names say).

    Raises
    ------
    OptionError
        Options do not go together, or nothing says what was varied.
    DataError
        A file holds no trace; a trace has no duration, or no markers or ranks where these are wanted; or runs have
        nothing in common.
    InputError
        A file cannot be read, or its name is another than the pattern.

    Examples
    --------
    As a command::

        perf profile trace.prv --phases 4 --plot functions.png
        perf profile runs/*.prv -o runs.jsonl
        perf fit runs.jsonl --fitter scaling
        perf profile pytorch.json.gz --by group
        perf profile pytorch.json.gz --by shape --peak bf16=989.4TFLOP/s,3.35TB/s

    >>> from perfcore.data.trace import Trace
    >>> runs = [Trace([0] * 2, [0, 1], [0, 8 // p], [8 // p, 9], ["a"], ["solve", "wait"]) for p in (1, 2)]
    >>> profile(runs).to_frame()[["function", "p", "all_locations_ns", "calls"]].to_string(index=False).splitlines()
    ... # doctest: +NORMALIZE_WHITESPACE
    ['function  p  all_locations_ns  calls', '   solve  1                 8      1',
     '    wait  1                 1      1', '   solve  1                 4      1',
     '    wait  1                 5      1']
    """
    from perf_analysis.profiles import Profiles, profile_by
    from perf_traces.runs import parameters_of_run, runs_of
    from perfcore.reading.recognise import NamePattern

    sources = _sources(traces)
    chosen = by or ("function" if phases is None else "phase")
    if phases is not None and chosen != "phase":
        raise OptionError(f"--phases is what --by phase takes, not --by {chosen}; leave out one of them")
    if peak is not None and chosen != "shape":
        raise OptionError("--peak belongs to --by shape")
    if groups is not None and chosen != "group":
        raise OptionError("--groups belongs to --by group")
    if chosen == "memory":
        from perf_analysis.operators import gpu_memory

        return gpu_memory(sources, reading or {})
    if chosen in ("operator", "shape", "kernel", "group", "module"):
        from perf_analysis.operators import operator_times

        return operator_times(sources, chosen, from_name, reading or {}, peak, groups=groups)
    if by is None and phases is None and (found := _operators(sources, from_name, reading or {})):
        return found
    by_part = cast("By", chosen)
    phase_spec = None if chosen != "phase" else "auto" if phases is None else phases
    pattern = None if from_name is None else NamePattern(from_name)
    is_file = isinstance(phase_spec, str) and phase_spec.lower().endswith(".json")
    runs: list[RunProfile] = []
    ranks: list[Mapping[str, Any]] = []
    options = dict(reading or {})
    files = options.pop("files", "auto")
    for trace, fields in runs_of(sources, pattern, files, _reader(options)):
        if is_file and runs:
            raise OptionError(
                f"--phases {phase_spec}: the phases of a model are those of one trace; give one, or a number"
            )
        runs.append(replace(profile_by(trace, by_part, phase_spec), parameters=parameters_of_run(trace, fields)))
        ranks.append(trace.facts)
    numbers, sizes = {facts.get(RANK) for facts in ranks}, {facts.get("world_size") for facts in ranks}
    if len(numbers) != len(runs) or None in numbers or len(sizes) > 1 or sizes <= {None, 1} or len(runs) < 2:
        return Profiles(tuple(runs), by_part)
    note = "the files say that they are ranks of one run: give their folder, or a quoted pattern, to profile it as one"
    return Profiles(tuple(runs), by_part, (note,))


def _operators(sources: Sequence[Any], from_name: str | None, reading: Mapping[str, Any]) -> OperatorTimes | None:
    """GPU time by operator or kernel, or profiles; None of what is no trace of host and GPU, or of a part of one."""
    from perf_analysis.operators import PARTS, operator_times, paths_of, times_of_sums
    from perf_io.traces.gpu_activity import read_gpu_activity

    if PARTS & set(reading) or not isinstance(sources[0], (str, os.PathLike)):
        return None
    paths = paths_of(sources, "operator", reading)
    activity = read_gpu_activity(paths[0], with_shapes=False) if len(sources) == 1 else None
    if activity is None:
        return times_of_sums(paths, reading) if from_name is None else None
    by = "operator" if activity.has_operators else "kernel"
    return operator_times(sources, by, from_name, reading, None, activity)


def messages(
    traces: Annotated[
        Named | Trace | Sequence[Named | Trace], typer.Argument(metavar="TRACES", help="Traces of runs with messages.")
    ],
    *,
    reading: Annotated[Mapping[str, Any] | None, OptionGroup("perf_traces.options:HowToReadTraces", "reading")] = None,
) -> MessageTable | MessageRuns:
    """Show the communication matrix, message sizes and collectives of a run, or compare those of several.

    Parameters
    ----------
    reading : mapping of str to Any, optional
        Options of reading, as of `perfcore.read`, such as ``{"since": "1s"}``.

    Returns
    -------
    MessageTable, or MessageRuns of several traces

    Raises
    ------
    DataError
        A trace has neither messages nor collectives, or is a part of a run.

    Examples
    --------
    As a command::

        perf messages trace.prv --plot matrix.png
        perf messages trace.prv --table csv > pairs.csv
        perf messages p2.prv p4.prv p8.prv

    >>> messages("examples/halo/halo.prv").count.sum(axis=1).tolist()
    [20, 20, 20, 20]
    """
    from perf_analysis.messages import MessageRuns, message_table, trace_and_calls

    sources = _sources(traces)
    tables = []
    for trace in sources:
        data, communication = trace_and_calls(trace, _reader(reading))
        if not len(communication.messages) and not communication.collectives.of_data.any():
            raise DataError(f"{data.source}: holds {len(communication.calls)} calls, and no message or collective")
        tables.append(message_table(communication, data))
    return tables[0] if len(tables) == 1 else MessageRuns(tuple(tables))


def whatif(
    trace: Annotated[
        Named | Trace,
        typer.Argument(metavar="TRACE", help="Trace of a run with messages or collectives: Paraver or OTF2."),
    ],
    *,
    network: Annotated[
        str | None,
        typer.Option(
            metavar="Kx|Kx..Kx|0|LATENCY,BANDWIDTH",
            help="2x is twice as fast, 0 is ideal, 2us,10GB/s has this latency and bandwidth; 1x..8x asks "
            "for each doubling.",
        ),
    ] = None,
    compute: Annotated[
        Mapping[str, float] | Sequence[str] | None,
        typer.Option(
            metavar="[CLASS=]Kx",
            help="Computation, or a class or name of states, K times as fast; of a GPU trace the GPU, or "
            "gpu, host, collectives, copies or a pattern of kernels, such as 'gemm*=2x'; inf removes it, and "
            "1x..8x asks for each factor of two.",
        ),
    ] = None,
    balance: Annotated[
        str | Sequence[str],
        typer.Option(
            metavar="[CLASS]",
            help="A class or state (default: computing) of whose time each rank takes the mean, occurrence "
            "by occurrence: an upper bound of the gain.",
        ),
        OptionRules(alone="computing"),
    ] = (),
    noise: Annotated[
        float | str,
        typer.Option(
            metavar="SHARE", help="Standard deviation of each stretch of computation as a share of it, such as 5%."
        ),
    ] = 0.0,
    representation: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="NAME",
            autocompletion=names_of("representations"),
            help="Representation of the runtime with noise (default: as in `perf stochastic summarize`).",
        ),
        OptionRules(needs="--output FILE"),
    ] = None,
    seed: int = 0,
    region: Annotated[
        str | None,
        typer.Option(
            "--region",
            "--between",
            metavar="MARKER",
            help="For a GPU trace: span of a marker; of several of one name, from the first to the last.",
        ),
    ] = None,
    parallel: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE", help="Share out the questions of a range: local:N processes or dask://HOST:PORT."
        ),
    ] = None,
    reading: Annotated[Mapping[str, Any] | None, OptionGroup("perfcore.cli.reading:HowToRead", "reading")] = None,
) -> Answers | GpuAnswers:
    """Predict the runtime and critical path of a run under changed conditions.

    All options together are one question; without any the usual ones are asked separately. Messages keep their
    order, so runs on other numbers of processors, and other schedules, can't be asked for. The path of a trace by
    PyTorch's profiler leads through host and GPU.

    Parameters
    ----------
    trace : Trace, str or path
        Or of host and GPU: JSON by PyTorch's profiler, one file or those of all ranks.
    seed : int
        Of the noise.
    reading : mapping of str to Any, optional
        Options of reading, as of `perfcore.read`, such as ``{"since": "1s"}``.

    Raises
    ------
    DataError
        The trace has neither messages nor collectives, or is a part of a run.
    OptionError, UnknownNameError
        An option is not accepted, or names a class or a state that there is not.

    Examples
    --------
    As a command::

        perf whatif trace.prv
        perf whatif trace.prv --network 0 --compute 2x
        perf whatif trace.prv --network 1x..8x --plot network.png
        perf whatif trace.prv --compute solve=1x..8x --noise 5% --parallel local:4
        perf whatif trace.prv --noise 5% -o runtime.json
        perf whatif trace.json --region 'ProfilerStep#7' --compute gpu=2x

    >>> found = whatif("examples/halo/halo.prv", network="0", compute={"computing": 2})
    >>> found.runtime_ns, found.answers[0].runtime_ns
    (25772501, 11886254)
    """
    from perf_analysis.gpu_whatif import gpu_answers
    from perf_analysis.messages import trace_and_calls
    from perf_analysis.replay_answers import questions_from_text
    from perf_analysis.whatif import answers_elsewhere, answers_of
    from perf_tables.arguments import parse_share
    from perf_traces.runs import known_files

    share = parse_share(noise, "--noise", most=10.0)  # of more, the mean of some hundred replays is no estimate
    asked, swept, sweep = questions_from_text(network, compute)  # before files are read
    if parallel is not None and (not sweep or not isinstance(trace, (str, os.PathLike))):
        raise OptionError("--parallel shares out the questions of a range, such as --network 1x..8x, about a file")
    if isinstance(trace, (str, os.PathLike)):
        paths: Sequence[str | os.PathLike[str]] = known_files(os.fspath(trace)) or [trace]
        faster = [each for _, each in asked]
        answers = gpu_answers(trace, paths, region, faster, _reader(reading), swept=swept or "GPU", sweep=sweep)
        if answers is not None:
            if network is not None or balance or share:
                raise OptionError(f"{answers.source}: a GPU trace takes --compute and --region, no other question")
            return answers
    if region is not None:
        raise OptionError("--region is of GPU traces: messages of a part of a run have no partners")
    balanced = [balance] if isinstance(balance, str) else balance
    question = (balanced, share, representation, seed)
    data, communication = trace_and_calls(trace, _reader(reading))
    if parallel is None or not isinstance(trace, (str, os.PathLike)):
        found = answers_of(data, communication, asked, *question)
    else:
        found = answers_of(data, communication, asked[:1], *question)
        others = answers_elsewhere(parallel, os.fspath(trace), asked[1:], question, reading or {})
        found = replace(found, answers=(*found.answers, *others))
    return replace(found, sweep=tuple(sweep), swept=swept or "computing") if sweep else found


def summarize(
    traces: Annotated[
        Named | Sequence[Named],
        typer.Argument(metavar="TRACES", help="Traces of one run: files, folders, or quoted patterns."),
    ],
    output: Annotated[
        Named | None,
        typer.Option("--output", "-o", metavar="FILE", help="Summary to write."),
        OptionRules(required=True),
    ] = None,
    *,
    part: Annotated[str | None, typer.Option(metavar="K/N", help="Process partition K of N of the files.")] = None,
    cells: Annotated[int, typer.Option(metavar="N", help="Largest number of time bins of equal width.")] = CELLS,
    parallel: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE",
            help="Parallel reading: local:N processes, dask://HOST:PORT, or slurm[:KEY=VALUE,...], jobs of an array "
            "with options of sbatch, and parts=N of them.",
        ),
    ] = None,
    executor: Executor | None = None,
    allow_missing: Annotated[bool, typer.Option(help="Leave out files that cannot be read, by name.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that can't be made again.")] = False,
    reader: str | None = None,
    from_name: str | None = None,
    **options: Annotated[Any, OptionGroup("perfcore.cli.reading:HowToRead", "options")],
) -> RunSummary | SubmittedJobs:
    """Sum up TRACES, the files of one run, in whole nanoseconds: one file is in memory at a time.

    A summary has the computing time of each cell of the run, the time of each state in each window and at each
    location, and markers. Summaries of parts add up by `perf summarize` to those of one pass over all files. A
    part that is there is kept, so that a job array can be submitted again.

    Parameters
    ----------
    traces : str or path, or a sequence of them
        Or summaries of parts of one run, in any order: these are joined, to the same numbers as one pass over all
        files.
    output : str or path, optional
        File to write. One that is there and of the same files and options is kept, and read. A call that is
        interrupted leaves its sums next to it, as ``OUTPUT.unfinished``, and the same call goes on from these.
    part : str, optional
        ``"3/10"``: of the files in the order of their names the 3rd, 13th, 23rd and so on.
    cells : int, 16 to 1073741824
        The most stretches of time in which computing is summed up. They are a power of two nanoseconds wide.
    executor : concurrent.futures.Executor, optional
        What reads the files; by default this process does. Any number of workers gives the same numbers.
    allow_missing : bool
        Leave out files that cannot be read, or parts that are not there; the summary says which.
    overwrite : bool
        Replace a file that is there.
    reader, from_name, **options
        As for `perfcore.read`; ``clocks`` is ``"recorded"`` or ``"unaligned"``.

    Returns
    -------
    RunSummary or SubmittedJobs
        A trace without intervals: it has a curve, the time of each location in each state, and markers. Or, by Slurm,
        how many parts there are until the jobs have ended; the same call then merges them.

    Raises
    ------
    OptionError
        There is no such part, or an option does not go with summaries.
    InputError
        A file is not there, or the output is of other files or options.
    DataError
        Files cannot be read, or are not of one run; or of parts two hold the same file, or some are missing.

    Examples
    --------
    As a command::

        perf summarize 'ranks/*.parquet' -o run.summary --parallel local:8
        perf summarize 'ranks/*.parquet' -o run.summary --parallel slurm:parts=100,time=01:00:00
        perf summarize 'ranks/*.parquet' --part $SLURM_ARRAY_TASK_ID/100 -o part-$SLURM_ARRAY_TASK_ID
        perf summarize part-* -o run.summary
        perf fit run.summary

    >>> run = summarize("examples/cholesky/cholesky_trace.csv.gz", cells=1024)
    >>> run.utilization().n_steps <= 1024
    True
    >>> run.start_ns
    Traceback (most recent call last):
        ...
    perfcore.base.errors.DataError: examples/cholesky/cholesky_trace.csv.gz: a summary holds no intervals; anything \
but time by location, state and window needs the traces themselves
    """
    from perf_analysis.summarize import summary_of

    return summary_of(
        traces, output, part, cells, parallel, executor, allow_missing, overwrite, reader, from_name, options
    )
