"""Profiles of several runs as one table of measurements, for models of each category."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from perf_analysis.overheads.profile import OverheadProfile
from perfcore.base.errors import DataError, OptionError

if TYPE_CHECKING:
    import pandas as pd


_OWN = ("category", "phase", "time_s", "all_locations_ns")


def stacked(profiles: Sequence[OverheadProfile], settings: Mapping[str, Sequence[float]] | None = None) -> pd.DataFrame:
    """One row for each run and category, and for each phase where runs have several.

    Parameters
    ----------
    profiles : sequence of OverheadProfile
    settings : mapping of str to sequence of float, optional
        Columns of what was varied: one value, or one for each profile. ``p`` is the number of locations unless given.

    Returns
    -------
    pandas.DataFrame
        Columns: the settings, ``phase`` where there are several, ``category``, ``time_s``, ``all_locations_ns``. The
        time is the mean over locations, so that the categories of a run sum to its elapsed time, which is what a model
        of the application predicts; the other column is the sum over locations, in whole nanoseconds.

    Raises
    ------
    OptionError
        A setting has another number of values, or the name of one of the table's own columns.
    DataError
        The profiles have different categories.

    Examples
    --------
    >>> from perf_analysis.overheads.attribution import profile_overheads
    >>> from perfcore.data.trace import Trace
    >>> profile = profile_overheads(Trace([0], [0], [0], [2_000_000_000], ["a"], ["run"]))
    >>> stacked([profile], {"n": [512]}).iloc[0].to_dict()
    {'p': 1, 'n': 512, 'category': 'pure computation', 'time_s': 2.0, 'all_locations_ns': 2000000000}
    """
    import pandas as pd

    check_same_categories(profiles)
    columns: dict[str, Sequence[float]] = {"p": [len(profile.locations) for profile in profiles]}
    for name, values in (settings or {}).items():
        if name in _OWN:
            raise OptionError(f"--label {name}: the table has a column of this name; choose another")
        if len(values) not in (1, len(profiles)):
            raise OptionError(
                f"--label {name}: {len(values)} values for {len(profiles)} traces; give one, or one for each"
            )
        columns[name] = [*values] * len(profiles) if len(values) == 1 else values
    with_phases = any(profile.n_phases > 1 for profile in profiles)
    rows = []
    for run, profile in enumerate(profiles):
        for phase in range(profile.n_phases):
            for name, time in zip(profile.categories, profile.by_phase_ns[:, phase], strict=True):
                row: dict[str, float | str] = {column: values[run] for column, values in columns.items()}
                if with_phases:
                    row["phase"] = phase + 1
                mean_s = int(time) / len(profile.locations) / 1e9
                rows.append(row | {"category": name, "time_s": mean_s, "all_locations_ns": int(time)})
    return pd.DataFrame(rows)


def common_notes(profiles: Sequence[OverheadProfile]) -> list[str]:
    """What must be known about several runs; notes that differ in one number are one.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from perf_analysis.overheads.attribution import profile_overheads
    >>> from perfcore.data.trace import Trace
    >>> profile = profile_overheads(Trace([0], [0], [0], [9], ["a"], ["run"]))
    >>> runs = [replace(profile, notes=(f"{count} locations have no states", "same")) for count in (3, 1)]
    >>> common_notes(runs)
    ['1 to 3 locations have no states', 'same']
    """
    texts: dict[str, set[int]] = {}
    for note in (note for profile in profiles for note in profile.notes):
        number = re.match(r"\d+ ", note)  # a note that counts something begins with the count
        text, counts = (note[number.end() :], {int(number[0])}) if number else (note, set[int]())
        texts.setdefault(text, set()).update(counts)
    return [f"{_range(counts)} {text}" if counts else text for text, counts in texts.items()]


def _range(counts: set[int]) -> str:
    return f"{min(counts)} to {max(counts)}" if len(counts) > 1 else str(min(counts))


def check_same_categories(profiles: Sequence[OverheadProfile]) -> None:
    """Refuse profiles by different sets."""
    first = profiles[0]
    for profile in profiles:
        if profile.categories != first.categories:
            raise DataError(f"{profile.source} has other categories than {first.source}; profile both by the same set")
