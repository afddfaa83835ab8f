"""Makes the runs of a design: here, by workers (`perf_tables.executors`), or as jobs of Slurm, one for each run."""

from __future__ import annotations

import contextlib
import datetime
import math
import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from perf_experiments.design import Design, Key, point_key
from perf_experiments.measurement import MOST_BYTES, Measuring, environment, filled, launcher_words, parse_patterns
from perf_experiments.points import VERSION, Level, Point, point_text
from perf_experiments.run_records import History, Job, Run, RunOptions, Summary
from perf_experiments.store import Store
from perf_tables.executors import as_they_end, executor_of
from perf_traces import slurm_client as client
from perfcore.base import progress
from perfcore.base.errors import InputError, OptionError, PerfError
from perfcore.base.files import write_bytes

# A job does not touch the store: SQLite's locks are not to be trusted from many nodes of a network file system at
# once. It writes the record next to its task and renames it when it is whole.
# A job is over a while before every machine sees what it wrote: clients of NFS look again after 60 s at the latest.
_SEEN_AFTER_S = 90.0
# sacct may know a job a little later than sbatch gave it out. What it does not know after a day it never will.
_FORGOTTEN_AFTER_S = 86400.0


class Task(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run to make."""

    point: dict[str, Level]
    replication: int
    command: tuple[str, ...]  # with its places filled
    options: RunOptions
    folder: str  # in which it is made


def make_run(task: str | bytes) -> bytes:
    """Make the run of a task and return its record; workers and jobs do this."""
    spec = msgspec.json.decode(task, type=Task)
    try:
        os.chdir(spec.folder)
    except OSError as error:
        raise OptionError(
            f"the folder {spec.folder} can't be entered on {os.uname().nodename}: {error.strerror}"
        ) from None
    patterns = parse_patterns(spec.options.values, list(spec.point))
    measuring = Measuring(spec.options, patterns, environment(spec.command[0]))
    return msgspec.json.encode(measuring.run(spec.point, spec.replication, spec.command))


def execute(task: Path) -> int:
    """Make the run of a task file; return the exit status of the job, 1 if the run failed."""
    try:
        content = task.read_bytes()
    except FileNotFoundError:
        print(f"{task}: withdrawn; nothing is run", file=sys.stderr)  # noqa: T201 (the job's own output)
        return 0
    record = make_run(content)
    write_bytes(task.with_suffix(".done"), record)
    return 0 if msgspec.json.decode(record, type=Run).succeeded else 1


def with_study(store: Store, design: Design, options: RunOptions) -> RunOptions:
    """Return options with the store's command if none is given; runs of different commands are not mixed."""
    stored_study = store.study
    if stored_study is not None:
        stored_study.pop("results", None)  # of older stores
    is_told = bool(options.command or options.versions)
    if not is_told and stored_study is None:
        raise OptionError(
            "there is no command; write it after --, as in: perf experiment run design.toml -- ./app -n {D}"
        )
    if stored_study is not None and not is_told:
        settings = {name: getattr(options, name) for name in ("launcher", "values")}
        defaults = {name: getattr(RunOptions(), name) for name in settings}
        kept = {name: stored_study[name] for name in settings if settings[name] == defaults[name]}
        kept["versions"] = stored_study.get("versions", {})
        options = RunOptions(**{**vars(options), **kept, "command": tuple(stored_study["command"])})
    study: dict[str, Any] = {
        "factors": sorted(design.factors),  # their order in the file means nothing
        "command": list(options.command),
        "launcher": options.launcher,
        "values": list(options.values),
    }
    if options.versions:
        study["versions"] = {name: list(words) for name, words in options.versions.items()}
    has_runs = store.jobs() or any(run.succeeded for run in store.runs())
    if stored_study is not None and stored_study != study and has_runs:
        name = next(name for name in (*study, "versions") if study.get(name) != stored_study.get(name))
        stored, new_value = (_shown(each.get(name)) for each in (stored_study, study))
        held = f"its runs were made with {name} {stored}, not {new_value}"
        if name == "values" and not stored_study.get(name):
            held = f"its runs hold wall times only, not {new_value}"
        raise OptionError(f"{store.path}: {held}. Name another store with --store FILE")
    if stored_study != study:
        store.set_fact("study", study)
    order = list(map(str, design.factors.get(VERSION, ())))
    if order != store.versions:
        store.set_fact("versions", order)
    return options


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={' '.join(words)}" for name, words in value.items())
    return " ".join(value) if isinstance(value, list) else str(value)


def commands_of(points: Sequence[Point], options: RunOptions) -> dict[Key, tuple[str, ...]]:
    """Return the command of each point."""
    before = launcher_words(options.launcher)
    commands = {}
    for point in points:
        own = options.versions[str(point[VERSION])] if options.versions else ()
        commands[point_key(point)] = filled((*before, *own, *options.command), point)
    for program in dict.fromkeys(command[0] for command in commands.values()):
        if shutil.which(program) is None:
            raise OptionError(f"command {program!r}: there is no such program here, or it may not be run")
    return commands


def run_design(
    design: Design,
    path: str | os.PathLike[str],
    options: RunOptions,
    parallel: str | None = None,
    *,
    collect_only: bool = False,
) -> Summary:
    """Make the runs of a design that a store does not have yet.

    Every run is on the disk as soon as it ends. An interrupt ends the runs in flight, which are not kept; the same call
    goes on from there. A job of Slurm measures its run on its node and leaves a record in the folder ``NAME.jobs`` next
    to the store, which must be visible there, like the Python that this runs under; the next call collects it. The
    folder is empty and gone when everything has been collected.
    """
    kind, _, requests = (parallel or "").partition(":")
    if collect_only and kind != "slurm":
        raise OptionError("--collect belongs to --parallel slurm")
    if kind == "slurm" and options.until is not None:
        raise OptionError(
            "--until looks at results between runs, and jobs run at once; see `perf experiment next STORE`"
        )
    points = design.chosen()
    if options.command or options.versions:  # mistakes are reported before a store is made
        commands_of(points, options)
        parse_patterns(options.values, list(design.factors))
    if kind == "slurm":
        for point in points:
            filled(client.sbatch_words(requests), point)
    here = None if kind == "slurm" else parallel
    with executor_of(here, one_thread=False) as executor, Store.hold(path) as store:
        options = with_study(store, design, options)
        workers = int(requests) if kind == "local" else 0
        if workers > 1:  # none waits for the others
            options = replace(options, max_load=1.0)
        if kind != "slurm" and (submitted := store.jobs()):
            raise OptionError(
                f"{store.path}: {len(submitted)} runs are in Slurm; collect them first with --parallel slurm "
                "--collect, or name another store with --store"
            )
        patterns = parse_patterns(options.values, list(design.factors))
        history = History(next(iter(patterns), None))
        for run in store.runs():
            history.add(run)
        session = (design, store, options, points, commands_of(points, options), history)
        if kind != "slurm":
            made = _Session(*session).run(executor)
            return replace(history.summary(points, made, options.until), store=os.fspath(path), at_once=workers)
        if requests:
            store.set_fact("sbatch", requests)  # later calls need not repeat them
        words = client.sbatch_words(store.fact("sbatch") or "")
        jobs = _Jobs(*session, words, Path(path).resolve().with_suffix(".jobs"))
        collected = jobs.collect()
        submitted_now = 0 if collect_only else jobs.submit()
        with contextlib.suppress(OSError):  # there is none, or it is not empty
            jobs.folder.rmdir()
        waiting, summary = len(store.jobs()), history.summary(points, collected)
        return replace(summary, handed_over=submitted_now, waiting=waiting, store=os.fspath(path), collected=True)


@dataclass
class _Session:
    """One call of `run_design`."""

    design: Design
    store: Store
    options: RunOptions
    points: Sequence[Point]
    commands: Mapping[Key, tuple[str, ...]]
    history: History

    def run(self, executor: Executor | None) -> int:
        """Make what is missing; return how many runs that were."""
        wanted = {
            point_key(point): count for point, count in zip(self.points, self.design.counts(self.points), strict=True)
        }
        least = max(wanted.values())
        most = least if self.options.until is None else max(self.options.most, least)

        def is_due(point: Point, block: int) -> bool:
            any_failed = not all(run.succeeded for run in self.history.of(point).values())
            is_settled = any_failed or self.history.settled(point, self.options.until)
            if block > wanted[point_key(point)] and is_settled:
                return False
            return self.history.missing(point, block, self.options.retry_failed)

        # Repetition may add more.
        certain = sum(is_due(p, block) for p in self.points for block in range(1, wanted[point_key(p)] + 1))
        new_runs = 0
        with progress.bar("runs", certain) as advance:
            for block in range(1, most + 1):
                due = [point for point in self.design.block(block, self.points) if is_due(point, block)]
                for run in self._made(due, block, executor):
                    self.history.add(self.store.add(run))
                    new_runs += 1
                    advance(1)
        return new_runs

    def _made(self, points: Sequence[Point], block: int, executor: Executor | None) -> Iterator[Run]:
        """Make one run of each point, one after the other or as many at once as there are workers."""
        if executor is None:
            patterns = parse_patterns(self.options.values, list(self.design.factors))
            facts = environment(next(iter(self.commands.values()))[0])
            measuring = Measuring(self.options, patterns, facts)
            yield from (measuring.run(point, block, self.commands[point_key(point)]) for point in points)
            return
        names = [f"run {point_text(point)}, repetition {block}" for point in points]
        tasks = [(self.task(point, block).decode(),) for point in points]
        for _, record in as_they_end(executor, make_run, tasks, names):
            yield msgspec.json.decode(record, type=Run)

    def task(self, point: Point, block: int) -> bytes:
        command = self.commands[point_key(point)]
        return msgspec.json.encode(Task(dict(point), block, command, self.options, str(Path.cwd())))


@dataclass
class _Jobs(_Session):
    """The runs of a session that Slurm has or is to have."""

    words: Sequence[str]
    folder: Path

    def collect(self) -> int:
        """Keep what jobs left; return how many are over."""
        jobs = self.store.jobs()
        outcomes = {job.number: self._outcome(job) for job in jobs}
        open_jobs = [job.name for job in jobs if outcomes[job.number] is None and job.name is not None]
        states = client.states(open_jobs) if open_jobs else {}
        over = 0
        for job in jobs:
            # A job may have ended between the first look and Slurm's answer.
            run = outcomes[job.number] or self._outcome(job)
            if run is None and job.name is None:  # `perf experiment run` was killed while it handed this over
                self._remove(job.number)  # first: a job that exists all the same finds no task, and ends
                self.store.forget_job(job.number)
                continue
            if run is None:
                run = self._lost(job, states.get(job.name or ""))
            if run is not None:
                self.history.add(self.store.add(run, job.number))
                self._remove(job.number)
                over += 1
        return over

    def _outcome(self, job: Job) -> Run | None:
        file = self._file(job.number, ".done")
        try:
            return msgspec.json.decode(file.read_bytes(), type=Run)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError) as error:
            raise InputError(
                file, f"the record of a run is damaged ({error}); remove the file to have it made again"
            ) from None

    def _lost(self, job: Job, state: client.JobState | None) -> Run | None:
        """Return the failure of a job that left no record; None while it may still leave one."""
        now = time.time()
        if state is None:
            if now - job.handed_over < _FORGOTTEN_AFTER_S:
                return None
            problem = "Slurm does not know the job any more"
        else:
            is_fresh = state.ended is not None and now - state.ended < _SEEN_AFTER_S and state.state == "COMPLETED"
            if not state.over or is_fresh:
                return None
            problem = f"Slurm: {state.state}" + "; it left no record" * (state.state in ("COMPLETED", "FAILED"))
        try:
            output = self._file(job.number, ".out").read_bytes()
        except OSError:
            output = b""
        return Run(
            point=job.point,
            replication=job.replication,
            problem=f"{problem} (job {job.name})",
            started=datetime.datetime.fromtimestamp(job.handed_over, datetime.UTC).isoformat(timespec="milliseconds"),
            command=self.commands.get(point_key(job.point), ()),
            wall_ns=0 if state is None else state.elapsed_s * 10**9,
            user_s=0.0,
            system_s=0.0,
            peak_memory_kib=0,
            exit_status=None if state is None or state.signal else state.exit_status,
            signal=f"signal {state.signal}" if state is not None and state.signal else None,
            busy_before=None,
            noisy=False,
            stderr=output[-MOST_BYTES:],
        )

    def submit(self) -> int:
        """Hand over what is missing; return how many runs that were."""
        with_slurm = {(point_key(job.point), job.replication) for job in self.store.jobs()}
        counts = dict(zip(map(point_key, self.points), self.design.counts(self.points), strict=True))
        missing = [
            (point, block)
            for block in range(1, max(counts.values()) + 1)
            for point in self.design.block(block, self.points)
            if block <= counts[point_key(point)]
            and (point_key(point), block) not in with_slurm
            and self.history.missing(point, block, self.options.retry_failed)
        ]
        with progress.bar("jobs", len(missing)) as advance:
            for point, block in missing:
                self._hand(point, block)
                advance(1)
        return len(missing)

    def _hand(self, point: Point, block: int) -> None:
        """Hand one run over. Its number is kept first: whatever is killed when, no run is counted twice."""
        options = self.options
        number = self.store.announce_job(point, block, time.time())
        task = self._file(number)
        words = filled(self.words, point)
        if options.time_limit_s is not None and not any(word.startswith("--time=") for word in words):
            # One minute for start and record: the run's own limit comes first, and says more than the job's.
            seconds = options.time_limit_s * (1 + options.warmup) + options.wait_s
            words = (*words, f"--time={math.ceil(seconds / 60.0) + 1}")
        try:
            self.folder.mkdir(exist_ok=True)
            write_bytes(task, self.task(point, block))
            job = f"perf_experiments.runner {shlex.quote(str(task))}"
            about = f"# {point_text(point)}, replication {block}\n"
            name = client.submit(
                self._file(number, ".sh"), job, ["--no-requeue", *words], self._file(number, ".out"), f"perf-{number}",
                before=about,
            )  # fmt: skip
        except (OSError, PerfError) as error:
            self._remove(number)
            self.store.forget_job(number)
            if isinstance(error, OSError):
                raise InputError(self.folder, f"cannot be written: {error.strerror or error}") from error
            raise
        self.store.name_job(number, name)

    def _file(self, number: int, ending: str = ".json") -> Path:
        return self.folder / f"run-{number}{ending}"

    def _remove(self, number: int) -> None:
        for ending in (".json", ".sh", ".out", ".done"):
            self._file(number, ending).unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(execute(Path(sys.argv[1])))
