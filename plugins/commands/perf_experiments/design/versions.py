"""Versions of a program as a factor: measured in rounds, each version once, next to each other and in random order."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from perf_experiments.design.factors import Point
from perfcore.base.errors import OptionError

VERSION = "version"  # the factor that tells versions apart


def parse_versions(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Program and arguments of each version, as the command line gives them: ``old=./old/app --fast``."""
    commands: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, equals, command = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise OptionError(f"--version {text!r}: NAME=COMMAND is expected, such as old='./old/app input'")
        if name in commands:
            raise OptionError(f"--version {name}: the name stands there twice")
        commands[name] = words_of(name, command)
    return commands


def words_of(name: str, command: str | Sequence[str]) -> tuple[str, ...]:
    """Program and arguments of a version; a text is split as a shell would."""
    try:
        words = tuple(shlex.split(command) if isinstance(command, str) else command)
    except ValueError as error:
        raise OptionError(f"--version {name}={command}: {error}") from None
    if not words:
        raise OptionError(f"--version {name}: there is no command; such as {name}='./app input'")
    return words


def next_to_each_other(points: Sequence[Point]) -> list[Point]:
    """Points in the same order, but those together that differ in the version alone: what they meet is the same."""
    groups: dict[tuple[object, ...], list[Point]] = {}
    for point in points:
        groups.setdefault(_without_version(point), []).append(point)
    return [point for group in groups.values() for point in group]


def _without_version(point: Mapping[str, object]) -> tuple[object, ...]:
    return tuple(sorted((name, level) for name, level in point.items() if name != VERSION))
