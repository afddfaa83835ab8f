"""A model of scaling laws as the arrays that the engine takes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from perf_laws.evidence.hypotheses import Column, Hypotheses, column_values
from perf_laws.evidence.noise import Runs
from perf_laws.evidence.path_data import WeighedLaws
from perf_laws.evidence.posterior import Laws
from perf_laws.evidence.terms import Term

if TYPE_CHECKING:
    from perf_laws.model import LawModel

__all__ = ["laws_of", "model_arrays", "of_paths"]

Arrays = TypeVar("Arrays", Runs, Laws)


def model_arrays(model: LawModel) -> tuple[Runs, Hypotheses, Laws]:
    """Runs, laws and their probabilities: what `perf_laws.draws.draws.draw` takes."""
    numbers: dict[Column, int] = {}
    order = {symbol: k for k, symbol in enumerate(model.symbols)}
    most = max(1, *(len(law) for law in model.laws))
    members = np.full((len(model.laws), most), -1, dtype=np.int64)
    for row, law in enumerate(model.laws):
        for k, factors in enumerate(law):
            column = tuple((order[f.symbol], Term(Fraction(f.exponent), f.logarithm)) for f in factors)
            members[row, k] = numbers.setdefault(column, len(numbers))
    values = np.array([column_values(column, model.measured) for column in numbers]).reshape(-1, len(model.measured))
    scales = values.max(axis=1) if numbers else np.empty(0)
    columns = values / scales[:, None] if numbers else np.empty((0, len(model.measured)))
    means, counts = model.means, np.array([own.counts for own in model.data])
    every = np.arange(len(model.laws))
    return (
        Runs(means, counts, np.zeros(means.shape), np.zeros(len(means), dtype=np.int64)),
        Hypotheses(
            model.measured, tuple(numbers), columns, scales, members, np.zeros(len(every)), every,
            np.empty((len(every), 0), dtype=np.int64),
        ),
        laws_of(model.data),
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
