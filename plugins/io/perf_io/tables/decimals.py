"""Decimal commas: numbers as most of Europe's spreadsheets write them."""

from __future__ import annotations

import re

from perf_io.tables.duck import quoted_name

_WITH_COMMA = re.compile(r"\s*[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?\s*")
_GROUPED = re.compile(r"\s*[+-]?[0-9]{1,3}(?:,[0-9]{3})+\s*")
_SWAPPED = str.maketrans(".,", ",.")


def has_decimal_comma(text: str) -> bool:
    """Whether a text is a number if its comma is a decimal sign."""
    return _WITH_COMMA.fullmatch(text) is not None


def decimal_hint(text: str, decimal: str) -> str:
    """What to add to the message about a text that is a number with the other decimal sign; else nothing."""
    if decimal == "." and _GROUPED.fullmatch(text):
        plain = text.strip().replace(",", "")
        return f"; if its comma is a decimal sign, give -r decimal=, and if it separates thousands, write {plain}"
    if decimal == "." and has_decimal_comma(text):
        return "; it has a decimal comma, which the option decimal reads: -r decimal=,"
    if decimal == "," and has_decimal_comma(text.translate(_SWAPPED)):
        return "; it has a point, which is no decimal sign with decimal=,"
    return ""


def sql_number(name: str, decimal: str) -> str:
    """SQL for a column of texts as numbers are spelt in SQL."""
    return f"translate({quoted_name(name)}, '.,', ',.')" if decimal == "," else quoted_name(name)


def number_of(text: str, decimal: str = ".") -> float:
    """The number that a text is."""
    if "_" in text:  # Python's own way of grouping digits, which no table means
        raise ValueError
    return float(text.translate(_SWAPPED) if decimal == "," else text)
