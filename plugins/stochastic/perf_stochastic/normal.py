"""Mean and standard deviation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from perf_stochastic.families import Family
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError
from perfcore.hooks.options import option
from perfcore.stochastic import StochasticValue, checked_samples

_GRID = np.linspace(-5.0, 5.0, 401)  # standard deviations at which two distribution functions are compared
_MIDPOINTS = ndtri((np.arange(4000) + 0.5) / 4000.0)
_HERMITE_NODES = 64
_LEGENDRE_NODES = 400
_REACH = 12.0  # standard deviations: the density there is 2e-32
_NOTEWORTHY = 0.01  # of probability: what 25 bins of a histogram do not reach
_MOST_OUTSIDE = 1e-3  # probability of values without a root or logarithm that is accepted
_FEWEST = 20  # below, the test's distribution is not the one that it assumes
_DOUBTFUL = 0.05


# Mean and standard deviation of a result are exact, but for a quotient, which has none (the delta method's); the
# error is an estimate of how far the result is from a normal. Sources: J. M. Schopf and F. Berman, "Performance
# Prediction in Production Environments", IPPS/SPDP 1998 (correlation 0 and 1); C. E. Clark, "The Greatest of a Finite
# Set of Random Variables", Operations Research 9 (1961), equations 2 to 8; R. C. Geary, "The Frequency Distribution
# of the Quotient of Two Normal Variates", J. Royal Statistical Society 93 (1930).


@dataclass(frozen=True)
class Moments:
    """A result."""

    mean: float
    std: float
    error: float = 0.0
    remark: str = ""  # a further warning with the error


def add(x: Moments, y: Moments, correlation: float) -> Moments:
    """Sum: means add, and variances with twice the covariance."""
    return Moments(x.mean + y.mean, _deviation(x.std, y.std, correlation))


def _deviation(a: float, b: float, correlation: float) -> float:
    """Standard deviation of a sum; hypot alone would not know of correlation, and the plain formula may overflow."""
    return math.hypot(a + correlation * b, b * math.sqrt(1.0 - correlation**2))


def _error_of_skewness(third: float, std: float) -> float:
    """Largest difference that a third central moment makes to the distribution function, by Edgeworth's first term."""
    return abs(third / std) / std / std / (6.0 * math.sqrt(2.0 * math.pi)) if std else 0.0


def multiply(x: Moments, y: Moments, correlation: float) -> Moments:
    """Product, with the exact mean and standard deviation."""
    both = x.std * y.std
    covariance = correlation * both
    linear = _deviation(y.mean * x.std, x.mean * y.std, correlation)
    std = math.hypot(linear, math.sqrt(both**2 + covariance**2))
    with_x = y.mean * x.std**2 + x.mean * covariance
    with_y = y.mean * covariance + x.mean * y.std**2
    third = 6.0 * with_x * with_y + 2.0 * covariance**3 + 6.0 * covariance * both**2
    return Moments(x.mean * y.mean + covariance, std, _error_of_skewness(third, std))


def divide(x: Moments, y: Moments, correlation: float) -> Moments:
    """Quotient, by the delta method; its error is seen against Geary's approximation of the distribution function."""
    if abs(y.mean) <= y.std:
        raise DataError(
            f"divide: the divisor {y.mean:.6g} ± {y.std:.6g} may well be 0; give a histogram or an interval without 0"
        )
    ratio, relative = x.mean / y.mean, y.std / y.mean
    mean = ratio * (1.0 + relative**2) - correlation * (x.std / y.mean) * relative
    std = _deviation(x.std / abs(y.mean), abs(ratio * relative), -correlation * math.copysign(1.0, ratio))
    if y.std == 0.0 or std == 0.0:
        return Moments(mean, std)
    values = mean + std * _GRID
    spread = np.sqrt(np.maximum(x.std**2 - 2.0 * correlation * x.std * y.std * values + (values * y.std) ** 2, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        score = (values * y.mean - x.mean) * math.copysign(1.0, y.mean) / spread
    # Related operands may leave no spread at one place, where the score jumps or is undefined.
    score = np.where(np.isnan(score), 0.0, score)
    sign_change = float(ndtr(-abs(y.mean) / y.std))  # Geary takes the divisor never to change its sign
    error = float(np.abs(ndtr(score) - ndtr(_GRID)).max()) + sign_change
    return Moments(mean, std, error, f"; the divisor is {abs(y.mean) / y.std:.3g} standard deviations away from 0")


def largest(x: Moments, y: Moments, correlation: float) -> tuple[Moments, float]:
    """Clark's moments of the maximum, and the probability that ``x`` is the larger."""
    a = _deviation(x.std, y.std, -correlation)
    if a == 0.0:
        # They differ by a constant: the larger mean is always the larger value.
        return (x, 1.0) if x.mean >= y.mean else (y, 0.0)
    # Relative to one of the means, since squares of large means would hide the variances.
    origin, step = y.mean, x.mean - y.mean
    alpha = step / a
    p, q = float(ndtr(alpha)), float(ndtr(-alpha))
    phi = math.exp(-0.5 * alpha**2) / math.sqrt(2.0 * math.pi)
    u, v, w = x.std**2, y.std**2, correlation * x.std * y.std
    first = step * p + a * phi
    second = (step**2 + u) * p + v * q + step * a * phi
    third = (step**3 + 3.0 * step * u) * p
    third += (step**2 * a + (2.0 * u**2 + u * v + 2.0 * v**2 - 2.0 * (u + v) * w - w**2) / a) * phi
    std = math.sqrt(max(second - first**2, 0.0))
    central = third - 3.0 * first * second + 2.0 * first**3
    return Moments(origin + first, std, _error_of_skewness(central, std)), p


def transformed(
    function: Callable[[Floats], Floats], x: Moments, *, positive: bool = False, polynomial: bool = False
) -> Moments:
    """A function of one normal, its moments by quadrature."""
    if polynomial:
        nodes, weights = np.polynomial.hermite_e.hermegauss(_HERMITE_NODES)
    else:
        start = max(-_REACH, -x.mean / x.std) if positive else -_REACH
        unit, weights = np.polynomial.legendre.leggauss(_LEGENDRE_NODES)
        nodes = 0.5 * (start + _REACH) + 0.5 * (_REACH - start) * unit
        weights = weights * np.exp(-0.5 * nodes**2)
    weights = weights / weights.sum()
    points = x.mean + x.std * _MIDPOINTS
    if positive:
        points = points[points > 0.0]
    with np.errstate(over="raise"):
        values = function(x.mean + x.std * nodes)
        actual = np.sort(function(points))
        mean = float(weights @ values)
        std = math.sqrt(float(weights @ (values - mean) ** 2))
    levels = (np.arange(len(actual)) + 0.5) / len(actual)
    error = float(np.abs(ndtr((actual - mean) / std) - levels).max()) if std > 0.0 else 0.0
    return Moments(mean, std, error)


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
    steps: list[Moments] = []
    if operation == "power":
        result = _power(values[0], values[1], correlation, steps)
    elif operation in ("add", "multiply", "maximum", "minimum"):
        result = _chained(operation, values, correlation, steps)
    else:
        result = _step(operation, _SIMPLE[operation](correlation, *values), steps)
    notes = [
        f"{operation}: a normal is a poor answer, its probabilities are wrong by up to {step.error:.2g}{step.remark}; "
        "a histogram is not"
        for step in steps
        if step.error > _NOTEWORTHY
    ]
    return result.mean, result.std, sum(step.error for step in steps), tuple(dict.fromkeys(notes))


def _step(operation: str, result: Moments, steps: list[Moments]) -> Moments:
    """A result as a normal; its error is kept with the steps."""
    if not (math.isfinite(result.mean) and math.isfinite(result.std)):
        raise OverflowError(operation)
    steps.append(result)
    return Moments(result.mean, result.std)


def _chained(operation: str, values: Sequence[Moments], correlation: float, steps: list[Moments]) -> Moments:
    """Sum, product, maximum or minimum of many.

    A further operand's covariance is its standard deviation times the correlation times ``weight``: of a sum the sum
    of the deviations, of a maximum their mean by the probabilities of being the largest (Clark's equation 9).
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
            accumulated = _step(operation, multiply(accumulated, value, correlation), steps)
        else:
            following, probability = largest(accumulated, Moments(sign * value.mean, value.std), nearness)
            accumulated = _step(operation, following, steps)
            weight = probability * weight + (1.0 - probability) * value.std
    return Moments(sign * accumulated.mean, accumulated.std)


def _power(base: Moments, exponent: Moments, correlation: float, steps: list[Moments]) -> Moments:
    if exponent.std:
        logarithm = _step("power", _of_positive("log", base), steps)
        product = _step("power", multiply(logarithm, exponent, correlation), steps)
        return _step("power", _exp(product), steps)
    p = exponent.mean
    if base.std == 0.0:
        return Moments(_number("power", lambda: float(base.mean**p)), 0.0)
    if p < 0.0:
        above = _power(base, Moments(-p, 0.0), correlation, steps)
        return _step("power", divide(Moments(1.0, 0.0), above, 0.0), steps)
    if p.is_integer():
        return _step("power", transformed(lambda x: np.power(x, p), base, polynomial=p < 32), steps)
    _check_positive("power", base)
    return _step("power", transformed(lambda x: np.power(x, p), base, positive=True), steps)


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


def _exp(x: Moments) -> Moments:
    """The lognormal distribution's moments; the quadrature would miss its tail where the deviation is large."""
    mean = math.exp(x.mean + 0.5 * x.std**2)
    if x.std == 0.0:
        return Moments(mean, 0.0)
    std = mean * math.sqrt(math.expm1(x.std**2))
    return Moments(mean, std, transformed(lambda v: np.exp(v - x.mean), x).error)


def _of_positive(operation: str, x: Moments) -> Moments:
    if x.std == 0.0:
        return Moments(_number(operation, lambda: float(getattr(math, operation)(x.mean))), 0.0)
    _check_positive(operation, x)
    return transformed(getattr(np, operation), x, positive=True)


_SIMPLE: dict[str, Callable[..., Moments]] = {
    "subtract": lambda correlation, x, y: add(x, Moments(-y.mean, y.std), -correlation),
    "divide": lambda correlation, x, y: divide(x, y, correlation),
    "negative": lambda correlation, x: Moments(-x.mean, x.std),
    # The folded normal's moments are those of the larger of x and -x.
    "absolute": lambda correlation, x: largest(x, Moments(-x.mean, x.std), -1.0)[0],
    "exp": lambda correlation, x: _exp(x),
    "log": lambda correlation, x: _of_positive("log", x),
    "sqrt": lambda correlation, x: _of_positive("sqrt", x),
}


def doubts(samples: npt.NDArray[np.float64]) -> tuple[str, ...]:
    """Return what speaks against a normal, by the test of D'Agostino and Pearson (Biometrika 60, 1973), as a note or
    none.
    """
    if samples.min() == samples.max():
        return ()
    if len(samples) < _FEWEST:
        return (f"{len(samples)} samples are too few to tell whether they are normal; {_FEWEST} are needed",)
    from scipy import stats  # takes longer to import than all else here

    skewness, kurtosis = float(stats.skew(samples)), float(stats.kurtosis(samples))
    p_value = float(stats.normaltest(samples).pvalue)
    if p_value >= _DOUBTFUL:
        return ()
    return (
        f"the {len(samples)} samples do not look normal: D'Agostino and Pearson's test p = {p_value:.2g}, "
        f"skewness {skewness:.2f}, excess kurtosis {kurtosis:.2f}; a histogram keeps their shape",
    )


@dataclass(frozen=True)
class NormalArithmetic:
    """How operands depend on each other."""

    correlation: float = option(
        0.0, "of every two operands, -1 to 1: 0 for unrelated values, 1 for related ones", minimum=-1.0
    )


@dataclass(frozen=True, repr=False, eq=False)
class Normal(Family):
    """A normal distribution by its mean and standard deviation.

    Choose it if values scatter evenly about one middle. Operations other than sums give no normal: mean and standard
    deviation are kept, ``cdf_error`` bounds how far the distribution function is off by its own estimate, and a note
    says so where that matters.

    Examples
    --------
    >>> Normal(10, 2) - Normal(4, 1.5)
    Normal(6 ± 2.5)
    """

    name: ClassVar[str] = "normal"
    generality: ClassVar[int] = 10
    Arithmetic: ClassVar[type] = NormalArithmetic

    # Fields in place of the properties of the contract, which need a value in the class: the standard normal.
    mean: float = 0.0  # type: ignore[assignment]
    std: float = 1.0  # type: ignore[assignment]
    cdf_error: float = field(default=0.0, kw_only=True, compare=False)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        try:
            mean, std = float(self.mean), float(self.std)
        except (TypeError, ValueError):
            raise DataError(f"normal: {self.mean!r} and {self.std!r} must be numbers") from None
        if not (math.isfinite(mean) and math.isfinite(std)):
            raise DataError(f"normal: mean {mean} and standard deviation {std} must be finite")
        if std < 0.0:
            raise DataError(f"normal: the standard deviation {std:.6g} is negative; give 0 or more, such as {-std:.6g}")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "std", std)

    @classmethod
    def from_samples(cls, samples: npt.ArrayLike, options: Any = None) -> Self:
        """Their mean and standard deviation (n - 1 in the denominator); a note where they do not look normal."""
        values = checked_samples(samples)
        std = float(values.std(ddof=1)) if len(values) > 1 else 0.0
        return cls(float(values.mean()), std, notes=doubts(values))

    @classmethod
    def convert(cls, value: StochasticValue) -> tuple[Self, str]:
        """Mean and standard deviation; of bounds alone those of a uniform distribution."""
        if isinstance(value, Normal):
            return cls(value.mean, value.std, notes=value.notes, cdf_error=value.cdf_error), ""
        lower, upper = value.support
        if lower == upper:
            return cls(lower, 0.0), ""
        if math.isnan(value.mean):
            normal = cls(0.5 * lower + 0.5 * upper, (upper - lower) / math.sqrt(12.0))
            note = f"assumed that all values are equally likely from {lower:.6g} to {upper:.6g}; then their shape"
            return normal, note
        normal = cls(value.mean, value.std)
        levels = np.linspace(0.001, 0.999, 999)
        error = float(np.abs(normal.cdf(value.quantile(levels)) - levels).max())
        return normal, f"the shape: probabilities differ by up to {error:.2g}"

    @classmethod
    def operate(cls, operation: str, operands: Sequence[StochasticValue], options: Any = None) -> Self:
        correlation = 0.0 if options is None else options.correlation
        if correlation > 1.0:
            raise OptionError(f"normal: --correlation {correlation:g}: must be at most 1")
        normals, notes = cls.converted(operands)
        try:
            mean, std, error, operation_notes = operate(
                operation, [(normal.mean, normal.std) for normal in normals], correlation
            )
            error += math.fsum(normal.cdf_error for normal in normals)
            return cls(mean, std, notes=(*notes, *operation_notes), cdf_error=error)
        except (OverflowError, ZeroDivisionError, FloatingPointError):
            operand_text = ", ".join(map(repr, normals))
            raise DataError(f"{operation} of {operand_text} is not finite; change the unit") from None

    def _cdf(self, x: Floats) -> Floats:
        return np.asarray(ndtr((x - self.mean) / self.std))

    def _quantile(self, q: Floats) -> Floats:
        return np.asarray(self.mean + self.std * ndtri(q))

    def pdf(self, x: npt.ArrayLike) -> Floats:
        places = np.asarray(x, dtype=np.float64)
        if not self.std:
            return np.zeros(places.shape)
        with np.errstate(over="ignore"):
            scores = (places - self.mean) / self.std
            return np.asarray(np.exp(-0.5 * scores**2) / (self.std * math.sqrt(2.0 * math.pi)))

    def crps(self, actual: float) -> float:
        error = actual - self.mean
        if not self.std:
            return abs(error)
        z = error / self.std
        density = math.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
        return self.std * (z * (2.0 * float(ndtr(z)) - 1.0) + 2.0 * density - 1.0 / math.sqrt(math.pi))

    def __repr__(self) -> str:
        return f"Normal({self.mean:.6g} ± {self.std:.6g})"
