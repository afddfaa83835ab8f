"""Linear combinations of functions as a person reads them."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["sum_of_terms"]


def sum_of_terms(coefficients: Sequence[float], functions: Sequence[str]) -> str:
    """A linear combination, its coefficients with six digits.

    Parameters
    ----------
    coefficients : (n,) float
    functions : (n,) str
        What each multiplies, as a formula; ``"1"`` is left out.

    Examples
    --------
    >>> sum_of_terms([2.0, -0.5], ["1/p", "1"])
    '2 1/p - 0.5'
    """
    text = ""
    for coefficient, function in zip(coefficients, functions, strict=True):
        sign = ("-" if coefficient < 0 else "") if not text else (" - " if coefficient < 0 else " + ")
        text += f"{sign}{abs(coefficient):.6g}" + ("" if function == "1" else f" {function}")
    return text or "0"
