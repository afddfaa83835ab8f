"""The parts that make up the time of each run: what models over the number of locations are fitted to.

Computing is a total over all locations, by class of burst: a constant is perfect scaling. What is lost is a mean over
locations, by the steps of `perf_analysis.overheads.factors`. Computing over the locations plus what is lost is the
elapsed time,
exactly. Locations are not repetitions: a run is one row. One location waits for nobody, so p = 1 is no point for what
is lost, nor is a run of one process for what is lost by MPI.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perf_analysis.overheads.factors import is_of_mpi, losses_of
from perf_analysis.overheads.pop_efficiencies import COMPUTING
from perf_analysis.overheads.profile import OverheadProfile
from perfcore.base.errors import DataError, OptionError


OTHERS = "other bursts"
_MOST_CLASSES = 12  # the rest together is one part, as each law takes time to fit and adds to the table


def parts_of_runs(profiles: Sequence[OverheadProfile]) -> dict[str, npt.NDArray[np.float64]]:
    """Seconds of every part in each run: computing of all locations by class, then what is lost, a mean over
    locations.
    """
    if any(COMPUTING not in each.classes for each in profiles):
        raise DataError(f"--at needs a class of states called {COMPUTING}, which the categories have not")
    if any(each.replayed is not None and each.replayed.definition == "bsc" for each in profiles):
        raise OptionError("--at is of parts of the run's time, which those of --pop bsc are not; leave it out")
    useful = [each.class_cycles_ns[each.classes.index(COMPUTING)].sum(axis=1) for each in profiles]
    parts = _computing(profiles, useful)
    with_network = all(each.replayed is not None for each in profiles)
    lost = [losses_of(each, with_network)[1] for each in profiles]
    several = [run_losses for run_losses, each in zip(lost, profiles, strict=True) if len(each.locations) > 1] or lost
    if any(list(run_losses) != list(several[0]) for run_losses in several):
        raise DataError("--at needs runs that all have threads in their processes, or all have GPUs, or neither")
    _one_way_to_grow(profiles)
    for name in several[0]:
        alone = [len(each.locations) <= waits_for_nobody(profiles, name) for each in profiles]
        alone = [no or (len(each.threads) == 1 and is_of_mpi(name)) for no, each in zip(alone, profiles, strict=True)]
        parts[name] = np.array([np.nan if no else run_losses[name] for no, run_losses in zip(alone, lost, strict=True)])
    return {name: times * 1e-9 for name, times in parts.items()}


def waits_for_nobody(profiles: Sequence[OverheadProfile], part: str) -> int:
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
            f"--at is over the number of locations, but both processes and their threads differ ({sizes}); give runs "
            "with as many threads in each process, or as many processes"
        )


def _computing(
    profiles: Sequence[OverheadProfile], useful: Sequence[npt.NDArray[np.int64]]
) -> dict[str, npt.NDArray[np.float64]]:
    """Computing of all locations, by those classes that all runs have which are the largest in any of them."""
    totals = np.array([int(times.sum()) for times in useful], float)
    by_class = [{} if each.bursts is None else each.bursts.total_ns for each in profiles]
    shared = [name for name in by_class[0] if all(name in class_ns for class_ns in by_class)]
    parts = {name: np.array([class_ns[name] for class_ns in by_class], float) for name in shared}
    parts = dict(sorted(parts.items(), key=lambda item: -float((item[1] / totals).max()))[:_MOST_CLASSES])
    rest = totals - sum(parts.values())
    if not parts or (rest <= 0).all():
        return parts or {COMPUTING: totals}
    return {**parts, OTHERS: rest}
