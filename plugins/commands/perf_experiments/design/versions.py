"""Versions of a program as a factor: measured in rounds, each version once, next to each other and in random order."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from perf_experiments.design.factors import Point
from perfcore.base.errors import OptionError, UnknownNameError

if TYPE_CHECKING:
    from perf_experiments.design.design import Design

__all__ = ["VERSION", "next_to_each_other", "parse_versions", "with_rounds", "with_versions"]

VERSION = "version"  # the factor that tells versions apart


def parse_versions(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Program and arguments of each version, as the command line gives them: ``old=./old/app --fast``.

    Raises
    ------
    OptionError
        It is no such text, or a version is named twice.

    Examples
    --------
    >>> parse_versions(["old=./old/app -n 5", "new='./my app'"])
    {'old': ('./old/app', '-n', '5'), 'new': ('./my app',)}
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, equals, command = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise OptionError(f"--version {text!r}: NAME=COMMAND is expected, such as old='./old/app input'")
        if name in found:
            raise OptionError(f"--version {name}: the name stands there twice")
        found[name] = words_of(name, command)
    return found


def words_of(name: str, command: str | Sequence[str]) -> tuple[str, ...]:
    """Program and arguments of a version; a text is split as a shell would.

    Raises
    ------
    OptionError
        There is no program, or a quotation is not closed.
    """
    try:
        words = tuple(shlex.split(command) if isinstance(command, str) else command)
    except ValueError as error:
        raise OptionError(f"--version {name}={command}: {error}") from None
    if not words:
        raise OptionError(f"--version {name}: there is no command; such as {name}='./app input'")
    return words


def with_versions(design: Design | None, versions: Sequence[str], rounds: int = 10) -> Design:
    """A design with each point measured by every version.

    Parameters
    ----------
    design : Design, optional
        Where it has a factor ``version``, that must have these levels; without a design the version alone varies.
    versions : sequence of str
    rounds : int
        Without a design.

    Raises
    ------
    OptionError
        The design has other versions.

    Examples
    --------
    >>> from perf_experiments.design.design import Design
    >>> [point["version"] for point in with_versions(Design(factors={"p": [1, 2]}), ["old", "new"]).chosen()]
    ['old', 'new', 'old', 'new']
    """
    from perf_experiments.design.design import Design

    if design is None:
        return Design(factors={VERSION: list(versions)}, replications=rounds)
    if VERSION in design.factors:
        levels = list(map(str, design.factors[VERSION]))
        if missing := [name for name in levels if name not in versions]:
            raise OptionError(f"the design has the version {missing[0]}; give it a command: --version {missing[0]}=...")
        if unknown := [name for name in versions if name not in levels]:
            raise UnknownNameError("version of the design", unknown[0], levels)
        return design
    points = design.chosen()
    return Design(
        factors={**design.factors, VERSION: list(versions)},
        kind="points",
        replications=design.replications,
        seed=design.seed,
        points=[
            {**point, VERSION: name, "replications": count}
            for point, count in zip(points, design.counts(points), strict=True)
            for name in versions
        ],
    )


def with_rounds(design: Design, rounds: int) -> Design:
    """The design with every point measured so often."""
    import msgspec

    points = [{name: level for name, level in point.items() if name != "replications"} for point in design.points]
    return msgspec.structs.replace(design, replications=rounds, points=points)


def next_to_each_other(points: Sequence[Point]) -> list[Point]:
    """Points in the same order, but those together that differ in the version alone: what they meet is the same.

    Examples
    --------
    >>> mixed = [{"p": 1, "version": "a"}, {"p": 2, "version": "b"}, {"p": 1, "version": "b"}]
    >>> [(point["p"], point["version"]) for point in next_to_each_other(mixed)]
    [(1, 'a'), (1, 'b'), (2, 'b')]
    """
    groups: dict[tuple[object, ...], list[Point]] = {}
    for point in points:
        groups.setdefault(_without_version(point), []).append(point)
    return [point for group in groups.values() for point in group]


def _without_version(point: Mapping[str, object]) -> tuple[object, ...]:
    return tuple(sorted((name, level) for name, level in point.items() if name != VERSION))
