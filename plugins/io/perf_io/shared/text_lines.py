"""Lines of a text file by number, for messages about a record that a query met."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def line_of_record(path: Path, is_record: Callable[[str], bool], index: int) -> tuple[int, str]:
    """The number (from 1) and the text of the ``index``-th line (from 0) that is a record."""
    number, record, text = 0, -1, ""
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            text = line.rstrip("\n")
            number += 1
            record += is_record(text)
            if record == index:
                break
    return number, text
