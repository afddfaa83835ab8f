"""The characteristic functions of the number of processors p.

Source: E. Strohmaier, "Statistical Performance Modeling: Case Study of the NPB 2.1 Results", equation 3. Each is 1 or 0
at p = 1.
"""

from __future__ import annotations

from perf_formulas.formula import FormulaFunction


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
