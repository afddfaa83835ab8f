"""Makes the runs of a design on this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from perf_experiments.design import VERSION, Design, Key, point_key
from perf_experiments.measurement import Measuring, environment, filled, launcher_words, parse_patterns
from perf_experiments.points import Point
from perf_experiments.run_records import History, RunOptions, Summary
from perf_experiments.store import Store
from perfcore.base import progress
from perfcore.base.errors import OptionError


def check_command(design: Design, points: Sequence[Point], options: RunOptions) -> None:
    """Say the mistakes of a command before a store is made."""
    if options.command or options.versions:
        commands_of(points, options)
        parse_patterns(options.values, list(design.factors))


def with_study(store: Store, design: Design, options: RunOptions) -> RunOptions:
    """Options with the store's command where none is given; runs of different commands are not mixed."""
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
    commands = {}
    for point in points:
        own = options.versions[str(point[VERSION])] if options.versions else ()
        commands[point_key(point)] = filled((*before, *own, *options.command), point)
    if options.results is not None:
        filled([options.results], points[0])
    for program in dict.fromkeys(command[0] for command in commands.values()):
        if shutil.which(program) is None:
            raise OptionError(f"command {program!r}: there is no such program here, or it may not be run")
    return commands


def run_design(design: Design, path: str | os.PathLike[str], options: RunOptions) -> Summary:
    """Make the runs of a design that a store does not have yet.

    Every run is on the disk before the next one starts. An interrupt ends the run in flight, which is not kept; the
    same call goes on from there.
    """
    points = design.chosen()
    check_command(design, points, options)
    with Store.hold(path) as store:
        options = with_study(store, design, options)
        if submitted := store.jobs():
            raise OptionError(
                f"{store.path}: {len(submitted)} runs are in Slurm; collect them first with --scheduler slurm "
                "--collect, or name another store with --store"
            )
        patterns = parse_patterns(options.values, list(design.factors))
        commands = commands_of(points, options)
        history = History(patterns[0].name if patterns else None)
        for run in store.runs():
            history.add(run)
        facts = environment(next(iter(commands.values()))[0])
        session = _Session(design, store, options, commands, history, Measuring(options, patterns, facts))
        return replace(history.summary(points, session.run(points), options.until), store=os.fspath(path))


@dataclass
class _Session:
    """One call of `run_design`."""

    design: Design
    store: Store
    options: RunOptions
    commands: Mapping[Key, tuple[str, ...]]
    history: History
    measuring: Measuring

    def run(self, points: Sequence[Point]) -> int:
        """Make what is missing; returns how many runs that were."""
        self.wanted = {point_key(point): count for point, count in zip(points, self.design.counts(points), strict=True)}
        least = max(self.wanted.values())
        most = least if self.options.until is None else max(self.options.most, least)
        new_runs = 0
        with progress.bar("runs", len(self._left(points))) as advance:
            for block in range(1, most + 1):
                for point in self.design.block(block, points):
                    if not self._due(point, block):
                        continue
                    run = self.measuring.run(point, block, self.commands[point_key(point)])
                    self.history.add(self.store.add(run))
                    new_runs += 1
                    advance(1)
        return new_runs

    def _due(self, point: Point, block: int) -> bool:
        any_failed = not all(run.succeeded for run in self.history.of(point).values())
        if block > self.wanted[point_key(point)] and (any_failed or self.history.settled(point, self.options.until)):
            return False
        return self.history.missing(point, block, self.options.retry_failed)

    def _left(self, points: Sequence[Point]) -> list[Point]:
        """The point of each run that is certainly to be made; repetition may add more."""
        blocks = {point_key(point): range(1, self.wanted[point_key(point)] + 1) for point in points}
        return [point for point in points for block in blocks[point_key(point)] if self._due(point, block)]
