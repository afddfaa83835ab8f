"""The efficiencies of the POP Centre of Excellence: what today's practice knows lost cycles by.

Source: POP CoE, "POP Standard Metrics for Parallel Performance Analysis" (pop-coe.eu, learning material). POP takes
the run time on a network without latency and with infinite bandwidth from a simulation of the trace by Dimemas. Here it
is estimated from the trace alone, see `Efficiencies`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perfcore.base.errors import DataError
from perfcore.results import Result

__all__ = ["COMPUTING", "DEFINITIONS", "TRANSFERRING", "Efficiencies", "efficiencies"]

COMPUTING, TRANSFERRING = "computing", "communicating"

DEFINITIONS = (
    "parallel efficiency = load balance x communication efficiency = mean computation / elapsed",
    "load balance = mean computation / longest computation, over locations",
    "communication efficiency = longest computation / elapsed = serialisation x transfer",
    "transfer efficiency = elapsed without transfers / elapsed; without transfers: the longest of each location's "
    "elapsed minus its own communicating",
    "serialisation efficiency = longest computation / elapsed without transfers",
)


@dataclass(frozen=True, eq=False, repr=False)
class Efficiencies(Result):
    """Efficiencies of the stretches of a run, each in [0, 1]; NaN where nothing computes.

    Parameters
    ----------
    load_balance : (n,) float
        Mean over longest computation of a location.
    communication : (n,) float
        Longest computation over elapsed time.
    serialisation, transfer : (n,) float or None
        Factors of ``communication``; None where no state of the trace tells transfers from waiting. The elapsed time
        on an ideal network is estimated as the longest, over locations, of elapsed time minus the location's own
        transfers, its waiting kept. Since without transfers others would be waited for less, this is too long rather
        than too short: ``transfer`` is an upper bound, ``serialisation`` a lower one.
    """

    load_balance: npt.NDArray[np.float64]
    communication: npt.NDArray[np.float64]
    serialisation: npt.NDArray[np.float64] | None
    transfer: npt.NDArray[np.float64] | None

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
    computing_ns: npt.NDArray[np.int64], transferring_ns: npt.NDArray[np.int64] | None, elapsed_ns: npt.ArrayLike
) -> Efficiencies:
    """Efficiencies from each location's times.

    Parameters
    ----------
    computing_ns : (n_locations, n) int64, nanoseconds
        Computation of each location in each stretch.
    transferring_ns : (n_locations, n) int64 or None, nanoseconds
        Transfers of data, without waiting for them.
    elapsed_ns : (n,) int, nanoseconds, > 0
        Duration of each stretch.

    Raises
    ------
    DataError
        A stretch has no duration.

    Examples
    --------
    >>> import numpy as np
    >>> found = efficiencies(np.array([[60], [80]]), np.array([[10], [10]]), [100])
    >>> found.load_balance, found.communication, found.transfer
    (array([0.875]), array([0.8]), array([0.9]))
    """
    elapsed = np.asarray(elapsed_ns, dtype=np.float64)
    if not (elapsed > 0).all():
        raise DataError("efficiencies are of stretches that last; one has no duration")
    longest = computing_ns.max(axis=0).astype(np.float64)
    with np.errstate(invalid="ignore"):  # nothing computes: undefined
        balance = computing_ns.mean(axis=0) / longest
    if transferring_ns is None:
        return Efficiencies(balance, longest / elapsed, None, None)
    without = elapsed - transferring_ns.min(axis=0)
    with np.errstate(invalid="ignore"):
        return Efficiencies(balance, longest / elapsed, longest / without, without / elapsed)
