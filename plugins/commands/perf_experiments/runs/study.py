"""What all runs of one store share: the command and how its values are found."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import Any

from perf_experiments.design.design import Design
from perf_experiments.design.factors import Point
from perf_experiments.design.versions import VERSION
from perf_experiments.runs.history import Key, point_key
from perf_experiments.runs.options import RunOptions
from perf_experiments.runs.store import Store
from perf_experiments.runs.templates import filled, launcher_words
from perf_experiments.runs.values import parse_patterns
from perfcore.base.errors import OptionError


def check_command(design: Design, points: Sequence[Point], options: RunOptions) -> None:
    """Say the mistakes of a command before a store is made."""
    if options.command or options.versions:
        commands_of(points, options)
        parse_patterns(options.values, list(design.factors))


def with_study(store: Store, design: Design, options: RunOptions) -> RunOptions:
    """Options with the store's command where none is given; runs of different commands are not mixed.

    Raises
    ------
    OptionError
        There is no command, or the store's measurements were made with other factors or another command.
    """
    stored_study = store.study
    is_told = bool(options.command or options.versions)
    if not is_told and stored_study is None:
        raise OptionError(
            "there is no command; write it after --, as in: perf experiment run design.toml -- ./app -n {D}"
        )
    if stored_study is not None and not is_told:
        settings = {name: getattr(options, name) for name in ("launcher", "values", "results")}
        defaults = {name: getattr(RunOptions(), name) for name in settings}
        kept = {name: stored_study[name] for name in settings if settings[name] == defaults[name]}
        kept["versions"] = stored_study.get("versions", {})
        options = RunOptions(**{**vars(options), **kept, "command": tuple(stored_study["command"])})
    study: dict[str, Any] = {
        "factors": sorted(design.factors),  # their order in the file means nothing
        "command": list(options.command),
        "launcher": options.launcher,
        "values": list(options.values),
        "results": options.results,
    }
    if options.versions:
        study["versions"] = {name: list(words) for name, words in options.versions.items()}
    if (
        stored_study is not None
        and stored_study != study
        and (store.jobs() or any(run.succeeded for run in store.runs()))
    ):
        name = next(name for name in (*study, "versions") if study.get(name) != stored_study.get(name))
        stored, new_value = (_shown(each.get(name)) for each in (stored_study, study))
        raise OptionError(
            f"{store.path}: its runs were made with {name} {stored}, not {new_value}; name another store with --store"
        )
    if stored_study != study:
        store.set_study(study)
    order = list(map(str, design.factors.get(VERSION, ())))
    if order != store.versions:
        store.set_versions(order)
    return options


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={' '.join(words)}" for name, words in value.items())
    return " ".join(value) if isinstance(value, list) else str(value)


def commands_of(points: Sequence[Point], options: RunOptions) -> dict[Key, tuple[str, ...]]:
    """The command of each point."""
    before = launcher_words(options.launcher)
    commands = {
        point_key(point): filled((*before, *_words_of(point, options), *options.command), point) for point in points
    }
    if options.results is not None:
        filled([options.results], points[0])
    for program in dict.fromkeys(command[0] for command in commands.values()):
        if shutil.which(program) is None:
            raise OptionError(f"command {program!r}: there is no such program here, or it may not be run")
    return commands


def _words_of(point: Point, options: RunOptions) -> Sequence[str]:
    """Program and arguments of a point's version; none without versions."""
    return options.versions[str(point[VERSION])] if options.versions else ()
