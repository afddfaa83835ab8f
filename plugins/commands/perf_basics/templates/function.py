"""The function ``p^(-2/3)``: the surface of subdomains in three dimensions."""

from perfcore.contracts import FormulaFunction


class Example(FormulaFunction):
    """Surface of a cube's share over p processors, by the name that users type."""

    name = formula = "p^(-2/3)"
    variables = ("p",)
