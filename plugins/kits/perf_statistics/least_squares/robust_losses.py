"""Losses that grow slower than the square of a residual, so that gross outliers do not rule a fit.

Each gives rho, rho' and rho'' at z, the square of a residual over its scale; the objective is the sum of
``scale^2 rho(z)``. Near z = 0 all are z: small residuals count as in least squares.

Source: P. J. Huber and E. M. Ronchetti, "Robust Statistics", 2nd edition, 2009, chapters 3 and 7; the forms in z are
those of B. Triggs and others, "Bundle Adjustment: A Modern Synthesis", 2000, section 3.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Loss = Callable[[Floats], Floats]


def linear(z: Floats) -> Floats:
    """Least squares: rho = z."""
    return np.stack([z, np.ones_like(z), np.zeros_like(z)])


def huber(z: Floats) -> Floats:
    """Squares up to the scale, absolute values beyond: the mildest."""
    root = np.sqrt(np.maximum(z, 1.0))
    inside = z <= 1.0
    return np.stack([np.where(inside, z, 2.0 * root - 1.0), 1.0 / root, np.where(inside, 0.0, -0.5 / root**3)])


def soft_l1(z: Floats) -> Floats:
    """Huber's loss without a kink: rho = 2 (sqrt(1 + z) - 1)."""
    root = np.sqrt(1.0 + z)
    return np.stack([2.0 * (root - 1.0), 1.0 / root, -0.5 / root**3])


def cauchy(z: Floats) -> Floats:
    """Loss rho = log(1 + z): a gross outlier hardly counts, but the objective may have several minima."""
    return np.stack([np.log1p(z), 1.0 / (1.0 + z), -1.0 / (1.0 + z) ** 2])


LOSSES: MappingProxyType[str, Loss] = MappingProxyType(
    {"linear": linear, "huber": huber, "soft_l1": soft_l1, "cauchy": cauchy}
)


def influence(loss: str, residuals: Floats, scale: float) -> tuple[Floats, Floats]:
    """The influence psi of each residual and its derivative; psi is the residual itself in least squares."""
    z = (residuals / scale) ** 2
    _, first, second = LOSSES[loss](z)
    return first * residuals, first + 2.0 * z * second
