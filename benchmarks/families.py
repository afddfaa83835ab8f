"""Constants of the family `empirical`, chosen on all sources but one and judged on that one.

``python benchmarks/families.py SERIES.csv ...`` prints a table of docs/how-we-know.md. Of each source, the
last column of a table, samples are drawn in no order; the family is made of them, and foretells the rest. One constant
at a time takes other values. The score is the mean quantile loss of the rest, at levels over the whole distribution and
at p99 alone, over that with the constants as they are. What has the least mean logarithm of both on all other sources
is judged on the one left out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_stochastic import empirical
from perfcore.base.errors import DataError
from perfcore.stochastic import representation_named

Floats = npt.NDArray[np.float64]

SIZES = (100, 400)
REPETITIONS = 6
LEVELS = (np.arange(100) + 0.5) / 100
TAIL = np.array([0.99])
CONSTANTS: dict[tuple[str, Any, str], tuple[float, ...]] = {
    ("empirical", empirical, "_PER_ROOT"): (1.5, 6.0),
    ("empirical", empirical, "_FEWEST_IN_TAIL"): (10, 10_000),
    ("empirical", empirical, "_GROSS_MISFIT"): (0.85, 100.0),
}


@contextmanager
def replaced(module: Any, name: str, value: float | None) -> Iterator[None]:
    """A constant with another value, for a while; None leaves it."""
    before = getattr(module, name)
    setattr(module, name, before if value is None else value)
    try:
        yield
    finally:
        setattr(module, name, before)


def losses(family: str, drawn: Floats, rest: Floats) -> tuple[float, float]:
    """Mean quantile loss of the rest over the whole distribution, and at p99."""
    try:
        value = representation_named(family).from_samples(drawn)
    except DataError:
        return np.nan, np.nan
    found = []
    for levels in (LEVELS, TAIL):
        off = rest[:, None] - np.asarray(value.quantile(levels))
        found.append(float(np.where(off >= 0.0, levels * off, (levels - 1.0) * off).mean()))
    return found[0], found[1]


def splits(values: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Samples and what is to be foretold, the same for every constant."""
    rng = np.random.default_rng(11)
    for size in SIZES:
        for _ in range(REPETITIONS):
            order = rng.permutation(len(values))
            drawn = values[order[:size]]
            if np.ptp(drawn) and len(values) > 1.5 * size:
                yield drawn, values[order[size : size + 2000]]


def scored(family: str, module: Any, name: str, value: float | None, values: Floats) -> Floats:
    """Logarithms of mean losses (2,)."""
    with replaced(module, name, value):
        found = np.array([losses(family, *split) for split in splits(values)])
    return np.log(np.nanmean(found, axis=0))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("series", nargs="+", type=Path)
    sources = [np.loadtxt(path, delimiter=",", skiprows=1, usecols=-1) for path in parser.parse_args().series]
    print("| family | constant | is | over all | at p99 | chosen on the others | there: over all | at p99 |")
    print("|---|---|---|---|---|---|---|---|")
    for (family, module, name), others in CONSTANTS.items():
        as_is = np.array([scored(family, module, name, None, values) for values in sources])
        ratios = {
            value: np.array([scored(family, module, name, value, values) for values in sources]) - as_is
            for value in others
        }
        print_constant(family, name, getattr(module, name), ratios)
        sys.stdout.flush()


def print_constant(family: str, name: str, default: float, ratios: dict[float, Floats]) -> None:
    """A row for each other value, and what choosing by the other sources gives on the one left out."""
    for value, found in ratios.items():
        whole, tail = (f"{np.exp(each) - 1.0:+.1%}" for each in found.mean(axis=0))
        print(f"| {family} | {name.strip('_').lower()} | {value:g} instead of {default:g} | {whole} | {tail} | | | |")
    table = {default: 0.0 * next(iter(ratios.values())), **ratios}
    count = len(next(iter(table.values())))
    picked, judged = [], []
    for left in range(count):
        rest = np.arange(count) != left
        best = min(table, key=lambda value: table[value][rest].mean())
        picked.append(best)
        judged.append(table[best][left])
    whole, tail = (f"{np.exp(each) - 1.0:+.1%}" for each in np.mean(judged, axis=0))
    times = ", ".join(f"{value:g} ({picked.count(value)} times)" for value in dict.fromkeys(picked))
    print(f"| {family} | {name.strip('_').lower()} | | | | {times} | {whole} | {tail} |")


if __name__ == "__main__":
    main()
