"""Messages of several runs by operation, as one table from which laws of counts and bytes are found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_traces.messages.communication import Communication
from perf_traces.messages.same_program import refuse_different_programs
from perf_traces.runs import REPETITIONS, symbols_of
from perfcore.base.errors import OptionError, listing
from perfcore.data.measurements import Measurements
from perfcore.results import Result

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MessageRuns", "Traffic", "traffic_of"]

FUNCTION = "function"  # the column by which fitters find a law of each
_OWN = frozenset({FUNCTION, "calls", "messages", "bytes", "run", "file"})


@dataclass(frozen=True)
class Traffic:
    """What one run sends.

    Parameters
    ----------
    source : str
    parameters : mapping of str to int, float or str
        What was varied.
    operations : mapping of str to (int, int, int)
        By name of the operation that sends: its calls, messages and bytes. Of a collective the bytes are the most that
        one member sends or receives, summed up over collectives, and the messages are the collectives.
    calls : frozenset of str
        Names of all its calls, also of those that send nothing.
    remarks : tuple of str
        What is wrong with the trace.
    """

    source: str
    parameters: Mapping[str, Any]
    operations: Mapping[str, tuple[int, int, int]]
    calls: frozenset[str] = frozenset()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class MessageRuns(Result):
    """Messages and bytes of runs of one program, by operation.

    Parameters
    ----------
    runs : tuple of Traffic
        At least one.

    Raises
    ------
    OptionError
        A field of the names of files is a column of the table, or some names have other fields.
    DataError
        Two runs have no call in common.
    """

    runs: tuple[Traffic, ...]

    def __post_init__(self) -> None:
        """Refuse names of files that make no table, and runs of different programs."""
        fields = [tuple(run.parameters) for run in self.runs]
        if len(set(fields)) > 1:
            raise OptionError(f"the names of some files say {listing(fields[0])}, and those of others not")
        if clashes := _OWN & set(fields[0]):
            raise OptionError(f"--from-name: the table has a column {min(clashes)!r}; call the field otherwise")
        refuse_different_programs([(run.source, run.calls) for run in self.runs])

    @property
    def source(self) -> str:
        """The trace, or how many."""
        return self.runs[0].source if len(self.runs) == 1 else f"{len(self.runs)} traces"

    @property
    def parameters(self) -> dict[str, str]:
        """Symbols of what was varied, processors first, and their columns."""
        return symbols_of([run.parameters for run in self.runs])

    @property
    def operations(self) -> tuple[str, ...]:
        """Operations that any run has, those with most bytes first."""
        total: dict[str, int] = {}
        for run in self.runs:
            for name, (_, _, n_bytes) in run.operations.items():
                total[name] = total.get(name, 0) + n_bytes
        return tuple(sorted(total, key=lambda name: -total[name]))

    @property
    def measurements(self) -> Measurements:
        """The table with its roles; its value is ``bytes``, and ``messages`` and ``calls`` may be chosen instead.

        A row for each operation of each run; an operation that a run does not have sends nothing there.
        """
        words = [
            name
            for name, value in self.runs[0].parameters.items()
            if isinstance(value, str) and name not in REPETITIONS
        ]
        return Measurements(
            self.table(), self.parameters, "bytes", code=words, system=(), category=FUNCTION, source=self.source
        )

    def table(self) -> pd.DataFrame:
        """The rows of `measurements`."""
        import pandas as pd

        rows = []
        for index, run in enumerate(self.runs):
            number = {} if "run" in run.parameters else {"run": index + 1}
            for name in self.operations:
                calls, messages, n_bytes = run.operations.get(name, (0, 0, 0))
                traffic = {"bytes": n_bytes, "messages": messages, "calls": calls}
                rows.append({FUNCTION: name, **run.parameters, **traffic, **number, "file": run.source})
        return pd.DataFrame(rows)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        rows = self.table().to_dict("records")
        return {"runs": [run.source for run in self.runs], "rows": rows, "remarks": self.remarks()}

    def remarks(self) -> list[str]:
        """What is wrong with each trace."""
        return [f"{run.source}: {remark}" for run in self.runs for remark in run.remarks]


def traffic_of(communication: Communication, parameters: Mapping[str, Any]) -> Traffic:
    """Sum up what a run sends, by operation.

    Examples
    --------
    >>> from perf_traces.messages.testing import exchange
    >>> traffic_of(exchange(), {"p": 2}).operations
    {'MPI_Send': (1, 1, 8), 'MPI_Barrier': (2, 1, 0)}
    """
    n_names, together = len(communication.calls.operations), communication.collectives
    joined = together.of_data
    sender = np.concatenate(
        [communication.calls.operation[communication.messages.send_call], together.operation[joined]]
    )
    size = np.concatenate([communication.messages.bytes, together.bytes[joined]])
    total = np.zeros(n_names, np.int64)
    np.add.at(total, sender, size)
    messages = np.bincount(sender, minlength=n_names).tolist()
    calls = np.bincount(communication.calls.operation, minlength=n_names).tolist()
    rows = list(zip(communication.calls.operations, calls, messages, total.tolist(), strict=True))
    return Traffic(
        communication.source,
        dict(parameters),
        {name: (n, m, size) for name, n, m, size in rows if m},
        frozenset(name for name, n, *_ in rows if n),
        tuple(communication.remark_lines()),
    )
