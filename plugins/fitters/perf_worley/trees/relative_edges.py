"""Edges of a curve as the trees take them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perfcore import UtilizationCurve
from perfcore.base.scratch_arrays import chunks, zeros


def relative_edges(curve: UtilizationCurve) -> npt.NDArray[np.float64]:
    """`UtilizationCurve.relative_edges` (n_steps + 1,), read-only; of a long curve mapped from a file."""
    if curve.edges.dtype == np.float64 and curve.edges[0] == 0.0:
        return curve.edges
    edges = zeros(curve.edges.shape)
    for part in chunks(len(edges)):
        edges[part] = curve.edges[part] - curve.edges[0]
    edges.flags.writeable = False
    return edges
