"""Singular value decomposition of a Jacobian: step, rank, covariance and leverage from one factorisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# A unit direction that the data do not determine moves a parameter when its component exceeds this; rounding leaves
# components of some 1e-15, so anything in between is a matter of taste.
_PART_OF_A_DIRECTION = 1e-8


@dataclass(frozen=True)
class JacobianFactor:
    """A Jacobian J (n, P) with its columns scaled to unit length, as U diag(s) V'.

    The scaling makes the rank independent of the units of the parameters, which differ by many orders of magnitude when
    functions like 1/p^2 and p stand side by side.
    """

    scale: Floats  # length of each column; 1 for a column of zeros
    left: Floats  # orthonormal basis of what the parameters can reach
    singular: Floats  # singular values of the scaled Jacobian, those that are zero by rounding left out
    right: Floats  # directions in scaled parameters that the data determine
    null: Floats  # unit directions in scaled parameters that the data do not determine

    @classmethod
    def of(cls, jacobian: Floats) -> JacobianFactor:
        """Factor a Jacobian (n, P)."""
        n, count = jacobian.shape
        scale = np.linalg.norm(jacobian, axis=0)
        scale = np.where(scale > 0.0, scale, 1.0)
        scaled = jacobian / scale
        # Rows of zeros change nothing but bring out all P right singular vectors when there are few observations.
        padded = scaled if n >= count else np.vstack([scaled, np.zeros((count - n, count))])
        left, singular, right = np.linalg.svd(padded, full_matrices=False)
        # The customary bound on what rounding makes of a zero singular value.
        tolerance = max(n, count) * np.finfo(float).eps * singular[0] if count else 0.0
        rank = int(np.count_nonzero(singular > tolerance))
        return cls(scale, left[:n, :rank], singular[:rank], right[:rank].T, right[rank:].T)

    @property
    def rank(self) -> int:
        """Number of directions that the data determine."""
        return len(self.singular)

    @property
    def undetermined(self) -> npt.NDArray[np.bool_]:
        """(P,) bool: parameters with a part in a direction that the data do not determine."""
        if self.null.shape[1] == 0:
            return np.zeros(len(self.scale), dtype=bool)
        moved: npt.NDArray[np.bool_] = np.abs(self.null).max(axis=1) > _PART_OF_A_DIRECTION
        return moved

    @property
    def inverse_normal(self) -> Floats:
        """(P, P) float: (J'J)^+, in the scaled parameters the Moore-Penrose inverse."""
        root = self.right / self.singular / self.scale[:, None]
        return np.asarray(root @ root.T)

    @property
    def leverage(self) -> Floats:
        """(n,) float in [0, 1]: diagonal of the projection on the columns of J, the pull of each row on its own fit."""
        return np.asarray(np.einsum("nk,nk->n", self.left, self.left))

    def step(self, residuals: Floats) -> Floats:
        """Gauss-Newton step (P,) for residuals (n,): the shortest in scaled parameters where several are as good."""
        return np.asarray(-(self.right @ (self.reached(residuals) / self.singular)) / self.scale)

    def reached(self, residuals: Floats) -> Floats:
        """(rank,) float: the part of residuals (n,) that a change of parameters would remove; 0 at an optimum."""
        return np.asarray(self.left.T @ residuals)

    def determines(self, gradients: Floats) -> npt.NDArray[np.bool_]:
        """(k,) bool: do the data determine the linear functions of the parameters with these gradients (k, P)?"""
        scaled = gradients / self.scale
        length = np.linalg.norm(scaled, axis=1)
        determined: npt.NDArray[np.bool_] = np.linalg.norm(scaled @ self.null, axis=1) <= _PART_OF_A_DIRECTION * length
        return determined
