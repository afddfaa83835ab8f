"""Measurements with known scaling laws, as files that Extra-P reads as well: the data of benchmarks/scaling_laws.py.

A scenario holds 200 functions f = a + b g, measured 5 times at each of the points n = 4, 8, 16, 32, 64, and asked at
n = 256. The first tenth of the functions is constant. For the others, b's term makes up a share of f at the largest
point that is uniform in 0.3 to 0.99, and f there is log-uniform in 0.01 to 100 s. The noise is multiplicative: a value
is f times 1 + s z, z standard normal, and never less than a hundredth of f (20% noise gets there once in 10^6 values).
The scenarios differ in the term g = n^i log2(n)^j:

- ``grid``: (i, j) is one of the 42 pairs that Extra-P 4.2.5 searches by default, all equally likely;
- ``common``: one of eight orders that algorithms have, see `COMMON`;
- ``off-grid``: i is uniform in 0.1 to 2.5, j is 0 or 1, so that no finite list holds the law;
- ``two``: two parameters p and n at 5 x 5 points, asked at p = n = 256. With g and h from the grid a law is the sum
  a + b g(p) + c h(n) or the product a + b g(p) h(n), equally likely. In a sum, b's part of the growing share is uniform
  in 0.2 to 0.8;
- ``two-mixed``: besides these two forms, a + b g(p) + c g(p) h(n) and a + b h(n) + c g(p) h(n), all equally likely.
  They are the four forms that Extra-P compares.

A seed draws the same laws and the same z for every noise, so that columns of different noise are comparable.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Order = tuple[float, float]  # (i, j) of n^i log2(n)^j
Term = tuple[Order, ...]  # one order for each parameter; their product is the term

LEVELS = (4.0, 8.0, 16.0, 32.0, 64.0)
TARGET = 256.0
LARGEST_POINT = LEVELS[-1]
FUNCTIONS = 200
CONSTANTS = 0.1  # share of the functions
REPETITIONS = 5
SHARE = (0.3, 0.99)
LARGEST_S = (0.01, 100.0)
SMALLEST_FACTOR = 0.01

# The exponents of n that Extra-P 4.2.5 joins with log2(n)^0, ^1 and ^2 (extrap/modelers/single_parameter/basic.py,
# create_default_building_blocks); the power 0 of both is the constant.
GRID: tuple[Order, ...] = (
    *((i, 0.0) for i in (1 / 4, 1 / 3, 1 / 2, 2 / 3, 3 / 4, 4 / 5, 1.0, 5 / 4, 4 / 3, 3 / 2, 5 / 3, 7 / 4, 2.0)),
    *((i, 0.0) for i in (9 / 4, 7 / 3, 5 / 2, 8 / 3, 11 / 4, 3.0)),
    *((i, 1.0) for i in (0.0, 1 / 4, 1 / 3, 1 / 2, 2 / 3, 3 / 4, 1.0, 5 / 4, 4 / 3, 3 / 2, 2.0, 5 / 2, 3.0)),
    *((i, 2.0) for i in (0.0, 1 / 4, 1 / 3, 1 / 2, 2 / 3, 3 / 4, 1.0, 3 / 2, 2.0, 5 / 2)),
)
# log n, log^2 n, sqrt n, n, n log n, n^(3/2), n^2, n^2 log n: trees of messages, borders of domains, sorting, matrices.
COMMON: tuple[Order, ...] = (
    *((0.0, 1.0), (0.0, 2.0), (1 / 2, 0.0), (1.0, 0.0), (1.0, 1.0)),
    *((3 / 2, 0.0), (2.0, 0.0), (2.0, 1.0)),
)
OFF_GRID_EXPONENT = (0.1, 2.5)
FLAT: Order = (0.0, 0.0)

ONE_PARAMETER = ("grid", "common", "off-grid")
TWO_PARAMETERS = ("two-mixed", "two")
SCENARIOS = (*ONE_PARAMETER, *TWO_PARAMETERS)


@dataclass(frozen=True)
class Law:
    """A constant and terms with coefficients, in seconds."""

    constant: float
    coefficients: tuple[float, ...] = ()
    terms: tuple[Term, ...] = ()

    def __call__(self, points: Floats) -> Floats:
        """Values in seconds, (points,), at the points (points, parameters)."""
        return design(self.terms, points) @ np.array([self.constant, *self.coefficients])


@dataclass(frozen=True)
class Scenario:
    """Measured values and what is true.

    Attributes
    ----------
    points : (n_functions, n_points, n_parameters) float
        The same for all functions until `with_point` added one to each.
    values : (n_functions, n_points, n_repetitions) float, seconds
    target : (n_parameters,) float
        Where predictions are asked.
    laws : (n_functions,) tuple of Law
    """

    name: str
    noise: float
    seed: int
    parameters: tuple[str, ...]
    points: Floats
    values: Floats
    target: Floats
    laws: tuple[Law, ...]

    @cached_property
    def truth(self) -> Floats:
        """True values at the target, (n_functions,), seconds."""
        return np.array([law(self.target[None])[0] for law in self.laws])

    @cached_property
    def is_constant(self) -> npt.NDArray[np.bool_]:
        """Which functions do not depend on any parameter, (n_functions,)."""
        return np.array([not law.terms for law in self.laws])

    @property
    def orders(self) -> tuple[tuple[Term, ...], ...]:
        """Terms of each function; none for a constant."""
        return tuple(law.terms for law in self.laws)

    @property
    def names(self) -> tuple[str, ...]:
        """What the functions are called in files."""
        return call_paths(len(self.laws))

    def with_point(self, where: Floats) -> Scenario:
        """The scenario after as many runs as at the other points at one more, each function at its own.

        Parameters
        ----------
        where : (n_functions, n_parameters) float
        """
        rng = np.random.default_rng([self.seed, SCENARIOS.index(self.name), 1])
        exact = np.array([law(point) for law, point in zip(self.laws, where[:, None], strict=True)])
        values = with_noise(exact, self.noise, self.values.shape[2], rng)
        return replace(
            self,
            points=np.concatenate([self.points, where[:, None]], axis=1),
            values=np.concatenate([self.values, values], axis=1),
        )


def design(terms: Sequence[Term], points: Floats) -> Floats:
    """Columns of a law, (n_points, 1 + n_terms): ones, then one for each term."""
    columns = [np.ones(len(points))]
    for term in terms:
        powers = [x**i * np.log2(x) ** j for x, (i, j) in zip(points.T, term, strict=True)]
        columns.append(np.prod(powers, axis=0))
    return np.stack(columns, axis=1)


def with_noise(exact: Floats, noise: float, repetitions: int, rng: np.random.Generator) -> Floats:
    """Values with multiplicative normal noise; the last axis becomes the repetitions."""
    factors = 1.0 + noise * rng.standard_normal((*exact.shape, repetitions))
    return np.asarray(exact[..., None] * np.maximum(factors, SMALLEST_FACTOR))


def scenario(
    name: str, noise: float, seed: int, functions: int = FUNCTIONS, repetitions: int = REPETITIONS
) -> Scenario:
    """One scenario, as the module describes it.

    Parameters
    ----------
    name : {"grid", "common", "off-grid", "two-mixed", "two"}
    noise : float, > 0
        Standard deviation of the factor.
    seed : int
    functions, repetitions : int, > 0
    """
    rng = np.random.default_rng([seed, SCENARIOS.index(name)])
    parameters = ("p", "n") if name in TWO_PARAMETERS else ("n",)
    points = np.array(list(itertools.product(LEVELS, repeat=len(parameters))))
    laws = tuple(_law(name, points[-1:], number < CONSTANTS * functions, rng) for number in range(functions))
    exact = np.array([law(points) for law in laws])
    values = with_noise(exact, noise, repetitions, rng)
    shared = np.broadcast_to(points, (functions, *points.shape))
    return Scenario(name, noise, seed, parameters, shared, values, np.full(len(parameters), TARGET), laws)


def _law(name: str, largest: Floats, constant: bool, rng: np.random.Generator) -> Law:
    size_s = float(np.exp(rng.uniform(*np.log(LARGEST_S))))
    if constant:
        return Law(size_s)
    if name in TWO_PARAMETERS:
        p_order, n_order = _order("grid", rng), _order("grid", rng)
        of_p, of_n, of_both = (p_order, FLAT), (FLAT, n_order), (p_order, n_order)
        forms: tuple[tuple[Term, ...], ...] = ((of_both,), (of_p, of_n), (of_p, of_both), (of_n, of_both))
        terms = forms[rng.integers(len(forms) if name == "two-mixed" else 2)]
    else:
        terms = ((_order(name, rng),),)
    share = rng.uniform(*SHARE)
    first = rng.uniform(0.2, 0.8)
    shares = np.array([first, 1.0 - first] if len(terms) == 2 else [1.0]) * share
    coefficients = size_s * shares / design(terms, largest)[0, 1:]
    return Law(size_s * (1.0 - share), tuple(coefficients.tolist()), terms)


def _order(name: str, rng: np.random.Generator) -> Order:
    if name == "off-grid":
        return float(rng.uniform(*OFF_GRID_EXPONENT)), float(rng.integers(2))
    orders = GRID if name == "grid" else COMMON
    return orders[rng.integers(len(orders))]


def call_paths(count: int, *, tree: bool = False) -> tuple[str, ...]:
    """Names of call paths, beside each other, or as a tree in which each calls four others."""
    names: list[str] = []
    for number in range(count):
        above = f"{names[(number - 1) // 4]}->" if tree and number else ""
        names.append(f"{above}f{number}")
    return tuple(names)


def write_text(made: Scenario, path: Path, names: Sequence[str] | None = None) -> None:
    """Write Extra-P's text format, with all digits; the functions have the same points."""
    path.write_text("\n".join(_text_lines(made, names or made.names)) + "\n", encoding="utf-8")


def _text_lines(made: Scenario, names: Sequence[str]) -> Iterator[str]:
    yield f"PARAMETER {' '.join(made.parameters)}"
    yield "POINTS " + " ".join(f"({' '.join(f'{level:g}' for level in point)})" for point in made.points[0])
    yield "METRIC time_s"
    for name, of_function in zip(names, made.values.tolist(), strict=True):
        yield f"REGION {name}"
        for values in of_function:
            yield "DATA " + " ".join(format(Decimal(repr(value)), "f") for value in values)  # it knows no exponents
