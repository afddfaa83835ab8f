"""What is kept of one run, and of one that a scheduler has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from perf_experiments.design.factors import Point
from perfcore.results import Result


@dataclass(frozen=True, repr=False)
class Run(Result):
    """One run that ended, well or not.

    Attributes
    ----------
    point : mapping of str to level
    replication : int
        From 1; which block of the design it belongs to.
    problem : str or None
        Why it failed, in one line; None where it succeeded.
    started : str
        Date and time, UTC, ISO 8601.
    command : tuple of str
        As it was run.
    wall_ns : int
    user_s, system_s : float
    peak_memory_kib : int
    exit_status : int or None
    signal : str or None
    busy_before : float or None
        Share of the processors, 0 to 1, that others used just before; None where nobody looked.
    noisy : bool
        That this was more than was asked for.
    values : mapping of str to float
        What it reported.
    stdout, stderr, results : bytes
        What it printed and wrote to its results file, cut at the size that was asked for.
    number : int
        In the store, from 1; 0 before it is stored.
    """

    point: Point
    replication: int
    problem: str | None
    started: str
    command: tuple[str, ...]
    wall_ns: int
    user_s: float
    system_s: float
    peak_memory_kib: int
    exit_status: int | None
    signal: str | None
    busy_before: float | None
    noisy: bool
    values: Mapping[str, float] = field(default_factory=dict)
    stdout: bytes = b""
    stderr: bytes = b""
    results: bytes = b""
    environment: Mapping[str, object] = field(default_factory=dict)
    number: int = 0

    @property
    def succeeded(self) -> bool:
        """Whether it counts as a measurement."""
        return self.problem is None

    def value(self, name: str) -> float:
        """A reported value, or the wall time in seconds under the name ``wall_s``."""
        return self.wall_ns / 1e9 if name == "wall_s" else self.values[name]


@dataclass(frozen=True, repr=False)
class Runs(Result):
    """What a store holds.

    Attributes
    ----------
    store : str
        Its file.
    listed : tuple of Run
        Those that were asked for, in the order in which they were made.
    succeeded, noisy, failed : int
        How many there are of all; ``noisy`` are those that succeeded while others used the machine.
    waiting : int
        Runs that a scheduler has.
    """

    store: str
    listed: tuple[Run, ...]
    succeeded: int
    noisy: int
    failed: int
    waiting: int


@dataclass(frozen=True)
class Job:
    """A run that a scheduler has."""

    number: int  # in the store
    point: Point
    replication: int
    name: str | None  # what the scheduler calls it; None where `perf experiment run` ended while it handed it over
    handed_over: float  # seconds since 1970
