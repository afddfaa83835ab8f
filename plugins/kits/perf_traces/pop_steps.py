"""The steps from computing to the elapsed time, and the POP efficiencies that are made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

IMBALANCE, SERIALISATION, TRANSFER, COMMUNICATION = "load imbalance", "serialisation", "transfer", "communication"
REGIONS, SCHEDULING, SERIAL = "OpenMP load imbalance", "OpenMP scheduling", "OpenMP serialisation"
RANKS, MPI = "MPI load imbalance", "MPI "
COPIES, ORCHESTRATION = "GPU communication", "GPU orchestration"

OF_OPENMP = (REGIONS, SCHEDULING, SERIAL)
_OF_NETWORK = (SERIALISATION, TRANSFER, COMMUNICATION)
_OF_MPI = (RANKS, *(MPI + name for name in _OF_NETWORK))
LOST = frozenset({IMBALANCE, *_OF_NETWORK, *OF_OPENMP, *_OF_MPI, COPIES, ORCHESTRATION})

# Factors that are the product of those of several steps.
_PRODUCTS = {
    "communication": (SERIALISATION, TRANSFER, COPIES, ORCHESTRATION),
    "MPI parallel": _OF_MPI,
    "MPI communication": _OF_MPI[1:],
    "OpenMP parallel": OF_OPENMP,
}
# Names, in the order of tables: a product stands before its factors.
FACTORS = (
    "global", "parallel", "load balance", "communication", "serialisation", "transfer",
    "MPI parallel", "MPI load balance", "MPI communication", "MPI serialisation", "MPI transfer",
    "OpenMP parallel", "OpenMP serialisation", "OpenMP load balance", "OpenMP scheduling",
    "GPU communication", "GPU orchestration",
    "computation scalability", "instruction scalability", "IPC scalability", "frequency scalability",
)  # fmt: skip


def is_of_mpi(part: str) -> bool:
    """Whether a step is between the processes of a run whose processes have threads."""
    return part in _OF_MPI


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
