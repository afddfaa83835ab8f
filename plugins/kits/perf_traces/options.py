"""Which part of a run is wanted, and what counts as a location."""

from __future__ import annotations

from dataclasses import dataclass

from perfcore.hooks.options import option

__all__ = ["LEVELS", "TraceOptions", "recorded_by"]

LEVELS = ("auto", "stream", "thread", "device", "process", "node", "both")


@dataclass(frozen=True)
class TraceOptions:
    """Options of every command that reads a trace."""

    locations: str = option(
        "auto",
        "what counts as a location, and whose events are read: those of GPUs (stream, device), of threads, or both; "
        "auto: a GPU is one, whatever its streams, and everything else is as recorded",
        choices=LEVELS,
    )


def recorded_by(locations: str, has_streams: bool) -> str:
    """What a reader of both streams and threads reads for a level: ``streams``, ``threads`` or ``both``.

    Examples
    --------
    >>> recorded_by("device", True), recorded_by("auto", False), recorded_by("both", True)
    ('streams', 'threads', 'both')
    """
    told = {"stream": "streams", "device": "streams", "thread": "threads", "both": "both"}
    return told.get(locations, "streams" if has_streams else "threads")
