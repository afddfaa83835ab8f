"""Stochastic values: quantities that are not one number, and their arithmetic.

A quantity may be a number, a distribution or mere bounds; each is a registered representation with one contract,
`StochasticValue`. Values of different representations mix: `generality` says which of them performs an operation.
Every operation takes its operands to be independent of each other, unless an option says otherwise. It sees values and
not names: that the x of ``x*x`` is one quantity knows only who sees the whole formula. Write ``x**2``, which is exact.

Source: J. M. Schopf, "A Practical Methodology for Defining Histograms for Predictions and Scheduling", Northwestern
University, NWU-CS-99-2, 1999.
"""

from perfcore.stochastic.value import (
    Quantity,
    StochasticValue,
    absolute,
    add,
    as_value,
    checked_samples,
    default_name,
    default_representation,
    divide,
    exp,
    from_dict,
    from_text,
    log,
    maximum,
    minimum,
    multiply,
    negative,
    of_bounds,
    of_moments,
    perform,
    performer_of,
    power,
    representation_named,
    sqrt,
    subtract,
)

__all__ = [
    "Quantity", "StochasticValue", "absolute", "add", "as_value", "checked_samples", "default_name",
    "default_representation", "divide", "exp", "from_dict", "from_text", "log", "maximum", "minimum", "multiply",
    "negative", "of_bounds", "of_moments", "perform", "performer_of", "power", "representation_named", "sqrt",
    "subtract",
]  # fmt: skip
