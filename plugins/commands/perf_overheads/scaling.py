"""POP's efficiencies of several runs of one program, and which of them limits how it scales.

Source: POP CoE, "POP Standard Metrics for Parallel Performance Analysis": global efficiency is parallel efficiency
times computation scalability, the computing time of all locations in the smallest run over that in another one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perf_overheads.pop_efficiencies import COMPUTING
from perf_overheads.profile import OverheadProfile

__all__ = ["efficiencies_of_runs", "limit", "scaling_table"]

_FACTORS = ("load balance", "communication", "serialisation", "transfer", "computation scalability")
_PRODUCTS = ("global", "parallel")


def efficiencies_of_runs(profiles: Sequence[OverheadProfile]) -> list[dict[str, float | None]] | None:
    """Global and parallel efficiency and their factors for each run; None where the sets know no computing.

    Computation scalability, and the global efficiency with it, are against the run with the fewest locations, and None
    where all runs have the same number of them. They hold for runs of the same work.

    Parameters
    ----------
    profiles : sequence of OverheadProfile
    """
    found = [profile.efficiencies() for profile in profiles]
    if any(each is None for each in found):
        return None
    computing = [int(each.class_cycles_ns[each.classes.index(COMPUTING)].sum()) for each in profiles]
    counts = [len(each.locations) for each in profiles]
    reference = int(np.argmin(counts))
    rows = []
    for each, time in zip(found, computing, strict=True):
        assert each is not None
        shares = {
            name.replace("_", " "): None if column is None or np.isnan(column[0]) else float(column[0])
            for name, column in each.columns.items()
        }
        scalability = computing[reference] / time if time and len(set(counts)) > 1 else None
        parallel = shares["parallel"]
        whole = None if scalability is None or parallel is None else parallel * scalability
        rows.append({"global": whole, **shares, "computation scalability": scalability})
    return rows


def scaling_table(profiles: Sequence[OverheadProfile]) -> tuple[str, list[str], list[list[str]]] | None:
    """Title, header and rows of a table with a row for each run; None where nothing computes."""
    rows = efficiencies_of_runs(profiles)
    if rows is None:
        return None
    known = [name for name in (*_PRODUCTS, *_FACTORS) if any(row[name] is not None for row in rows)]
    cells = [
        [profile.source, str(len(profile.locations)), *(_share(row[name]) for name in known)]
        for profile, row in zip(profiles, rows, strict=True)
    ]
    about = []
    if "computation scalability" in known:
        smallest = min(profiles, key=lambda each: len(each.locations))
        about.append(f"computation scalability: against {smallest.source}, if the work is the same")
    if any(each.replayed is not None and each.replayed.definition == "bsc" for each in profiles):
        about.append("serialisation and transfer by BSC's rules")
    title = f"POP efficiencies ({'; '.join(about)})" if about else "POP efficiencies"
    return title, ["run", "locations", *known], cells


def limit(profiles: Sequence[OverheadProfile]) -> list[str]:
    """A line with the lowest factor of the largest run; none where all runs have as many locations."""
    rows = efficiencies_of_runs(profiles)
    counts = [len(each.locations) for each in profiles]
    if rows is None or len(set(counts)) < 2:
        return []
    largest = int(np.argmax(counts))
    row = rows[largest]
    split = row["serialisation"] is not None
    factors = {
        name: value for name in _FACTORS if (value := row[name]) is not None and not (split and name == "communication")
    }
    if not factors or row["global"] is None:
        return []
    name, value = min(factors.items(), key=lambda item: item[1])
    return [
        f"what limits the scaling: {name}, {value:.2%} with {counts[largest]} locations, where the global efficiency "
        f"is {row['global']:.2%}"
    ]


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2%}"
