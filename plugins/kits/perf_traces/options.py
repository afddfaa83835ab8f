"""Which part of a run is wanted, and what counts as a location."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perfcore.hooks.options import option

LEVELS = ("auto", "stream", "thread", "device", "process", "node", "both")
CELLS = 1 << 17  # of a summary, by default at most; some 3 bytes each in the file
WARNING = "warning: "  # begins a note of a trace that every command prints
CLOCKS = ("auto", "recorded", "collectives", "unaligned")


def _moment(value: Any) -> Any:
    """A number in the unit of the data, or a text that is understood where they are known."""
    if isinstance(value, bool) or not (isinstance(value, str) or hasattr(value, "__float__")):
        raise ValueError("a number, a time such as 1.5s or 10%, or the name of a marker is expected")
    if isinstance(value, str) and not value.strip():
        raise ValueError("it is empty; a time such as 1.5s or 10%, or the name of a marker is expected")
    return value


@dataclass(frozen=True)
class CurveOptions:
    """Options of every command that reads a curve."""

    since: str | None = option(
        None,
        "begin at this time: a number in the unit of the data, 1.5s, 10% of the run; of traces also where a marker "
        "begins, NAME or its third, NAME#3",
        flag="--from", metavar="TIME|MARKER", parse=_moment,
    )  # fmt: skip
    until: str | None = option(
        None, "end at this time, or where a marker ends", flag="--to", metavar="TIME|MARKER", parse=_moment
    )  # fmt: skip


@dataclass(frozen=True)
class TraceOptions(CurveOptions):
    """Options of every command that reads a trace."""

    region: str | None = option(
        None, "span of a marker; of several of one name, from the first to the last",
        metavar="MARKER",
    )  # fmt: skip
    only: tuple[str, ...] = option(
        (), "only locations, or only states, whose names fit the pattern with * and ?", metavar="PATTERN", repeats=True
    )
    locations: str = option(
        "auto",
        "locations whose events are read: GPUs (stream, device), threads, or both; "
        "auto: a GPU is one, whatever its streams, and everything else is as recorded",
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
    """What a reader of both streams and threads reads for a level: ``streams``, ``threads`` or ``both``."""
    by_level = {"stream": "streams", "device": "streams", "thread": "threads", "both": "both"}
    return by_level.get(locations, "streams" if has_streams else "threads")
