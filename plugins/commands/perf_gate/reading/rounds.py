"""Rounds of a store of `perf run`: its replications, where they were made together in time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd


_SECONDS = 60.0  # between the end of a run and the start of the next one of its round
_TIMES = 10.0  # as long as usual between runs of a round: what lies farther apart was interrupted


def rounds_together(table: pd.DataFrame, keys: Sequence[str]) -> npt.NDArray[np.float64]:
    """The replication of each run as its round; what was made apart from its round gets a round of its own.

    Runs that were interrupted and resumed the next day, made again after a failure, or made by jobs of a scheduler in
    any order bear the same number and met another machine.
    """
    import pandas as pd

    times = pd.to_datetime(table["started"], utc=True, format="ISO8601")
    started = times.dt.as_unit("ns").astype("int64").to_numpy() / 1e9
    ended = started + table["wall_s"].to_numpy(dtype=float)
    rounds = table["replication"].to_numpy(dtype=float)
    names: Any = (
        table.groupby(list(keys), sort=False, dropna=False).ngroup().to_numpy() if keys else np.zeros(len(table))
    )
    order = np.lexsort((started, names))
    same_name = np.diff(names[order]) == 0
    same_round = same_name & (np.diff(rounds[order]) == 0)
    idle = started[order][1:] - ended[order][:-1]
    usual = float(np.quantile(idle[same_round], 0.5, method="lower")) if same_round.any() else 0.0
    together = same_round & (idle <= max(_SECONDS, _TIMES * usual))
    stretch = np.cumsum(np.r_[True, ~together])  # of runs that follow one another within a round
    # Of a round in several stretches the largest is the round, where it alone is.
    new_rounds = rounds.copy()
    pieces = pd.DataFrame({"name": names[order], "round": rounds[order], "stretch": stretch, "row": order})
    sizes = pieces.groupby(["name", "round", "stretch"], sort=False)["row"].size().reset_index()
    largest = sizes.groupby(["name", "round"], sort=False)["row"].transform("max")
    ties = sizes[sizes["row"] == largest].groupby(["name", "round"], sort=False)["stretch"].transform("size")
    main_stretches = set(sizes.loc[ties.index[ties == 1], "stretch"].tolist())
    alone = pieces.loc[~pieces["stretch"].isin(main_stretches), "row"].to_numpy()
    new_rounds[alone] = -1.0 - np.arange(len(alone))
    return new_rounds
