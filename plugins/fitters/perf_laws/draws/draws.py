"""Predictions of laws with all that the data leave open: which law, its coefficients, the noise of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_laws.evidence.hypotheses import Hypotheses, column_values
from perf_laws.evidence.in_parts import in_parts
from perf_laws.evidence.noise import Runs
from perf_laws.evidence.posterior import Laws

__all__ = ["DRAWS", "SIDES", "Draws", "draw", "equally_probable", "quantiles"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

DRAWS = 512  # of each path
SIDES = (0.5, 0.025, 0.975)  # what is said of draws: the median and 95 % bounds
_NUMBERS_AT_ONCE = 1 << 22

# Fractional parts of multiples of powers of this number's inverse fill a cube evenly: the root of x^(d+1) = x + 1, in
# the most dimensions that are needed (M. Roberts, 2018, after R. Kronecker).
_DIMENSIONS = 6


@dataclass(frozen=True)
class Draws:
    """Draws from what the data leave open.

    Attributes
    ----------
    values : (K, N, T) float
        Means of K paths at T points.
    noise : (K, N) float
        Relative error of a single run.
    weights : (K, N) float
        Add up to 1 for each path.
    """

    values: Floats
    noise: Floats
    weights: Floats

    def evenly(self, weights: Floats) -> Floats:
        """Values (N, T) of the first path, redistributed to draws of other weights (N,).

        A draw of a larger weight is repeated, one of a smaller is left out, at even distances.
        """
        middle = np.cumsum(weights) - 0.5 * weights
        own = np.searchsorted(np.cumsum(self.weights[0]), middle).clip(max=len(weights) - 1)
        return np.asarray(self.values[0][own])

    def of_equal_weight(self) -> Ints:
        """Numbers of draws of each path (K, N), a draw as often as its weight asks for."""
        from perf_laws.draws.quantile_kernels import take_evenly

        n_paths, count = self.weights.shape
        taken = np.empty((n_paths, count), dtype=np.int64)
        take_evenly(np.tile(np.arange(count), (n_paths, 1)), self.weights, taken)
        return taken

    def runs(self) -> Floats:
        """Single runs instead of means (K, N, T), not below 0."""
        return np.asarray(np.maximum(self.values * (1.0 + self.noise[:, :, None]), 0.0))


def draw(runs: Runs, hypotheses: Hypotheses, laws: Laws, points: npt.ArrayLike, count: int = DRAWS) -> Draws:
    """Draw values at points.

    Parameters
    ----------
    runs, hypotheses, laws
        What was fitted.
    points : (T, q) array_like
    count : int
        Draws of each path, N.
    """
    from perf_laws.draws.kernels import draw_values
    from perf_laws.draws.quantile_kernels import take_evenly, weighted_quantiles
    from perfcore.base.kernels import announce_compilation

    announce_compilation(draw_values, weighted_quantiles, take_evenly)  # whoever draws wants quantiles
    levels = np.asarray(points, dtype=np.float64)
    used = np.unique(hypotheses.members[np.unique(laws.kept[laws.kept >= 0])])
    at = np.zeros((max(1, len(hypotheses.terms)), len(levels)))
    for number in used[used >= 0].tolist():
        at[number] = column_values(hypotheses.terms[number], levels) / hypotheses.scales[number]
    means = np.nan_to_num(runs.means, nan=1.0)
    lattice = _lattice(count)
    values = np.empty((len(means), count, len(levels)))
    noise, weights = np.empty((2, len(means), count))

    def part(own: slice) -> None:
        draw_values(
            means[own], laws.root_weights[own], hypotheses.columns, hypotheses.members, laws.within[own],
            laws.freedom[own], laws.kept[own], laws.probability[own], at, lattice,
            values[own], noise[own], weights[own],
        )  # fmt: skip

    in_parts(part, len(means), max(1, _NUMBERS_AT_ONCE // (count * len(levels))))
    return Draws(values, noise, weights)


def quantiles(values: Floats, weights: Floats, levels: npt.ArrayLike) -> Floats:
    """Weighted quantiles along the second axis.

    Parameters
    ----------
    values : (K, N, T) float
    weights : (K, N) float
        Adding up to 1.
    levels : (Q,) array_like
        Between 0 and 1.

    Returns
    -------
    (K, T, Q) float

    Examples
    --------
    >>> quantiles(np.array([[[3.0], [1.0], [2.0]]]), np.full((1, 3), 1 / 3), [0.5]).ravel().tolist()
    [2.0]
    """
    from perf_laws.draws.quantile_kernels import weighted_quantiles

    wanted = np.asarray(levels, dtype=np.float64)
    n_paths, count, n_places = values.shape
    found = np.empty((n_paths, n_places, len(wanted)))

    def part(own: slice) -> None:
        at = np.ascontiguousarray(values[own].transpose(0, 2, 1))
        weighted_quantiles(at, np.argsort(at, axis=2), weights[own], wanted, found[own])

    in_parts(part, n_paths, max(1, _NUMBERS_AT_ONCE // (count * n_places)))
    return found


def equally_probable(values: Floats, weights: Floats, count: int) -> Floats:
    """Weighted draws as others of equal weight, ascending.

    Parameters
    ----------
    values : (K, N, T) float
    weights : (K, N) float
        Of each row, adding up to 1.
    count : int

    Returns
    -------
    (K, T, count) float
        Draws at the middles of as many equal probabilities.

    Examples
    --------
    >>> equally_probable(np.array([[[3.0], [1.0], [2.0]]]), np.array([[0.5, 0.25, 0.25]]), 4).ravel().tolist()
    [1.0, 2.0, 3.0, 3.0]
    """
    from perf_laws.draws.quantile_kernels import take_evenly

    n_paths, n_draws, n_places = values.shape
    found = np.empty((n_paths, n_places, count))

    def part(own: slice) -> None:
        for place in range(n_places):
            at = np.ascontiguousarray(values[own, :, place])
            taken = np.empty((len(at), count), dtype=np.int64)
            take_evenly(np.argsort(at, axis=1), weights[own], taken)
            found[own, place] = np.take_along_axis(at, taken, axis=1)

    in_parts(part, n_paths, max(1, _NUMBERS_AT_ONCE // n_draws))
    return found


def _lattice(count: int) -> Floats:
    """Points that fill the unit cube evenly (count, _DIMENSIONS), none on its sides."""
    root = 2.0
    for _ in range(60):
        root = (1.0 + root) ** (1.0 / (_DIMENSIONS + 1))
    steps = root ** -np.arange(1.0, _DIMENSIONS + 1)
    return np.asarray((0.5 + np.arange(1, count + 1)[:, None] * steps) % 1.0).clip(1e-12, 1.0 - 1e-12)
