"""Names that are too long for a label: states of C++ programs, call paths, files."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["LABEL_LETTERS", "shortened", "shortened_apart"]

LABEL_LETTERS = 34  # of a name beside an axis, where a picture still has most of its width


def shortened(name: str, most: int = LABEL_LETTERS) -> str:
    """A name on one line; the middle is left out where it is too long, since names differ at both ends.

    Parameters
    ----------
    name : str
    most : int
        Letters, at least 3; by default as many as fit beside an axis.

    Examples
    --------
    >>> shortened("std::vector<int>::push_back(int&&)", 20), shortened("wait", 20)
    ('std::vector<i…int&&)', 'wait')
    """
    line = " ".join(name.split())
    tail = most // 3
    return line if len(line) <= most else f"{line[: most - tail - 1]}…{line[-tail:]}"


def shortened_apart(names: Sequence[str], most: int) -> list[str]:
    """Names shortened so that different ones still look different; where they need more letters, they get them.

    Parameters
    ----------
    names : sequence of str
    most : int
        Letters, at least 3.

    Examples
    --------
    >>> shortened_apart(["gemm<double, 1>(int)", "gemm<double, 2>(int)"], 12)
    ['gemm<double, 1>(int)', 'gemm<double, 2>(int)']
    """
    longest = max(map(len, names), default=0)
    labels = [shortened(name, most) for name in names]
    while len(set(labels)) < len(set(names)) and most < longest:
        most *= 2
        labels = [shortened(name, most) for name in names]
    return labels
