"""A line of stages with room for a few items between each two of them: when the last item leaves.

Source: J. A. Buzacott and J. G. Shanthikumar, "Stochastic Models of Manufacturing Systems", 1993, section 5.2 (blocking
after service): an item leaves a stage once it is done and the next stage's room is not full.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perf_structural.language.copies import whole
from perfcore.base.errors import DataError

Floats = npt.NDArray[np.float64]


def pipeline_time(*arguments: npt.ArrayLike) -> Floats:
    """Time until the last item has left the last stage; the first stage never waits for items."""
    *times, room, stages = arguments
    depth = int(np.asarray(stages))
    spread = np.broadcast_arrays(whole("room between two stages", room, 0, np.inf), *times)
    capacity, items = spread[0], [spread[1 + first : 1 + first + depth] for first in range(0, len(times), depth)]
    if any(np.any(time < 0.0) for time in spread[1:]):
        raise DataError("a time of a stage came to less than 0")
    # Times at which the earlier items left each stage, the first of them first; before it was anybody it was free.
    left = np.zeros((len(items) + 1, depth, *capacity.shape))
    for number, item in enumerate(items, start=1):
        # Item j leaves once item j - room - 1 has left the next stage.
        before = np.clip(number - 1.0 - capacity, 0, number)[None].astype(int)
        arrived = np.zeros(capacity.shape)
        for stage, time in enumerate(item):
            arrived = np.maximum(arrived, left[number - 1, stage]) + time
            if stage + 1 < depth:
                arrived = np.maximum(arrived, np.take_along_axis(left[:number, stage + 1], before, axis=0)[0])
            left[number, stage] = arrived
    return np.asarray(left[-1, -1], dtype=np.float64)
