"""The functions behind the commands of experiments."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from perf_experiments.costs import costs_by_model, costs_by_runs, within_budget
from perf_experiments.design import (
    Design,
    Point,
    make_design,
    parse_factor,
    read_design,
    with_rounds,
    with_versions,
    words_of,
    write_design,
)
from perf_experiments.run_records import RunOptions, Runs, Summary, parse_share
from perf_experiments.runner import run_design
from perf_experiments.sampling import sample_system
from perf_experiments.slurm import submit
from perf_experiments.store import Store
from perf_tables.arguments import parse_duration
from perfcore.base.errors import OptionError
from perfcore.base.files import check_folder
from perfcore.data.series import Series
from perfcore.models.model import Model, load
from perfcore.reading.recognise import write, writer

PathLike = str | os.PathLike[str]
Levels = Mapping[str, Sequence[Any] | str]


def seconds_of(duration: str | float) -> float:
    """Seconds of a duration: ``"2h"``, or a number of them."""
    return parse_duration(str(duration)) / 1e9


def levels_of(factors: Levels) -> dict[str, Sequence[Any]]:
    """Levels of each factor, those given as a text read as the command line's."""
    return {
        name: parse_factor(f"{name}={levels}")[1] if isinstance(levels, str) else levels
        for name, levels in factors.items()
    }


def model_of(model: Model | PathLike) -> Model:
    """A model, read where a path is given."""
    return model if isinstance(model, Model) else load(model)


def design(
    factors: Levels,
    kind: str = "factorial",
    *,
    constraints: Sequence[str] = (),
    replications: int = 2,
    seed: int = 0,
    centre: Point | None = None,
    fraction: int | None = None,
    points: int | None = None,
    model: Model | PathLike | None = None,
    runs: PathLike | None = None,
    budget: str | float | None = None,
    output: PathLike | None = None,
) -> Design:
    """Design an experiment: which points to measure, how often, in which order (``perf experiment design``).

    Parameters
    ----------
    factors : mapping of str to sequence or str
        Levels of each factor, also as the command takes them: ``"1..64*2"``.
    kind : {"factorial", "one-at-a-time", "fractional", "latin-hypercube", "sobol"}
    constraints : sequence of str
        Formulas that every point meets, such as ``"D % p == 0"``.
    replications : int, >= 1
        Runs of each point.
    seed : int, >= 0
        Of the random order and points.
    centre : mapping of str to level, optional
        Of one-at-a-time; by default the middle levels.
    fraction : int, >= 2, optional
        Of fractional: one in so many combinations; by default 2.
    points : int, >= 1, optional
        Of latin-hypercube and sobol: how many points.
    model : Model or path, optional
        Predicts the time of a run.
    runs : path, optional
        The store whose runs tell the time instead.
    budget : str, or float in seconds, optional
        Leave out the dearest points until the rest takes less: ``"2h"``. It needs ``model`` or ``runs``.
    output : path, optional
        TOML file to write.

    Returns
    -------
    Design
        A `perf_experiments.costs.Budgeted` with the costs, where ``model`` or ``runs`` tell them.

    Raises
    ------
    OptionError
        A value that is not accepted, or no point is left.
    InputError
        A file cannot be read.

    Examples
    --------
    >>> import perfcore
    >>> perfcore.design({"p": "1..8*2", "D": [64, 96]}, constraints=["D % p == 0", "p > 1"])
    <Design: 6 points of p, D, 2 replications: 12 runs; p > 1 refuses 2>
    """
    if output is not None:
        check_folder(output)
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
        levels_of(factors),
        kind,
        constraints=constraints,
        replications=replications,
        seed=seed,
        centre=centre,
        part=fraction or 2,
        count=points,
    )
    if model is not None or runs is not None:
        chosen = planned.chosen()
        if model is not None:
            costs = costs_by_model(model_of(model), chosen)
        else:
            assert runs is not None
            costs = costs_by_runs(_measured_times(runs, chosen[0]), chosen)
        planned = within_budget(planned, costs, budget_s)
    if output is not None:
        write_design(planned, output)
    return planned


def _measured_times(path: PathLike, point: Point) -> list[tuple[Point, float]]:
    """Wall times in seconds of the runs that have the factors of a point."""
    with Store.read(path) as store:
        runs = store.runs()
    return [(run.point, run.wall_ns / 1e9) for run in runs if run.succeeded and set(run.point) == set(point)]


_WITHOUT_DESIGN = "versions.db"
_ROUNDS = 10  # of versions without a design


def default_store(design: PathLike | None) -> Path:
    """Where the runs of a design's file are kept unless told otherwise: beside it; of versions alone, versions.db."""
    return Path(_WITHOUT_DESIGN) if design is None else Path(design).with_suffix(".db")


def run(
    design: Design | PathLike | None = None,
    command: str | Sequence[str] = (),
    *,
    versions: Mapping[str, str | Sequence[str]] | None = None,
    rounds: int | None = None,
    store: PathLike | None = None,
    launcher: str = "local",
    values: Sequence[str] = (),
    results: str | None = None,
    limit: str | float | None = None,
    warmup: int = 0,
    until: str | float | None = None,
    most: int = 30,
    max_load: float = 0.2,
    wait: str | float = "10s",
    retry_failed: bool = False,
    keep: int = 1 << 20,
    scheduler: Literal["slurm"] | None = None,
    sbatch: str | None = None,
    collect: bool = False,
) -> Summary:
    """Make the runs of a design that its store does not have yet; the function behind ``perf experiment run``.

    Every run is on the disk before the next one starts; after an interrupt the same call goes on.

    Parameters
    ----------
    design : Design or path, optional
        Of versions it may be left out.
    command : str or sequence of str
        Program and arguments with ``{FACTOR}`` where a level stands; a text is split as a shell would. Without it that
        of the store. Of versions what follows the command of each.
    versions : mapping of str to str or sequence of str, optional
        Program and arguments of each version. In every round each is measured once at each point, next to each other
        in random order, so that `perfcore.gate` compares them round by round.
    rounds : int, >= 1, optional
        Instead of the replications of the design; 10 of versions without one.
    store : path, optional
        Where runs are kept; by default the design's path with .db, without a design versions.db.
    launcher : str
        ``local``, ``mpirun``, ``srun``, or words to put before the command.
    values : sequence of str
        ``NAME=REGEX``, what to find in the output.
    results : str, optional
        PathLike that a run writes: .json of numbers, or text that ``values`` search.
    limit : str, or float in seconds, optional
        Stop a run that takes longer; it counts as failed.
    warmup : int, >= 0
        Runs before each, not kept.
    until : str or float, optional
        Repeat until the median is known to this share, such as ``"2%"``, with 95 % confidence.
    most : int, >= 1
        Runs of a point with ``until``.
    max_load : float, 0 to 1
        Busy share of the processors above which a run waits; 1: do not look.
    wait : str, or float in seconds
        How long; then it is marked as noisy.
    retry_failed : bool
    keep : int, >= 0, bytes
        Of the output of a run.
    scheduler : {"slurm"}, optional
        Hand the runs over instead; the same call collects them.
    sbatch : str, optional
        Options for sbatch, such as ``"--ntasks={p}"``.
    collect : bool
        Only collect what the scheduler's jobs have made.

    Raises
    ------
    PerfError
        A file, command, place, value or store that cannot be used; before anything is run.

    Examples
    --------
    >>> import perfcore, sys, tempfile
    >>> command = [sys.executable, "-c", "print('t =', {n})"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plan = perfcore.design({"n": [1, 2]}, replications=1, output=f"{folder}/plan.toml")
    ...     done = perfcore.run(f"{folder}/plan.toml", command, values=["t=t = ([0-9]+)"], max_load=1)
    ...     kept = perfcore.runs(f"{folder}/plan.db")
    >>> done.made, done.failed, [run.values["t"] for run in kept.listed]
    (2, 0, [1.0, 2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = f"{folder}/versions.db"
    ...     perfcore.run(versions={"old": "true", "new": "true"}, rounds=2, store=store, max_load=1).made
    4
    """
    if scheduler is None and (sbatch is not None or collect):
        raise OptionError(f"{'--collect' if collect else '--sbatch'} belongs to --scheduler slurm")
    options = RunOptions(
        command=tuple(shlex.split(command) if isinstance(command, str) else command),
        launcher=launcher,
        values=tuple(values),
        results=results,
        time_limit_s=None if limit is None else seconds_of(limit),
        warmup=warmup,
        until=None if until is None else parse_share(until, "--until"),
        most=most,
        max_load=max_load,
        wait_s=0.0 if wait in ("0", "0s", 0) else seconds_of(wait),
        retry_failed=retry_failed,
        keep_bytes=keep,
        versions={name: words_of(name, words) for name, words in (versions or {}).items()},
    )
    if rounds is not None and rounds < 1:
        raise OptionError(f"--rounds {rounds}: at least 1 is expected")
    if store is None:
        if isinstance(design, Design):
            raise OptionError("store is missing: a design that is no file does not tell where its runs are kept")
        store = default_store(design)
    version_names = list(options.versions) or ([] if options.command else _kept_versions(store))
    if design is None and not version_names:
        raise OptionError("give a DESIGN (see `perf experiment design`), or each version with --version NAME=COMMAND")
    plan = design if isinstance(design, Design) or design is None else read_design(design)
    if version_names:
        plan = with_versions(plan, version_names, _ROUNDS)
    assert plan is not None
    if rounds is not None:
        plan = with_rounds(plan, rounds)
    if scheduler is None:
        return run_design(plan, store, options)
    return submit(plan, store, options, sbatch, collect_only=collect)


def _kept_versions(store: PathLike) -> list[str]:
    """The versions whose runs a store holds; none where there is no store."""
    if not Path(store).exists():
        return []
    with Store.read(store) as opened:
        return list((opened.study or {}).get("versions", {}))


def runs(store: PathLike, *, failed: bool = False, show: int | None = None, check: bool = False) -> Runs:
    """The runs that a store holds, also while ``perf experiment run`` adds to it (``perf experiment list``).

    Parameters
    ----------
    store : path
    failed : bool
        Only those that failed.
    show : int, >= 1, optional
        Only the run of this number, with what it printed.
    check : bool
        Read all that runs printed too, and SQLite's own structures: whether each is as it was written.

    Raises
    ------
    InputError
        There is no such store, or it is damaged.
    OptionError
        It has no run of this number.

    Examples
    --------
    >>> import perfcore
    >>> kept = perfcore.runs("examples/study/recorded/sor.db")
    >>> kept
    <Runs: examples/study/recorded/sor.db: 45 succeeded, 0 of them noisy; 0 failed>
    >>> kept.to_frame().shape[0]
    45
    """
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
    )


def sample(
    what: Literal["cpu", "network"],
    *,
    for_: str | float = "5min",
    every: str | float = "1s",
    output: PathLike | None = None,
) -> Series:
    """Sample the load of this machine; the function behind ``perf experiment sample``.

    Parameters
    ----------
    what : {"cpu", "network"}
        Shares of busy time, or bytes per second.
    for_, every : str, or float in seconds
        For how long, and how often.
    output : path, optional
        PathLike to write; its ending is the format.

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
    >>> import perfcore
    >>> series = perfcore.sample("cpu", for_="40ms", every="20ms")
    >>> len(series.times), list(series.columns)[0]
    (2, 'cpu all busy')
    """
    if output is not None:
        writer(output)  # what is wrong with it is said before, not after, an hour of sampling
        check_folder(output)
    series = sample_system(what, round(seconds_of(for_) * 1e9), round(seconds_of(every) * 1e9))
    if output is not None:
        write(series, output)
    return series
