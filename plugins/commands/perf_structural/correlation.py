"""Correlated inputs: by a Gaussian copula, whose parameter is the correlation of the normal scores.

For two normals that is their correlation; for others the rank correlation is nearly the same (Spearman's is
``6/pi * asin(r/2)``). Source: R. B. Nelsen, "An Introduction to Copulas", 2nd edition, 2006, sections 2.3 and 5.1.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from perf_structural.indexed import Place
from perfcore.base.errors import DataError, UnknownNameError

Pair = frozenset[str]

_ROUNDING = 1e-9  # by which a smallest eigenvalue of zero may be missed


def correlated_pairs(correlations: Mapping[str, float], copies: Mapping[str, Mapping[Place, str]]) -> dict[Pair, float]:
    """Correlations of names as correlations of quantities."""
    coefficients = {}
    known: dict[str, Mapping[Place, str]] = {leaf: {(): leaf} for cells in copies.values() for leaf in cells.values()}
    known.update(copies)
    for key, value in correlations.items():
        names = _names(key)
        if not -1.0 <= value <= 1.0:
            raise DataError(f"{key!r} is {value}; between -1 and 1 is expected")
        for name in names:
            if name not in known:
                raise UnknownNameError("uncertain input", name, known)
        for pair in _pairs(key, known[names[0]], known[names[1]]):
            coefficients[pair] = value
    return coefficients


def _names(key: str) -> tuple[str, str]:
    """The two names; a comma within brackets counts copies and separates nothing."""
    for index, character in enumerate(key):
        if character == "," and key[:index].count("[") == key[:index].count("]"):
            return key[:index].strip(), key[index + 1 :].strip()
    raise DataError(f"{key!r}: two inputs with a comma between them are expected, such as 'load,delay'")


def _pairs(key: str, first: Mapping[Place, str], second: Mapping[Place, str]) -> Iterable[Pair]:
    if first == second:
        if len(first) == 1:
            raise DataError(f"{key!r}: a quantity is always correlated with itself")
        return [frozenset(pair) for pair in itertools.combinations(first.values(), 2)]
    if set(first) == set(second):
        return [frozenset((first[place], second[place])) for place in first]
    if len(first) == 1 or len(second) == 1:
        return [frozenset(pair) for pair in itertools.product(first.values(), second.values())]
    raise DataError(f"{key!r}: {len(first)} copies and {len(second)} have no places in common; name single copies")


def factor_of(names: Sequence[str], pairs: Mapping[Pair, float]) -> npt.NDArray[np.float64]:
    """A matrix that makes independent normal scores correlated."""
    matrix = np.eye(len(names))
    for i, j in itertools.combinations(range(len(names)), 2):
        matrix[i, j] = matrix[j, i] = pairs.get(frozenset((names[i], names[j])), 0.0)
    try:
        return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        # Perfect dependence is allowed, and makes the matrix singular.
        values, vectors = np.linalg.eigh(matrix)
    if values[0] < -_ROUNDING * len(names):
        raise DataError(
            f"the correlations of {', '.join(names[:8])} contradict one another: their matrix has the eigenvalue "
            f"{values[0]:.3g}; what is not given counts as 0"
        )
    factor: npt.NDArray[np.float64] = vectors * np.sqrt(np.maximum(values, 0.0))
    return factor
