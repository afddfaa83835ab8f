"""Why a GPU stream has nothing to do: until when the host has not launched the next work, and from when it could start.

Between two pieces of work of a stream, the first part of the gap, until the call that launched the second one has
returned, is waiting for the host: had the call come earlier, the stream need not have been empty. What is left, from
then until the work starts, is the GPU's own delay, or waiting for what other streams or GPUs have to do first.

Source: launches and the work that they launch have the same ``correlation`` ("CUPTI documentation", CUpti_ActivityAPI
and CUpti_ActivityKernel; Kineto and Nsight Systems keep it). Holistic Trace Analysis (facebookresearch, "Idle time
breakdown") gives the whole gap to the host as soon as the call began within it; here what follows the call is not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perf_traces.levels import NOT_STARTED, WAITING_FOR_HOST

Integers = npt.NDArray[Any]

UNKNOWN_NS = -(1 << 62)  # of a launch that is not recorded
WITHOUT_LAUNCHES = "no launches by the host: idle streams do not tell whether they wait for it"


def with_gaps(
    location: Integers,
    state: Integers,
    start: Integers,
    end: Integers,
    launched: Integers,
    first: int,
    states: list[str],
) -> tuple[Integers, Integers, Integers, Integers]:
    """Intervals of streams, and those in which they are empty."""
    before = np.empty_like(start)
    before[:1], before[1:] = first, end[:-1]
    before[1:][location[1:] != location[:-1]] = first
    has_gap = (launched > UNKNOWN_NS) & (start > before)
    until = np.clip(launched, before, start)
    late, not_started = has_gap & (until > before), has_gap & (until < start)
    codes = len(states), len(states) + 1
    states += [WAITING_FOR_HOST, NOT_STARTED]
    columns = [
        np.concatenate([location, location[late], location[not_started]]),
        np.concatenate([state, np.full(late.sum(), codes[0]), np.full(not_started.sum(), codes[1])]),
        np.concatenate([start, before[late], until[not_started]]),
        np.concatenate([end, until[late], start[not_started]]),
    ]
    order = np.lexsort((columns[2], columns[0]))
    whose, which, begins, ends = (column[order] for column in columns)
    return whose, which, begins, ends
