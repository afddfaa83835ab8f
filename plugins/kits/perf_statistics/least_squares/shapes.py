"""Shapes of a law: its values at measured and asked points up to a factor, and how its proportions may change them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_FREE_TILT = 1.0  # of coefficients that were fitted, in the logarithm
_FREE_RANGE = 10.0  # in the logarithm, over which such a coefficient may lie before anything was measured
_LEAST = 0.05  # of the measured value, below which the last resort is not taken: it has a logarithm everywhere


@dataclass(frozen=True)
class Shapes:
    """S shapes h at n measured and k asked points, known up to a factor each."""

    log: Floats  # ln h
    log_asked: Floats
    tilts: Floats  # derivatives of ln h by the proportions of its functions; 0 where a shape has fewer
    tilts_asked: Floats
    variance: Floats  # of each proportion about the shape's
    log_prior: Floats
    families: npt.NDArray[np.int64]


class GatheredShapes:
    """Shapes as they are found."""

    def __init__(self) -> None:
        self._parts: list[tuple[Floats, Floats, Floats, Floats, float, Floats]] = []

    def add(
        self, at_measured: Floats, at_new: Floats, tilt: Floats, tilt_new: Floats, sd: float, log_prior: float
    ) -> None:
        """A family (s, n) and (s, k), with tilts (s, r, n) and (s, r, k); what is not positive is left out."""
        good = (at_measured > 0.0).all(axis=1) & (at_new > 0.0).all(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(at_measured[good]), np.log(at_new[good])
        prior = np.full(int(good.sum()), log_prior)
        self._parts.append((*logs, tilt[good], tilt_new[good], sd**2, prior))

    def single(self, at_measured: Floats, at_new: Floats, log_prior: float) -> None:
        """One shape (n,) and (k,), up to its sign, without anything that may change."""
        sign = 1.0 if at_measured.sum() >= 0.0 else -1.0
        none = np.zeros((1, 0, len(at_measured))), np.zeros((1, 0, len(at_new)))
        self.add(sign * at_measured[None], sign * at_new[None], *none, 0.0, log_prior)

    def about_fit(
        self, values: Floats, at_measured: Floats, at_new: Floats, log_prior: float, *, signed: bool = True
    ) -> bool:
        """The sum of functions of least relative squares, and what is near it."""
        design = at_measured / values[:, None]
        length = np.linalg.norm(design, axis=0)
        length[length == 0.0] = 1.0
        if signed:
            coefficients = np.linalg.lstsq(design / length, np.ones(len(values)), rcond=None)[0] / length
        else:
            from scipy.optimize import nnls

            coefficients = nnls(design / length, np.ones(len(values)))[0] / length
        used = np.flatnonzero(coefficients != 0.0)
        parts, parts_new = coefficients[used] * at_measured[:, used], coefficients[used] * at_new[:, used]
        total, total_new = parts.sum(axis=1), parts_new.sum(axis=1)
        if not len(used) or (total <= 0.0).any() or (total_new <= 0.0).any():
            return False
        tilts = (parts / total[:, None]).T[None, 1:]
        tilts_new = (parts_new / total_new[:, None]).T[None, 1:]
        # As if the proportions were spread evenly over their range, of which the tilt is a part.
        share = (len(used) - 1) * float(np.log(_FREE_TILT * np.sqrt(2.0 * np.pi) / _FREE_RANGE))
        self.add(total[None], total_new[None], tilts, tilts_new, _FREE_TILT, log_prior + share)
        return True

    def last_resort(self, values: Floats, at_measured: Floats, at_new: Floats) -> None:
        """A model (n,) and (k,) that may not be positive everywhere, raised to where it has a logarithm."""
        self.single(np.maximum(at_measured, _LEAST * values), np.maximum(at_new, _LEAST * values.min()), 0.0)

    def shapes(self) -> Shapes | None:
        """All that were added; None without any."""
        if not sum(len(part[0]) for part in self._parts):
            return None
        most = max(part[2].shape[1] for part in self._parts)
        logs, logs_asked, tilts, tilts_asked, variances, priors = zip(*self._parts, strict=True)
        counts = [len(log) for log in logs]
        return Shapes(
            np.concatenate(logs),
            np.concatenate(logs_asked),
            _stacked(tilts, most),
            _stacked(tilts_asked, most),
            np.repeat(variances, counts),
            np.concatenate(priors),
            np.cumsum([0, *counts])[:-1][np.array(counts) > 0],
        )


def _stacked(tilts: Sequence[Floats], most: int) -> Floats:
    """Tilts (s, r, n) of all parts under one another, with zeros where there are fewer than the most."""
    stacked = np.zeros((sum(map(len, tilts)), most, tilts[0].shape[2]))
    row = 0
    for part in tilts:
        stacked[row : row + len(part), : part.shape[1]] = part
        row += len(part)
    return stacked
