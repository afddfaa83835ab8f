"""Quantities as they are given on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perf_structural.support import typed_within
from perfcore.base.errors import OptionError


def given_quantities(words: Sequence[str]) -> dict[str, Any]:
    """``NAME=QUANTITY`` words as inputs of a structural model."""
    quantities = {}
    for word in words:
        name, equals, text = (part.strip() for part in word.partition("="))
        if not (name and equals and text):
            raise OptionError(f"--with {word!r}: NAME=QUANTITY is expected, such as a=3 or a=normal:10,2")
        if name in quantities:
            raise OptionError(f"--with {word!r}: {name} was given before")
        quantities[name] = _quantity(text)
    return quantities


def _quantity(text: str) -> Any:
    """A number, the words of a representation, which it reads itself, or a file; one called ``a:b`` is ``./a:b``."""
    try:
        return float(text)
    except ValueError:
        name, colon, _ = text.partition(":")
    if colon and name.strip().replace("-", "_").isidentifier():
        return text
    path, bounds = typed_within(text)
    return {"file": path} if bounds is None else {"file": path, "within": bounds}
