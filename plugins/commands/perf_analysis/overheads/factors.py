"""A location's time as computing and what is lost beyond it, step by step, and the factors that these steps are.

Each step leads from a shorter time to a longer one: the mean computing, the longest computing, the time on an ideal
network, the elapsed time. The share of the shorter in the longer is a factor, so that factors multiply to the parallel
efficiency exactly, whatever the steps are. There are three ways:

* of processes or threads alone: load imbalance, then serialisation and transfer;
* MPI x OpenMP: threads of a process among themselves (load imbalance in parallel regions, scheduling, serial regions),
  then processes outside MPI among themselves;
* GPUs: load imbalance, then communication and copies beside which nothing computes, then the time in which the busiest
  GPU has nothing to do.

Source: POP CoE, "POP Standard Metrics for Parallel Performance Analysis" and "Hybrid metrics" (multiplicative);
"Hardware-Agnostic and Insightful Efficiency Metrics for Accelerated Systems: Definition and Implementation within TALP"
for GPUs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from perf_analysis.overheads.devices import DeviceTimes
from perf_analysis.overheads.pop_efficiencies import COMPUTING
from perf_analysis.overheads.threads import ThreadTimes
from perf_traces.messages.bursts import PopFactors

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
    "MPI serialisation": "longest time of a process outside MPI / elapsed on a network that takes no time",
    "MPI transfer": "elapsed on that network / elapsed",
    "OpenMP parallel": "computing of all threads / threads x time outside MPI = the three below",
    "OpenMP serialisation": "what is left where outside of parallel regions all threads but one are idle",
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


class Run(Protocol):
    """What factors are made of, as `perf_analysis.overheads.profile.OverheadProfile` has it."""

    @property
    def locations(self) -> tuple[str, ...]:
        """Names of the locations."""

    @property
    def elapsed_ns(self) -> int:
        """Duration of the run."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Classes of states."""

    @property
    def class_cycles_ns(self) -> npt.NDArray[np.int64]:
        """Time in each class, location and phase."""

    @property
    def devices(self) -> tuple[DeviceTimes, ...]:
        """Of each GPU what runs at once."""

    @property
    def threads(self) -> tuple[ThreadTimes, ...]:
        """Of each process what its threads do outside of MPI."""

    @property
    def replayed(self) -> PopFactors | None:
        """The run on an ideal network, where there are messages to replay."""


def of_gpus(profile: Run) -> bool:
    """Whether each location is a GPU, of which it is known when any of its streams computes."""
    return bool(profile.devices) and tuple(each.device for each in profile.devices) == profile.locations


def is_of_mpi(part: str) -> bool:
    """Whether a step is between the processes of a run whose processes have threads."""
    return part in _OF_MPI


def losses_of(profile: Run, with_network: bool = True) -> tuple[float, dict[str, float]]:
    """A location's mean computing, and what the steps from it to the elapsed time take, in nanoseconds."""
    computing = _times(profile, (COMPUTING,))
    mean, longest = float(computing.mean()), int(computing.max())
    if of_gpus(profile):
        busiest = int((computing + _times(profile, _EXCHANGING)).max())
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


def level_factors(profile: Run) -> dict[str, float]:
    """Factors of MPI x OpenMP, or of GPUs; none of a run that has neither, or in which nothing computes."""
    if not (profile.threads or of_gpus(profile)) or COMPUTING not in profile.classes:
        return {}
    computing, lost = losses_of(profile)
    if not computing:
        return {}
    factors = factors_of(computing, lost)
    return {name: factors[name] for name in meanings(profile) if name in factors}


def meanings(profile: Run) -> dict[str, str]:
    """What each of the `level_factors` means."""
    return _OF_GPUS if of_gpus(profile) else _OF_THREADS


def _times(profile: Run, names: tuple[str, ...]) -> Any:
    """Time of each location in some classes, as far as the set has them; (n_locations,)."""
    rows = [row for row, name in enumerate(profile.classes) if name in names]
    return profile.class_cycles_ns[rows].sum(axis=(0, 2)).astype(np.int64)
