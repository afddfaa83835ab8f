"""The options by which commands read a trace: which part of it, and what counts as a location."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

import typer

from perf_traces.options import LEVELS, TraceOptions
from perfcore.base import pd
from perfcore.base.errors import OptionError
from perfcore.base.files import atomic_path
from perfcore.cli.reading import HowToRead
from perfcore.data.columns import is_processors
from perfcore.hooks.options import describe

_POINTS_OF_A_LAW = 3  # that the fitter scaling needs, and one more for several parameters
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
        from perf_traces.ranks import RANK
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
