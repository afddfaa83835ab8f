"""Linear combinations of functions as a person reads them."""

from __future__ import annotations

from collections.abc import Sequence


def sum_of_terms(coefficients: Sequence[float], functions: Sequence[str]) -> str:
    """A linear combination, its coefficients with six digits."""
    text = ""
    for coefficient, function in zip(coefficients, functions, strict=True):
        sign = ("-" if coefficient < 0 else "") if not text else (" - " if coefficient < 0 else " + ")
        text += f"{sign}{abs(coefficient):.6g}" + ("" if function == "1" else f" {function}")
    return text or "0"
