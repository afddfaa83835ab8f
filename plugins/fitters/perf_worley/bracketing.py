"""A root between two points of known sign."""

from __future__ import annotations

from collections.abc import Callable

_MACHINE_EPSILON = 2.0**-52
_MAX_EVALUATIONS = 400


def bracket_root(
    function: Callable[[float], float], lower: float, f_lower: float, upper: float, f_upper: float, width: float
) -> tuple[float, float]:
    """Narrow a bracket ``f_lower < 0 <= f_upper`` down to a width.

    Regula falsi after Anderson and Bjorck ("A new high order method of regula falsi type", BIT 13, 1973), with a
    bisection whenever three steps did not halve the bracket: a jump through zero costs no more than bisection.
    """
    checkpoint, steps, moved = upper - lower, 0, 0
    for _ in range(_MAX_EVALUATIONS):
        if upper - lower <= max(width, 4.0 * _MACHINE_EPSILON * max(abs(lower), abs(upper))):
            break
        steps += 1
        if steps == 3 and upper - lower > 0.5 * checkpoint:
            middle = 0.5 * (lower + upper)
        else:
            middle = upper - f_upper * (upper - lower) / (f_upper - f_lower)
            # Stay off the ends: the last digits are gained by stepping just across the zero.
            middle = min(max(middle, lower + 0.25 * width), upper - 0.25 * width)
        if not lower < middle < upper:
            middle = 0.5 * (lower + upper)
        if steps == 3:
            checkpoint, steps = upper - lower, 0
        f_middle = function(middle)
        if f_middle >= 0.0:
            if moved == 1:
                factor = 1.0 - f_middle / f_upper if f_upper > 0.0 else 0.5
                f_lower *= factor if factor > 0.0 else 0.5
            upper, f_upper, moved = middle, f_middle, 1
        else:
            if moved == -1:
                factor = 1.0 - f_middle / f_lower
                f_upper *= factor if factor > 0.0 else 0.5
            lower, f_lower, moved = middle, f_middle, -1
    return lower, upper
