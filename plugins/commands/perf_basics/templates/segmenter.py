"""The segmenter ``example``: phases of equal length."""

import numpy as np

from perfcore import UtilizationCurve
from perfcore.contracts import Basis, Segmentation, Segmenter


class Example(Segmenter):
    """Ends phases at the edges of the curve that are nearest to equal lengths."""

    objective = "phases of equal length"

    def __init__(self, options: object = None) -> None:
        """Take the options, of which there are none."""

    def segment(self, curve: UtilizationCurve, n_phases: int, basis: Basis) -> Segmentation:
        """Return breaks from 0 to the duration, counted from the start of the curve."""
        edges = curve.relative_edges
        wanted = np.linspace(0.0, edges[-1], n_phases + 1)
        nearest = np.abs(edges[None, :] - wanted[:, None]).argmin(axis=1)
        return Segmentation(edges[np.unique(nearest)])
