"""Quantities as they are given on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perfcore.base.errors import OptionError

__all__ = ["given_quantities"]


def given_quantities(words: Sequence[str]) -> dict[str, Any]:
    """``NAME=QUANTITY`` words as inputs of a structural model.

    Examples
    --------
    >>> given_quantities(["a=3", "b=normal:10,2", "c=load.json"])
    {'a': 3.0, 'b': {'normal': [10.0, 2.0]}, 'c': {'file': 'load.json'}}
    """
    found = {}
    for word in words:
        name, equals, text = (part.strip() for part in word.partition("="))
        if not (name and equals and text):
            raise OptionError(f"--with {word!r}: NAME=QUANTITY is expected, such as a=3 or a=normal:10,2")
        if name in found:
            raise OptionError(f"--with {word!r}: {name} was given before")
        found[name] = _quantity(word, text)
    return found


def _quantity(word: str, text: str) -> Any:
    kind, colon, rest = text.partition(":")
    if colon and kind in {"normal", "interval"}:
        try:
            first, second = map(float, rest.split(","))
        except ValueError:
            raise OptionError(f"--with {word!r}: {kind}: and two numbers with a comma are expected") from None
        return {kind: [first, second]}
    try:
        return float(text)
    except ValueError:
        return {"file": text}
