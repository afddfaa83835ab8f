"""The efficiencies of the POP Centre of Excellence: what today's practice knows lost cycles by.

Source: POP CoE, "POP Standard Metrics for Parallel Performance Analysis" (pop-coe.eu, learning material). The run time
on a network that takes no time, which splits communication efficiency, comes from a replay of the trace's messages
(`perf_traces.messages.bursts`); without messages nobody knows it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perfcore.base.errors import DataError
from perfcore.results import Result

COMPUTING = "computing"

DEFINITIONS = (
    "parallel efficiency = load balance x communication efficiency = mean computation / elapsed",
    "load balance = mean computation / longest computation, over locations",
    "communication efficiency = longest computation / elapsed = serialisation x transfer",
    "transfer efficiency = elapsed on a network that takes no time, by a replay of the messages / elapsed",
    "serialisation efficiency = longest computation / elapsed on that network (--pop bsc: longest time outside calls)",
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
    serialisation : (n,) float or None
        Longest computation over the time on a network that takes no time; None where there are no messages to replay.
    """

    load_balance: npt.NDArray[np.float64]
    communication: npt.NDArray[np.float64]
    serialisation: npt.NDArray[np.float64] | None

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
    """Efficiencies from each location's times.

    Parameters
    ----------
    computing_ns : (n_locations, n) int64, nanoseconds
        Computation of each location in each stretch.
    elapsed_ns : (n,) int, nanoseconds, > 0
        Duration of each stretch.
    serialisation : (n,) float, optional
        Of each stretch, by a replay.

    Raises
    ------
    DataError
        A stretch has no duration.

    Examples
    --------
    >>> import numpy as np
    >>> found = efficiencies(np.array([[60], [80]]), [100], [0.9])
    >>> found.load_balance, found.communication, found.transfer.round(3)
    (array([0.875]), array([0.8]), array([0.889]))
    """
    elapsed = np.asarray(elapsed_ns, dtype=np.float64)
    if not (elapsed > 0).all():
        raise DataError("efficiencies are of stretches that last; one has no duration")
    longest = computing_ns.max(axis=0).astype(np.float64)
    with np.errstate(invalid="ignore"):  # nothing computes: undefined
        balance = computing_ns.mean(axis=0) / longest
    serialisation_shares = None if serialisation is None else np.asarray(serialisation, dtype=np.float64)
    return Efficiencies(balance, longest / elapsed, serialisation_shares)
