"""Where the cycles of a run went: by category, location and phase."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_analysis.overheads.collectives import RankTimes
from perf_analysis.overheads.devices import DeviceTimes
from perf_analysis.overheads.factors import level_factors
from perf_analysis.overheads.in_markers import MarkerTimes
from perf_analysis.overheads.pop_efficiencies import COMPUTING, Efficiencies, efficiencies
from perf_analysis.overheads.threads import ThreadTimes
from perf_traces.messages.bursts import BurstClasses, PopFactors
from perfcore.results import Result

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class OverheadProfile(Result):
    """Cycles of one run; the categories are complete and orthogonal, so that their sum is locations x elapsed time.

    Parameters
    ----------
    categories, texts : (n_categories,) tuple of str
        Names, and what each means.
    classes : (n_classes,) tuple of str
        Classes of states.
    locations : (n_locations,) tuple of str
    cycles_ns : (n_categories, n_locations, n_phases) int64, nanoseconds
    class_cycles_ns : (n_classes, n_locations, n_phases) int64, nanoseconds
        Time in each class of states.
    edges_ns : (n_phases + 1,) int64, nanoseconds
        Where phases begin and end, on the clock of the trace.
    timeline_ns : (n_categories, n_bins) int64, nanoseconds
        Cycles of all locations in short stretches of equal duration, for the picture.
    timeline_edges_ns : (n_bins + 1,) int64, nanoseconds
    states : dict of str to tuple of str
        The trace's states by class.
    source : str
        The trace.
    notes : tuple of str
        What a reader of the numbers must know.
    devices : tuple of DeviceTimes
        What runs at once on each GPU, where locations are GPUs or their streams.
    hidden_ns : (2, n_devices, n_phases) int64, nanoseconds
        Communication and copies of each GPU that run while it computes.
    ranks : tuple of RankTimes
        Who waits for whom in collectives, where locations are GPUs of several ranks.
    markers : tuple of MarkerTimes
        Cycles within markers, where they were asked for.
    untold : tuple of str
        Categories that no state of the trace tells of.
    replayed : PopFactors or None
        Of the whole run; None where there are no messages to replay.
    bursts : BurstClasses or None
        Computing between calls, with its counters; None where there are neither calls nor counters.
    threads : tuple of ThreadTimes
        What the threads of each process do outside of MPI, where processes have several.
    """

    categories: tuple[str, ...]
    texts: tuple[str, ...]
    classes: tuple[str, ...]
    locations: tuple[str, ...]
    cycles_ns: Integers
    class_cycles_ns: Integers
    edges_ns: Integers
    timeline_ns: Integers
    timeline_edges_ns: Integers
    states: Mapping[str, tuple[str, ...]]
    source: str
    notes: tuple[str, ...] = ()
    devices: tuple[DeviceTimes, ...] = ()
    hidden_ns: Integers = field(default_factory=lambda: np.zeros((2, 0, 1), np.int64))
    ranks: tuple[RankTimes, ...] = ()
    markers: tuple[MarkerTimes, ...] = ()
    untold: tuple[str, ...] = ()
    replayed: PopFactors | None = None
    bursts: BurstClasses | None = None
    threads: tuple[ThreadTimes, ...] = ()

    @property
    def elapsed_ns(self) -> int:
        """Duration of the run."""
        return int(self.edges_ns[-1] - self.edges_ns[0])

    @property
    def total_ns(self) -> int:
        """All cycles: locations times elapsed time."""
        return int(self.cycles_ns.sum())

    @property
    def n_phases(self) -> int:
        """Number of phases; 1 where the run was not divided."""
        return len(self.edges_ns) - 1

    @functools.cached_property
    def by_category_ns(self) -> Integers:
        """Cycles of each category (n_categories,)."""
        total: Integers = self.cycles_ns.sum(axis=(1, 2))
        return total

    @functools.cached_property
    def by_phase_ns(self) -> Integers:
        """Cycles of each category in each phase (n_categories, n_phases)."""
        total: Integers = self.cycles_ns.sum(axis=1)
        return total

    @functools.cached_property
    def by_location_ns(self) -> Integers:
        """Cycles of each category in each location (n_categories, n_locations)."""
        total: Integers = self.cycles_ns.sum(axis=2)
        return total

    def efficiencies(self, by_phase: bool = False) -> Efficiencies | None:
        """POP's efficiencies of the run, or of each phase; None where the set has no class of computing states."""
        if COMPUTING not in self.classes:
            return None

        times: Integers = self.class_cycles_ns[self.classes.index(COMPUTING)]
        if by_phase:
            return efficiencies(times, np.diff(self.edges_ns))
        serialisation = None if self.replayed is None else [self.replayed.serialisation]
        return efficiencies(times.sum(axis=1, keepdims=True), [self.elapsed_ns], serialisation)

    def to_dict(self) -> dict[str, Any]:
        """The profile as plain data: times in whole nanoseconds, efficiencies as numbers or None."""
        parts = {"run": self.efficiencies(), "phases": self.efficiencies(by_phase=True)}
        levels = level_factors(self)
        return {
            "source": self.source,
            "elapsed_ns": self.elapsed_ns,
            "locations": list(self.locations),
            "phase_edges_ns": self.edges_ns.tolist(),
            "categories": [
                {"category": name, "total_ns": int(total), "by_location_by_phase_ns": cycles.tolist()}
                for name, total, cycles in zip(self.categories, self.by_category_ns, self.cycles_ns, strict=True)
            ],
            "classes": {name: list(states) for name, states in self.states.items()},
            **{
                name: [asdict(each) for each in times]
                for name, times in (
                    ("devices", self.devices),
                    ("ranks", self.ranks),
                    ("markers", self.markers),
                    ("threads", self.threads),
                )
                if times
            },
            **({} if self.replayed is None else {"replay": asdict(self.replayed)}),
            **({} if self.bursts is None else {"bursts": self.bursts.to_dict()}),
            "efficiencies": {name: None if part is None else _plain(part) for name, part in parts.items()},
            **({"factors": levels} if levels else {}),
            "notes": list(self.notes),
        }


def _plain(stretches: Efficiencies) -> list[dict[str, float | None]]:
    columns = stretches.columns
    return [
        {
            name: None if column is None or np.isnan(column[stretch]) else float(column[stretch])
            for name, column in columns.items()
        }
        for stretch in range(len(stretches.load_balance))
    ]
