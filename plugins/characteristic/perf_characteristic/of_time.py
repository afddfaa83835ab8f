"""Shapes that a phase may take over time besides polynomials; t counts in units of the model's time scale."""

from __future__ import annotations

from perf_formulas.formula import FormulaFunction


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
