"""Columns of text that tell cases of a table apart, though they are called nothing that is known."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from perf_categories.unnamed_factors import tells_runs_apart
from perf_gate.reading.long_table import VERSIONS
from perfcore.data.roles import guess_roles

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["case_columns"]

_ABOUT_RUNS = {*VERSIONS, "better", "unit", "units", "commit", "file", "log", "comment", "note", "notes", "result"}
_IN_COMMON = 0.5  # of the names of the side that has fewer


def case_columns(sides: Sequence[pd.DataFrame], but: Collection[str | None]) -> list[str]:
    """Columns of text whose values differ, and are for the most part the same on all sides.

    Runs of different cases are no repeated runs: pooled, one that is twice as slow is lost among the others.

    Parameters
    ----------
    sides : sequence of pandas.DataFrame
        Rows of each version.
    but : collection of str
        Columns that have a meaning.

    Examples
    --------
    >>> import pandas as pd
    >>> old = pd.DataFrame({"model": ["a", "b"], "host_name": ["n1", "n2"], "log": ["x", "y"], "s": [1, 2]})
    >>> case_columns([old, old], ["s"])
    ['model']
    """
    columns = []
    for column in sides[0].columns:
        named = str(column)
        if column in but or not all(column in side for side in sides) or sides[0][column].dtype.kind in "iufbmM":
            continue
        if named.strip().lower() in _ABOUT_RUNS or tells_runs_apart(named) or guess_roles([named], ()).system:
            continue
        values = [set(side[column].dropna().astype(str)) for side in sides]
        fewest = min(map(len, values))
        if max(map(len, values)) > 1 and fewest and len(set.intersection(*values)) >= _IN_COMMON * fewest:
            columns.append(named)
    return columns
