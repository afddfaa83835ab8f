"""Which registered opener a file belongs to."""

from __future__ import annotations

from pathlib import Path

from perf_views.opener import Opener
from perfcore.base.errors import PerfError
from perfcore.hooks.registry import registry


def opener_of(path: str) -> tuple[str, Opener] | None:
    """Name and opener of a file; None where it holds data or a fitted model, or is no file."""
    file = Path(path)
    if not file.is_file():  # a folder, a pattern, standard input; whoever reads it says when there is nothing
        return None
    best: tuple[float, str, Opener] | None = None
    for name, entry in registry().entries("openers").items():
        if entry.suffixes and file.suffix.lower() not in entry.suffixes:
            continue
        try:
            opener: Opener = entry.load()()
        except PerfError:  # one that lacks its library must not hide the others
            continue
        sure = opener.sniff(file)
        if sure > 0.0 and (best is None or sure > best[0]):
            best = sure, name, opener
    return best and best[1:]
