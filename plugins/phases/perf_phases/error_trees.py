"""Which tree computes the local errors of a basis."""

from __future__ import annotations

from perf_phases.algorithm_k import ErrorTree
from perf_phases.factor_tree import FactorTree
from perf_phases.givens import GivensUpdate
from perf_phases.moment_tree import MomentTree
from perfcore import UtilizationCurve
from perfcore.contracts import Basis
from perfcore.errors import OptionError

__all__ = ["error_tree"]


def error_tree(curve: UtilizationCurve, basis: Basis, *, linear: bool = False) -> ErrorTree:
    """The tree for a basis; with ``linear`` Worley's own update, which takes polynomials of one degree.

    Raises
    ------
    OptionError
        The linear update was asked for functions or for the mixed basis.
    """
    if basis.functions:
        if linear:
            raise OptionError("--update givens takes polynomials only; leave it out with --functions")
        return FactorTree(curve, basis)
    return GivensUpdate(curve) if linear else MomentTree(curve)
