r"""The variance of a least-squares prediction, and what one more measurement does to it.

A prediction at a target is linear in the measured values. For a model of K parts that are fitted separately to the
same weighted observations, its variance is

    V = sum_i  h_i' S h_i,    h_ik = x_ik' A_k t_k,    A_k = (X_k' X_k)^-1,

where x_ik is row i of part k, t_k the target's row, h_i how much observation i moves each part's prediction, and S the
covariance of the weighted errors between parts. With one part it is the usual s^2 t' A t. One more row x changes A_k by
Sherman and Morrison's formula:

    A_k x x' A_k
    ------------ ,    d = 1 + x' A_k x,    so that h_ik falls by x_ik' A_k x (x' A_k t_k) / d,
         d

and the new observation itself has h = x' A_k t_k / d. No model is fitted again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perfcore.models.design_rows import DesignRows


Floats = npt.NDArray[np.float64]

# Share of a row outside of what the observations span that rounding leaves.
_ROUNDING = 1e-8


@dataclass(frozen=True)
class PartialFit:
    """The design so far, ready to be asked what each candidate would add."""

    rows: tuple[Floats, ...]
    inverses: tuple[Floats, ...]  # A_k
    target: tuple[Floats, ...]
    candidates: tuple[Floats, ...]
    errors: Floats  # S
    determined: bool  # whether the observations determine the prediction

    @classmethod
    def of(cls, rows: DesignRows) -> PartialFit:
        """The design of a model; of the points asked for, the first is the target, the others are candidates.

        Columns are scaled to unit length, since the functions of a model differ by many orders of magnitude.
        """
        measured, inverses, targets, candidates = [], [], [], []
        determined = True
        for design, prediction_rows in zip(rows.measured, rows.asked, strict=True):
            norms = np.linalg.norm(design, axis=0)
            norms[norms == 0.0] = 1.0
            scaled, scaled_rows = design / norms, prediction_rows / norms
            inverse = np.linalg.pinv(scaled.T @ scaled, hermitian=True)
            outside = scaled_rows[0] - scaled_rows[0] @ inverse @ (scaled.T @ scaled)
            determined &= bool(np.linalg.norm(outside) <= _ROUNDING * np.linalg.norm(scaled_rows[0]))
            measured.append(scaled)
            inverses.append(inverse)
            targets.append(scaled_rows[0])
            candidates.append(scaled_rows[1:])
        return cls(tuple(measured), tuple(inverses), tuple(targets), tuple(candidates), rows.errors, determined)

    @property
    def variance(self) -> float:
        """V, of the weighted prediction at the target."""
        parts = zip(self.rows, self.inverses, self.target, strict=True)
        moved = np.stack([rows @ inverse @ target for rows, inverse, target in parts], axis=1)
        return float(np.einsum("ik,kl,il->", moved, self.errors, moved))

    def variances_with_one(self) -> Floats:
        """V after one more measurement at each candidate (n,)."""
        moved, new = [], []
        for rows, inverse, target, candidates in zip(
            self.rows, self.inverses, self.target, self.candidates, strict=True
        ):
            reach = inverse @ candidates.T  # (P, n): A x
            toward = candidates @ inverse @ target
            grown = 1.0 + np.einsum("np,pn->n", candidates, reach)
            moved.append((rows @ inverse @ target)[:, None] - (rows @ reach) * (toward / grown))
            new.append(toward / grown)
        old = np.einsum("kin,kl,lin->n", np.stack(moved), self.errors, np.stack(moved))
        return np.asarray(old + np.einsum("kn,kl,ln->n", np.stack(new), self.errors, np.stack(new)))

    def with_one(self, number: int) -> PartialFit:
        """The design after a measurement at one candidate."""
        rows, inverses = [], []
        for before, inverse, candidates in zip(self.rows, self.inverses, self.candidates, strict=True):
            row = candidates[number]
            reach = inverse @ row
            rows.append(np.vstack([before, row]))
            inverses.append(inverse - np.outer(reach, reach) / (1.0 + row @ reach))
        return PartialFit(tuple(rows), tuple(inverses), self.target, self.candidates, self.errors, self.determined)
