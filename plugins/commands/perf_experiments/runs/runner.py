"""Makes the runs of a design, one after the other, and keeps each as soon as it ends."""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from perf_experiments.advice.costs import costs_by_runs, duration_text
from perf_experiments.design.design import Design
from perf_experiments.design.factors import Point
from perf_experiments.runs.environment import environment
from perf_experiments.runs.history import History, Key, Summary, point_key
from perf_experiments.runs.measurement import Measuring
from perf_experiments.runs.options import RunOptions
from perf_experiments.runs.store import Store
from perf_experiments.runs.study import check_command, commands_of, with_study
from perf_experiments.runs.values import parse_patterns
from perfcore.base import progress
from perfcore.base.errors import OptionError

_WORTH_SAYING_S = 60.0  # an expected end that is nearer than this is not announced


def run_design(design: Design, path: str | os.PathLike[str], options: RunOptions) -> Summary:
    """Make the runs of a design that a store does not have yet.

    Every run is on the disk before the next one starts. An interrupt ends the run in flight, which is not kept; the
    same call goes on from there.

    Parameters
    ----------
    design : Design
    path : str or path
        The store; made where there is none.
    options : RunOptions

    Raises
    ------
    PerfError
        A command, place, value or store that cannot be used; before anything is run.
    OptionError
        Runs of the store were handed to a scheduler and have not been collected.

    Examples
    --------
    >>> import sys, tempfile
    >>> design = Design(factors={"n": [1, 2]}, replications=1)
    >>> options = RunOptions([sys.executable, "-c", "print('t =', {n})"], values=["t=t = ([0-9]+)"], max_load=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     summary = run_design(design, f"{folder}/runs.db", options)
    >>> summary.made, summary.succeeded, summary.failed
    (2, 2, 0)
    """
    points = design.chosen()
    check_command(design, points, options)
    with Store.hold(path) as store:
        options = with_study(store, design, options)
        if handed := store.jobs():
            raise OptionError(
                f"{store.path}: {len(handed)} runs were handed to Slurm; collect them first with --scheduler slurm "
                "--collect, or name another store with --store"
            )
        patterns = parse_patterns(options.values, list(design.factors))
        commands = commands_of(points, options)
        history = History(patterns[0].name if patterns else None)
        for run in store.runs():
            history.add(run)
        facts = environment(next(iter(commands.values()))[0])
        session = _Session(design, store, options, commands, history, Measuring(options, patterns, facts))
        return replace(history.summary(points, session.run(points), options.until), store=os.fspath(path))


@dataclass
class _Session:
    """One call of `run_design`."""

    design: Design
    store: Store
    options: RunOptions
    commands: Mapping[Key, tuple[str, ...]]
    history: History
    measuring: Measuring

    def run(self, points: Sequence[Point]) -> int:
        """Make what is missing; returns how many runs that were."""
        self.wanted = {point_key(point): count for point, count in zip(points, self.design.counts(points), strict=True)}
        least = max(self.wanted.values())
        most = least if self.options.until is None else max(self.options.most, least)
        new_runs = 0
        started = time.monotonic()
        with progress.bar("runs", len(self._left(points))) as advance:
            self._announce(points)
            for block in range(1, most + 1):
                for point in self.design.block(block, points):
                    if not self._due(point, block):
                        continue
                    run = self.measuring.run(point, block, self.commands[point_key(point)])
                    self.history.add(self.store.add(run))
                    new_runs += 1
                    advance(1)
                if block == 1 and new_runs and time.monotonic() - started > 1.0:
                    self._announce(points)
        return new_runs

    def _due(self, point: Point, block: int) -> bool:
        """Whether a point is to be run in a block."""
        if block > self.wanted[point_key(point)] and (
            self.history.settled(point, self.options.until) or not self.history.all_well(point)
        ):
            return False
        return self.history.missing(point, block, self.options.retry_failed)

    def _left(self, points: Sequence[Point]) -> list[Point]:
        """The point of each run that is certainly to be made; repetition may add more."""
        return [
            point
            for point in points
            for block in range(1, self.wanted[point_key(point)] + 1)
            if self._due(point, block)
        ]

    def _announce(self, points: Sequence[Point]) -> None:
        """Say when the replications that are left will end, once runs tell how long they take."""
        measured, left = self.history.measured(), self._left(points)
        if not measured or not left:
            return
        seconds = float(np.sum(costs_by_runs(measured, left))) * (1 + self.options.warmup)
        if seconds >= _WORTH_SAYING_S:
            end = datetime.datetime.now().astimezone() + datetime.timedelta(seconds=seconds)
            progress.note(f"{len(left)} runs are left and take about {duration_text(seconds)}, until {end:%d %b %H:%M}")
