"""Cells of a curve and their best models, made once for the rule, the segmenter and the intervals."""

from __future__ import annotations

import weakref

from perf_worley.choice.bounded_search import MOST, BoundedModels, bounded_models
from perf_worley.choice.cells import Cells, cells_of
from perf_worley.trees.error_trees import moment_tree
from perfcore import UtilizationCurve

MOST_BOUNDED = 128  # phases that are looked for on cells


class CurveModels:
    """Cells of one curve and the best models on them."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self._models: dict[int, BoundedModels] = {}

    def of_degree(self, degree: int, most: int = MOST) -> BoundedModels:
        """Of 1 to ``most`` phases or more."""
        most = min(max(most, MOST), MOST_BOUNDED)
        cached = self._models.get(degree)
        enough = min(most, len(self.cells.values) // max(2, degree + 1))
        if cached is None or len(cached.squares) < enough:
            cached = self._models[degree] = bounded_models(self.cells, degree, most)
        return cached


# As with trees: kept while someone uses the curve.
_made: weakref.WeakKeyDictionary[UtilizationCurve, dict[bool, CurveModels]] = weakref.WeakKeyDictionary()


def curve_models(curve: UtilizationCurve, *, fine: bool = False) -> CurveModels:
    """Those of a curve; ``fine`` splits the samples of short series (`cells_of`)."""
    cached = _made.setdefault(curve, {})
    if fine not in cached:
        cells = cells_of(moment_tree(curve), curve.n_locations, fine=fine)
        other = cached.get(not fine)
        same = other is not None and len(other.cells.values) == len(cells.values)
        cached[fine] = other if other is not None and same else CurveModels(cells)
    return cached[fine]
