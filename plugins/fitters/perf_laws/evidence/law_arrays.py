"""Laws of paths, as a model file keeps them, as the arrays that the engine takes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from perf_laws.evidence.hypotheses import Column, Hypotheses, column_values
from perf_laws.evidence.noise import Runs
from perf_laws.evidence.path_data import Factor, PathData, WeighedLaws
from perf_laws.evidence.posterior import Laws
from perf_laws.evidence.terms import Term

__all__ = ["arrays_of", "laws_of", "of_paths"]

Arrays = TypeVar("Arrays", Runs, Laws)


def arrays_of(
    symbols: Sequence[str],
    measured: npt.NDArray[np.float64],
    factors: Sequence[tuple[tuple[Factor, ...], ...]],
    data: Sequence[PathData],
) -> tuple[Runs, Hypotheses, Laws]:
    """Runs, laws and their probabilities: what `perf_laws.draws.draws.draw` takes.

    Parameters
    ----------
    symbols : sequence of str
        The parameters (q).
    measured : (n, q) float
        Measured points.
    factors : sequence of laws
        Each a tuple of columns beside the constant, each of these a tuple of factors.
    data : sequence of PathData
        Of each path (K).
    """
    numbers: dict[Column, int] = {}
    order = {symbol: k for k, symbol in enumerate(symbols)}
    most = max(1, *(len(law) for law in factors))
    members = np.full((len(factors), most), -1, dtype=np.int64)
    for row, law in enumerate(factors):
        for k, product in enumerate(law):
            column = tuple((order[f.symbol], Term(Fraction(f.exponent), f.logarithm)) for f in product)
            members[row, k] = numbers.setdefault(column, len(numbers))
    values = np.array([column_values(column, measured) for column in numbers]).reshape(-1, len(measured))
    scales = values.max(axis=1) if numbers else np.empty(0)
    columns = values / scales[:, None] if numbers else np.empty((0, len(measured)))
    means = np.array([own.means for own in data], dtype=np.float64)
    counts = np.array([own.counts for own in data])
    every = np.arange(len(factors))
    return (
        Runs(means, counts, np.zeros(means.shape), np.zeros(len(means), dtype=np.int64)),
        Hypotheses(
            measured, tuple(numbers), columns, scales, members, np.zeros(len(every)), every,
            np.empty((len(every), 0), dtype=np.int64),
        ),
        laws_of(data),
    )  # fmt: skip


def of_paths(arrays: Arrays, paths: Sequence[int]) -> Arrays:
    """Rows of some paths."""
    chosen = list(paths)
    return type(arrays)(*(getattr(arrays, name)[chosen] for name in type(arrays).__dataclass_fields__))


def laws_of(data: Sequence[WeighedLaws]) -> Laws:
    """Weighed laws as columns, one row each."""
    width = max(len(own.laws) for own in data)
    kept = np.full((len(data), width), -1, dtype=np.int64)
    probability = np.zeros(kept.shape)
    for k, own in enumerate(data):
        kept[k, : len(own.laws)] = own.laws
        probability[k, : len(own.laws)] = own.probabilities
    return Laws(
        kept,
        probability,
        np.array([own.root_weights for own in data]),
        np.array([own.within for own in data]),
        np.array([own.freedom for own in data]),
        np.array([own.scattered for own in data]),
    )
