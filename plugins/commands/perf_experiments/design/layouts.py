"""Which combinations of levels a design has: all, one factor at a time, a fraction, or points that fill the space."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from perf_experiments.design.factors import Level, Point, level_text
from perf_tables.arguments import check_count
from perfcore.base.errors import MissingDependencyError, OptionError, UnknownNameError

Factors = Mapping[str, Sequence[Level]]

_MOST_DRAWS = 2**16  # of a Sobol' sequence that is searched for points that meet the constraints


def full_factorial(factors: Factors) -> list[Point]:
    """Every combination of levels; the last factor varies fastest."""
    check_count(math.prod(map(len, factors.values())), "all combinations of the levels")
    return [dict(zip(factors, levels, strict=True)) for levels in itertools.product(*factors.values())]


def centre_of(factors: Factors, centre: Point) -> Point:
    """The centre of a one-at-a-time design: the middle level of each factor, the lower of two, unless given."""
    for name, level in centre.items():
        if name not in factors:
            raise UnknownNameError("factor of the centre", name, factors)
        if level not in factors[name]:
            raise UnknownNameError(f"level of {name} for the centre", str(level), map(level_text, factors[name]))
    return {name: centre.get(name, levels[(len(levels) - 1) // 2]) for name, levels in factors.items()}


def one_at_a_time(factors: Factors, centre: Point) -> list[Point]:
    """The centre, and each factor at its other levels while the others stay at the centre."""
    moved = [{**centre, name: level} for name, levels in factors.items() for level in levels if level != centre[name]]
    return [dict(centre), *moved]


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
    return list(_at_levels(factors, rows))


def latin_hypercube(factors: Factors, count: int, seed: int) -> list[Point]:
    """``count`` points, or fewer where some coincide, each factor's levels used about equally often."""
    from scipy.stats import qmc

    drawn = qmc.LatinHypercube(len(factors), seed=np.random.default_rng(seed)).random(count)
    return list(_at_levels(factors, _level_numbers(factors, drawn)))


def sobol(factors: Factors, seed: int) -> Iterator[Point]:
    """Different points of a scrambled Sobol' sequence: any first ones fill the space evenly."""
    from scipy.stats import qmc

    drawn = qmc.Sobol(len(factors), seed=np.random.default_rng(seed)).random_base2(_MOST_DRAWS.bit_length() - 1)
    return _at_levels(factors, _level_numbers(factors, drawn))


def _level_numbers(factors: Factors, drawn: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return (drawn * [len(levels) for levels in factors.values()]).astype(np.int64)


def _at_levels(factors: Factors, rows: np.ndarray[Any, Any]) -> Iterator[Point]:
    """Points at rows of level numbers (n, n_factors), each once."""
    for row in dict.fromkeys(map(tuple, rows.tolist())):
        yield {name: levels[number] for (name, levels), number in zip(factors.items(), row, strict=True)}
