"""What the tools of sysstat print about processors, as columns of shares between 0 and 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from perfcore.base.errors import DataError, InputError
from perfcore.data.series import Series

Floats = npt.NDArray[np.float64]


def shares_of(idle: Floats, iowait: Floats, steal: Floats) -> dict[str, Floats]:
    """All measures, by name, of shares of a processor's time."""
    # Printed with two digits, the parts may sum to a little more than 1.
    available = np.clip(idle + iowait, 0.0, 1.0)
    return {"busy": 1.0 - available, "available": available, "iowait": iowait, "steal": steal}


class CpuLoad(msgspec.Struct):
    """One processor in one interval, in per cent of its time; `user` and `system` are older names of two fields."""

    cpu: str | int
    idle: float
    usr: float = 0.0
    user: float = 0.0
    nice: float = 0.0
    sys: float = 0.0
    system: float = 0.0
    iowait: float = 0.0
    irq: float = 0.0
    soft: float = 0.0
    steal: float = 0.0
    guest: float = 0.0
    gnice: float = 0.0


class CpuShares:
    """Collects records of processors, then gives them as a series.

    Busy is what is neither idle nor iowait: a processor that waits for I/O has nothing to run, so another process could
    have it. Time that a hypervisor took (steal) is busy, since it was not to be had.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._times: list[float] = []
        self._rows: list[int] = []
        self._cpus: list[int] = []
        self._values: list[tuple[float, float, float]] = []
        self._names: dict[str, int] = {}

    @property
    def last_time(self) -> float | None:
        """Time of the latest record in seconds; None before the first."""
        return self._times[-1] if self._times else None

    def add(self, time_s: float, cpu: str, percent: Mapping[str, float]) -> None:
        """Take one record."""
        if not self._times or time_s != self._times[-1]:
            self._times.append(time_s)
        self._rows.append(len(self._times) - 1)
        self._cpus.append(self._names.setdefault(cpu, len(self._names)))
        online = any(percent.values())
        shares = tuple(percent.get(name, 0.0) for name in ("idle", "iowait", "steal"))
        self._values.append(shares if online else (np.nan,) * 3)  # type: ignore[arg-type]

    def add_loads(self, time_s: float, loads: Sequence[CpuLoad]) -> None:
        """Take the records of all processors at one time."""
        for load in loads:
            percent = msgspec.structs.asdict(load)
            self.add(time_s, str(percent.pop("cpu")), percent)

    def series(self, measures: Sequence[str], notes: Sequence[str] = ()) -> Series:
        """One column for each processor and measure; NaN where a processor was offline or not recorded."""
        if not self._times:
            raise InputError(
                self._source,
                "holds no utilization of processors; record it with `mpstat -P ALL 1 -o JSON`, or export it with "
                "`sadf -j -- -u -P ALL` or `sadf -d -- -u -P ALL`",
            )
        table = np.full((3, len(self._names), len(self._times)), np.nan)
        table[:, self._cpus, self._rows] = np.array(self._values).T / 100.0
        by_name = shares_of(*table)
        columns: dict[str, Floats] = {
            f"cpu {cpu} {measure}": by_name[measure][row] for cpu, row in self._names.items() for measure in measures
        }
        try:
            return Series(np.array(self._times), columns, "s", source=self._source, notes=notes)
        except DataError as error:
            problem = str(error).removeprefix(f"{self._source}: ")
            raise InputError(self._source, f"{problem}; was the clock set back? cut the file there") from None
