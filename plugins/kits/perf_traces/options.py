"""Which part of a run is wanted, and what counts as a location."""

from __future__ import annotations

from dataclasses import dataclass

from perfcore.hooks.options import option

__all__ = ["CLOCKS", "LEVELS", "TraceOptions", "recorded_by"]

LEVELS = ("auto", "stream", "thread", "device", "process", "node", "both")
CLOCKS = ("auto", "recorded", "collectives", "unaligned")


@dataclass(frozen=True)
class TraceOptions:
    """Options of every command that reads a trace."""

    locations: str = option(
        "auto",
        "what counts as a location; auto: a GPU is one, whatever its streams, and everything else is as recorded",
        choices=LEVELS,
    )
    files: str = option(
        "auto",
        "what several files are: ranks of one run, or runs side by side; auto: ranks if they or their names say which",
        choices=("auto", "ranks", "runs"),
    )
    clocks: str = option(
        "auto",
        "how times of ranks become times of one run: as recorded, by the ends of common collectives, or each from its "
        "own first event; auto: as recorded if they are of one clock, else by collectives",
        choices=CLOCKS,
    )
    processes: int = option(0, "that read ranks at once; 0: one on each core if the files are large", minimum=0)


def recorded_by(locations: str, has_streams: bool) -> str:
    """What a reader of both streams and threads reads for a level: ``streams``, ``threads`` or ``both``.

    Examples
    --------
    >>> recorded_by("device", True), recorded_by("auto", False), recorded_by("both", True)
    ('streams', 'threads', 'both')
    """
    told = {"stream": "streams", "device": "streams", "thread": "threads", "both": "both"}
    return told.get(locations, "streams" if has_streams else "threads")
