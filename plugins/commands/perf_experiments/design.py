"""A design: which points are measured, how often, and in which order; a TOML file that a person can edit."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np

from perf_experiments.points import VERSION, Level, Point, is_number, level_text, point_text
from perf_formulas.formula import Formula, read_toml
from perf_formulas.parser import FUNCTIONS
from perf_tables.arguments import MOST_POINTS, check_count, parse_values
from perfcore.base.errors import InputError, MissingDependencyError, OptionError, PerfError, UnknownNameError, key_first
from perfcore.base.files import write_bytes
from perfcore.report import Result

Key = tuple[tuple[str, Level], ...]
Factors = Mapping[str, Sequence[Level]]

# What a table of runs holds next to factors and values.
COLUMNS = (
    *("run", "repetition", "replication", "replications", "repetitions", "started", "host", "noisy"),
    *("wall_s", "user_s", "sys_s", "peak_memory_mib", "exit_status"),
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WHOLE = 2.0**53  # above, not every whole number is a float
_MOST_DRAWS = 2**16  # of a Sobol' sequence that is searched for points that meet the constraints
KINDS = ("factorial", "one-at-a-time", "fractional", "latin-hypercube", "sobol")
_EXPANDED = ("factorial", "one-at-a-time", "points")
_HEAD = """\
# A design for `perf experiment run`. Edit it freely: what a store holds already is not measured again.
"""
_MEANINGS = {
    "factorial": "every combination of levels",
    "one-at-a-time": "one factor is varied at a time, the others stay at the centre",
    "points": "exactly the points below",
}


def parse_factor(text: str) -> tuple[str, tuple[Level, ...]]:
    """Return a factor as the command line gives it: ``p=1,2,4``, ``D=128..1024*2`` or ``solver=cg,lu``."""
    name, equals, levels_text = (part.strip() for part in text.partition("="))
    if not equals or not levels_text:
        raise OptionError(f"factor {text!r}: NAME=LEVEL,LEVEL,... or NAME=FIRST..LAST*FACTOR is expected, p=1..64*2")
    levels: Sequence[Level]
    try:
        levels = parse_values(levels_text)
    except (ValueError, ZeroDivisionError):
        words = [word.strip() for word in levels_text.split(",")]
        numbers = []
        for word in words:
            with contextlib.suppress(ValueError):
                float(word)
                numbers.append(word)
        if numbers or ".." in levels_text:
            wrong = next((word for word in words if word not in numbers), levels_text)
            raise OptionError(
                f"factor {name}: {wrong!r} is no number; numbers, or FIRST..LAST:STEP, or FIRST..LAST*FACTOR, or words "
                "only are expected"
            ) from None
        levels = words
    return name, check_factors({name: levels})[name]


def check_factors(factors: Mapping[str, Sequence[Any]]) -> dict[str, tuple[Level, ...]]:
    """Return factors whose names and levels can be used; whole numbers become ``int``."""
    if not factors:
        raise OptionError("a design needs a factor, such as p=1,2,4,8")
    checked = {}
    for name, levels in factors.items():
        if not _NAME.fullmatch(name):
            raise OptionError(f"factor {name!r}: a name of letters, digits and _ is expected")
        if name in COLUMNS or name in FUNCTIONS:
            raise OptionError(f"factor {name!r}: reserved name; choose another, such as {name}_")
        factor_levels = tuple(level_of(name, level) for level in levels)
        if not factor_levels:
            raise OptionError(f"factor {name}: it has no levels")
        if len(set(factor_levels)) < len(factor_levels):
            twice = next(level for level in factor_levels if factor_levels.count(level) > 1)
            raise OptionError(f"factor {name}: level {level_text(twice)} stands there twice")
        if len({is_number(level) for level in factor_levels}) > 1:
            raise OptionError(f"factor {name}: its levels must be all numbers or all words")
        checked[name] = factor_levels
    return checked


def level_of(name: str, level: Any) -> Level:
    """Return a level that can be used; a whole number becomes ``int``."""
    if isinstance(level, str) and level and level.isprintable():
        return level
    if isinstance(level, (int, float)) and not isinstance(level, bool) and abs(level) < float("inf"):
        return int(level) if float(level).is_integer() and abs(level) < _WHOLE else float(level)
    raise OptionError(f"factor {name}: level {level!r} is neither a finite number nor a word")


def point_key(point: Mapping[str, Any]) -> Key:
    """Return a point as something that a dictionary takes, whatever the order of its factors."""
    return tuple(sorted(point.items()))


def available_cores() -> int:
    """Return processors that this process may use, which in a batch job or container are fewer than the machine has."""
    return len(os.sched_getaffinity(0))


def meeting(points: Sequence[Point], constraints: Sequence[str]) -> tuple[list[Point], dict[str, int]]:
    """Return the points that meet all constraints, and how many each constraint was the first to refuse."""
    kept, refused = list(points), {}
    for text in constraints:
        formula = Formula(text)
        if not points:
            break
        first_point = points[0]
        for name in formula.names:
            if name not in {**first_point, "cores": 0}:  # the processors of this machine, where no factor is called so
                raise OptionError(f"constraint {text!r}: {UnknownNameError('factor', name, [*first_point, 'cores'])}")
            if not is_number(first_point.get(name, 0)):
                raise OptionError(f"constraint {text!r}: the levels of {name} are words, which no formula takes")
        values = {name: [point[name] for point in kept] for name in formula.names if name in first_point}
        shape = {"": np.zeros(len(kept))}  # also where the formula is one of cores alone
        outcomes = formula.evaluate({**shape, "cores": available_cores(), **values})  # type: ignore[dict-item]
        fits = (outcomes != 0.0) & ~np.isnan(outcomes)
        refused[text] = int((~fits).sum())
        kept = [point for point, fit in zip(kept, fits.tolist(), strict=True) if fit]
    return kept, refused


def full_factorial(factors: Factors) -> list[Point]:
    """Return every combination of levels; the last factor varies fastest."""
    check_count(math.prod(map(len, factors.values())), "all combinations of the levels")
    return [dict(zip(factors, levels, strict=True)) for levels in itertools.product(*factors.values())]


def fraction(factors: Factors, part: int) -> list[Point]:
    """About one in ``part`` of all combinations, balanced over the levels: a generalized subset design.

    Choose it for many factors of few levels each.

    Source: I. Surowiec, L. Vikstrom, G. Hector, E. Johansson, C. Vikstrom, J. Trygg, "Generalized subset designs in
    analytical chemistry", Analytical Chemistry 89 (12), 2017; computed by pyDOE3.
    """
    try:
        from pyDOE3 import gsd  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise MissingDependencyError("fractional designs need pyDOE3: pip install 'perfcore[design]'") from error
    counts = [len(levels) for levels in factors.values()]
    if part < 2 or part > max(counts) or len(counts) < 2:
        raise OptionError(
            f"a fraction of 1/{part}: two factors or more, and a part of 2 to {max(counts)}, which is the largest "
            "number of levels, are expected"
        )
    try:
        rows = gsd(counts, part)
    except ValueError as error:
        raise OptionError(f"a fraction of 1/{part}: {error}; take a smaller part") from None
    return _drawn(factors, np.asarray(rows, dtype=np.int64))


def _drawn(factors: Factors, rows: Any) -> list[Point]:
    """Return points at rows of level numbers (n, n_factors), or of places from 0 to 1; each once."""
    numbers = rows if rows.dtype.kind == "i" else (rows * list(map(len, factors.values()))).astype(np.int64)
    return [
        {name: levels[number] for (name, levels), number in zip(factors.items(), row, strict=True)}
        for row in dict.fromkeys(map(tuple, numbers.tolist()))
    ]


def words_of(name: str, command: str | Sequence[str]) -> tuple[str, ...]:
    """Return the program and arguments of a version; a text is split as a shell would."""
    try:
        words = tuple(shlex.split(command) if isinstance(command, str) else command)
    except ValueError as error:
        raise OptionError(f"--version {name}={command}: {error}") from None
    if not words:
        raise OptionError(f"--version {name}: there is no command; such as {name}='./app input'")
    return words


class Design(Result, msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Points to measure, each several times, in random order within each replication.

    The replications are blocks: all points are measured once, in a new random order, before any is measured again, so
    that a slow drift of the machine does not look like the effect of a factor.

    Examples
    --------
    >>> design = Design(factors={"p": [1, 2, 4], "D": [4, 6]}, constraints=["D % p == 0"])
    >>> [point_text(point) for point in design.chosen()]
    ['p=1 D=4', 'p=1 D=6', 'p=2 D=4', 'p=2 D=6', 'p=4 D=4']
    """

    reporter: ClassVar[str] = "perf_experiments.answers:report_of_design"

    factors: dict[str, list[Any]]  # levels of each factor: numbers, or words
    # {"factorial", "one-at-a-time", "points"}, all combinations; one factor varied at a time around the centre; or
    # exactly ``points``
    kind: str = "factorial"
    replications: int = 2  # >= 1
    seed: int = 0  # >= 0, of the random order
    # formulas that every point meets; ``cores`` is the number of processors where the design is used
    constraints: list[str] = []
    centre: dict[str, Any] = {}  # levels of a one-at-a-time design; a factor that is left out is at its middle level
    # for the kind ``points`` each a level for every factor, and ``replications`` where a point has its own number
    points: list[dict[str, Any]] = []
    left_out: list[dict[str, Any]] = []  # points that are not measured, since a budget did not suffice

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Write the TOML file that `perfcore.run` takes; gives what the command line says of it."""
        write_design(self, path)
        return [f"design: {os.fspath(path)}"]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: the points that are measured."""
        return {"rows": [dict(point) for point in self.chosen()]}

    def __post_init__(self) -> None:
        if self.kind not in _EXPANDED:
            raise OptionError(f"kind {self.kind!r}: one of {', '.join(_EXPANDED)} is expected")
        if self.replications < 1 or self.seed < 0:
            raise OptionError("repetitions of at least 1 and a seed of at least 0 are expected")
        point_counts = (point["replications"] for point in self.points if "replications" in point)
        if not all(isinstance(count, int) and not isinstance(count, bool) and count >= 1 for count in point_counts):
            raise OptionError("points: repetitions of a point must be a whole number of at least 1")
        if self.points and self.kind != "points":
            raise OptionError('points are given: kind = "points" is expected with them')
        if self.centre and self.kind != "one-at-a-time":
            raise OptionError("a centre belongs to designs of one factor at a time")

    def candidates(self) -> tuple[list[Point], dict[str, int]]:
        """Return points that meet the constraints, and how many each constraint refused."""
        factors = check_factors(self.factors)
        if self.kind == "points":
            points = _listed([_levels_alone(point) for point in self.points], factors, "points")
        elif self.kind == "one-at-a-time":
            for name, level in self.centre.items():
                if name not in factors:
                    raise UnknownNameError("factor of the centre", name, factors)
                if level not in factors[name]:
                    raise UnknownNameError(
                        f"level of {name} for the centre", str(level), map(level_text, factors[name])
                    )
            # The middle level of each factor, the lower of two, unless given.
            middle = {name: levels[(len(levels) - 1) // 2] for name, levels in factors.items()}
            centre = {**middle, **self.centre}
            moved = ((name, level) for name, levels in factors.items() for level in levels if level != centre[name])
            points = [dict(centre), *({**centre, name: level} for name, level in moved)]
        else:
            points = full_factorial(factors)
        return meeting(points, self.constraints)

    def chosen(self) -> list[Point]:
        """Return the points to measure, in the order of their levels."""
        points, refused = self.candidates()
        without = {point_key(point) for point in _listed(self.left_out, check_factors(self.factors), "left_out")}
        kept = [point for point in points if point_key(point) not in without]
        if not kept:
            why = ", ".join(f"{text} refuses {count}" for text, count in refused.items() if count)
            raise OptionError(f"no point is left to measure{': ' + why if why else ''}; change levels or constraints")
        if (runs := sum(self.counts(kept))) > MOST_POINTS:
            raise OptionError(f"{runs:,} runs, and at most {MOST_POINTS:,} can be asked for; lower the repetitions")
        return kept

    def counts(self, points: Sequence[Point]) -> list[int]:
        """Return how often each of these points is measured."""
        point_counts = {
            point_key(_levels_alone(point)): point["replications"] for point in self.points if "replications" in point
        }
        return [point_counts.get(point_key(point), self.replications) for point in points]

    def block(self, replication: int, points: Sequence[Point]) -> list[Point]:
        """Return the points in the random order of one replication, counted from 1; versions of one point together."""
        order = np.random.default_rng([self.seed, replication]).permutation(len(points))
        groups: dict[Key, list[Point]] = {}
        for point in (points[number] for number in order):
            without = {name: level for name, level in point.items() if name != VERSION}
            groups.setdefault(point_key(without), []).append(point)
        return [point for group in groups.values() for point in group]


def _levels_alone(point: Mapping[str, Any]) -> dict[str, Any]:
    return {name: level for name, level in point.items() if name != "replications"}


def _listed(points: Iterable[Mapping[str, Any]], factors: Mapping[str, Sequence[Level]], key: str) -> list[Point]:
    """Return points that a file lists, each once and in the factors' order."""
    listed: dict[Key, Point] = {}
    for entry in points:
        if set(entry) != set(factors):
            raise OptionError(f"{key}: {point_text(entry)}: a level for each of {', '.join(factors)} is expected")
        for name, levels in factors.items():
            if entry[name] not in levels:
                level_names = ", ".join(map(level_text, levels))
                raise OptionError(f"{key}: {point_text(entry)}: {name} has the levels {level_names}; add it there")
        point: Point = {name: levels[levels.index(entry[name])] for name, levels in factors.items()}
        listed.setdefault(point_key(point), point)
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
    """Make a design."""
    if kind not in KINDS:
        raise OptionError(f"kind {kind!r}: one of {', '.join(KINDS)} is expected")
    levels = check_factors(factors)
    points: list[Point] = []
    if kind == "fractional":
        points = fraction(levels, part)
    elif kind in ("latin-hypercube", "sobol"):
        if count is None or count < 1:
            raise OptionError(f"a design of the kind {kind} needs the number of its points (--points N)")
        from scipy.stats import qmc

        engine = {"sobol": qmc.Sobol, "latin-hypercube": qmc.LatinHypercube}[kind]
        sampler: Any = engine(len(levels), seed=np.random.default_rng(seed))
        if kind == "sobol":  # any first ones of the points that meet the constraints fill the space evenly
            points = meeting(_drawn(levels, sampler.random_base2(_MOST_DRAWS.bit_length() - 1)), constraints)[0][:count]
        else:
            points = _drawn(levels, sampler.random(count))
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
    """Return exactly these points, each with the number of its replications."""
    levels: dict[str, list[Any]] = {}
    for point, _ in counted_points:
        for name, level in point.items():
            if level not in levels.setdefault(name, []):
                levels[name].append(level)
    points = [{**point, "replications": count} for point, count in counted_points]
    return Design(factors=levels, kind="points", points=points, replications=min(count for _, count in counted_points))


def with_versions(design: Design | None, versions: Sequence[str], rounds: int = 10) -> Design:
    """Return a design with each point measured by every version."""
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
    """Return the design with every point measured so often."""
    points = [_levels_alone(point) for point in design.points]
    return msgspec.structs.replace(design, replications=rounds, points=points)


def read_design(path: str | os.PathLike[str]) -> Design:
    """Read a design from a TOML file."""
    content = read_toml(path, "`perf experiment design` makes one")
    try:
        design = msgspec.convert(content, Design)
        design.chosen()
    except (msgspec.ValidationError, PerfError) as error:
        raise InputError(path, key_first(error)) from None
    return design


def write_design(design: Design, path: str | os.PathLike[str]) -> None:
    """Write the file, whole or not at all."""
    write_bytes(path, design_text(design).encode())


def save_points(design: Design, path: str | os.PathLike[str]) -> list[str]:
    """Write a design of recommended points; return what the command line says of it."""
    write_design(design, path)
    count = len(design.chosen())
    return [f"design: {os.fspath(path)}, {count} point{'s' * (count != 1)} for `perf experiment run`"]


def design_text(design: Design) -> str:
    """Return the content of the file; `read_design` gives the same design back."""
    lines = [
        _HEAD + f"kind = {_toml(design.kind)}  # {_MEANINGS[design.kind]}",
        f"replications = {design.replications}",
        f"seed = {design.seed}  # of the random order",
    ]
    if design.constraints:
        lines.append(f"constraints = {_toml(design.constraints)}")
    if design.centre:
        lines.append(f"centre = {_toml(design.centre)}")
    dear = "# Too dear for the budget; a point that is removed here is measured.\n"
    for head, points in (("points", design.points), (f"{dear}left_out", design.left_out)):
        if points:
            lines += [f"{head} = [", *(f"  {_toml(point)}," for point in points), "]"]
    lines += ["", "[factors]", *(f"{name} = {_toml(levels)}" for name, levels in design.factors.items())]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """Return a value as TOML; its basic strings take the escapes of JSON, and control characters are refused before."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name} = {_toml(each)}' for name, each in value.items())}}}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
