"""The options by which commands read a trace: which part of it, what counts as a location, and what is different."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

import typer

from perfcore.base import pd
from perfcore.base.errors import OptionError
from perfcore.base.files import atomic_path
from perfcore.cli.reading import HowToRead
from perfcore.data.columns import is_processors
from perfcore.hooks.options import describe, option

LEVELS = ("auto", "stream", "thread", "device", "process", "node", "both")
CELLS = 1 << 17  # of a summary, by default at most; some 3 bytes each in the file
WARNING = "warning: "  # begins a note of a trace that every command prints
CLOCKS = ("auto", "recorded", "collectives", "unaligned")
RANK = "rank"  # the field of a pattern for names, and the fact of a trace
_POINTS_OF_A_LAW = 3  # that the fitter scaling needs, and one more for several parameters


def _moment(value: Any) -> Any:
    """Return a number in the unit of the data, or a text that is understood where they are known."""
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


_FIELDS = {field.name: field for field in describe(TraceOptions)}


def _levels(incomplete: str) -> list[str]:
    return [level for level in LEVELS if level.startswith(incomplete)]


def _option(name: str, **more: Any) -> Any:
    """Return a declared option of traces as one of the command line."""
    field = _FIELDS[name]
    more = {"metavar": field.metavar, "rich_help_panel": "Part of a trace", **more}
    return typer.Option(field.flag, help=f"{field.help[0].upper()}{field.help[1:]}.", **more)


@dataclass(frozen=True)
class HowToReadTraces(HowToRead):
    """``--from``, ``--to``, ``--region``, ``--only`` and ``--locations``, and how a file is read."""

    since: Annotated[str | None, _option("since")] = None
    until: Annotated[str | None, _option("until")] = None
    only: Annotated[list[str] | None, _option("only")] = None
    locations: Annotated[str | None, _option("locations", metavar="LEVEL", autocompletion=_levels)] = None
    region: Annotated[str | None, _option("region")] = None

    @property
    def named(self) -> dict[str, tuple[str, Any]]:
        given = {field.name: getattr(self, field.name) for field in fields(self) if field.name in _FIELDS}
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items() if value}
        return super().named | {name: (_FIELDS[name].flag, value) for name, value in values.items()}

    @property
    def reading_of_runs(self) -> dict[str, Any]:
        """Parameters of a function that identifies runs by their names and reads them with these options."""
        from perfcore.reading.recognise import NamePattern

        of_ranks = self.from_name is not None and RANK in NamePattern(self.from_name).types
        return {"from_name": self.from_name, "reading": (self if of_ranks else replace(self, from_name=None)).options}


def next_step(table: str, runs: Sequence[Mapping[str, Any]], symbols: Mapping[str, str]) -> str:
    """Return what to do with a table of runs: fit it, or make more runs where they are too few for a law."""
    guessed = len(symbols) == 1 and is_processors(next(iter(symbols.values())))
    pairs = ",".join(f"{symbol}={column}" for symbol, column in symbols.items())
    parameter = "" if guessed else f" --parameter {shlex.quote(pairs)}"
    fit = f"perf fit {shlex.quote(table)} --fitter scaling{parameter}"
    needed = _POINTS_OF_A_LAW + (len(symbols) > 1)
    points = {tuple(run[column] for column in symbols.values()) for run in runs}
    if len(points) >= needed:
        return f"next: {fit}"
    over = "values of " + next(iter(symbols)) if len(symbols) == 1 else "points of " + " and ".join(symbols)
    return f"next: runs at {needed} or more {over}, from which {fit} fits models; these are {len(points)}"


def write_csv(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table to a .csv file; refuse other endings."""
    if not os.fspath(path).lower().endswith(".csv"):
        raise OptionError(f"--output {path}: the ending must be .csv")
    with atomic_path(path) as temporary:
        frame.to_csv(temporary, index=False)


def recorded_by(locations: str, has_streams: bool) -> str:
    """Return what a reader of both streams and threads reads for a level: ``streams``, ``threads`` or ``both``."""
    by_level = {"stream": "streams", "device": "streams", "thread": "threads", "both": "both"}
    return by_level.get(locations, "streams" if has_streams else "threads")


def parse_factor(text: str, option: str) -> float:
    """Return how many times as fast ``2x`` or ``2`` is; ``inf`` takes no time.

    Examples
    --------
    >>> parse_factor("2x", "--compute")
    2.0
    """
    try:
        factor = float(text.strip().lower().removesuffix("x"))
    except ValueError:
        factor = math.nan
    if not factor > 0.0:
        raise OptionError(f"{option} {text}: how many times as fast is expected, such as 2x")
    return factor


def parse_compute(compute: Mapping[str, float] | Sequence[str] | str | None) -> dict[str, float]:
    """Return how many times as fast each class is, from ``CLASS=2x``; without a class its name is empty.

    Examples
    --------
    >>> parse_compute(["2x", "dgemm=1.5x"])
    {'': 2.0, 'dgemm': 1.5}
    """
    if isinstance(compute, Mapping):
        return {name: parse_factor(str(times), f"--compute {name}") for name, times in compute.items()}
    words = [compute] if isinstance(compute, str) else compute or ()
    factors: dict[str, float] = {}
    for word in words:
        name, _, times = word.rpartition("=")
        factors[name] = factors.get(name, 1.0) * parse_factor(times, f"--compute {name}".strip())
    return factors
