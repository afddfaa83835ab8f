"""How far the last digit of rounded values may have moved a ratio.

Noise larger than the last digit makes rounding harmless: it averages out. Where values hardly differ, it does not: 0.02
and 0.03, always, may be 0.0249 and 0.0251.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_LOOKED_AT = 12  # values, which show how many digits a benchmark's have
_MOST_DIGITS = 9  # significant ones: more come of computing, not of a clock


def resolution(values: Floats) -> float:
    """Half of the last decimal place of a benchmark's values, relative to them; 0 where they have too many digits."""
    if not len(values):
        return 0.0
    places = [_decimals(value) for value in values[:_LOOKED_AT].tolist()]
    decimals = [place for place in places if place is not None]
    if len(decimals) < len(places):
        return 0.0
    return 0.5 * 10.0 ** -max(decimals) / float(np.median(values))


def rounding_limits(resolutions: Floats, spread: Floats) -> Floats:
    """How far rounding may have moved each logarithm of a ratio (n,): all of it where the spread does not hide it."""
    return np.where(spread > resolutions / 2.0, 0.0, resolutions)


def _decimals(value: float) -> int | None:
    """Decimal places of a value; None where it has so many digits that it was computed."""
    digits = f"{value:.{_MOST_DIGITS}g}"
    if not math.isclose(float(digits), value, rel_tol=1e-12):
        return None
    mantissa, _, exponent = f"{value:.{_MOST_DIGITS - 1}e}".partition("e")
    return max(0, len(mantissa.rstrip("0").partition(".")[2]) - int(exponent))
