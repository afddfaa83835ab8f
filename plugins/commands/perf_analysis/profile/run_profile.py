"""The time of every function of one run: by location, and by part of the run."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NO_STATE = "(no state)"  # where a location is in none


@dataclass(frozen=True, eq=False)
class RunProfile:
    """Times of one run; of each location the exclusive ones sum to the time that the run took.

    Parameters
    ----------
    functions : (n_functions,) tuple of str
        States by name, each once, and the time in none of them.
    locations : (n_locations,) tuple of str
    parts : (n_parts,) tuple of str
        Phases or markers; one, without a name, for the whole run.
    times_ns : (n_functions, n_locations, n_parts) int64, nanoseconds
    inclusive_ns : (n_functions, n_locations, n_parts) int64, nanoseconds
        With what callees take; of a function that calls itself once. The exclusive times where no states are nested.
    calls : (n_functions, n_locations, n_parts) int64
        Calls that begin there; intervals where no states are nested.
    parts_ns : (n_parts,) int64, nanoseconds
        Duration of each part.
    computing : tuple of str
        Functions that count as computing.
    source : str
        The trace.
    notes : tuple of str
        What a reader of the numbers must know.
    ranks : (n_locations,) tuple of str
        The rank of each location, where it was asked for.
    parameters : mapping of str to int, float or str
        What was varied.
    has_calls : bool
        Whether calls and inclusive times are known: not of a part of a trace in which states were nested.
    counted : mapping of str to (n_functions, n_locations, n_parts) int64
        What each counter counted in functions themselves, without their callees.
    counted_inclusive : mapping of str to (n_functions, n_locations, n_parts) int64
        With their callees; of the same counters where ``has_calls``.
    """

    functions: tuple[str, ...]
    locations: tuple[str, ...]
    parts: tuple[str, ...]
    times_ns: Integers
    inclusive_ns: Integers
    calls: Integers
    parts_ns: Integers
    computing: tuple[str, ...]
    source: str
    notes: tuple[str, ...] = ()
    ranks: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    has_calls: bool = True
    counted: Mapping[str, Integers] = field(default_factory=dict)
    counted_inclusive: Mapping[str, Integers] = field(default_factory=dict)

    @property
    def elapsed_ns(self) -> int:
        """Duration of the run."""
        return int(self.parts_ns.sum())

    @property
    def total_ns(self) -> int:
        """Locations times duration, which is what all functions sum to."""
        return int(self.times_ns.sum())

    @functools.cached_property
    def by_location_ns(self) -> Integers:
        """Time of each function in each location (n_functions, n_locations)."""
        total: Integers = self.times_ns.sum(axis=2)
        return total

    @functools.cached_property
    def by_function_ns(self) -> Integers:
        """Time of each function in all locations (n_functions,)."""
        total: Integers = self.by_location_ns.sum(axis=1)
        return total

    @functools.cached_property
    def occurs(self) -> npt.NDArray[np.bool_]:
        """Which functions the run has at all (n_functions,)."""
        occurring = (self.by_function_ns > 0) | self.calls.any(axis=(1, 2))
        for counts in self.counted.values():
            occurring |= counts.any(axis=(1, 2))
        return np.asarray(occurring)

    @property
    def present(self) -> frozenset[str]:
        """Names of the functions that the run has."""
        return frozenset(name for name, occurs in zip(self.functions, self.occurs.tolist(), strict=True) if occurs)


def imbalance_of(times_ns: Integers) -> Floats:
    """The largest time over the mean time of locations; NaN where there is no time."""
    mean, ratio = times_ns.mean(axis=1), np.full(len(times_ns), np.nan)
    np.divide(times_ns.max(axis=1), mean, out=ratio, where=mean > 0)
    return ratio
