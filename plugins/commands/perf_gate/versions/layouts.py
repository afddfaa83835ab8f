"""How the runs of two versions lie in time, which decides how they are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd


Floats = npt.NDArray[np.float64]

LAYOUTS = ("turn", "blocks", "sessions")
_LONGEST_STREAK = 2  # runs of one version after another, where pairs are measured in random order


@dataclass(frozen=True)
class Laid:
    """Values of a benchmark, ready to be compared."""

    layout: str
    first: Floats  # in turn, the same rounds in the same order
    second: Floats
    series: Floats  # all runs in order of time, of blocks; empty otherwise
    is_second: npt.NDArray[np.bool_]


def laid_out(first: pd.DataFrame, second: pd.DataFrame, layout: str | None = None) -> Laid:
    """Tell the layout from rounds, times and sessions; iterations of one round or file become their median."""
    sides = (first, second)
    if layout in (None, "turn"):
        pairs = next((pairing for how in _PAIRINGS if (pairing := how(*sides)) is not None), None)
        if pairs is None and layout == "turn":
            ordered = [_ordered(side)["value"].to_numpy() for side in sides]
            count = min(map(len, ordered))
            pairs = ordered[0][:count], ordered[1][:count]
        if pairs is not None:
            return _laid("turn", *pairs)
    times_known = _times_are_known(*sides)
    if layout == "blocks" or (layout is None and times_known):
        values = np.concatenate([_ordered(side)["value"].to_numpy() for side in sides])
        is_second = np.repeat([False, True], [len(first), len(second)])
        if times_known:
            times = np.concatenate([_ordered(side)["order"].to_numpy() for side in sides])
            order = np.argsort(times, kind="stable")
            values, is_second = values[order], is_second[order]
        return Laid("blocks", values[~is_second], values[is_second], values, is_second)
    medians = [side.groupby("session")["value"].median() if _several_files(side) else side["value"] for side in sides]
    return _laid("sessions", medians[0].to_numpy(), medians[1].to_numpy())


def _laid(layout: str, first: Floats, second: Floats) -> Laid:
    return Laid(layout, first, second, np.empty(0), np.empty(0, dtype=np.bool_))


def _ordered(side: pd.DataFrame) -> pd.DataFrame:
    return side.sort_values("order", kind="stable") if side["order"].notna().all() else side


def _several_files(side: pd.DataFrame) -> bool:
    return bool(side["session"].nunique() > 1)


def _by_round(first: pd.DataFrame, second: pd.DataFrame) -> tuple[Floats, Floats] | None:
    """Rounds that are numbered, in the same session."""
    if first["round"].isna().any() or second["round"].isna().any():
        return None
    one, other = (side.groupby(["session", "round"])["value"].median() for side in (first, second))
    common = one.index.intersection(other.index)
    return (one[common].to_numpy(), other[common].to_numpy()) if len(common) else None


def _times_are_known(first: pd.DataFrame, second: pd.DataFrame) -> bool:
    """Whether both say when each run was, on one clock: no two runs were at once."""
    times = np.concatenate([first["order"].to_numpy(), second["order"].to_numpy()])
    return bool(np.isfinite(times).all() and len(np.unique(times)) == len(times))


def _by_order(first: pd.DataFrame, second: pd.DataFrame) -> tuple[Floats, Floats] | None:
    """Runs next to each other in time, where versions were measured in turn."""
    if not _times_are_known(first, second) or abs(len(first) - len(second)) > 1:
        return None
    one, other = _ordered(first), _ordered(second)
    count = min(len(one), len(other))
    times = np.concatenate([one["order"].to_numpy(), other["order"].to_numpy()])
    is_second = np.repeat([False, True], [len(one), len(other)])[np.argsort(times, kind="stable")]
    changes = np.flatnonzero(np.diff(is_second))
    streaks = np.diff(np.r_[-1, changes, len(is_second) - 1])
    if count < 2 or streaks.max() > _LONGEST_STREAK:
        return None
    return one["value"].to_numpy()[:count], other["value"].to_numpy()[:count]


def _by_file(first: pd.DataFrame, second: pd.DataFrame) -> tuple[Floats, Floats] | None:
    """As many files of each version, several, are rounds."""
    one, other = (side.groupby("session")["value"].median() for side in (first, second))
    if len(one) < 2 or len(one) != len(other):
        return None
    return one.to_numpy(), other.to_numpy()


_PAIRINGS = (_by_round, _by_order, _by_file)
