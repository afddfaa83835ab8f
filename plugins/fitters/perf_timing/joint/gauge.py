"""The gauge of the joint model: what can be changed in its factors without changing the model."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# Two columns are one function if the cosine of their angle is this close to 1.
_SAME_FUNCTION = 1e-12
# A reference with less than this part of the largest inverse speed counts as having this: it must be brought to 1.
_SMALLEST_REFERENCE = 1e-9


def same_functions(basis: Floats) -> list[list[int]]:
    """Indices of the columns (n, m), those together that are one function."""
    length = np.linalg.norm(basis, axis=0)
    unit = basis / np.where(length > 0.0, length, 1.0)
    same = unit.T @ unit > 1.0 - _SAME_FUNCTION
    np.fill_diagonal(same, val=True)
    return [columns.tolist() for k, row in enumerate(same) if (columns := np.flatnonzero(row))[0] == k]


def in_gauge(w: Floats, v: Floats, reference: int, mixed: list[list[int]]) -> tuple[Floats, Floats]:
    """Bring v of the reference system to 1 and leave the model as it is."""
    w, v = w.copy(), v.copy()
    for copies in mixed:
        if len(copies) > 1:
            # Of the same size first: the scale of one copy against the other is arbitrary.
            size = np.linalg.norm(v[copies], axis=1, keepdims=True)
            size[size == 0.0] = 1.0
            w[copies], v[copies] = w[copies] * size, v[copies] / size
            reflection = _towards_equal(v[copies, reference])
            w[copies], v[copies] = reflection @ w[copies], reflection @ v[copies]
    scale = v[:, reference, None]
    smallest = _SMALLEST_REFERENCE * np.abs(v).max(axis=1, keepdims=True)
    smallest[smallest == 0.0] = 1.0
    scale = np.where(np.abs(scale) > smallest, scale, smallest)
    w, v = w * scale, v / scale
    v[:, reference] = 1.0
    return w, v


def _towards_equal(row: Floats) -> Floats:
    """The Householder reflection that turns a vector into one of the same length with equal entries."""
    mirror = row - np.linalg.norm(row) / np.sqrt(len(row))
    squared = mirror @ mirror
    identity = np.eye(len(row))
    return identity if squared == 0.0 else identity - 2.0 * np.outer(mirror, mirror) / squared
