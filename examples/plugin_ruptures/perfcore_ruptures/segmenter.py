"""Segmentation by the ruptures library.

Truong, Oudre and Vayatis, "Selective review of offline change point detection methods", Signal
Processing 167, 2020. ruptures knows samples, not steps of different widths, so the curve is first
averaged over equally wide intervals. Breakpoints are then moved to the nearest edge of the curve,
since a phase can change only where the curve does.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import ruptures

from perfcore import UtilizationCurve
from perfcore.base.errors import OptionError
from perfcore.contracts import Basis, Segmentation, Segmenter
from perfcore_ruptures.options import RupturesOptions

__all__ = ["RupturesSegmenter", "resample"]

Floats = npt.NDArray[np.float64]


class RupturesSegmenter(Segmenter):
    """Hands a resampled curve to ruptures.

    Choose it to compare with a widely used library; for large curves the segmenters that come with
    perfcore are faster and need no resampling.
    """

    Options = RupturesOptions
    objective = "sum of squared errors of equally wide samples"

    def segment(self, curve: UtilizationCurve, n_phases: int, basis: Basis) -> Segmentation:
        """Find at most ``n_phases`` phases.

        Parameters
        ----------
        curve : UtilizationCurve
            Neighbouring heights differ.
        n_phases : int
            At least 1. There are fewer where the samples or the edges do not suffice.
        basis : Basis
            Polynomials of one degree.

        Returns
        -------
        Segmentation
            ``statistics`` has the number of samples that ruptures was given.

        Raises
        ------
        OptionError
            The method cannot do the degree.
        """
        chosen = self.options
        if chosen.method == "kernel" and basis.degree > 0:
            raise OptionError(
                f"ruptures: --method kernel finds constant phases only, not degree {basis.degree}; "
                "use --degree 0 or --method bottom-up"
            )
        samples = resample(curve, chosen.max_samples)
        # A polynomial of degree k fits k + 1 samples exactly: shorter phases would be arbitrary.
        min_size = max(chosen.min_size, basis.degree + 1)
        n_breaks = min(n_phases, len(samples) // min_size) - 1
        ends = _ends(samples, max(n_breaks, 0), basis.degree, min_size, chosen.method)
        edges = curve.relative_edges
        times = np.concatenate([[0.0], ends]) * (edges[-1] / len(samples))
        return Segmentation(breaks=_nearest(edges, times), statistics={"samples": float(len(samples))})


def resample(curve: UtilizationCurve, max_samples: int) -> Floats:
    """Means over equally wide intervals.

    Parameters
    ----------
    curve : UtilizationCurve
        Where its steps are equally wide, each gets the same number of intervals, so that none
        contains an edge.
    max_samples : int
        At most so many intervals.

    Returns
    -------
    (n_samples,) float
        Mean heights.

    Examples
    --------
    >>> resample(UtilizationCurve([0, 1, 2, 4], [6, 2, 1]), 4)
    array([6., 2., 1., 1.])
    >>> resample(UtilizationCurve([0, 1, 2], [6, 2]), 5)
    array([6., 6., 2., 2.])
    """
    edges = curve.relative_edges
    widths = np.diff(edges)
    n_samples = max_samples
    if curve.n_steps <= max_samples and np.allclose(widths, widths[0], atol=0.0):
        n_samples -= max_samples % curve.n_steps
    area = np.concatenate([[0.0], np.cumsum(widths * curve.heights)])
    grid = np.linspace(0.0, edges[-1], n_samples + 1)
    means: Floats = np.diff(np.interp(grid, edges, area)) / (edges[-1] / n_samples)
    return means


def _ends(samples: Floats, n_breaks: int, degree: int, min_size: int, method: str) -> npt.NDArray[np.int64]:
    """Where each phase ends, counted in samples."""
    if n_breaks == 0:
        return np.array([len(samples)])
    if method == "kernel":
        search = ruptures.KernelCPD(kernel="linear", min_size=min_size)
        signal = samples[:, None]
    elif degree == 0:
        search = ruptures.BottomUp(model="l2", min_size=min_size, jump=1)
        signal = samples[:, None]
    else:
        # Regression on the powers of time; the cost "clinear" would be continuous at the breaks.
        search = ruptures.BottomUp(model="linear", min_size=min_size, jump=1)
        powers = np.vander(np.linspace(-1.0, 1.0, len(samples)), degree + 1)
        signal = np.column_stack([samples, powers])
    return np.array(search.fit(signal).predict(n_bkps=n_breaks))


def _nearest(edges: Floats, times: Floats) -> Floats:
    """The edges nearest to ``times``, each once; the first and the last edge stay."""
    right = np.clip(np.searchsorted(edges, times), 1, len(edges) - 1)
    left_is_nearer = times - edges[right - 1] < edges[right] - times
    found = np.where(left_is_nearer, edges[right - 1], edges[right])
    found[[0, -1]] = edges[[0, -1]]
    return np.unique(found)
