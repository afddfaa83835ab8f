"""The parts of runs' times, of which models over the number of locations are made (`perf project`).

Computing is a total over all locations, by class of burst: a constant is perfect scaling. What is lost is a mean over
locations, by the steps of `perf_analysis.efficiencies`. Computing over the locations plus what is lost is the elapsed
time, exactly. Locations are not repetitions: a run is one row.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_analysis.efficiencies import COMPUTING, losses_of
from perf_analysis.overhead_profile import OverheadProfile
from perf_traces.messages.bursts import COPIES, IMBALANCE, LOST, is_of_mpi
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError

OTHERS, _OTHER_COLLECTIVES, _COPYING = "other bursts", "others", "transferring"
_MOST_COLLECTIVES = 5
_MOST_CLASSES = 12  # the rest together is one part, as each law takes time to fit and adds to the table


@dataclass(frozen=True, eq=False)
class TimeComponents:
    """Seconds of each part in R runs, and the counters of computing where all runs have them."""

    locations: npt.NDArray[np.int64]  # of each run
    times: dict[str, Floats]  # computing: total of all locations; what is lost: mean over locations
    alone: dict[str, int]  # of each loss: up to how many locations there is no waiting
    is_alone: dict[str, npt.NDArray[np.bool_]]  # runs of so few locations
    counters: dict[str, Floats]  # instructions, and cycles per instruction and seconds per cycle
    sources: tuple[str, ...]


def time_components(profiles: Sequence[OverheadProfile]) -> TimeComponents:
    """The parts of each run."""
    if any(COMPUTING not in each.classes for each in profiles):
        raise DataError(f"a projection needs a class of states called {COMPUTING}, which the categories lack")
    if any(each.replayed is not None and each.replayed.definition == "bsc" for each in profiles):
        raise OptionError("the steps of --pop bsc do not add up to the elapsed time; leave it out")
    useful = [each.class_cycles_ns[each.classes.index(COMPUTING)].sum(axis=1) for each in profiles]
    parts = _computing(profiles, useful)
    with_network = all(each.replayed is not None for each in profiles)
    lost = [losses_of(each, with_network)[1] for each in profiles]
    several = [run_losses for run_losses, each in zip(lost, profiles, strict=True) if len(each.locations) > 1] or lost
    if any(list(run_losses) != list(several[0]) for run_losses in several):
        raise DataError("a projection needs runs that all have threads in their processes, all have GPUs, or neither")
    _one_way_to_grow(profiles)
    alone, is_alone = {}, {}
    losses = {name: np.array([run_losses.get(name, 0.0) for run_losses in lost]) for name in several[0]}
    if COPIES in losses:
        losses = {IMBALANCE: losses[IMBALANCE], **_by_collective(profiles, losses.pop(COPIES)), **losses}
    for name, lost_ns in losses.items():
        parts[name] = lost_ns
        alone[name] = _up_to_no_waiting(profiles, name)
        is_alone[name] = np.array(
            [len(p.locations) <= alone[name] or (len(p.threads) == 1 and is_of_mpi(name)) for p in profiles]
        )
    locations = np.array([len(each.locations) for each in profiles])
    times = {name: np.asarray(times * 1e-9, float) for name, times in parts.items()}
    return TimeComponents(locations, times, alone, is_alone, _counters(profiles), tuple(p.source for p in profiles))


def _by_collective(profiles: Sequence[OverheadProfile], exchanging: Floats) -> dict[str, Floats]:
    """GPU communication by collective, in proportion to its exposed time; also by size where all runs have the same."""
    exposed: list[Counter[tuple[str, str]]] = []
    for profile in profiles:
        times: Counter[tuple[str, str]] = Counter()
        for (operation, n_bytes), time in profile.exposed_ns.items():
            times[operation, _size(n_bytes)] += time
        times["copies", ""] = int(profile.class_cycles_ns[profile.classes.index(_COPYING)].sum())
        exposed.append(times)
    varying = {name for times in exposed for name, size in times if any((name, size) not in each for each in exposed)}
    sums: dict[str, Floats] = {}
    for run, times in enumerate(exposed):
        for (name, size), time in times.items():
            label = name if name in varying else f"{name} {size}".rstrip()
            sums.setdefault(label, np.zeros(len(profiles)))[run] += time
    total = np.sum(list(sums.values()), axis=0)
    if not (total > 0.0).all():
        return {COPIES: exchanging}
    shares = {name: times / total for name, times in sums.items()}
    largest = sorted(shares, key=lambda name: -float(shares[name].max()))
    named = [name for name in largest[:_MOST_COLLECTIVES] if shares[name].any()]
    rest = 1.0 - sum(shares[name] for name in named)
    if (rest > 1e-9).any():
        shares[_OTHER_COLLECTIVES] = rest
        named.append(_OTHER_COLLECTIVES)
    return {f"{COPIES}: {name}": exchanging * shares[name] for name in named}


def _size(n_bytes: int) -> str:
    """Three digits and a unit."""
    power = min(int(math.log10(max(n_bytes, 1))) // 3, 4)
    return f"{n_bytes / 1000**power:.3g} {('B', 'kB', 'MB', 'GB', 'TB')[power]}"


def _up_to_no_waiting(profiles: Sequence[OverheadProfile], part: str) -> int:
    """Up to how many locations nothing is lost in a part: one, or those of one process where MPI loses it."""
    threads = {each.n_threads for profile in profiles for each in profile.threads}
    return threads.pop() if len(threads) == 1 and is_of_mpi(part) else 1


def _one_way_to_grow(profiles: Sequence[OverheadProfile]) -> None:
    """Refuse runs that differ in threads of a process as well as in processes."""
    kinds = {(len(each.threads), tuple(sorted({one.n_threads for one in each.threads}))) for each in profiles}
    kinds -= {(0, ())}  # of one location
    if len({processes for processes, _ in kinds}) > 1 and len({threads for _, threads in kinds}) > 1:
        sizes = ", ".join(f"{n} x {'/'.join(map(str, threads))}" for n, threads in sorted(kinds))
        raise DataError(
            f"a projection is over the number of locations, but both processes and their threads differ ({sizes}); "
            "give runs with as many threads in each process, or as many processes"
        )


def _computing(
    profiles: Sequence[OverheadProfile], useful: Sequence[npt.NDArray[np.int64]]
) -> dict[str, npt.NDArray[np.float64]]:
    """Computing of all locations, by those classes that all runs have which are the largest in any of them."""
    totals = np.array([int(times.sum()) for times in useful], float)
    by_class = [{} if each.bursts is None else each.bursts.total_ns for each in profiles]
    shared = [name for name in by_class[0] if all(name in class_ns for class_ns in by_class) and name not in LOST]
    parts = {name: np.array([class_ns[name] for class_ns in by_class], float) for name in shared}
    parts = dict(sorted(parts.items(), key=lambda item: -float((item[1] / totals).max()))[:_MOST_CLASSES])
    rest = totals - sum(parts.values())
    if not parts or (rest <= 0).all():
        return parts or {COMPUTING: totals}
    return {**parts, OTHERS: rest}


def _counters(profiles: Sequence[OverheadProfile]) -> dict[str, Floats]:
    """Factors whose product is the computing time of all bursts; none where a run has not counted them."""
    counts = []
    for each in profiles:
        bursts = each.bursts
        if bursts is None or bursts.instructions is None or bursts.cycles is None:
            return {}
        counts.append((bursts.instructions.sum(), bursts.cycles.sum(), bursts.time_ns.sum() * 1e-9))
    instructions, cycles, seconds = np.array(counts, float).T
    if not (instructions.all() and cycles.all()):
        return {}
    return {
        "instructions": instructions,
        "cycles per instruction": cycles / instructions,
        "seconds per cycle": seconds / cycles,
    }
