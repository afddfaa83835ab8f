"""Functions that models are built from: of time, and of the number of processors p.

Those of p are from E. Strohmaier, "Statistical Performance Modeling: Case Study of the NPB 2.1 Results", equation 3;
each is 1 or 0 at p = 1. Those of time are shapes that a phase may take besides polynomials; t counts in the time scale.
"""

from __future__ import annotations

from perfcore.contracts import FormulaFunction


class Reciprocal(FormulaFunction):
    """Falls off like 1/t: work that is dealt out while it shrinks.

    Examples
    --------
    >>> import numpy as np
    >>> Reciprocal()({"t": np.array([0.0, 3.0])})
    array([1.  , 0.25])
    """

    name = "reciprocal"
    formula = "1/(1 + t)"
    variables = ("t",)


class Log(FormulaFunction):
    """Grows ever more slowly: a pool that fills up."""

    name = "log"
    formula = "log(1 + t)"
    variables = ("t",)


class Exp(FormulaFunction):
    """Decays to a level: transients."""

    name = "exp"
    formula = "exp(-t)"
    variables = ("t",)


class InverseSquare(FormulaFunction):
    """Work whose share shrinks faster than the processors grow: superlinear speedup, as by caches."""

    name = formula = "1/p^2"
    variables = ("p",)


class Inverse(FormulaFunction):
    """Parallel work."""

    name = formula = "1/p"
    variables = ("p",)


class LogarithmOver(FormulaFunction):
    """Parallel work in whose critical path a tree of depth log p stands."""

    name = formula = "log(p)/p"
    variables = ("p",)


class InverseRoot(FormulaFunction):
    """Limited parallelism: as the surface of subdomains in two dimensions."""

    name = formula = "1/sqrt(p)"
    variables = ("p",)


class One(FormulaFunction):
    """Serial work."""

    name = formula = "1"
    variables = ()


class Logarithm(FormulaFunction):
    """Parallel overhead of trees: reductions, broadcasts, barriers."""

    name = formula = "log(p)"
    variables = ("p",)


class Linear(FormulaFunction):
    """Parallel overhead of every processor: messages to all, contention."""

    name = formula = "p"
    variables = ("p",)
