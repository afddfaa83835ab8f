"""Submits the runs of a design to Slurm, one job for each run, and collects what became of them."""

from __future__ import annotations

import contextlib
import datetime
import math
import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from perf_experiments.design import Design, Key, point_key
from perf_experiments.measurement import MOST_BYTES, Measuring, environment, filled, parse_patterns
from perf_experiments.points import Level, Point, point_text
from perf_experiments.run_records import History, Job, Run, RunOptions, Summary
from perf_experiments.runner import check_command, commands_of, with_study
from perf_experiments.store import Store
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


def execute(task: Path) -> int:
    """Make the run of a task file; returns the exit status of the job, 1 where the run failed."""
    try:
        content = task.read_bytes()
    except FileNotFoundError:
        print(f"{task}: withdrawn; nothing is run", file=sys.stderr)  # noqa: T201 (the job's own output)
        return 0
    spec = msgspec.json.decode(content, type=Task)
    patterns = parse_patterns(spec.options.values, list(spec.point))
    measuring = Measuring(spec.options, patterns, environment(spec.command[0]))
    run = measuring.run(spec.point, spec.replication, spec.command)
    write_bytes(task.with_suffix(".done"), msgspec.json.encode(run))
    return 0 if run.succeeded else 1


def submit(
    design: Design,
    path: str | os.PathLike[str],
    options: RunOptions,
    sbatch: str | None = None,
    *,
    collect_only: bool = False,
) -> Summary:
    """Collect the runs that jobs have made, and hand over those that the store and Slurm do not have yet.

    Each job measures its run on its node, as `run_design` does here, and leaves a record in the folder ``NAME.jobs``
    next to the store, which must be visible there, like the Python that this runs under. The folder is empty and gone
    when everything has been collected.
    """
    if options.until is not None:
        raise OptionError(
            "--until looks at results between runs, and jobs run at once; see `perf experiment next STORE`"
        )
    points = design.chosen()
    check_command(design, points, options)
    for point in points:
        filled(client.sbatch_words(sbatch or ""), point)
    with Store.hold(path) as store:
        options = with_study(store, design, options)
        patterns = parse_patterns(options.values, list(design.factors))
        history = History(patterns[0].name if patterns else None)
        for run in store.runs():
            history.add(run)
        folder = Path(path).resolve().with_suffix(".jobs")
        if sbatch is not None:
            store.set_sbatch(sbatch)
        words = client.sbatch_words(store.sbatch)
        session = _Session(design, store, options, words, commands_of(points, options), history, folder)
        collected = session.collect()
        submitted = 0 if collect_only else session.submit(points)
        with contextlib.suppress(OSError):  # there is none, or it is not empty
            folder.rmdir()
        summary = history.summary(points, collected)
        waiting = len(store.jobs())
        return replace(summary, handed_over=submitted, waiting=waiting, store=os.fspath(path), collected=True)


@dataclass
class _Session:
    design: Design
    store: Store
    options: RunOptions
    words: Sequence[str]
    commands: Mapping[Key, tuple[str, ...]]
    history: History
    folder: Path

    def collect(self) -> int:
        """Keep what jobs left; returns how many are over."""
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
        """The failure of a job that left no record; None while it may still leave one."""
        now = time.time()
        if state is None:
            if now - job.handed_over < _FORGOTTEN_AFTER_S:
                return None
            return self._failure(job, "Slurm does not know the job any more", 0, None)
        if not state.over or (
            state.ended is not None and now - state.ended < _SEEN_AFTER_S and state.state == "COMPLETED"
        ):
            return None
        problem = f"Slurm: {state.state}" + ("; it left no record" if state.state in ("COMPLETED", "FAILED") else "")
        return self._failure(job, problem, state.elapsed_s, state)

    def _failure(self, job: Job, problem: str, elapsed_s: int, state: client.JobState | None) -> Run:
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
            wall_ns=elapsed_s * 10**9,
            user_s=0.0,
            system_s=0.0,
            peak_memory_kib=0,
            exit_status=None if state is None or state.signal else state.exit_status,
            signal=f"signal {state.signal}" if state is not None and state.signal else None,
            busy_before=None,
            noisy=False,
            stderr=output[-MOST_BYTES:],
        )

    def submit(self, points: Sequence[Point]) -> int:
        """Hand over what is missing; returns how many runs that were."""
        with_slurm = {(point_key(job.point), job.replication) for job in self.store.jobs()}
        counts = dict(zip(map(point_key, points), self.design.counts(points), strict=True))
        missing = [
            (point, block)
            for block in range(1, max(counts.values()) + 1)
            for point in self.design.block(block, points)
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
        number = self.store.announce_job(point, block, time.time())
        task, script = self._file(number), self._file(number, ".sh")
        content = Task(dict(point), block, self.commands[point_key(point)], self.options)
        try:
            self.folder.mkdir(exist_ok=True)
            write_bytes(task, msgspec.json.encode(content))
            # -P: a module of the folder where the run is made is not to be taken for one of Python's.
            job = shlex.join([sys.executable, "-P", "-m", "perf_experiments.slurm", str(task)])
            write_bytes(script, f"#!/bin/sh\n# {point_text(point)}, replication {block}\nexec {job}\n".encode())
            name = client.submit(
                script, ["--no-requeue", *self._words(point)], self._file(number, ".out"), f"perf-{number}"
            )
        except (OSError, PerfError) as error:
            self._remove(number)
            self.store.forget_job(number)
            if isinstance(error, OSError):
                raise InputError(self.folder, f"cannot be written: {error.strerror or error}") from error
            raise
        self.store.name_job(number, name)

    def _words(self, point: Point) -> tuple[str, ...]:
        words = filled(self.words, point)
        limit = self.options.time_limit_s
        if limit is None or any(word.startswith(("--time=", "-t")) for word in words):
            return words
        # One minute for start and record: the run's own limit comes first, and says more than the job's.
        seconds = limit * (1 + self.options.warmup) + self.options.wait_s
        return (*words, f"--time={math.ceil(seconds / 60.0) + 1}")

    def _file(self, number: int, ending: str = ".json") -> Path:
        return self.folder / f"run-{number}{ending}"

    def _remove(self, number: int) -> None:
        for ending in (".json", ".sh", ".out", ".done"):
            self._file(number, ending).unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(execute(Path(sys.argv[1])))
