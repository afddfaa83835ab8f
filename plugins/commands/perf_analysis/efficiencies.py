"""The efficiencies of the POP Centre of Excellence: what today's practice knows lost cycles by.

Source: POP CoE, "POP Standard Metrics for Parallel Performance Analysis" (pop-coe.eu, learning material). The run time
on an ideal network, which splits communication efficiency, comes from a replay of the trace's messages
(`perf_traces.messages.bursts`); without messages it is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perfcore.base.errors import DataError

COMPUTING = "computing"

DEFINITIONS = (
    "parallel efficiency = load balance x communication efficiency = mean computation / elapsed",
    "load balance = mean computation / longest computation, over locations",
    "communication efficiency = longest computation / elapsed = serialisation x transfer",
    "transfer efficiency = ideal-network runtime (replayed) / elapsed",
    "serialisation efficiency = longest computation / elapsed on that network (--pop bsc: longest time outside calls)",
)


@dataclass(frozen=True, eq=False)
class Efficiencies:
    """Efficiencies of the stretches of a run, each in [0, 1]; NaN where nothing computes."""

    load_balance: npt.NDArray[np.float64]  # mean over longest computation of a location
    communication: npt.NDArray[np.float64]  # longest computation over elapsed time
    serialisation: npt.NDArray[np.float64] | None  # longest computation over the ideal-network runtime

    @property
    def transfer(self) -> npt.NDArray[np.float64] | None:
        """The rest of communication efficiency; None where serialisation is not known."""
        return None if self.serialisation is None else self.communication / self.serialisation

    @property
    def parallel(self) -> npt.NDArray[np.float64]:
        """Load balance times communication efficiency: mean computation over elapsed time."""
        return self.load_balance * self.communication

    @property
    def columns(self) -> dict[str, npt.NDArray[np.float64] | None]:
        """All of them by name, the product first; each (n,) or None."""
        return {
            "parallel": self.parallel,
            "load_balance": self.load_balance,
            "communication": self.communication,
            "serialisation": self.serialisation,
            "transfer": self.transfer,
        }


def efficiencies(
    computing_ns: npt.NDArray[np.int64], elapsed_ns: npt.ArrayLike, serialisation: npt.ArrayLike | None = None
) -> Efficiencies:
    """Efficiencies from each location's times."""
    elapsed = np.asarray(elapsed_ns, dtype=np.float64)
    if not (elapsed > 0).all():
        raise DataError("efficiencies are of stretches that last; one has no duration")
    longest = computing_ns.max(axis=0).astype(np.float64)
    with np.errstate(invalid="ignore"):  # nothing computes: undefined
        balance = computing_ns.mean(axis=0) / longest
    serialisation_shares = None if serialisation is None else np.asarray(serialisation, dtype=np.float64)
    return Efficiencies(balance, longest / elapsed, serialisation_shares)


_IMBALANCE, _SERIALISATION, _TRANSFER, _COMMUNICATION = "load imbalance", "serialisation", "transfer", "communication"
_REGIONS, _SCHEDULING, _SERIAL = "OpenMP load imbalance", "OpenMP scheduling", "OpenMP serialisation"
_RANKS, _MPI = "MPI load imbalance", "MPI "
_COPIES, _ORCHESTRATION = "GPU communication", "GPU orchestration"

_OF_OPENMP = (_REGIONS, _SCHEDULING, _SERIAL)
_OF_NETWORK = (_SERIALISATION, _TRANSFER, _COMMUNICATION)
_OF_MPI = (_RANKS, *(_MPI + name for name in _OF_NETWORK))
LOST = frozenset({_IMBALANCE, *_OF_NETWORK, *_OF_OPENMP, *_OF_MPI, _COPIES, _ORCHESTRATION})

# Factors that are the product of those of several steps.
_PRODUCTS = {
    "communication": (_SERIALISATION, _TRANSFER, _COPIES, _ORCHESTRATION),
    "MPI parallel": _OF_MPI,
    "MPI communication": _OF_MPI[1:],
    "OpenMP parallel": _OF_OPENMP,
}
# Names, in the order of tables: a product stands before its factors.
FACTORS = (
    "global", "parallel", "load balance", "communication", "serialisation", "transfer",
    "MPI parallel", "MPI load balance", "MPI communication", "MPI serialisation", "MPI transfer",
    "OpenMP parallel", "OpenMP serialisation", "OpenMP load balance", "OpenMP scheduling",
    "GPU communication", "GPU orchestration",
    "computation scalability", "instruction scalability", "IPC scalability", "frequency scalability",
)  # fmt: skip
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


def of_gpus(profile: Any) -> bool:
    """Whether each location is a GPU, of which it is known when any of its streams computes."""
    return bool(profile.devices) and tuple(each.device for each in profile.devices) == profile.locations


def is_of_mpi(part: str) -> bool:
    """Whether a step is between the processes of a run whose processes have threads."""
    return part in _OF_MPI


def losses_of(profile: Any, with_network: bool = True) -> tuple[float, dict[str, float]]:
    """A location's mean computing, and what the steps from it to the elapsed time take, in nanoseconds."""

    def time_in(names: tuple[str, ...]) -> Any:  # of each location in some classes, as far as the set has them
        rows = [row for row, name in enumerate(profile.classes) if name in names]
        return profile.class_cycles_ns[rows].sum(axis=(0, 2)).astype(np.int64)

    computing = time_in((COMPUTING,))
    mean, longest = float(computing.mean()), int(computing.max())
    if of_gpus(profile):
        busiest = int((computing + time_in(_EXCHANGING)).max())
        lost = {_IMBALANCE: longest - mean, _COPIES: busiest - longest, _ORCHESTRATION: profile.elapsed_ns - busiest}
        return mean, {name: float(time) for name, time in lost.items()}
    prefix = ""
    if profile.threads:
        n, times = len(profile.locations), profile.threads
        available = sum(each.n_threads * each.outside_ns for each in times)
        parallel = available - sum((each.n_threads - 1) * (each.outside_ns - each.regions_ns) for each in times)
        balanced = sum(each.n_threads * each.longest_ns + each.serial_ns for each in times)
        steps = int(computing.sum()), balanced, parallel, available
        lost = {name: (steps[step + 1] - steps[step]) / n for step, name in enumerate(_OF_OPENMP)}
        longest, prefix = max(each.outside_ns for each in times), _MPI
        lost[_RANKS] = longest - available / n
    else:
        lost = {_IMBALANCE: longest - mean}
    if with_network and profile.replayed is not None:
        ideal = profile.replayed.ideal_ns
        lost |= {prefix + _SERIALISATION: ideal - longest, prefix + _TRANSFER: profile.elapsed_ns - ideal}
    else:
        lost[prefix + _COMMUNICATION] = profile.elapsed_ns - longest
    return mean, {name: float(time) for name, time in lost.items()}


def factors_of(computing: Any, lost: Mapping[str, Any], products: bool = True) -> dict[str, Any]:
    """Parallel efficiency and its factors, in the order of tables."""
    limits, reached = {}, computing
    for name, time in lost.items():
        limits[name] = reached, reached + time
        reached = reached + time
    shares = {name.replace("imbalance", "balance"): inner / outer for name, (inner, outer) in limits.items()}
    if products:
        shares["parallel"] = computing / reached
        for product, members in _PRODUCTS.items():
            member_limits = [limits[name] for name in lost if name in members]
            if member_limits:
                shares[product] = member_limits[0][0] / member_limits[-1][1]
    return {name: shares[name] for name in FACTORS if name in shares}


def level_factors(profile: Any) -> dict[str, float]:
    """Factors of MPI x OpenMP, or of GPUs; none of a run that has neither, or in which nothing computes."""
    if not (profile.threads or of_gpus(profile)) or COMPUTING not in profile.classes:
        return {}
    computing, lost = losses_of(profile)
    if not computing:
        return {}
    factors = factors_of(computing, lost)
    return {name: factors[name] for name in meanings(profile) if name in factors}


def meanings(profile: Any) -> dict[str, str]:
    """What each of the `level_factors` means."""
    return _OF_GPUS if of_gpus(profile) else _OF_THREADS
