"""What is said of a cell that holds no number where one is wanted, and may be one of several."""

from __future__ import annotations

import re


def no_number(name: str, text: str) -> str:
    """What a cell holds, and what to do about it."""
    description = f"{name} is {text[:40]!r}; a number is expected"
    if re.fullmatch(r"[+-]?[0-9]{1,3}(,[0-9]{3})+", text):
        plain = text.replace(",", "")
        return f"{description}; if its comma is a decimal sign, give -r decimal=, and if not, write {plain}"
    if re.fullmatch(r"[+-]?[0-9]*,[0-9]+", text):
        return f"{description}; it has a decimal comma, which tables of text are read with by -r decimal=,"
    if re.fullmatch(r"[+-]?[0-9.]+ ?[kKMGT]", text):
        return f"{description}; {text[-1]} may be a power of 1000 or of 1024: write the number in full"
    return description
