"""The parts that make up the time of each run: what models over the number of locations are fitted to.

Computing is a total over all locations, by class of burst: a constant is perfect scaling. What is lost is a mean over
locations: imbalance is the longest minus the mean computing, serialisation the time on an ideal network minus the
longest, transfer the rest. Computing over the locations plus what is lost is the elapsed time, exactly. Locations are
not repetitions: a run is one row. One location waits for nobody, so p = 1 is no point for what is lost.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perf_overheads.pop_efficiencies import COMPUTING
from perf_overheads.profile import OverheadProfile
from perfcore.base.errors import DataError, OptionError

__all__ = ["COMMUNICATION", "IMBALANCE", "OTHERS", "SERIALISATION", "TRANSFER", "parts_of_runs"]

IMBALANCE, SERIALISATION, TRANSFER, COMMUNICATION = "load imbalance", "serialisation", "transfer", "communication"
OTHERS = "other bursts"
_MOST_CLASSES = 12  # the rest together is one part, as each law takes time to fit and adds to the table


def parts_of_runs(profiles: Sequence[OverheadProfile]) -> dict[str, npt.NDArray[np.float64]]:
    """Seconds of every part in each run: computing of all locations by class, then what is lost, a mean over locations.

    Parameters
    ----------
    profiles : sequence of OverheadProfile

    Returns
    -------
    dict of str to (n_runs,) float
        NaN for what is lost on one location.

    Raises
    ------
    DataError
        The set of categories knows no computing.
    OptionError
        Serialisation and transfer are by the rules of BSC's tools, of which they are no parts.
    """
    if any(COMPUTING not in each.classes for each in profiles):
        raise DataError(f"--at needs a class of states called {COMPUTING}, which the categories have not")
    if any(each.replayed is not None and each.replayed.definition == "bsc" for each in profiles):
        raise OptionError("--at is of parts of the run's time, which those of --pop bsc are not; leave it out")
    useful = [each.class_cycles_ns[each.classes.index(COMPUTING)].sum(axis=1) for each in profiles]
    parts = _computing(profiles, useful)
    lost = {IMBALANCE: [times.max() - times.mean() for times in useful]}
    longest = [int(times.max()) for times in useful]
    replays = [each.replayed for each in profiles]
    if all(each is not None for each in replays):
        ideal = [each.ideal_ns for each in replays if each is not None]
        lost[SERIALISATION] = [time - most for time, most in zip(ideal, longest, strict=True)]
        lost[TRANSFER] = [each.elapsed_ns - time for each, time in zip(profiles, ideal, strict=True)]
    else:
        lost[COMMUNICATION] = [each.elapsed_ns - most for each, most in zip(profiles, longest, strict=True)]
    alone = np.array([len(each.locations) == 1 for each in profiles])
    parts |= {name: np.where(alone, np.nan, np.array(times, float)) for name, times in lost.items()}
    return {name: times * 1e-9 for name, times in parts.items()}


def _computing(
    profiles: Sequence[OverheadProfile], useful: Sequence[npt.NDArray[np.int64]]
) -> dict[str, npt.NDArray[np.float64]]:
    """Computing of all locations, by those classes that all runs have which are the largest in any of them."""
    totals = np.array([int(times.sum()) for times in useful], float)
    by_class = [{} if each.bursts is None else each.bursts.total_ns for each in profiles]
    shared = [name for name in by_class[0] if all(name in own for own in by_class)]
    parts = {name: np.array([own[name] for own in by_class], float) for name in shared}
    parts = dict(sorted(parts.items(), key=lambda item: -float((item[1] / totals).max()))[:_MOST_CLASSES])
    rest = totals - sum(parts.values())
    if not parts or (rest <= 0).all():
        return parts or {COMPUTING: totals}
    return {**parts, OTHERS: rest}
