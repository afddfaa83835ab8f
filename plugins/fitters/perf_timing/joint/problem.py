"""The joint timing model of codes and systems as a bilinear least-squares problem.

A row is one observation of code c on system s; the model is ``sum_i basis_i w_i^c v_i^s``, where w is the work of the
code and v = 1/r the inverse speed of the system. In v the model is bilinear, and a system that a function does not
touch (r infinite) is the harmless v = 0. Multiplying w_i and dividing v_i by the same number changes nothing (the
gauge), so v_i of the reference system is 1 for every i.

Source: E. Strohmaier, "Statistical Performance Modeling: Case Study of the NPB 2.1 Results", equations 5 and 6.
Deviation: fitted in (w, v), reported in (w, r); the text of section 5 fixes a code, its Table 4 a system, as here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from perfcore.base.arrays import Booleans, Floats, Ints

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


@dataclass(frozen=True)
class JointProblem:
    """Observations of codes on systems, and the functions that are to explain them."""

    basis: Floats
    target: Floats  # the observed times with the same factors
    code: Ints  # 0 <= code < n_codes, 0 <= system < n_systems
    system: Ints
    n_codes: int
    n_systems: int
    reference: int | None  # the system whose v is 1

    @property
    def n_rows(self) -> int:
        return len(self.target)

    @property
    def n_functions(self) -> int:
        """Number m of functions, a function that is allowed twice counted twice."""
        return int(self.basis.shape[1])

    @property
    def n_parameters(self) -> int:
        """P = m (C + S - 1), or m (C + S) without a reference."""
        return self.n_functions * (self.n_codes + len(self.fitted_systems))

    @property
    def reference_system(self) -> int:
        """The reference, for those who need one."""
        if self.reference is None:
            raise ValueError("the problem has no reference system: its work and speeds are known up to a factor only")
        return self.reference

    @property
    def cell(self) -> Ints:
        """(n,) int: the cell of the table code x system that each row belongs to, code * n_systems + system."""
        return self.code * self.n_systems + self.system

    @cached_property
    def fitted_systems(self) -> Ints:
        """Systems whose v are parameters, in order: all but the reference."""
        return np.flatnonzero(np.arange(self.n_systems) != self.reference)

    @cached_property
    def place(self) -> Ints:
        """(S,) int: place of each system among the fitted ones, -1 for the reference."""
        place = np.full(self.n_systems, -1)
        place[self.fitted_systems] = np.arange(len(self.fitted_systems))
        return place

    def pack(self, w: Floats, v: Floats) -> Floats:
        """Parameters theta (P,) from w (m, C) and v (m, S); the reference's v is left out and must be 1."""
        return np.concatenate([w.ravel(), v[:, self.fitted_systems].ravel()])

    def unpack(self, theta: Floats) -> tuple[Floats, Floats]:
        """Work w (m, C) and inverse speed v (m, S) from theta (P,)."""
        m = self.n_functions
        v = np.ones((m, self.n_systems))
        v[:, self.fitted_systems] = theta[m * self.n_codes :].reshape(m, -1)
        return theta[: m * self.n_codes].reshape(m, self.n_codes), v

    def predict(self, theta: Floats) -> Floats:
        """The model at the rows, (n,), with their factors."""
        w, v = self.unpack(theta)
        return np.asarray(np.einsum("ni,in,in->n", self.basis, w[:, self.code], v[:, self.system]))

    def residuals(self, theta: Floats) -> Floats:
        """Model minus target, (n,)."""
        return self.predict(theta) - self.target

    def jacobian(self, theta: Floats) -> Floats:
        """Derivatives of the residuals, (n, P)."""
        w, v = self.unpack(theta)
        work_columns, fitted, speed_columns = self._columns
        jacobian = np.zeros((self.n_rows, self.n_parameters))
        jacobian[np.arange(self.n_rows)[:, None], work_columns] = self.basis * v.T[self.system]
        jacobian[fitted[:, None], speed_columns] = (self.basis * w.T[self.code])[fitted]
        return jacobian

    @cached_property
    def _columns(self) -> tuple[Ints, Ints, Ints]:
        """Columns of each row's w; the rows not on the reference system; columns of their v."""
        m, functions = self.n_functions, np.arange(self.n_functions)
        place = self.place[self.system]
        fitted = np.flatnonzero(place >= 0)
        speed_columns = m * self.n_codes + functions * len(self.fitted_systems) + place[fitted, None]
        return functions * self.n_codes + self.code[:, None], fitted, speed_columns

    def subset(self, rows: Booleans) -> JointProblem:
        """The same codes, systems and parameters with some of the rows (n,) bool."""
        return replace(
            self, basis=self.basis[rows], target=self.target[rows], code=self.code[rows], system=self.system[rows]
        )

    def compressed(self) -> JointProblem:
        """The same sums of squares at every theta, with a triangle (QR factorisation) for the rows of each cell."""
        rows = np.column_stack([self.basis, self.target])
        cells, cell = np.unique(self.cell, return_inverse=True)
        triangles = [np.linalg.qr(rows[cell == k], mode="r") for k in range(len(cells))]
        joined = np.concatenate(triangles)
        code, system = np.divmod(np.repeat(cells, list(map(len, triangles))), self.n_systems)
        return replace(self, basis=joined[:, :-1], target=joined[:, -1], code=code, system=system)

    def weighted(self, weights: Floats) -> JointProblem:
        """The same problem with further weights (n,), >= 0, on the squared residuals of the rows."""
        root = np.sqrt(weights)
        return replace(self, basis=self.basis * root[:, None], target=self.target * root)


def components(code: Ints, system: Ints, n_codes: int, n_systems: int) -> tuple[Ints, Ints]:
    """Connected components of the table of observed cells."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = n_codes + n_systems
    edges = coo_array((np.ones(len(code)), (code, n_codes + system)), shape=(size, size))
    _, labels = connected_components(edges, directed=False)
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    numbers = np.argsort(np.argsort(first))[inverse]
    return numbers[:n_codes], numbers[n_codes:]
