"""The efficiencies of the POP Centre of Excellence: what today's practice knows lost cycles by.

Source: POP CoE, "POP Standard Metrics for Parallel Performance Analysis" (pop-coe.eu, learning material). The run time
on an ideal network, which splits communication efficiency, comes from a replay of the trace's messages
(`perf_traces.messages.bursts`); without messages it is unknown.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perf_traces.messages import bursts
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError

COMPUTING = "computing"

DEFINITIONS = (
    "parallel efficiency = load balance x communication efficiency = mean computation / elapsed",
    "load balance = mean computation / longest computation, over locations",
    "communication efficiency = longest computation / elapsed = serialisation x transfer",
    "transfer efficiency = ideal-network runtime (replayed) / elapsed",
    "serialisation efficiency = longest computation / ideal-network runtime (--pop bsc: longest time outside calls)",
)


_OF_THREADS = {
    "parallel": "mean computing of all threads / elapsed = MPI parallel x OpenMP parallel",
    "MPI parallel": "mean time of processes outside MPI / elapsed = load balance x communication",
    "MPI load balance": "mean / longest time of a process outside MPI, processes counted by their threads",
    "MPI communication": "longest time of a process outside MPI / elapsed = serialisation x transfer",
    "MPI serialisation": "longest time of a process outside MPI / ideal-network runtime",
    "MPI transfer": "elapsed on that network / elapsed",
    "OpenMP parallel": "computing of all threads / threads x time outside MPI = the three below",
    "OpenMP serialisation": "the rest, where outside of parallel regions all threads but one are idle",
    "OpenMP load balance": "in each parallel region mean / longest computing of a thread",
    "OpenMP scheduling": "of the time in parallel regions the longest computing, and of serial time computing",
}
_OF_GPUS = {
    "parallel": "mean computing of GPUs / elapsed = load balance x communication",
    "load balance": "mean / longest computing of a GPU",
    "communication": "longest computing / elapsed = the two below",
    "GPU communication": "longest computing / longest computing or communicating, copies among it",
    "GPU orchestration": "longest computing or communicating / elapsed: the rest waits for work",
}
_EXCHANGING = ("communicating", "waiting", "waiting_for_ranks", "transferring")


def efficiencies(
    computing_ns: npt.NDArray[np.int64], elapsed_ns: npt.ArrayLike, serialisation: npt.ArrayLike | None = None
) -> dict[str, Floats | None]:
    """Return the efficiencies of stretches of a run by name, each (n,) in [0, 1]; NaN where nothing computes.

    They follow from the computing time of each location (n_locations, n). Serialisation is the longest computing over
    the ideal-network runtime; transfer, the rest of communication, is known with it.
    """
    elapsed = np.asarray(elapsed_ns, dtype=np.float64)
    if not (elapsed > 0).all():
        raise DataError("efficiencies are of stretches that last; one has no duration")
    longest = computing_ns.max(axis=0).astype(np.float64)
    with np.errstate(invalid="ignore"):  # nothing computes: undefined
        balance = computing_ns.mean(axis=0) / longest
    communication = longest / elapsed
    shares = None if serialisation is None else np.asarray(serialisation, dtype=np.float64)
    transfer = None if shares is None else communication / shares
    return {
        "parallel": balance * communication, "load_balance": balance, "communication": communication,
        "serialisation": shares, "transfer": transfer,
    }  # fmt: skip


def of_gpus(profile: Any) -> bool:
    """Whether each location is a GPU, of which it is known when any of its streams computes."""
    return bool(profile.devices) and tuple(each.device for each in profile.devices) == profile.locations


def losses_of(profile: Any, with_network: bool = True) -> tuple[float, dict[str, float]]:
    """A location's mean computing, and what the steps from it to the elapsed time take, in nanoseconds."""

    def time_in(names: tuple[str, ...]) -> Any:  # of each location in some classes, as far as the set has them
        rows = [row for row, name in enumerate(profile.classes) if name in names]
        return profile.class_cycles_ns[rows].sum(axis=(0, 2)).astype(np.int64)

    computing = time_in((COMPUTING,))
    mean, longest = float(computing.mean()), int(computing.max())
    if of_gpus(profile):
        busiest = int((computing + time_in(_EXCHANGING)).max())
        lost = {
            bursts.IMBALANCE: longest - mean,
            bursts.COPIES: busiest - longest,
            bursts.ORCHESTRATION: profile.elapsed_ns - busiest,
        }
        return mean, {name: float(time) for name, time in lost.items()}
    prefix = ""
    if profile.threads:
        n, times = len(profile.locations), profile.threads
        available = sum(each.n_threads * each.outside_ns for each in times)
        parallel = available - sum((each.n_threads - 1) * (each.outside_ns - each.regions_ns) for each in times)
        balanced = sum(each.n_threads * each.longest_ns + each.serial_ns for each in times)
        steps = int(computing.sum()), balanced, parallel, available
        lost = {name: (steps[step + 1] - steps[step]) / n for step, name in enumerate(bursts.OF_OPENMP)}
        longest, prefix = max(each.outside_ns for each in times), bursts.MPI
        lost[bursts.RANKS] = longest - available / n
    else:
        lost = {bursts.IMBALANCE: longest - mean}
    if with_network and profile.replayed is not None:
        ideal = profile.replayed.ideal_ns
        lost |= {prefix + bursts.SERIALISATION: ideal - longest, prefix + bursts.TRANSFER: profile.elapsed_ns - ideal}
    else:
        lost[prefix + bursts.COMMUNICATION] = profile.elapsed_ns - longest
    return mean, {name: float(time) for name, time in lost.items()}


def level_factors(profile: Any) -> dict[str, float]:
    """Factors of MPI x OpenMP, or of GPUs; none of a run that has neither, or in which nothing computes."""
    if not (profile.threads or of_gpus(profile)) or COMPUTING not in profile.classes:
        return {}
    computing, lost = losses_of(profile)
    if not computing:
        return {}
    factors = bursts.factors_of(computing, lost)
    return {name: factors[name] for name in meanings(profile) if name in factors}


def factors_in_order(profile: Any) -> dict[str, float]:
    """Factors that are no product of others, as tables show them; none of a run in which nothing computes."""
    found = profile.efficiencies()
    if found is None or np.isnan(found["parallel"][0]):
        return {}
    if profile.threads:
        leaves = bursts.factors_of(*losses_of(profile), products=False)
        return {name: value for name, value in level_factors(profile).items() if name in leaves}
    products = ("parallel", "communication" if found["serialisation"] is not None else "serialisation")
    return {
        name.replace("_", " "): float(values[0])
        for name, values in found.items()
        if values is not None and name not in products
    }


def meanings(profile: Any) -> dict[str, str]:
    """What each of the `level_factors` means."""
    return _OF_GPUS if of_gpus(profile) else _OF_THREADS
