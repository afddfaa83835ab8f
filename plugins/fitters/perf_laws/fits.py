"""Least squares of one named law for each path: what tables show of a law, and how near its rivals come."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perf_laws.evidence.hypotheses import column_values
from perf_laws.path_laws import PathLaws

__all__ = ["PathFits", "designs", "fit_designs", "fit_path"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_DEPENDENT = 1e-10  # singular values below this share of the largest are rounding


class PathFits(NamedTuple):
    """L laws fitted to one path.

    Attributes
    ----------
    here, there : (L, n, M + 1) and (L, C, M + 1) float
        Columns at the measured points and at others; see `designs`.
    coefficients : (L, M + 1) float
        Of these columns; >= 0.
    """

    here: Floats
    there: Floats
    coefficients: Floats

    @property
    def predicted(self) -> Floats:
        """Values at the other points (L, C)."""
        return np.asarray(np.einsum("kcm,km->kc", self.there, self.coefficients))


def fit_path(model: PathLaws, path: int, laws: Sequence[int], points: npt.ArrayLike) -> PathFits:
    """Fit several laws to one path.

    Parameters
    ----------
    model : PathLaws
    path : int
    laws : sequence of int
        Numbers of laws of the model.
    points : (C, q) array_like
        Where they are to be predicted.
    """
    here, there = designs(model, np.array(laws, dtype=np.int64), np.asarray(points, dtype=np.float64))
    weights, values = (
        np.tile(one, (len(laws), 1)) for one in (model.data[path].root_weights, np.nan_to_num(model.means[path]))
    )
    return PathFits(here, there, fit_designs(here, weights, values)[0])


def designs(model: PathLaws, law: Ints, points: Floats) -> tuple[Floats, Floats]:
    """Columns of laws where the model was measured, and at other points.

    Parameters
    ----------
    model : PathLaws
    law : (K,) int
        One law for each path.
    points : (C, q) float

    Returns
    -------
    (K, n, M + 1) and (K, C, M + 1) float
        The constant first, the others in the scale of the measured points; 0 beyond the terms of a law.
    """
    _, hypotheses, _ = model.arrays
    n_columns = len(hypotheses.terms)
    at = np.array([column_values(column, points) for column in hypotheses.terms]).reshape(n_columns, len(points))
    at /= hypotheses.scales[:, None]
    members = hypotheses.members[law]
    found = []
    for columns in (hypotheses.columns, at):
        padded = np.vstack([columns, np.zeros((1, columns.shape[1]))])  # the last is that of member -1
        design = padded[members].transpose(0, 2, 1)
        found.append(np.concatenate([np.ones((*design.shape[:2], 1)), design], axis=2))
    return found[0], found[1]


def fit_designs(columns: Floats, root_weights: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Weighted least squares with coefficients >= 0.

    There are few columns, so that all subsets are tried; a column of zeros takes no part.

    Parameters
    ----------
    columns : (K, n, M) float
    root_weights, values : (K, n) float
        A weight of 0 where nothing was measured.

    Returns
    -------
    coefficients : (K, M) float
    covariance : (K, M, M) float
        For a noise of 1 in the weighted values; 0 of columns whose coefficient is at its bound.

    Examples
    --------
    >>> columns = np.stack([np.ones(3), np.array([1.0, 2.0, 3.0])], axis=1)[None]
    >>> fit_designs(columns, np.ones((1, 3)), np.array([[3.0, 2.0, 1.0]]))[0].tolist()  # falls: the slope stays at 0
    [[2.0, 0.0]]
    """
    n_paths, _, size = columns.shape
    weighted_values = values * root_weights
    least = np.full(n_paths, np.inf)
    coefficients, covariance = np.zeros((n_paths, size)), np.zeros((n_paths, size, size))
    for subset in itertools.product((0.0, 1.0), repeat=size):
        weighted = columns * root_weights[:, :, None] * np.array(subset)
        inverse = np.linalg.pinv(weighted, rcond=_DEPENDENT)
        found = np.einsum("kmn,kn->km", inverse, weighted_values)
        squares = ((weighted_values - np.einsum("knm,km->kn", weighted, found)) ** 2).sum(axis=1)
        better = (squares < least) & (found >= 0.0).all(axis=1)
        least[better], coefficients[better] = squares[better], found[better]
        covariance[better] = np.einsum("kmn,kjn->kmj", inverse[better], inverse[better])
    return coefficients, covariance
