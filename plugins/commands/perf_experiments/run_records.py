"""How runs are made, what is kept of each, and which a study has already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from perf_experiments.design import Key, point_key
from perf_experiments.points import PRINTED, VERSION, Point, point_text
from perfcore.base.errors import OptionError
from perfcore.report import Result

_COVERAGE = 0.95
FEWEST_RUNS = 6  # from five runs no interval covers the median with 95 %: 1 - 2/2^5 = 93.75 %


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return bounds of the median with at least 95 % confidence, or None from fewer than six runs.

    Source: T. Hoefler, R. Belli, "Scientific benchmarking of parallel computing systems", SC 2015, section 3.1.3; J.-Y.
    Le Boudec, "Performance evaluation of computer and communication systems", 2010, theorem 2.1. The exact binomial
    probabilities are used and not the normal approximation that the first gives.
    """
    from scipy.stats import quantile_test

    if len(values) < FEWEST_RUNS:
        return None
    interval: Any = quantile_test(values, p=0.5).confidence_interval(_COVERAGE)
    return float(interval.low), float(interval.high)


@dataclass(frozen=True)
class RunOptions:
    """How runs are made."""

    # program and arguments, with ``{FACTOR}`` where a level stands; empty: that of the store
    command: Sequence[str] = ()
    launcher: str = "local"  # ``local``, ``mpirun``, ``srun``, or other words to put before the command
    values: Sequence[str] = ()  # ``NAME=EXPRESSION``, what to find in the output
    time_limit_s: float | None = None  # seconds, > 0, optional
    warmup: int = 0  # >= 0, runs before each measured one that are not kept, so that each is measured in the same state
    # > 0, optional, repeat each point until half the width of the 95 % interval of its median is this share of the
    # median
    until: float | None = None
    most: int = 30  # >= 1, runs of one point at most, with ``until``
    max_load: float = 0.2  # 0 to 1, share of the processors that others may use before a run; 1: do not look
    # seconds, >= 0, how long to wait for that before a run is made all the same and marked as noisy
    wait_s: float = 10.0
    retry_failed: bool = False
    # program and arguments of each level of the factor ``version``; ``command`` follows them
    versions: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0.0 <= self.max_load <= 1.0:
            raise OptionError(f"a busy share of {self.max_load:g}: 0 to 1 is expected, 1 for no check")
        if self.until is not None and not 0.0 < self.until < 1.0:
            raise OptionError(f"repetition until {self.until:g}: a share between 0 and 1 is expected, 0.02 for 2 %")
        if self.until is not None and self.versions:
            raise OptionError(
                "--until looks at each version alone, and rounds would lose one; leave it out: `perf gate --run` adds "
                "rounds until the versions are distinguishable"
            )
        if self.until is not None and self.most < FEWEST_RUNS:
            raise OptionError(
                f"at most {self.most} runs of a point: {FEWEST_RUNS} are needed before the interval of a median exists"
            )


@dataclass(frozen=True, repr=False)
class Run(Result):
    """One run that ended, well or not."""

    reporter: ClassVar[str] = "perf_experiments.answers:report_of_run"

    point: Point
    replication: int  # from 1; which block of the design it belongs to
    problem: str | None  # why it failed, in one line; None where it succeeded
    started: str  # date and time, UTC, ISO 8601
    command: tuple[str, ...]  # as it was run
    wall_ns: int
    user_s: float
    system_s: float
    peak_memory_kib: int
    exit_status: int | None
    signal: str | None
    busy_before: float | None  # share of the processors, 0 to 1, that others used just before; None if not sampled
    noisy: bool  # that this was more than was asked for
    values: Mapping[str, float] = field(default_factory=dict)  # what it reported
    stdout: bytes = b""  # what it printed, each cut at a length
    stderr: bytes = b""
    environment: Mapping[str, object] = field(default_factory=dict)
    number: int = 0  # in the store, from 1; 0 before it is stored

    @property
    def succeeded(self) -> bool:
        """Whether it counts as a measurement."""
        return self.problem is None

    def value(self, name: str) -> float:
        """Return a reported value, or the wall time in seconds under the name ``wall_s``."""
        return self.wall_ns / 1e9 if name == "wall_s" else self.values[name]


@dataclass(frozen=True, repr=False)
class Runs(Result):
    """What a store holds."""

    reporter: ClassVar[str] = "perf_experiments.answers:report_of_runs"

    store: str  # its file
    listed: tuple[Run, ...]  # those that were asked for, in the order in which they were made
    succeeded: int  # how many there are of all; ``noisy`` are those that succeeded while others used the machine
    noisy: int
    failed: int
    waiting: int  # runs that a scheduler has
    in_full: bool = False  # whether the one that is listed is shown with what it printed
    checked: bool = False  # whether all of the store was read, and is as it was written

    @property
    def printed(self) -> dict[str, str]:
        """What the run that is shown in full printed and wrote."""
        names = PRINTED if self.in_full else ()
        return {name: getattr(self.listed[0], name).decode(errors="replace") for name in names}

    @property
    def json_kind(self) -> str:
        """What JSON calls it."""
        return "run" if self.in_full else "runs"

    def to_dict(self) -> dict[str, Any]:
        rows = [
            {name: value for name, value in vars(run).items() if name not in (*PRINTED, "environment")}
            | {"wall_s": run.wall_ns / 1e9, "peak_memory_mib": run.peak_memory_kib / 1024}
            for run in self.listed
        ]
        if not self.in_full:
            return {"rows": rows}
        return {**rows[0], "environment": self.listed[0].environment, **self.printed}


@dataclass(frozen=True)
class Job:
    """A run that a scheduler has."""

    number: int  # in the store
    point: Point
    replication: int
    name: str | None  # what the scheduler calls it; None where `perf experiment run` ended while it submitted the job
    handed_over: float  # seconds since 1970


@dataclass(frozen=True, repr=False)
class Summary(Result):
    """What the store has of the design."""

    reporter: ClassVar[str] = "perf_experiments.answers:report_of_summary"

    made: int  # runs of this call: those that it made itself, or collected from the scheduler
    succeeded: int  # points and replications of the design that have a measurement, and those that have failures only
    failed: int
    noisy: int  # measurements marked as noisy
    wide: tuple[str, ...] = ()  # points whose median is not yet as well known as ``until`` asks
    handed_over: int = 0  # runs that this call submitted
    waiting: int = 0  # runs that the scheduler has and that have not ended, those of this call included
    store: str = ""  # its file
    collected: bool = False  # whether the runs were made by jobs of a scheduler
    at_once: int = 0  # runs that this machine made at a time, if several
    has_versions: bool = False  # whether versions of a program are compared

    @property
    def status(self) -> int:
        """Exit status: 3 while runs wait, 1 where some failed."""
        return 3 if self.waiting else int(self.failed > 0)

    def to_dict(self) -> dict[str, Any]:
        return vars(self)


@dataclass
class History:
    """Runs by point and replication; the last of several counts, unless one succeeded."""

    value: str | None = None  # name of what repetition looks at
    runs: dict[Key, dict[int, Run]] = field(default_factory=dict)

    def add(self, run: Run) -> None:
        """Take a run into account."""
        of_point = self.runs.setdefault(point_key(run.point), {})
        before = of_point.get(run.replication)
        if before is None or not before.succeeded:
            of_point[run.replication] = run

    def of(self, point: Point) -> Mapping[int, Run]:
        """Return the runs of a point by replication."""
        return self.runs.get(point_key(point), {})

    def missing(self, point: Point, replication: int, retry_failed: bool) -> bool:
        """Return whether a run is to be made, or made again."""
        run = self.of(point).get(replication)
        return run is None or (retry_failed and not run.succeeded)

    def settled(self, point: Point, until: float | None) -> bool:
        """Return whether the median of a point is known to this share of itself."""
        if until is None:
            return True
        runs = [run for run in self.of(point).values() if run.succeeded]
        values = [run.value(self.value or next(iter(run.values), "wall_s")) for run in runs]
        bounds = median_interval(values)
        return bounds is not None and (bounds[1] - bounds[0]) / 2.0 <= until * abs(float(np.median(values)))

    def summary(self, points: Sequence[Point], new_runs: int, until: float | None = None) -> Summary:
        """Return what there is of these points."""
        runs = [run for point in points for run in self.of(point).values()]
        return Summary(
            made=new_runs,
            succeeded=sum(run.succeeded for run in runs),
            failed=sum(not run.succeeded for run in runs),
            noisy=sum(run.noisy for run in runs if run.succeeded),
            wide=tuple(point_text(point) for point in points if not self.settled(point, until)),
            has_versions=VERSION in points[0],
        )
