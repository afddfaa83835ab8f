"""Tables of text that may have been cut off within their last number: a full disk, a copy that broke off."""

from __future__ import annotations

import os
import re
from pathlib import Path


_LOOKED_AT = 4096  # bytes at the end, of which the first line may be a part
_DECIMALS = re.compile(r"[+-]?[0-9]*\.([0-9]*)(?:[eE][+-]?[0-9]+)?")
_BROKEN = re.compile(r"[+-]?[0-9]*(?:\.|\.?[0-9]+[eE][+-]?)|[+-]")
_FEWEST = 3  # numbers with as many decimals as one another, which a shorter one stands out from


def ends_within_line(path: Path) -> bool:
    """Whether the last line of a file has no end."""
    return bool(_tail(path)) and not _tail(path).endswith((b"\n", b"\r"))


def cut_cell(path: Path, delimiter: str) -> str | None:
    r"""The last number of a file whose last line has no end, where it breaks off or has fewer decimals than all
    above.
    """
    if not ends_within_line(path):
        return None
    lines = _tail(path).decode("utf-8", "replace").splitlines()
    *above, last = [line.rpartition(delimiter)[2].strip().strip('"') for line in lines]
    if _BROKEN.fullmatch(last):
        return last
    decimals = {len(match[1]) if (match := _DECIMALS.fullmatch(cell)) else 0 for cell in above[1:]}
    match = _DECIMALS.fullmatch(last)
    if len(above) <= _FEWEST or len(decimals) != 1 or not re.fullmatch(r"[+-]?[0-9.]+", last):
        return None
    return last if (len(match[1]) if match else 0) < decimals.pop() else None


def _tail(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _LOOKED_AT))
        return file.read()
