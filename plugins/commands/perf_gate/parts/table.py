"""Parts of several runs as a long table: seconds of each phase, or of each category of lost cycles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perf_gate.reading.long_table import LongTable

__all__ = ["LEAST_SHARE", "WHOLE", "PartTimes", "long_tables"]

WHOLE = "whole run"
LEAST_SHARE = 0.01  # of the run; a part of less that takes three times as long adds two hundredths


@dataclass(frozen=True)
class PartTimes:
    """How long each part takes, run by run.

    Parameters
    ----------
    what : str
        What a part is: ``"phase"``, ``"category"``.
    first, second : sequence of mapping of str to float
        Seconds by part of each run of either version, `WHOLE` among them; what a run does not have is missing.
    unmatched : tuple of str
        What keeps the verdict open: parts that have no partner, runs that are not alike.
    """

    what: str
    first: Sequence[Mapping[str, float]]
    second: Sequence[Mapping[str, float]]
    unmatched: tuple[str, ...] = ()


def long_tables(times: PartTimes, sources: tuple[str, str]) -> tuple[LongTable, LongTable, tuple[str, ...]]:
    """Tables of both versions, of those parts that all runs have, and the others that are no trifle.

    Each run is a session, so that as many runs of each version are rounds, in the order of their files.

    Parameters
    ----------
    times : PartTimes
    sources : pair of str
        As the user named them.
    """
    runs = [*times.first, *times.second]
    names = list(dict.fromkeys(name for run in runs for name in run))
    large = [name for name in names if any(run.get(name, 0.0) >= LEAST_SHARE * run[WHOLE] for run in runs)]
    complete = [name for name in large if all(run.get(name, 0.0) > 0.0 for run in runs)]
    lacking = []
    for name in large:
        if name not in complete:
            having = [sum(run.get(name, 0.0) > 0.0 for run in side) for side in (times.first, times.second)]
            lacking.append(f"{name} ({having[0]} of {len(times.first)} runs, {having[1]} of {len(times.second)})")
    tables = [_table(side, complete, source) for side, source in zip((times.first, times.second), sources, strict=True)]
    return tables[0], tables[1], tuple(lacking)


def _table(runs: Sequence[Mapping[str, float]], names: Sequence[str], source: str) -> LongTable:
    import pandas as pd

    rows = [(name, run[name], session) for session, run in enumerate(runs) for name in names]
    labels = pd.DataFrame({"part": pd.Series([name for name, _, _ in rows], dtype=object)})
    table = pd.DataFrame(
        {
            "value": pd.Series([value for _, value, _ in rows], dtype=float),
            "session": [session for _, _, session in rows],
            **{
                "order": float("nan"),
                "round": float("nan"),
                "machine": "",
                "metric": "time_s",
                "unit": "s",
                "better": "",
            },
        }
    )
    return LongTable(table, labels, ("part",), source, "", len(runs), local=False)
