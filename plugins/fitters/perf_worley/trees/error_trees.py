"""The trees of a curve: each is built once, for the segmenter, the refinement and the final fit alike."""

from __future__ import annotations

import weakref

from perf_worley.segmenters.algorithm_k import ErrorTree
from perf_worley.trees.factor_tree import FactorTree
from perf_worley.trees.givens import GivensUpdate
from perf_worley.trees.moment_tree import MomentTree
from perfcore import UtilizationCurve
from perfcore.base.errors import OptionError
from perfcore.contracts import Basis


# A curve never changes, and neither does its tree; both go when the last one who uses the curve lets go of it.
_moment_trees: weakref.WeakKeyDictionary[UtilizationCurve, MomentTree] = weakref.WeakKeyDictionary()
_factor_trees: weakref.WeakKeyDictionary[UtilizationCurve, tuple[Basis, FactorTree]] = weakref.WeakKeyDictionary()


def moment_tree(curve: UtilizationCurve) -> MomentTree:
    """The moment tree of a curve."""
    if curve not in _moment_trees:
        _moment_trees[curve] = MomentTree(curve)
    return _moment_trees[curve]


def extend_tree(curve: UtilizationCurve, before: MomentTree | None) -> MomentTree:
    """The moment tree of a curve that begins as the curve of another tree does, whose summaries it keeps."""
    tree = _moment_trees[curve] = MomentTree(curve, before)
    return tree


def factor_tree(curve: UtilizationCurve, basis: Basis) -> FactorTree:
    """The factor tree of a curve for the functions of a basis; the one asked last is kept."""
    kept = _factor_trees.get(curve)
    if kept is None or kept[0] != basis:
        kept = _factor_trees[curve] = (basis, FactorTree(curve, basis))
    return kept[1]


def error_tree(curve: UtilizationCurve, basis: Basis, *, linear: bool = False) -> ErrorTree:
    """The tree for a basis; with ``linear`` Worley's own update, which takes polynomials of one degree."""
    if basis.functions:
        if linear:
            raise OptionError("--update givens takes polynomials only; leave it out with --functions")
        return factor_tree(curve, basis)
    return GivensUpdate(curve) if linear else moment_tree(curve)
