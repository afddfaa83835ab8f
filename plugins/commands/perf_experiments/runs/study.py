"""What all runs of one store share: the command and how its values are found."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import Any

from perf_experiments.design.design import Design
from perf_experiments.design.factors import Point
from perf_experiments.runs.history import Key, point_key
from perf_experiments.runs.options import RunOptions
from perf_experiments.runs.store import Store
from perf_experiments.runs.templates import filled, launcher_words
from perf_experiments.runs.values import parse_patterns
from perfcore.base.errors import OptionError

__all__ = ["check_command", "commands_of", "with_study"]


def check_command(design: Design, points: Sequence[Point], options: RunOptions) -> None:
    """Say the mistakes of a command before a store is made.

    Raises
    ------
    PerfError
        A program, place or value that cannot be used.
    """
    if options.command:
        commands_of(points, options)
        parse_patterns(options.values, list(design.factors))


def with_study(store: Store, design: Design, options: RunOptions) -> RunOptions:
    """Options with the store's command where none is given; runs of different commands are not mixed.

    Raises
    ------
    OptionError
        There is no command, or the store's measurements were made with other factors or another command.
    """
    known = store.study
    if not options.command and known is None:
        raise OptionError("there is no command; write it after --, as in: perf run design.toml -- ./app -n {D}")
    if known is not None and not options.command:
        given = {name: getattr(options, name) for name in ("launcher", "values", "results")}
        defaults = {name: getattr(RunOptions(), name) for name in given}
        kept = {name: known[name] for name in given if given[name] == defaults[name]}
        options = RunOptions(**{**vars(options), **kept, "command": tuple(known["command"])})
    study = {
        "factors": sorted(design.factors),  # their order in the file means nothing
        "command": list(options.command),
        "launcher": options.launcher,
        "values": list(options.values),
        "results": options.results,
    }
    if known is not None and known != study and (store.jobs() or any(run.succeeded for run in store.runs())):
        name = next(name for name in study if study[name] != known.get(name))
        raise OptionError(
            f"{store.path}: its runs were made with {name} {_shown(known.get(name))}, not {_shown(study[name])}; name "
            "another store with --store"
        )
    if known != study:
        store.set_study(study)
    return options


def _shown(value: Any) -> str:
    return " ".join(value) if isinstance(value, list) else str(value)


def commands_of(points: Sequence[Point], options: RunOptions) -> dict[Key, tuple[str, ...]]:
    """The command of each point.

    Raises
    ------
    PerfError
        A place that names no factor, or a program that does not exist.
    """
    words = (*launcher_words(options.launcher), *options.command)
    commands = {point_key(point): filled(words, point) for point in points}
    if options.results is not None:
        filled([options.results], points[0])
    for program in dict.fromkeys(command[0] for command in commands.values()):
        if shutil.which(program) is None:
            raise OptionError(f"command {program!r}: there is no such program here, or it may not be run")
    return commands
