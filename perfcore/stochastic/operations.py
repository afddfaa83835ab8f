"""Operations on stochastic values: by name, for any number of operands, and with options."""

from __future__ import annotations

from typing import Any

from perfcore.stochastic.value import Quantity, StochasticValue, perform


def add(*values: Quantity, **options: Any) -> StochasticValue:
    """Sum of two or more; ``x + y``."""
    return perform("add", values, options)


def subtract(x: Quantity, y: Quantity, **options: Any) -> StochasticValue:
    """Difference; ``x - y``."""
    return perform("subtract", (x, y), options)


def multiply(*values: Quantity, **options: Any) -> StochasticValue:
    """Product of two or more; ``x * y``."""
    return perform("multiply", values, options)


def divide(x: Quantity, y: Quantity, **options: Any) -> StochasticValue:
    """Quotient; ``x / y``."""
    return perform("divide", (x, y), options)


def power(x: Quantity, y: Quantity, **options: Any) -> StochasticValue:
    """Power; ``x ** y``."""
    return perform("power", (x, y), options)


def maximum(*values: Quantity, **options: Any) -> StochasticValue:
    """Distribution of the largest of several values."""
    return perform("maximum", values, options)


def minimum(*values: Quantity, **options: Any) -> StochasticValue:
    """Distribution of the smallest of several values."""
    return perform("minimum", values, options)


def negative(x: Quantity) -> StochasticValue:
    """``-x``."""
    return perform("negative", (x,), {})


def absolute(x: Quantity, **options: Any) -> StochasticValue:
    """``abs(x)``."""
    return perform("absolute", (x,), options)


def exp(x: Quantity, **options: Any) -> StochasticValue:
    """Exponential function."""
    return perform("exp", (x,), options)


def log(x: Quantity, **options: Any) -> StochasticValue:
    """Natural logarithm."""
    return perform("log", (x,), options)


def sqrt(x: Quantity, **options: Any) -> StochasticValue:
    """Square root."""
    return perform("sqrt", (x,), options)
