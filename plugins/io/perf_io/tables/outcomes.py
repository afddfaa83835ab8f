"""Rows of runs that did not complete, by a column of states or of exit codes.

The time of such a run is that until something stopped it: 300 s of a job with a limit of 300 s do not say how long it
takes.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from perfcore.base import progress
from perfcore.base.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd


_WORDS = {
    name: frozenset(words.split())
    for name, words in {
        "states": "state status jobstate jobstatus runstate runstatus outcome result",
        "exits": "exitcode exitstatus returncode exit",
        "good": "completed complete ok okay success successful succeeded pass passed done finished good",
        # Of Slurm, PBS, LSF, Flux, test suites and trackers of experiments; what still runs has not its time yet.
        "bad": "failed fail failure timeout timedout cancelled canceled oom outofmemory nodefail nodefailure bootfail "
        "deadline preempted revoked error errored aborted abort crashed crash killed exited exit bad unsuccessful "
        "incomplete running pending suspended requeued skipped",
    }.items()
}
_LONGEST_LIST = 5


def completed(frame: pd.DataFrame, source: str, keep: bool) -> npt.NDArray[np.bool_]:
    """Which rows (n,) count: all, but for those that a state or an exit code says did not complete.

    A column counts where all its cells are states that are known, so that one of measured results is none.
    """
    import numpy as np

    good = np.ones(len(frame), dtype=bool)
    if keep:
        return good
    reasons: dict[str, None] = {}
    for column in frame.columns:
        name = _plain(str(column))
        if name not in _WORDS["states"] | _WORDS["exits"]:
            continue
        outcomes = frame[column].map(_outcome if name in _WORDS["states"] else _exit_outcome)
        if (outcomes == "").any():
            continue
        bad = (outcomes == "bad").to_numpy()
        said = dict.fromkeys(str(cell).removesuffix(".0") for cell in frame[column][bad & good])
        reasons.update(dict.fromkeys(said if name in _WORDS["states"] else (f"{column} {cell}" for cell in said)))
        good &= ~bad
    if good.all():
        return good
    listed = ", ".join(list(reasons)[:_LONGEST_LIST])
    if not good.any():
        raise InputError(source, f"none of the {len(good)} runs completed ({listed}); -r failed=yes keeps them")
    progress.note(
        f"{source}: left out, since they did not complete ({listed}): {int((~good).sum())} of {len(good)} rows; "
        "-r failed=yes keeps them"
    )
    return good


def _is_empty(cell: object) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


def _outcome(cell: object) -> str:
    """What a state says: ``good``, ``bad``, ``unknown`` of an empty cell; nothing of any other word."""
    if _is_empty(cell):
        return "unknown"
    word = _plain(re.sub(r" by \w+$|\+$", "", str(cell).strip()))
    return "good" if word in _WORDS["good"] else "bad" if word in _WORDS["bad"] else ""


def _exit_outcome(cell: object) -> str:
    """What an exit code says, also one of Slurm with a signal: ``0:0``."""
    if _is_empty(cell):
        return "unknown"
    match = re.fullmatch(r"(-?[0-9]{1,9})(?:\.0)?(?::([0-9]{1,3}))?", str(cell).strip())
    if match is None:
        return ""
    return "good" if int(match[1]) == 0 and int(match[2] or 0) == 0 else "bad"
