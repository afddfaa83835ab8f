"""Every subset of the functions for every code on every system, in batched array work.

Source: E. Strohmaier, "Statistical Performance Modeling: Case Study of the NPB 2.1 Results", section 4.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from perf_statistics.batched import SubsetFits, fit_nonnegative, fit_subsets
from perf_statistics.goodness import information, r_squared
from perfcore.base.arrays import Booleans, Floats, Ints

# Stands in a ranking where the functions of one combination stand otherwise.
BEST_OF_EACH = ("best of each pair",)
# Degrees of freedom: with one, the spread is a single number's, and 95 % bounds are 12.7 times as wide as it says.
LEAST_FREEDOM = 2


def freedom_warning(few: int, pairs: int, cause: str = "") -> str:
    """Return one line about pairs with hardly more points than coefficients."""
    which = f"{few} of {pairs} pairs {'has' if few == 1 else 'have'}" if pairs > 1 else "there are"
    shortage = f"fewer than {LEAST_FREEDOM} degrees of freedom{cause}"
    return f"warning: {which} {shortage}: no bounds there, and a good fit says little"


class PairFit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model of one code on one system."""

    code: str
    system: str
    functions: tuple[str, ...]
    coefficients: tuple[float, ...]  # in the scale of the fit
    standard_errors: tuple[float | None, ...]  # none if the data do not determine them
    covariance: tuple[tuple[float, ...], ...]  # unscaled, (X'X)^-1
    n_observations: int
    sum_of_squares: float  # squares of the residuals, of the values, and of the values about their mean
    total_squares: float
    centered_squares: float
    leave_one_out: float | None  # squared errors of predicting each point from the others, summed up
    determined: bool  # whether the points give every coefficient one value
    note: str  # what stands against the fit

    def __post_init__(self) -> None:
        lengths = {len(self.functions), len(self.coefficients), len(self.standard_errors), len(self.covariance)}
        if len(lengths) > 1 or any(len(row) != len(self.functions) for row in self.covariance):
            raise ValueError(f"{self.code} on {self.system} has not as many coefficients as functions")

    @property
    def degrees_of_freedom(self) -> int:
        return self.n_observations - len(self.functions)

    @property
    def r2_uncentered(self) -> float:
        """Determination coefficient about zero, in the scale of the fit."""
        return float(r_squared(self.sum_of_squares, self.total_squares))


@dataclass(frozen=True)
class IndividualFits:
    """Fits of K series with H hypotheses, of up to M functions each."""

    hypotheses: tuple[tuple[int, ...], ...]  # functions of each hypothesis
    coefficients: Floats  # 0 beyond a hypothesis' own number of functions
    covariance: Floats  # (X'X)^-1 of the weighted design; 0 also
    sum_of_squares: Floats  # infinite leave-one-out errors: the other points do not determine the fit
    leave_one_out: Floats
    rank: Ints
    condition: Floats
    n_observations: Ints
    total: Floats  # squares of the values, summed up
    effective: Ints

    @functools.cached_property
    def sizes(self) -> Ints:
        """Functions of each hypothesis (H,)."""
        return np.array([len(hypothesis) for hypothesis in self.hypotheses])

    @functools.cached_property
    def determined(self) -> Booleans:
        """Where every coefficient has one value (K, H)."""
        return np.asarray(self.rank == self.sizes)

    @functools.cached_property
    def negative(self) -> Booleans:
        """Where a coefficient is negative (K, H)."""
        is_itself = self.effective == np.arange(len(self.hypotheses))
        return np.asarray(is_itself & (self.coefficients < 0.0).any(axis=2))

    def instead(self, where: Booleans, other: IndividualFits) -> IndividualFits:
        """Fits of the same hypotheses that are another's at some places (K, H)."""
        names = ("sum_of_squares", "leave_one_out", "rank", "condition", "effective")
        return replace(self, **{name: np.where(where, getattr(other, name), getattr(self, name)) for name in names})

    def criterion(self, name: str) -> Floats:
        """Return what hypotheses are compared by (K, H), smaller is better; infinite if not determined."""
        n = self.n_observations[:, None]
        if name == "loo":
            values = self.leave_one_out
        elif name == "sse":
            values = self.sum_of_squares
        else:
            values = dict(zip(("aicc", "bic"), information(self.sum_of_squares, n, self.sizes), strict=True))[name]
        return np.where(self.determined, values, np.inf)


def subsets(n_functions: int, sizes: Iterable[int]) -> tuple[tuple[int, ...], ...]:
    """Return all subsets of these sizes, small ones first."""
    return tuple(part for size in sizes for part in itertools.combinations(range(n_functions), size))


def fit_individually(
    design: Floats, target: Floats, cell: Ints, hypotheses: Sequence[tuple[int, ...]], *, bounds: bool = False
) -> tuple[IndividualFits, IndividualFits]:
    """Fit every series with every hypothesis, freely and without negative coefficients."""
    series, first, counts = np.unique(cell, return_index=True, return_counts=True)
    n_series, n_hypotheses, most = len(series), len(hypotheses), max(map(len, hypotheses))
    fits = IndividualFits(
        hypotheses=tuple(hypotheses),
        coefficients=np.zeros((n_series, n_hypotheses, most)),
        covariance=np.zeros((n_series, n_hypotheses, most, most)),
        sum_of_squares=np.empty((n_series, n_hypotheses)),
        leave_one_out=np.empty((n_series, n_hypotheses)),
        rank=np.empty((n_series, n_hypotheses), dtype=np.int64),
        condition=np.empty((n_series, n_hypotheses)),
        n_observations=counts,
        total=np.add.reduceat(target**2, first),
        effective=np.tile(np.arange(n_hypotheses), (n_series, 1)),
    )
    sizes, effective = fits.sizes, fits.effective.copy()
    for count in np.unique(counts):
        of_count = np.flatnonzero(counts == count)
        rows = first[of_count, None] + np.arange(count)
        designs, group = _shared(design[rows])
        values = target[rows]
        subset_fits: list[SubsetFits] = []
        for size in np.unique(sizes).tolist():
            chosen = np.flatnonzero(sizes == size)
            fit = fit_subsets(designs, group, values, [hypotheses[int(h)] for h in chosen])
            subset_fits.append(fit)
            place = np.ix_(of_count, chosen)
            # A view of the own functions first: an index array and a slice in one subscript would move the axes.
            fits.coefficients[:, :, :size][place] = fit.coefficients
            fits.covariance[:, :, :size, :size][place] = fit.covariance[group]
            fits.sum_of_squares[place] = fit.sum_of_squares
            fits.leave_one_out[place] = fit.leave_one_out
            fits.rank[place] = fit.rank[group]
            fits.condition[place] = fit.condition[group]
            if bounds:
                active = fit_nonnegative(subset_fits, values).active
                effective[place] = _positions(active, fit.subsets, hypotheses)
    return fits, _bounded(fits, effective) if bounds else fits


def _shared(designs: Floats) -> tuple[Floats, Ints]:
    """Return the designs that differ (G, n, F), and which of them each series has (K,)."""
    flat = designs.reshape(len(designs), -1)
    if (flat == flat[0]).all():
        return designs[:1], np.zeros(len(designs), dtype=np.int64)
    different, group = np.unique(flat, axis=0, return_inverse=True)
    return different.reshape(-1, *designs.shape[1:]), group.ravel()


def _positions(active: Booleans, members: Ints, hypotheses: Sequence[tuple[int, ...]]) -> Ints:
    """Return which hypothesis consists of the active functions (K, H); -1 for none."""
    masks = {sum(1 << function for function in hypothesis): h for h, hypothesis in enumerate(hypotheses)}
    table = np.full(1 + max(masks), -1, dtype=np.int64)
    table[list(masks)] = list(masks.values())
    return np.asarray(table[(active << members).sum(axis=2)])


def _bounded(fits: IndividualFits, effective: Ints) -> IndividualFits:
    """Return the hypotheses, each replaced by the part of it that has positive coefficients."""
    squares = fits.total[:, None]
    place, none = (np.arange(len(squares))[:, None], effective), effective < 0
    return replace(
        fits,
        effective=effective,
        sum_of_squares=np.where(none, squares, fits.sum_of_squares[place]),
        leave_one_out=np.where(none, squares, fits.leave_one_out[place]),
        condition=fits.condition[place],
        # An omitted function has the coefficient 0, which is a value: the fit is determined where its part is.
        rank=np.where((fits.rank[place] == fits.sizes[effective]) | none, fits.sizes, fits.rank),
    )
