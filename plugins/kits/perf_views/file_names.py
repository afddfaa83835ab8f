"""Names of files beside one another, without the folders that all of them are in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath


def told_apart(names: Sequence[str]) -> list[str]:
    """The ends of paths that are enough to tell different ones apart."""
    parts = [PurePath(name).parts for name in names]
    longest = max(map(len, parts), default=0)
    for kept in range(1, longest):
        ends = [str(PurePath(*each[-kept:])) if each else name for name, each in zip(names, parts, strict=True)]
        if len(set(ends)) == len(set(names)):
            return ends
    return list(names)
