"""Where the cycles of a run went: by category, location and phase."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perf_overheads.pop_efficiencies import COMPUTING, TRANSFERRING, Efficiencies, efficiencies
from perfcore.data.units import readable, shown_origin

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["OverheadProfile", "Table", "shares", "without_empty"]

Integers = npt.NDArray[np.int64]
Table = tuple[str, list[str], list[list[str]]]

_NO_TRANSFER = "serialisation and transfer: no state of the trace tells transfers of data from waiting for them"


@dataclass(frozen=True, eq=False)
class OverheadProfile:
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

        def of(name: str) -> Integers:
            times: Integers = self.class_cycles_ns[self.classes.index(name)]
            return times if by_phase else times.sum(axis=1, keepdims=True)

        elapsed = np.diff(self.edges_ns) if by_phase else [self.elapsed_ns]
        return efficiencies(of(COMPUTING), of(TRANSFERRING) if self._tells_transfers else None, elapsed)

    @property
    def _tells_transfers(self) -> bool:
        """Whether the trace has transfers that last; a tracer may name a state and record no time in it."""
        return TRANSFERRING in self.classes and bool(self.class_cycles_ns[self.classes.index(TRANSFERRING)].any())

    @property
    def title(self) -> str:
        """One line over a picture."""
        return f"Where the cycles go: {self.source}"

    @property
    def formula(self) -> str:
        """None: a profile is no model."""
        return ""

    def summary(self) -> list[str]:
        """The run in a line, and what must be known about it."""
        phases = f", {self.n_phases} phases" if self.n_phases > 1 else ""
        n = len(self.locations)
        return [
            f"{self.source}: {n} location{'s' if n != 1 else ''} x {readable(self.elapsed_ns, 'ns')} = "
            f"{readable(self.total_ns, 'ns')}{phases}; every nanosecond is in exactly one category",
            *self.notes,
        ]

    def tables(self, by: str = "category") -> list[Table]:
        """Tables by category, which come always, and by location or by phase; then the efficiencies.

        Parameters
        ----------
        by : {"category", "location", "phase"}
        """
        found = [self._category_table()]
        if by == "location":
            rows = [[name, *cells] for name, cells in zip(self.locations, shares(self.by_location_ns), strict=True)]
            found.append(("Share of each location's time", ["location", *self.categories], rows))
        elif by == "phase":
            found.append(self._phase_table())
        table = self._efficiency_table(by == "phase" and self.n_phases > 1)
        return [without_empty(table) for table in found] + ([] if table is None else [table])

    def _category_table(self) -> Table:
        rows = [
            [name, readable(int(time), "ns"), f"{time / self.total_ns:.2%}", text]
            for name, time, text in zip(self.categories, self.by_category_ns, self.texts, strict=True)
        ]
        rows.append(["sum", readable(self.total_ns, "ns"), "100.00%", "locations x elapsed time"])
        return ("Cycles by category", ["category", "time of all", "share", "meaning"], rows)

    def _phase_table(self) -> Table:
        first, last = int(self.edges_ns[0]), int(self.edges_ns[-1])
        origin = int(shown_origin(first, last))
        rows = []
        for at, cells in enumerate(shares(self.by_phase_ns)):
            start, end = int(self.edges_ns[at]), int(self.edges_ns[at + 1])
            rows.append([str(at + 1), readable(start - origin, "ns"), readable(end - start, "ns"), *cells])
        since = f", start since {origin} ns" if origin else ""
        return (f"Share of each phase's cycles{since}", ["phase", "start", "duration", *self.categories], rows)

    def _efficiency_table(self, by_phase: bool) -> Table | None:
        parts = [("run", self.efficiencies())]
        if by_phase:
            parts.append(("phase", self.efficiencies(by_phase=True)))
        rows = []
        for name, found in parts:
            if found is None:
                return None
            columns = (found.parallel, found.load_balance, found.communication, found.serialisation, found.transfer)
            for at in range(len(found.load_balance)):
                cells = ["-" if column is None or np.isnan(column[at]) else f"{column[at]:.2%}" for column in columns]
                rows.append([name if name == "run" else f"phase {at + 1}", *cells])
        header = ["POP efficiency", "parallel", "load balance", "communication", "serialisation", "transfer"]
        reason = "" if self._tells_transfers else f" ({_NO_TRANSFER})"
        return (f"Efficiencies{reason}", header, rows)

    def to_dict(self) -> dict[str, Any]:
        """The profile as plain data: times in whole nanoseconds, efficiencies as numbers or None."""
        parts = {"run": self.efficiencies(), "phases": self.efficiencies(by_phase=True)}
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
            "efficiencies": {name: None if found is None else _plain(found) for name, found in parts.items()},
            "notes": list(self.notes),
        }

    def draw(self, figure: Figure, data: Any = None) -> None:
        """Draw categories over time and by location into an empty figure."""
        from perf_overheads.picture import draw_profile

        draw_profile(self, figure)


def shares(times: Integers) -> list[list[str]]:
    """Percentages of each column's sum, one row for each column of (n_categories, n)."""
    return [[f"{time / column.sum():.2%}" for time in column] for column in times.T]


def without_empty(table: Table) -> Table:
    """Without the columns of categories in which nothing is lost, to keep lines short."""
    title, header, rows = table
    keep = [at for at in range(len(header)) if at == 0 or any(row[at] not in ("0.00%", "") for row in rows)]
    return title, [header[at] for at in keep], [[row[at] for at in keep] for row in rows]


def _plain(found: Efficiencies) -> list[dict[str, float | None]]:
    columns = {
        "parallel": found.parallel,
        "load_balance": found.load_balance,
        "communication": found.communication,
        "serialisation": found.serialisation,
        "transfer": found.transfer,
    }
    return [
        {
            name: None if column is None or np.isnan(column[at]) else float(column[at])
            for name, column in columns.items()
        }
        for at in range(len(found.load_balance))
    ]
