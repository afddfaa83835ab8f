"""Quantiles of mixtures of normal distributions, at many points at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_FAR = 9.0  # standard deviations, beyond which a member has no mass that counts
_CLOSE = 1e-11  # of the range, to which quantiles are found
_STEPS = 80
_OPEN = 300.0  # in the logarithm
_NEGLIGIBLE = 1e-4  # share of the mixture that the least likely members may make up together; they are left out


@dataclass(frozen=True)
class NormalMixture:
    """Members with weights, each with a mean and a variance at every point."""

    weights: Floats  # their sum is 1
    means: Floats
    variances: Floats

    @classmethod
    def of(cls, log_weights: Floats, means: Floats, variances: Floats) -> NormalMixture:
        """Members by the logarithms of their weights (m,), which need not be normalised; the negligible are left
        out.
        """
        weights = np.exp(log_weights - log_weights.max())
        weights /= weights.sum()
        order = np.argsort(-weights, kind="stable")
        kept = order[: 1 + int(np.searchsorted(np.cumsum(weights[order]), 1.0 - _NEGLIGIBLE))]
        return cls(weights[kept] / weights[kept].sum(), means[kept], variances[kept])

    def quantiles(self, shares: npt.ArrayLike) -> Floats:
        """Values below which these shares of the mixture lie (q, k), by Newton's method within a bracket."""
        from scipy.special import ndtr

        targets = np.asarray(shares, dtype=np.float64)[:, None]
        deviation = np.sqrt(self.variances)
        low = np.broadcast_to((self.means - _FAR * deviation).min(axis=0), (len(targets), self.means.shape[1])).copy()
        high = np.broadcast_to((self.means + _FAR * deviation).max(axis=0), low.shape).copy()
        close = _CLOSE * (high - low).max(initial=0.0)
        weights = self.weights[:, None, None]
        x = np.broadcast_to(self.weights @ self.means, low.shape).copy()
        for _ in range(_STEPS):
            scaled = (x - self.means[:, None, :]) / deviation[:, None, :]
            missing = (weights * ndtr(scaled)).sum(axis=0) - targets
            density = (weights * np.exp(-0.5 * scaled**2) / deviation[:, None, :]).sum(axis=0) / np.sqrt(2.0 * np.pi)
            low, high = np.where(missing < 0.0, x, low), np.where(missing < 0.0, high, x)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                step = x - missing / density
            inside = (step > low) & (step < high)
            after = np.where(inside, step, 0.5 * (low + high))
            moved = np.abs(after - x).max(initial=0.0)
            x = after
            if moved <= close:
                break
        return np.asarray(x)

    def ratio_quantiles(self, shares: npt.ArrayLike) -> Floats:
        """Quantiles (q, k) of what the mixture is the logarithm of; what is open beyond any number ends at e^300."""
        return np.asarray(np.exp(np.clip(self.quantiles(shares), -_OPEN, _OPEN)))
