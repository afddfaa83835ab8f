"""Names that are too long for a label: states of C++ programs, call paths, files."""

from __future__ import annotations

from collections.abc import Sequence

LABEL_LETTERS = 34  # of a name beside an axis, where a picture still has most of its width


def shortened(name: str, most: int = LABEL_LETTERS) -> str:
    """A name on one line; the middle is left out where it is too long, since names differ at both ends."""
    line = " ".join(name.split())
    tail = most // 3
    return line if len(line) <= most else f"{line[: most - tail - 1]}…{line[-tail:]}"


def shortened_apart(names: Sequence[str], most: int) -> list[str]:
    """Names shortened so that different ones still look different; where they need more letters, they get them."""
    longest = max(map(len, names), default=0)
    labels = [shortened(name, most) for name in names]
    while len(set(labels)) < len(set(names)) and most < longest:
        most *= 2
        labels = [shortened(name, most) for name in names]
    return labels
