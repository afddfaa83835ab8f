"""Operations on what may be infinite: the finite rest by the arithmetic of histograms, what is infinite by cases.

An operand is finite, plus infinity or minus infinity, each with its probability, and operands are independent. So the
result is a mixture over the cases of its operands, as IEEE 754 (section 6.1) has them: infinity plus a number is
infinity, a number over it is 0, and infinity less itself, times 0 or over itself is refused instead of being no number.
A divisor that begins (or ends) at 0 and is 0 with a probability of its own makes a quotient infinite with just that.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from perf_stochastic.exact.mixtures import MixtureLaw, PlainLaw
from perf_stochastic.histogram.arithmetic import operate
from perf_stochastic.histogram.bins import Bins, single_value, spread
from perf_stochastic.histogram.rebinning import rebin
from perfcore.base.errors import DataError

Case = Bins | float  # what is finite, or infinity of one sign


class Extended(NamedTuple):
    """Bins of what is finite, and the probabilities of the rest."""

    finite: Bins  # given that it is finite: of probability 1
    below: float = 0.0  # probabilities of minus and plus infinity; less than 1 together
    above: float = 0.0

    @property
    def cases(self) -> list[tuple[float, Case]]:
        """What it may be, with probabilities."""
        every: list[tuple[float, Case]] = [
            (1.0 - self.below - self.above, self.finite),
            (self.below, -math.inf),
            (self.above, math.inf),
        ]
        return [(probability, case) for probability, case in every if probability > 0.0]


def operate_extended(operation: str, operands: Sequence[Extended], count: int | None = None) -> Extended:
    """The result of an operation on independent operands that may be infinite, or divide by what can be 0."""
    if operation == "subtract":
        return operate_extended("add", [operands[0], _negated(operands[1])], count)
    if operation == "minimum":
        return _negated(operate_extended("maximum", [_negated(x) for x in operands], count))
    if operation == "power" and _is_of_zero(*operands):
        base = operate_extended("power", [operands[0], _negated(operands[1])], count)
        return operate_extended("divide", [Extended(single_value(1.0)), base], count)
    if not any(x.below or x.above for x in operands) and operation != "divide":
        return Extended(operate(operation, [x.finite for x in operands], count))
    bins = count or max(len(x.finite.masses) for x in operands)
    if len(operands) == 1:
        function = _OF_ONE[operation]
        return _mixed([(p, function(case, bins)) for p, case in operands[0].cases], operation, bins)
    combine = _OF_TWO[operation]
    return functools.reduce(lambda x, y: _combined(combine, x, y, operation, bins), operands)


Outcomes = list[tuple[float, Case]]


def _combined(
    combine: Callable[[Case, Case, int], Outcomes], x: Extended, y: Extended, operation: str, bins: int
) -> Extended:
    """The mixture over pairs of cases."""
    outcomes = [
        (p * q * share, case) for p, of_x in x.cases for q, of_y in y.cases for share, case in combine(of_x, of_y, bins)
    ]
    return _mixed(outcomes, operation, bins)


def _mixed(outcomes: Outcomes, operation: str, bins: int) -> Extended:
    below = math.fsum(p for p, case in outcomes if case == -math.inf)
    above = math.fsum(p for p, case in outcomes if case == math.inf)
    finite = [(p, case) for p, case in outcomes if isinstance(case, Bins) and p > 0.0]
    total = math.fsum(p for p, _ in finite)
    if total == 0.0:
        raise DataError(f"{operation}: the result is infinite; a divisor is zero or an operand is infinite for sure")
    if len(finite) == 1:
        return Extended(finite[0][1], below, above)
    law = MixtureLaw([(p / total, PlainLaw(spread(part))) for p, part in finite])
    return Extended(Bins(*rebin(law, bins)), below, above)


def _is_of_zero(base: Extended, exponent: Extended) -> bool:
    """Whether a power is one over what can be 0 or infinite."""
    is_inverse = exponent.finite.is_constant and exponent.finite.edges[0] < 0.0
    return is_inverse and bool(base.below or base.above or _without_zero(base.finite)[0])


def _negated(x: Extended) -> Extended:
    return Extended(operate("negative", [x.finite]), x.above, x.below)


def _undefined(operation: str, form: str) -> DataError:
    return DataError(f"{operation}: {form} has no value, and is possible here; give operands of which one cannot be so")


def _signs(operation: str, x: Bins, zero: str) -> tuple[float, float]:
    """Probabilities of less and of more than 0; refused where 0 has its own."""
    (below, _), at_zero, (above, _) = spread(x).split()
    if at_zero > 0.0:
        raise _undefined(operation, zero)
    return below, above


def _add(x: Case, y: Case, bins: int) -> Outcomes:
    if isinstance(x, Bins) and isinstance(y, Bins):
        return [(1.0, operate("add", [x, y], bins))]
    sizes = {case for case in (x, y) if isinstance(case, float)}
    if len(sizes) == 2:
        raise _undefined("add", "infinity less infinity")
    return [(1.0, sizes.pop())]


def _multiply(x: Case, y: Case, bins: int) -> Outcomes:
    if isinstance(x, Bins):
        if isinstance(y, Bins):
            return [(1.0, operate("multiply", [x, y], bins))]
        below, above = _signs("multiply", x, "infinity times 0")
        return [(below, -y), (above, y)]
    return [(1.0, x * y)] if isinstance(y, float) else _multiply(y, x, bins)


def _divide(x: Case, y: Case, bins: int) -> Outcomes:
    if isinstance(y, float):
        if isinstance(x, float):
            raise _undefined("divide", "infinity over infinity")
        return [(1.0, single_value(0.0))]
    if float(y.edges[-1]) <= 0.0 and not y.is_constant:
        return [
            (share, operate("negative", [case]) if isinstance(case, Bins) else -case)
            for share, case in _divide(x, operate("negative", [y]), bins)
        ]
    zero, rest = _without_zero(y)
    outcomes: Outcomes = []
    if zero > 0.0 and isinstance(x, Bins):
        below, above = _signs("divide", x, "0 over 0")
        outcomes += [(zero * below, -math.inf), (zero * above, math.inf)]
    if isinstance(x, float):
        below, above = _signs("divide", rest, "infinity over 0")
        return [(zero + (1.0 - zero) * above, x), ((1.0 - zero) * below, -x)]
    return [*outcomes, (1.0 - zero, operate("divide", [x, rest], bins))]


def _without_zero(y: Bins) -> tuple[float, Bins]:
    """The probability of 0 itself where nothing is below, and the rest; of nothing but 0 it is left as it is."""
    first = 1
    while first < len(y.masses) and y.edges[0] == 0.0 == y.edges[first]:
        first += 1
    last = first - (y.edges[first] > 0.0)
    zero = float(y.masses[:last].sum())
    if zero == 0.0 or zero >= 1.0:
        return 0.0, y
    filled = last + int(np.flatnonzero(y.masses[last:])[0])
    masses = y.masses[filled:]
    return zero, Bins(y.edges[filled:], masses / masses.sum(), y.means[filled:])


def _maximum(x: Case, y: Case, bins: int) -> Outcomes:
    if isinstance(x, Bins) and isinstance(y, Bins):
        return [(1.0, operate("maximum", [x, y], bins))]
    if isinstance(x, Bins):
        x, y = y, x
    return [(1.0, x if x == math.inf else y)]


def _power(x: Case, y: Case, bins: int) -> Outcomes:
    if isinstance(x, Bins) and isinstance(y, Bins):
        return [(1.0, operate("power", [x, y], bins))]
    if isinstance(x, Bins) or isinstance(y, float):
        raise _undefined("power", "an infinite exponent")
    if not y.is_constant:
        raise _undefined("power", "infinity to a power that varies")
    exponent = float(y.edges[0])
    if x < 0.0 and not exponent.is_integer():
        raise _undefined("power", f"minus infinity to the power {exponent:.6g}")
    return [(1.0, single_value(1.0) if exponent == 0.0 else x**exponent)]


def _function(operation: str, of_minus: Case | None) -> Callable[[Case, int], Case]:
    """A function that is infinite at infinity, and what it is at minus infinity."""

    def applied(x: Case, bins: int) -> Case:
        if isinstance(x, Bins):
            return operate(operation, [x], bins)
        if x > 0.0:
            return x
        if of_minus is None:
            raise DataError(f"{operation}: the values begin at minus infinity; only what is not negative is accepted")
        return of_minus

    return applied


_OF_ONE: Mapping[str, Callable[[Case, int], Case]] = {
    "negative": lambda x, bins: operate("negative", [x], bins) if isinstance(x, Bins) else -x,
    "absolute": _function("absolute", math.inf),
    "exp": _function("exp", single_value(0.0)),
    "log": _function("log", None),
    "sqrt": _function("sqrt", None),
}
_OF_TWO: Mapping[str, Callable[[Case, Case, int], Outcomes]] = {
    "add": _add,
    "multiply": _multiply,
    "divide": _divide,
    "maximum": _maximum,
    "power": _power,
}
