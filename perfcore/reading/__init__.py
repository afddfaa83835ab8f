"""Files to data: sources, recognised formats, many files as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Read = Callable[[str, Sequence[type]], Any]  # takes what a user calls a file, and the types that are wanted


def read_file(path: str, wanted: Sequence[type]) -> Any:
    """Read as `perfcore.read` does: the default of functions to which a command gives options of reading."""
    from perfcore.reading.recognise import read

    return read(path, wanted=wanted)
