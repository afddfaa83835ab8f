"""Columns that tell cases of a table apart, though they are called nothing that is known."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from perf_gate.reading.long_table import VERSIONS
from perf_tables.confounders import is_run_identifier
from perfcore.data.roles import guess_roles
from perfcore.data.units import unit_of

if TYPE_CHECKING:
    import pandas as pd


_ABOUT_RUNS = {*VERSIONS, "better", "unit", "units", "commit", "file", "log", "comment", "note", "notes", "result"}
_IN_COMMON = 0.5  # of the names of the side that has fewer


def case_columns(sides: Sequence[pd.DataFrame], keys: Collection[str], but: Collection[str]) -> list[str]:
    """Columns of text whose values differ, and are for the most part the same on all sides; of numbers, all the same.

    Runs of different cases are no repeated runs: pooled, one that is twice as slow is lost among the others. Numbers
    that count from 0 or 1 may number the runs: they tell cases apart where each has several runs.
    """
    shared = [str(column) for column in sides[0].columns if all(column in side for side in sides)]
    free = [
        column
        for column in shared
        if column not in keys
        and column not in but
        and column.strip().lower() not in _ABOUT_RUNS
        and not is_run_identifier(column)
        and not guess_roles([column], ()).system
    ]
    texts = [column for column in free if sides[0][column].dtype.kind not in "iufbmM"]
    cases = [column for column in texts if _are_names(sides, column)]
    numbers = [
        column for column in free if all(side[column].dtype.kind in "iuf" for side in sides) and unit_of(column) is None
    ]
    for column in numbers:
        if _are_levels(sides, column, [*keys, *cases]):
            cases.append(column)
    return cases


def _are_names(sides: Sequence[pd.DataFrame], column: str) -> bool:
    values = [set(side[column].dropna().astype(str)) for side in sides]
    fewest = min(map(len, values))
    return max(map(len, values)) > 1 and fewest > 0 and len(set.intersection(*values)) >= _IN_COMMON * fewest


def _are_levels(sides: Sequence[pd.DataFrame], column: str, keys: Sequence[str]) -> bool:
    """Whether numbers were chosen: the same on all sides, with several runs of most, and no mere numbers of runs."""
    levels = [set(side[column].dropna()) for side in sides]
    if len(levels[0]) < 2 or any(each != levels[0] for each in levels[1:]):
        return False
    if any(side[column].isna().any() or 2 * len(levels[0]) > len(side) for side in sides):
        return False
    runs = [side.groupby([*keys, column], dropna=False).size() for side in sides]
    are_numbered = any(levels[0] == set(range(first, first + len(levels[0]))) for first in (0, 1))
    return not are_numbered or all((counts > 1).mean() > 0.5 for counts in runs)
