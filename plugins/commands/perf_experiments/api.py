"""What ``perf experiment`` does, in Python."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from perf_tables.arguments import parse_duration, parse_named, parse_share
from perfcore.base import progress
from perfcore.base.errors import OptionError
from perfcore.hooks.parameters import OptionRules

if TYPE_CHECKING:
    from perf_experiments.design import Design
    from perf_experiments.points import Point
    from perf_experiments.recommendation import Recommendation, Replications
    from perf_experiments.run_records import Runs, Summary
    from perfcore.data.series import Series
    from perfcore.models.model import Model

PathLike = str | os.PathLike[str]
Levels = Mapping[str, Sequence[Any] | str]
Places = str | Iterable[str] | Mapping[str, Any]
_ROUNDS = 10  # of versions without a design


def seconds_of(duration: str | float) -> float:
    """Return seconds of a duration: ``"2h"``, or a number of them."""
    return parse_duration(str(duration)) / 1e9


def levels_of(factors: Levels | Sequence[str], flag: str) -> dict[str, Sequence[Any]]:
    """Return levels of each factor, each once; those given as a text are read as the command line's."""
    from perf_experiments.design import parse_factor

    if isinstance(factors, Mapping):
        return {
            name: parse_factor(f"{name}={levels}")[1] if isinstance(levels, str) else levels
            for name, levels in factors.items()
        }
    levels_by_name: dict[str, Sequence[Any]] = {}
    for text in factors:
        name, levels = parse_factor(text)
        if name in levels_by_name:
            raise OptionError(f"{flag} {name} is given twice; write its levels with commas")
        levels_by_name[name] = levels
    return levels_by_name


def _one_level_of(factors: Point | Sequence[str], flag: str) -> dict[str, Any]:
    if isinstance(factors, Mapping):
        return dict(factors)
    levels_by_name = levels_of(factors, flag)
    for text, levels in zip(factors, levels_by_name.values(), strict=True):
        if len(levels) > 1:
            raise OptionError(f"{flag} {text!r}: one level is expected")
    return {name: levels[0] for name, levels in levels_by_name.items()}


def design(
    factors: Annotated[
        Levels | Sequence[str],
        Option("--factor", "-f", metavar="NAME=...", help="Levels: p=1,2,4, D=128..1024*2, n=0..100:10, solver=cg,lu."),
    ],
    kind: Annotated[
        Literal["factorial", "one-at-a-time", "fractional", "latin-hypercube", "sobol"], Option(help="Kind of design.")
    ] = "factorial",
    *,
    constraints: Annotated[
        Sequence[str],
        Option(
            "--constraint",
            "-c",
            metavar="FORMULA",
            help="Condition on every point, such as 'D % p == 0' or 'p <= cores'.",
        ),
    ] = (),
    replications: Annotated[
        int, Option("--repetitions", "--replications", metavar="N", min=1, help="Runs of each point.")
    ] = 2,
    seed: Annotated[int, Option(metavar="N", min=0, help="Seed of the random order and points.")] = 0,
    centre: Annotated[
        Mapping[str, Any] | Sequence[str],
        Option(metavar="NAME=LEVEL", help="Centre of one-at-a-time (default: middle levels)."),
    ] = (),
    fraction: Annotated[
        int | None, Option(metavar="N", min=2, help="For fractional: one in N combinations (default: 2).")
    ] = None,
    points: Annotated[
        int | None, Option(metavar="N", min=1, help="Number of points of latin-hypercube and sobol.")
    ] = None,
    model: Annotated[
        Model | PathLike | None, Option(metavar="FILE", help="Model file that predicts the time of a run.")
    ] = None,
    runs: Annotated[
        PathLike | None, Option(metavar="FILE", help="Run database that predicts the time instead.")
    ] = None,
    budget: Annotated[
        str | float | None,
        Option(metavar="DURATION", help="Drop the most expensive points to fit a time budget, such as 2h."),
    ] = None,
) -> Design:
    """Design an experiment: which points to measure, how often, in which order.

    Parameters
    ----------
    budget : str, or float in seconds, optional
        It needs ``model`` or ``runs``.

    Returns
    -------
    Design
        A `perf_experiments.recommendation.Budgeted` with the costs, where ``model`` or ``runs`` tell them.

    Raises
    ------
    OptionError
        A value that is not accepted, or no point is left.
    InputError
        A file cannot be read.

    Examples
    --------
    As a command::

        perf experiment design -f p=1,2,4,8 -f D=128..1024*2 -c 'D % p == 0' -o design.toml
        perf experiment design -f p=1..64*2 -f D=128..1024*2 --model model.json --budget 2h -o design.toml
        perf experiment run design.toml -- ./app -n {D} -np {p}

    >>> import perfcore
    >>> perfcore.design({"p": "1..8*2", "D": [64, 96]}, constraints=["D % p == 0", "p > 1"])
    <Design: 6 points of p, D, 2 repetitions: 12 runs; p > 1 excludes 2>
    """
    from perf_experiments.design import make_design
    from perf_experiments.recommendation import costs_by_model, costs_by_runs, within_budget
    from perf_experiments.store import Store
    from perfcore.models.model import Model, load

    if model is not None and runs is not None:
        raise OptionError("--model and --runs both tell the time of a run; give one")
    if budget is not None and model is None and runs is None:
        raise OptionError("--budget needs the time of a run: --model MODEL, or --runs STORE once some were made")
    if fraction is not None and kind != "fractional":
        raise OptionError("--fraction belongs to fractional")
    if points is not None and kind not in ("latin-hypercube", "sobol"):
        raise OptionError("--points belongs to latin-hypercube and sobol")
    budget_s = None if budget is None else seconds_of(budget)
    planned = make_design(
        levels_of(factors, "--factor"),
        kind,
        constraints=constraints,
        replications=replications,
        seed=seed,
        centre=_one_level_of(centre, "--centre"),
        part=fraction or 2,
        count=points,
    )
    if model is not None:
        costs = costs_by_model(model if isinstance(model, Model) else load(model), planned.chosen())
    elif runs is not None:
        chosen = planned.chosen()
        with Store.read(runs) as store:
            kept = [run for run in store.runs() if run.succeeded and set(run.point) == set(chosen[0])]
        costs = costs_by_runs([(run.point, run.wall_ns / 1e9) for run in kept], chosen)
    else:
        return planned
    return within_budget(planned, costs, budget_s)


def default_store(design: PathLike | None) -> Path:
    """Return where the runs of a design's file are kept by default: next to it; of versions alone, versions.db."""
    return Path("versions.db") if design is None else Path(design).with_suffix(".db")


def run(
    design: Annotated[
        Design | PathLike | None,
        Argument(
            metavar="DESIGN", help="A design that `perf experiment design` wrote (.toml); optional with versions."
        ),
    ] = None,
    command: Annotated[
        str | Sequence[str], Argument(metavar="-- COMMAND", help="Program and arguments (default: those of the store).")
    ] = (),
    *,
    versions: Annotated[
        Mapping[str, str | Sequence[str]] | Sequence[str],
        Option("--version", metavar="NAME=COMMAND", help="A version of the program; COMMAND after -- follows it."),
    ] = (),
    rounds: Annotated[
        int | None, Option(metavar="N", min=1, help="Rounds (default: the design's repetitions; of versions alone 10).")
    ] = None,
    store: Annotated[
        PathLike | None,
        Option(
            metavar="FILE", help="Run database (default: the design's name with .db; without a design versions.db)."
        ),
    ] = None,
    launcher: Annotated[
        str,
        Option(
            metavar="NAME|WORDS",
            help="local, mpirun (mpirun -np {p}), srun (srun -n {p}), or words to put before the command.",
        ),
    ] = "local",
    values: Annotated[
        Sequence[str],
        Option(
            "--value",
            "-v",
            metavar="NAME=REGEX",
            help="Value in the output, such as 'time=Time in seconds = *([0-9.]+)'; the first is what is "
            "modelled, without any the wall time.",
        ),
    ] = (),
    limit: Annotated[
        str | float | None, Option(metavar="DURATION", help="Stop a run that takes longer; it counts as failed.")
    ] = None,
    warmup: Annotated[int, Option(metavar="N", min=0, help="Warm-up runs (discarded).")] = 0,
    until: Annotated[
        str | float | None,
        Option(metavar="SHARE", help="Repeat until the median is known to this, such as 2% (95% confidence)."),
    ] = None,
    most: Annotated[int, Option(metavar="N", min=1, help="Runs of a point with --until.")] = 30,
    max_load: Annotated[
        float, Option(metavar="SHARE", help="Wait while CPU load exceeds this fraction (1: never).")
    ] = 0.2,
    wait: Annotated[
        str | float, Option(metavar="DURATION", help="Longest wait; then the run is marked noisy.")
    ] = "10s",
    retry_failed: Annotated[
        bool, Option("--retry-failed", help="Make runs again that failed; the failures are kept too.")
    ] = False,
    parallel: Annotated[
        str | None,
        Option(
            metavar="WHERE",
            help="Make several runs at once: local:N processes, dask://HOST:PORT, or slurm[:KEY=VALUE,...], "
            "batch jobs with options of sbatch such as slurm:ntasks={p},exclusive,time=10; run again to "
            "collect.",
        ),
    ] = None,
    collect: Annotated[
        bool,
        Option("--collect", help="Only collect what Slurm's jobs have made."),
        OptionRules(needs="--parallel slurm"),
    ] = False,
) -> Summary:
    """Make the runs of DESIGN that its store does not have yet, with {FACTOR} in COMMAND replaced.

    Every run is on the disk before the next one starts. After Ctrl-C, a crash or a full disk the same call goes on, and
    COMMAND may then be left out. No shell is involved: for variables write `env OMP_NUM_THREADS={p} ./app`. The exit
    status is 0 when all runs of the design succeeded and 1 when some failed.

    With ``--parallel slurm`` each run becomes a job, and the command returns at once. Calling it again collects the
    jobs that have ended and hands over what is missing. The exit status is 3 while jobs are waiting or running.

    Parameters
    ----------
    command : str or sequence of str
        A text is split as a shell would. Of versions what follows the command of each.
    versions : mapping of str to str or sequence of str, or sequence of str
        Repeat it: in every round each is measured once, in random order, so that `perfcore.gate` compares them round by
        round.
    limit : str, or float in seconds, optional
    max_load : float, 0 to 1
    wait : str, or float in seconds

    Raises
    ------
    PerfError
        A file, command, place, value or store that cannot be used; before anything is run.

    Examples
    --------
    As a command::

        perf experiment run design.toml -- ./app -n {D} -np {p}
        perf experiment run design.toml --launcher mpirun -v 'time=Time = *([0-9.]+)' --limit 10min -- ./app -n {D}
        perf experiment run --version old='./old/app in' --version new='./new/app in' --rounds 20 --store gate.db
        perf gate gate.db
        perf experiment run design.toml --parallel 'slurm:ntasks={p}' --launcher srun -- ./app -n {D}
        perf experiment list design.db
        perf fit design.db

    >>> import perfcore, sys, tempfile
    >>> command = [sys.executable, "-c", "print('t =', {n})"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lines = perfcore.design({"n": [1, 2]}, replications=1).save(f"{folder}/plan.toml")
    ...     done = perfcore.run(f"{folder}/plan.toml", command, values=["t=t = ([0-9]+)"], max_load=1)
    ...     kept = perfcore.runs(f"{folder}/plan.db")
    >>> done.made, done.failed, [run.values["t"] for run in kept.listed]
    (2, 0, [1.0, 2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = f"{folder}/versions.db"
    ...     perfcore.run(versions={"old": "true", "new": "true"}, rounds=2, store=store, max_load=1).made
    4
    """
    from perf_experiments.design import Design, read_design, with_rounds, with_versions, words_of
    from perf_experiments.run_records import RunOptions
    from perf_experiments.runner import run_design
    from perf_experiments.store import Store

    if not isinstance(versions, Mapping):
        versions = parse_named(versions, "--version", "NAME=COMMAND, such as old='./old/app input',")
    words = shlex.split(command) if isinstance(command, str) else list(command)
    if versions and isinstance(design, str) and not design.endswith(".toml"):  # what follows -- without a design
        words = [design, *words]
        design = None
    options = RunOptions(
        command=tuple(words),
        launcher=launcher,
        values=tuple(values),
        time_limit_s=None if limit is None else seconds_of(limit),
        warmup=warmup,
        until=None if until is None else parse_share(until, "--until"),
        most=most,
        max_load=max_load,
        wait_s=0.0 if wait in ("0", "0s", 0) else seconds_of(wait),
        retry_failed=retry_failed,
        versions={name: words_of(name, each) for name, each in versions.items()},
    )
    if rounds is not None and rounds < 1:
        raise OptionError(f"--rounds {rounds}: at least 1 is expected")
    if store is None:
        if isinstance(design, Design):
            raise OptionError("store is missing: a design that is no file does not tell where its runs are kept")
        store = default_store(design)
    version_names = list(options.versions)
    if not version_names and not options.command and Path(store).exists():  # those whose runs the store holds
        with Store.read(store) as opened:
            version_names = list((opened.study or {}).get("versions", {}))
    if design is None and not version_names:
        raise OptionError("give a DESIGN (see `perf experiment design`), or each version with --version NAME=COMMAND")
    plan = design if isinstance(design, Design) or design is None else read_design(design)
    if version_names:
        plan = with_versions(plan, version_names, _ROUNDS)
    assert plan is not None
    if rounds is not None:
        plan = with_rounds(plan, rounds)
    try:
        return run_design(plan, store, options, parallel, collect_only=collect)
    except KeyboardInterrupt:
        own = "" if store == default_store(None if isinstance(design, Design) else design) else f" --store {store}"
        more = own + ("" if parallel is None else f" --parallel {shlex.quote(parallel)}")
        more = ("" if isinstance(design, Design | None) else f" {design}") + more
        again = f"`perf experiment run{more}{'' if rounds is None else f' --rounds {rounds}'}`"
        progress.note(f"all runs that ended are kept in {store}; {again} goes on")
        raise


def runs(
    store: Annotated[PathLike, Argument(metavar="STORE", help="Run database of `perf experiment run` (.db).")],
    *,
    failed: Annotated[bool, Option("--failed", help="Only runs that failed.")] = False,
    show: Annotated[int | None, Option(metavar="RUN", min=1, help="Details of one run, with its output.")] = None,
    check: Annotated[bool, Option("--check", help="Verify the checksums of all runs.")] = False,
) -> Runs:
    """List the runs in STORE, which `perf experiment run` made; also while it runs.

    Raises
    ------
    InputError
        There is no such store, or it is damaged.
    OptionError
        It has no run of this number.

    Examples
    --------
    As a command::

        perf experiment list design.db
        perf experiment list design.db --failed
        perf experiment list design.db --show 7
        perf experiment run design.toml --retry-failed

    >>> import perfcore
    >>> kept = perfcore.runs("examples/study/recorded/sor.db")
    >>> kept
    <Runs: examples/study/recorded/sor.db: 45 runs succeeded (0 noisy), 0 failed>
    >>> kept.to_frame().shape[0]
    45
    """
    from perf_experiments.run_records import Runs
    from perf_experiments.store import Store

    with Store.read(store) as opened:
        if check:
            opened.check()
        every = opened.runs()
        selected = every if show is None else opened.runs(show)
        waiting = len(opened.jobs())
    if not selected and show is not None:
        raise OptionError(f"--show {show}: {os.fspath(store)} has no run of this number")
    succeeded = [run for run in every if run.succeeded]
    return Runs(
        store=os.fspath(store),
        listed=tuple(run for run in selected if not (failed and run.succeeded)),
        succeeded=len(succeeded),
        noisy=sum(run.noisy for run in succeeded),
        failed=len(every) - len(succeeded),
        waiting=waiting,
        in_full=show is not None,
        checked=check,
    )


def sample(
    what: Annotated[
        Literal["cpu", "network"],
        Argument(metavar="WHAT", help="Busy time of processors (cpu), or bytes per second (network)."),
    ],
    *,
    for_: Annotated[str | float, Option("--for", metavar="DURATION", help="Duration of sampling.")] = "5min",
    every: Annotated[str | float, Option(metavar="DURATION", help="Sampling interval.")] = "1s",
    output: Annotated[
        PathLike | None,
        Option("--output", "-o", metavar="FILE", help="File to write; its ending is the format."),
        OptionRules(required=True),
    ] = None,
    overwrite: Annotated[
        bool,
        Option("--overwrite", help="Replace a file of samples that exists; they can't be made again."),
        OptionRules(needs="--output FILE"),
    ] = False,
) -> Series:
    """Sample WHAT of this machine: cpu (shares of busy time) or network (bytes per second).

    Samples are written as they come; Ctrl-C, SIGTERM or SIGHUP end it early. It needs psutil: pip install
    'perfcore[sample]'.

    Parameters
    ----------
    for_ : str, or float in seconds
    every : str, or float in seconds
    output : path, optional
        Until all are taken, samples of other formats are in FILE.csv.

    Returns
    -------
    Series
        An interrupt ends it early; its notes say so.

    Raises
    ------
    OptionError
        The ending, the interval or the number of samples is not possible.
    MissingDependencyError
        psutil is not installed.

    Examples
    --------
    As a command::

        perf experiment sample cpu --for 60s --every 1s -o cpu.csv
        perf stochastic summarize cpu.csv --column "cpu all busy" --window 5min

    >>> import perfcore
    >>> series = perfcore.sample("cpu", for_="40ms", every="20ms")
    >>> len(series.times), list(series.columns)[0]
    (2, 'cpu all busy')
    """
    from perf_experiments.measurement import sample_system
    from perfcore.base.files import check_folder, refuse_existing
    from perfcore.reading.recognise import write, writer

    duration_ns, interval_ns = round(seconds_of(for_) * 1e9), round(seconds_of(every) * 1e9)
    if output is None:
        return sample_system(what, duration_ns, interval_ns)
    writer(output)  # refuse a wrong output before an hour of sampling
    check_folder(output)
    file = Path(output)
    rows = file if file.suffix.lower() == ".csv" else file.with_name(f"{file.name}.csv")
    for path in dict.fromkeys((file, rows)):
        refuse_existing(path, overwrite)
    series = sample_system(what, duration_ns, interval_ns, rows)
    write(series, file)
    if rows != file:
        rows.unlink()
    series.source = os.fspath(file)
    return series


def next_points(
    source: Annotated[
        Model | PathLike,
        Argument(
            metavar="SOURCE", help="A model, of any kind whose parameters have standard errors, or a run database."
        ),
    ],
    target: Annotated[
        Places | None,
        Option(
            "--target",
            "-t",
            metavar="NAME=LEVEL,...",
            help="Target point of the prediction: p=1024,code=LU. Repeatable.",
        ),
    ] = None,
    candidates: Annotated[
        Places | Sequence[Point] | Design | PathLike | None,
        Option(
            "--candidates",
            "-c",
            metavar="NAME=...|DESIGN",
            help="Points that can be measured: p=1..256*2,n=100, or a design (.toml); by default the "
            "measured levels, and such up to twice the largest; never the target.",
        ),
    ] = None,
    points: Annotated[
        int | None, Option(metavar="N", min=1, help="Number of points to choose, one after the other (default: 4).")
    ] = None,
    *,
    constraints: Annotated[
        Sequence[str], Option("--constraint", metavar="FORMULA", help="Condition on every candidate.")
    ] = (),
    per_second: Annotated[bool, Option("--per-second", help="Maximize information per second of run time.")] = False,
    largest: Annotated[
        Places | None,
        Option(
            "--max",
            metavar="NAME=LEVEL,...",
            help="Without --candidates: the largest level that can be measured, p=1024 (default: twice the "
            "largest measured one).",
        ),
    ] = None,
    max_cost: Annotated[
        str | float | None, Option(metavar="TIME", help="Largest total time of the runs of one point: 10min.")
    ] = None,
    precision: Annotated[
        str | float | None,
        Option(metavar="SHARE", help="For a run database: half-width of the interval of each mean (default: 2%)."),
    ] = None,
    most: Annotated[
        int | None, Option(metavar="N", min=1, help="For a run database: maximum runs of one point (default: 30).")
    ] = None,
    value: Annotated[
        str | None,
        Option(metavar="NAME", help="For a run database: value to be precise (default: the first reported)."),
    ] = None,
) -> Recommendation | Replications:
    """Recommend the most informative next runs, from a model or a run database.

    From a model: the points that lower the variance of its prediction at the target most, with what they cost. From a
    store: the points whose runs spread so much that more repetitions are needed.

    Raises
    ------
    PerfError
        As `perf_experiments.recommendation.recommend` and `perf_experiments.needed_replications`; or a text is no
        point, or of a variable that the model does not have.

    Examples
    --------
    As a command::

        perf experiment next model.json --target p=1024 --candidates p=1..256*2 --points 4 -o more.toml
        perf experiment next design.db --precision 2% -o more.toml
        perf experiment run more.toml --store design.db

    >>> import pandas as pd, perfcore
    >>> times = pd.DataFrame({"p": [1, 2, 4, 8], "time_s": [8.1, 4.3, 2.5, 1.7]})
    >>> model = perfcore.fit(perfcore.Measurements(times), fitter="individual", functions="1/p,1")
    >>> perfcore.next_points(model, "p=64", "p=4,16,32", points=1).choices[0].point
    {'p': 32}
    >>> perfcore.next_points("examples/study/recorded/sor.db", precision="50%").wanting
    ()
    """
    from perf_experiments import recommendation
    from perf_experiments.store import Store, is_store_file
    from perfcore.models.model import Model, load

    if not isinstance(source, Model) and is_store_file(source):
        of_points = {"target": target, "candidates": candidates, "points": points, "constraint": [*constraints] or None}
        of_models = {**of_points, "per-second": per_second or None, "max": largest, "max-cost": max_cost}
        recommendation.refuse(of_models, "a model")
        share = parse_share("2%" if precision is None else precision, "--precision")
        with Store.read(source) as store:
            needed = recommendation.needed_replications(store.runs(), share, most or 30, value)
            return recommendation.Replications(tuple(needed), share, os.fspath(source))
    recommendation.refuse({"precision": precision, "most": most, "value": value}, "a run database")
    count = 4 if points is None else points
    model = source if isinstance(source, Model) else load(source)
    possible = recommendation.candidate_points(model, candidates, constraints)
    limits = recommendation.largest_levels(model, largest)
    most_seconds = None if max_cost is None else seconds_of(max_cost)
    where = recommendation.target_point(model, () if target is None else target)
    return recommendation.recommend(
        model, where, possible, count, per_second=per_second, largest=limits, most_seconds=most_seconds
    )
