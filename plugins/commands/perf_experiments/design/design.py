"""A design: which points are measured, how often, and in which order; read from a TOML file that a person can edit."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from perf_experiments.design import layouts
from perf_experiments.design.constraints import meeting
from perf_experiments.design.factors import Level, Point, check_factors, level_text, point_text
from perf_experiments.design.versions import VERSION, next_to_each_other
from perf_formulas.formula import read_toml
from perf_tables.points.ranges import MOST_POINTS
from perfcore.base.errors import InputError, OptionError, PerfError, UnknownNameError, key_first
from perfcore.results import Result

KINDS = ("factorial", "one-at-a-time", "fractional", "latin-hypercube", "sobol")
_EXPANDED = ("factorial", "one-at-a-time", "points")


class Design(Result, msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Points to measure, each several times, in random order within each replication.

    The replications are blocks: all points are measured once, in an order drawn anew, before any is measured again, so
    that a slow drift of the machine does not look like the effect of a factor.

    Attributes
    ----------
    factors : dict of str to list
        Levels of each factor: numbers, or words.
    kind : {"factorial", "one-at-a-time", "points"}
        All combinations; one factor varied at a time around the centre; or exactly ``points``.
    replications : int, >= 1
    seed : int, >= 0
        Of the random order.
    constraints : list of str
        Formulas that every point meets; ``cores`` is the number of processors where the design is used.
    centre : dict
        Levels of a one-at-a-time design; a factor that is left out is at its middle level.
    points : list of dict
        For the kind ``points`` each a level for every factor, and ``replications`` where a point has its own number.
    left_out : list of dict
        Points that are not measured, since a budget did not suffice.

    Raises
    ------
    OptionError
        A value that is not accepted.

    Examples
    --------
    >>> design = Design(factors={"p": [1, 2, 4], "D": [4, 6]}, constraints=["D % p == 0"])
    >>> [point_text(point) for point in design.chosen()]
    ['p=1 D=4', 'p=1 D=6', 'p=2 D=4', 'p=2 D=6', 'p=4 D=4']
    """

    factors: dict[str, list[Any]]
    kind: str = "factorial"
    replications: int = 2
    seed: int = 0
    constraints: list[str] = []
    centre: dict[str, Any] = {}
    points: list[dict[str, Any]] = []
    left_out: list[dict[str, Any]] = []

    def __post_init__(self) -> None:
        if self.kind not in _EXPANDED:
            raise OptionError(f"kind {self.kind!r}: one of {', '.join(_EXPANDED)} is expected")
        if self.replications < 1 or self.seed < 0:
            raise OptionError("replications of at least 1 and a seed of at least 0 are expected")
        point_counts = (point["replications"] for point in self.points if "replications" in point)
        if not all(isinstance(count, int) and not isinstance(count, bool) and count >= 1 for count in point_counts):
            raise OptionError("points: replications of a point must be a whole number of at least 1")
        if self.points and self.kind != "points":
            raise OptionError('points are given: kind = "points" is expected with them')
        if self.centre and self.kind != "one-at-a-time":
            raise OptionError("a centre belongs to designs of one factor at a time")

    def candidates(self) -> tuple[list[Point], dict[str, int]]:
        """Points that meet the constraints, and how many each constraint refused.

        Raises
        ------
        PerfError
            Factors, points or constraints that cannot be used.
        """
        factors = check_factors(self.factors)
        if self.kind == "points":
            points = _listed([_levels_alone(point) for point in self.points], factors, "points")
        elif self.kind == "one-at-a-time":
            points = layouts.one_at_a_time(factors, layouts.centre_of(factors, self.centre))
        else:
            points = layouts.full_factorial(factors)
        return meeting(points, self.constraints)

    def chosen(self) -> list[Point]:
        """The points to measure, in the order of their levels.

        Raises
        ------
        PerfError
            As `candidates`; or no point is left, or there would be more than a million runs.
        """
        points, refused = self.candidates()
        without = {_key(point) for point in _listed(self.left_out, check_factors(self.factors), "left_out")}
        kept = [point for point in points if _key(point) not in without]
        if not kept:
            why = ", ".join(f"{text} refuses {count}" for text, count in refused.items() if count)
            raise OptionError(f"no point is left to measure{': ' + why if why else ''}; change levels or constraints")
        if (runs := sum(self.counts(kept))) > MOST_POINTS:
            raise OptionError(f"{runs:,} runs, and at most {MOST_POINTS:,} can be asked for; lower the replications")
        return kept

    def counts(self, points: Sequence[Point]) -> list[int]:
        """How often each of these points is measured."""
        point_counts = {
            _key(_levels_alone(point)): point["replications"] for point in self.points if "replications" in point
        }
        return [point_counts.get(_key(point), self.replications) for point in points]

    def block(self, replication: int, points: Sequence[Point]) -> list[Point]:
        """The points in the random order of one replication, counted from 1; versions of one point together."""
        order = np.random.default_rng([self.seed, replication]).permutation(len(points))
        return next_to_each_other([points[number] for number in order])


def _levels_alone(point: Mapping[str, Any]) -> dict[str, Any]:
    return {name: level for name, level in point.items() if name != "replications"}


def _key(point: Point) -> tuple[tuple[str, Level], ...]:
    return tuple(sorted(point.items()))


def _listed(points: Iterable[Mapping[str, Any]], factors: Mapping[str, Sequence[Level]], key: str) -> list[Point]:
    """Points that a file lists, each once and in the factors' order."""
    listed: dict[tuple[tuple[str, Level], ...], Point] = {}
    for entry in points:
        if set(entry) != set(factors):
            raise OptionError(f"{key}: {point_text(entry)}: a level for each of {', '.join(factors)} is expected")
        for name, levels in factors.items():
            if entry[name] not in levels:
                level_names = ", ".join(map(level_text, levels))
                raise OptionError(f"{key}: {point_text(entry)}: {name} has the levels {level_names}; add it there")
        point: Point = {name: levels[levels.index(entry[name])] for name, levels in factors.items()}
        listed.setdefault(_key(point), point)
    return list(listed.values())


def make_design(
    factors: Mapping[str, Sequence[Any]],
    kind: str = "factorial",
    *,
    constraints: Sequence[str] = (),
    replications: int = 2,
    seed: int = 0,
    centre: Point | None = None,
    part: int = 2,
    count: int | None = None,
) -> Design:
    """Make a design.

    Parameters
    ----------
    factors : mapping of str to sequence
    kind : {"factorial", "one-at-a-time", "fractional", "latin-hypercube", "sobol"}
        The last three are drawn here and become a list of points, so that the file says exactly what is measured.
    constraints : sequence of str
    replications, seed : int
    centre : mapping, optional
        Of a one-at-a-time design.
    part : int
        A fractional design has about one in ``part`` of all combinations.
    count : int, optional
        Points of a space-filling design, before constraints for the Latin hypercube and after them for Sobol'.

    Raises
    ------
    PerfError
        A value that is not accepted; or no point is left.

    Examples
    --------
    >>> design = make_design({"p": [1, 2, 4], "D": [64, 128, 256]}, "one-at-a-time")
    >>> len(design.chosen())
    5
    """
    if kind not in KINDS:
        raise OptionError(f"kind {kind!r}: one of {', '.join(KINDS)} is expected")
    levels = check_factors(factors)
    points: list[Point] = []
    if kind == "fractional":
        points = layouts.fraction(levels, part)
    elif kind in ("latin-hypercube", "sobol"):
        if count is None or count < 1:
            raise OptionError(f"a design of the kind {kind} needs the number of its points (--points N)")
        if kind == "sobol":
            points = list(itertools.islice(_meeting_each(layouts.sobol(levels, seed), constraints), count))
        else:
            points = layouts.latin_hypercube(levels, count, seed)
    design = Design(
        factors={name: list(factor_levels) for name, factor_levels in levels.items()},
        kind=kind if kind in _EXPANDED else "points",
        replications=replications,
        seed=seed,
        constraints=list(constraints),
        centre=dict(centre or {}),
        points=[dict(point) for point in points],
    )
    design.chosen()
    return design


def design_of_points(counted_points: Sequence[tuple[Point, int]]) -> Design:
    """Exactly these points, each with the number of its replications."""
    levels: dict[str, list[Any]] = {}
    for point, _ in counted_points:
        for name, level in point.items():
            if level not in levels.setdefault(name, []):
                levels[name].append(level)
    points = [{**point, "replications": count} for point, count in counted_points]
    return Design(factors=levels, kind="points", points=points, replications=min(count for _, count in counted_points))


def with_versions(design: Design | None, versions: Sequence[str], rounds: int = 10) -> Design:
    """A design with each point measured by every version."""
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
    points = [_levels_alone(point) for point in design.points]
    return msgspec.structs.replace(design, replications=rounds, points=points)


def _meeting_each(points: Iterable[Point], constraints: Sequence[str]) -> Iterable[Point]:
    # In portions: most designs need a few points of the many that the sequence has.
    numbered = iter(points)
    while portion := list(itertools.islice(numbered, 256)):
        yield from meeting(portion, constraints)[0]


def read_design(path: str | os.PathLike[str]) -> Design:
    """Read a design from a TOML file.

    Raises
    ------
    InputError
        There is no such file, it is not TOML, or a key is missing, unknown or of no accepted value.
    """
    content = read_toml(path, "`perf experiment design` makes one")
    try:
        design = msgspec.convert(content, Design)
        design.chosen()
    except (msgspec.ValidationError, PerfError) as error:
        raise InputError(path, key_first(error)) from None
    return design
