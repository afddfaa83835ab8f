"""Which runs a study has already, and what is still to be made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from perf_experiments.design.factors import Level, Point, point_text
from perf_experiments.runs.records import Run
from perf_experiments.runs.repetition import narrow_enough
from perfcore.results import Result

Key = tuple[tuple[str, Level], ...]


def point_key(point: Point) -> Key:
    """A point as something that a dictionary takes, whatever the order of its factors."""
    return tuple(sorted(point.items()))


@dataclass(frozen=True, repr=False)
class Summary(Result):
    """What the store has of the design.

    Attributes
    ----------
    made : int
        Runs of this call: those that it made itself, or collected from the scheduler.
    succeeded, failed : int
        Points and replications of the design that have a measurement, and those that have failures only.
    noisy : int
        Measurements marked as noisy.
    wide : tuple of str
        Points whose median is not yet as well known as ``until`` asks.
    handed_over : int
        Runs that this call handed to the scheduler.
    waiting : int
        Runs that the scheduler has and that have not ended, those of this call included.
    store : str
        Its file.
    collected : bool
        Whether the runs were made by jobs of a scheduler.
    """

    made: int
    succeeded: int
    failed: int
    noisy: int
    wide: tuple[str, ...] = ()
    handed_over: int = 0
    waiting: int = 0
    store: str = ""
    collected: bool = False


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
        """The runs of a point by replication."""
        return self.runs.get(point_key(point), {})

    def missing(self, point: Point, replication: int, retry_failed: bool) -> bool:
        """Whether a run is to be made, or made again."""
        run = self.of(point).get(replication)
        return run is None or (retry_failed and not run.succeeded)

    def all_well(self, point: Point) -> bool:
        """Whether no run of a point failed."""
        return all(run.succeeded for run in self.of(point).values())

    def settled(self, point: Point, until: float | None) -> bool:
        """Whether the median of a point is known to this share of itself."""
        if until is None:
            return True
        return narrow_enough([self._measured(run) for run in self.of(point).values() if run.succeeded], until)

    def _measured(self, run: Run) -> float:
        return run.value(self.value or next(iter(run.values), "wall_s"))

    def measured(self) -> list[tuple[Point, float]]:
        """Points and wall times in seconds of all runs that succeeded."""
        every = (run for of_point in self.runs.values() for run in of_point.values())
        return [(run.point, run.wall_ns / 1e9) for run in every if run.succeeded]

    def summary(self, points: Sequence[Point], new_runs: int, until: float | None = None) -> Summary:
        """What there is of these points."""
        runs = [run for point in points for run in self.of(point).values()]
        return Summary(
            made=new_runs,
            succeeded=sum(run.succeeded for run in runs),
            failed=sum(not run.succeeded for run in runs),
            noisy=sum(run.noisy for run in runs if run.succeeded),
            wide=tuple(point_text(point) for point in points if not self.settled(point, until)),
        )
