"""The operations on normals by name: chains of two operands at a time, checks of the domain, and notes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from perf_stochastic.normal.arithmetic import Moments, add, divide, largest, multiply, transformed
from perfcore.base.errors import DataError


_NOTEWORTHY = 0.01  # of probability: what 25 bins of a histogram do not reach
_MOST_OUTSIDE = 1e-3  # probability of values without a root or logarithm that is accepted


def operate(
    operation: str, operands: Sequence[tuple[float, float]], correlation: float
) -> tuple[float, float, float, tuple[str, ...]]:
    """Mean and standard deviation of the result, its error, and notes where a normal is a poor answer.

    The error bounds how far the normal's distribution function is from that of the result where the operands are
    normals themselves: the sum over the steps, since a step moves no more probability than its operands were off by.
    """
    values = [Moments(*operand) for operand in operands]
    if correlation and len(values) > 2 and operation == "multiply":
        raise DataError("multiply: correlated normals are multiplied two at a time; give two")
    record = _Met()
    if operation == "power":
        result = _power(values[0], values[1], correlation, record)
    elif operation in ("add", "multiply", "maximum", "minimum"):
        result = _chained(operation, values, correlation, record)
    else:
        result = _noted(operation, _SIMPLE[operation](correlation, *values), record)
    return result.mean, result.std, record.error, tuple(dict.fromkeys(record.notes))


@dataclass
class _Met:
    """What the steps of an operation add up to."""

    error: float = 0.0
    notes: list[str] = field(default_factory=list)


def _noted(operation: str, result: Moments, record: _Met) -> Moments:
    """The result as a normal; its error becomes a note."""
    if not (math.isfinite(result.mean) and math.isfinite(result.std)):
        raise OverflowError(operation)
    record.error += result.error
    if result.error > _NOTEWORTHY:
        why = f"; {result.remark}" if result.remark else ""
        record.notes.append(
            f"{operation}: a normal is a poor answer, its probabilities are wrong by up to {result.error:.2g}{why}; "
            "a histogram is not"
        )
    return Moments(result.mean, result.std)


def _chained(operation: str, values: Sequence[Moments], correlation: float, record: _Met) -> Moments:
    """Sum, product, maximum or minimum of many.

    A further operand's covariance with a sum or maximum so far is its standard deviation times the correlation times
    ``weight``: of a sum the sum of the standard deviations; of a maximum their mean by the probabilities of being the
    largest (Clark's equation 9).
    """
    sign = -1.0 if operation == "minimum" else 1.0
    accumulated = Moments(sign * values[0].mean, values[0].std)
    weight = accumulated.std
    for value in values[1:]:
        nearness = correlation * weight / accumulated.std if accumulated.std else 0.0
        nearness = max(-1.0, min(1.0, nearness))
        if operation == "add":
            accumulated, weight = add(accumulated, value, nearness), weight + value.std
        elif operation == "multiply":
            accumulated = _noted(operation, multiply(accumulated, value, correlation), record)
        else:
            following, probability = largest(accumulated, Moments(sign * value.mean, value.std), nearness)
            accumulated = _noted(operation, following, record)
            weight = probability * weight + (1.0 - probability) * value.std
    return Moments(sign * accumulated.mean, accumulated.std)


def _power(base: Moments, exponent: Moments, correlation: float, record: _Met) -> Moments:
    if exponent.std:
        if base.std == 0.0 and base.mean > 0.0:
            logarithm = Moments(math.log(base.mean), 0.0)
        else:
            logarithm = _noted("power", _log(0.0, base), record)
        product = _noted("power", multiply(logarithm, exponent, correlation), record)
        return _noted("power", _exp(0.0, product), record)
    p = exponent.mean
    if base.std == 0.0:
        return Moments(_number("power", lambda: float(base.mean**p)), 0.0)
    if p < 0.0:
        above = _power(base, Moments(-p, 0.0), correlation, record)
        return _noted("power", divide(Moments(1.0, 0.0), above, 0.0), record)
    if p.is_integer():
        return _noted("power", transformed(lambda x: np.power(x, p), base, polynomial=p < 32), record)
    _check_positive("power", base)
    return _noted("power", transformed(lambda x: np.power(x, p), base, positive=True), record)


def _check_positive(operation: str, x: Moments) -> None:
    outside = 0.5 * math.erfc(x.mean / x.std / math.sqrt(2.0))
    if outside > _MOST_OUTSIDE:
        raise DataError(
            f"{operation} of {x.mean:.6g} ± {x.std:.6g}: a value below 0 has probability {outside:.2g}; "
            "give a histogram or an interval above 0"
        )


def _number(operation: str, function: Callable[[], float]) -> float:
    try:
        return function()
    except (ValueError, TypeError):
        raise DataError(f"{operation}: there is no such real number; the value is outside its domain") from None


def _exp(correlation: float, x: Moments) -> Moments:
    """The lognormal distribution's moments; the quadrature would miss its tail where the deviation is large."""
    mean = math.exp(x.mean + 0.5 * x.std**2)
    if x.std == 0.0:
        return Moments(mean, 0.0)
    std = mean * math.sqrt(math.expm1(x.std**2))
    return Moments(mean, std, transformed(lambda v: np.exp(v - x.mean), x).error)


def _log(correlation: float, x: Moments) -> Moments:
    if x.std == 0.0:
        return Moments(_number("log", lambda: math.log(x.mean)), 0.0)
    _check_positive("log", x)
    return transformed(np.log, x, positive=True)


def _sqrt(correlation: float, x: Moments) -> Moments:
    if x.std == 0.0:
        return Moments(_number("sqrt", lambda: math.sqrt(x.mean)), 0.0)
    _check_positive("sqrt", x)
    return transformed(np.sqrt, x, positive=True)


def _absolute(correlation: float, x: Moments) -> Moments:
    """The folded normal's moments are those of the larger of x and -x."""
    return largest(x, Moments(-x.mean, x.std), -1.0)[0]


_SIMPLE: dict[str, Callable[..., Moments]] = {
    "subtract": lambda correlation, x, y: add(x, Moments(-y.mean, y.std), -correlation),
    "divide": lambda correlation, x, y: divide(x, y, correlation),
    "negative": lambda correlation, x: Moments(-x.mean, x.std),
    "absolute": _absolute,
    "exp": _exp,
    "log": _log,
    "sqrt": _sqrt,
}
