"""A trace whose intervals lie on disk, as one of many that no memory would hold together."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from perf_traces.lazy_columns import COLUMNS
from perf_traces.messages.rank_calls import OF_RANK, RankCalls
from perfcore.data.trace import Trace

_PLAIN = (int, float, str, bool)


@dataclass(frozen=True)
class StoredTrace:
    """What a trace says, and where its columns are."""

    path: Path  # beginning of the names of its files
    n_intervals: int
    locations: tuple[str, ...]
    states: tuple[str, ...]
    busy_states: tuple[str, ...]
    span_ns: tuple[int, int]  # all intervals lie within
    time_unit: str
    source: str
    notes: tuple[str, ...]
    markers: tuple[tuple[str, int, int], ...]
    levels: dict[str, tuple[str, ...]]
    facts: dict[str, Any]

    @classmethod
    def of(cls, trace: Trace, path: Path) -> Self:
        """Write the columns of a trace beside each other, ``PATH.location.npy`` and so on."""
        stored = cls(
            path,
            trace.n_intervals,
            trace.locations,
            trace.states,
            tuple(trace.busy_states),
            (
                min(int(trace.span_ns[0]), int(trace.start_ns.min())),
                max(int(trace.span_ns[1]), int(trace.end_ns.max())),
            ),
            trace.time_unit,
            trace.source,
            tuple(trace.notes),
            tuple(trace.markers),
            {level: tuple(names) for level, names in trace.levels.items()},
            {name: value for name, value in trace.facts.items() if isinstance(value, _PLAIN)},
        )
        stored.put({name: getattr(trace, name) for name in COLUMNS})
        if (calls := trace.facts.get(OF_RANK)) is not None:
            calls.save(path)
        return stored

    def put(self, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        """Write the columns."""
        for name, values in columns.items():
            np.save(f"{self.path}.{name}.npy", values.astype(COLUMNS[name], copy=False), allow_pickle=False)

    def save(self) -> None:
        """Write what it says to ``PATH.json``, for another process."""
        document = {name: value for name, value in vars(self).items() if name != "path"}
        Path(f"{self.path}.json").write_text(json.dumps(document), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Self:
        """What another process has saved."""
        document = json.loads(Path(f"{path}.json").read_text(encoding="utf-8"))
        for name in ("locations", "states", "busy_states", "span_ns", "notes"):
            document[name] = tuple(document[name])
        document["markers"] = tuple((str(name), int(start), int(end)) for name, start, end in document["markers"])
        document["levels"] = {level: tuple(names) for level, names in document["levels"].items()}
        return cls(path, **document)

    def rank_calls(self) -> RankCalls | None:
        """Calls of the communication library, whose partners are of other ranks; None where the file tells none."""
        return RankCalls.load(self.path) if Path(f"{self.path}.calls.json").exists() else None

    def column(self, name: str) -> npt.NDArray[Any]:
        """One of ``location``, ``state``, ``start_ns`` and ``end_ns``, mapped from its file."""
        values: npt.NDArray[Any] = np.load(f"{self.path}.{name}.npy", mmap_mode="r", allow_pickle=False)
        return values
