"""Models of every code on every system, each by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from perf_formulas.sums import sum_of_terms
from perf_statistics.least_squares.goodness import information, r_squared
from perf_statistics.least_squares.outliers import Outliers, find_outliers
from perf_tables.points.points import Places, check_coverage
from perf_timing.individual.bounds import pair_bounds
from perf_timing.individual.pair import LEAST_FREEDOM, PairFit
from perf_timing.individual.rows import individual_rivals, individual_rows
from perf_timing.scaling_model import ScalingModel
from perfcore.models.design_rows import DesignRows, Rival
from perfcore.models.model import Parameter, Points
from perfcore.models.ranking import Candidate


Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_EXACT = 1e-24  # share of the total sum of squares that rounding leaves
_FULL_LEVERAGE = 1.0 - 1e-10  # a point that alone determines a coefficient; rounding leaves it a little less


class _Part(NamedTuple):
    """Points of pairs with the same functions."""

    rows: Ints  # (k,)
    pairs: list[PairFit]
    which: Ints  # (k,) index into pairs
    values: Floats  # (k,) in the scale of the fit
    leverage: Floats  # (k,) x (X'X)^-1 x' of the unweighted row


class IndividualModel(ScalingModel, frozen=True, forbid_unknown_fields=True):
    """A model for each code on each system.

    Attributes
    ----------
    pairs : tuple of PairFit
    ranking : tuple of Candidate
        All combinations that were compared, each used for all pairs; empty where the functions were named.
    """

    pairs: tuple[PairFit, ...]
    ranking: tuple[Candidate, ...]

    kind: ClassVar[str] = "individual fits"
    needed_options: ClassVar[tuple[str, ...]] = ("weights", "functions", "terms")

    def __post_init__(self) -> None:
        """Refuse what a file edited by hand may hold."""
        super().__post_init__()
        for pair in self.pairs:
            if pair.code not in self.codes or pair.system not in self.systems:
                raise ValueError(f"a pair is of {pair.code} on {pair.system}, which the model does not have")
            if not set(pair.functions) <= set(self.functions):
                raise ValueError(f"{pair.code} on {pair.system} has a function that the model does not have")

    def predict(self, points: Points, interval: float | None = None) -> Floats:
        """Predicted values in the user's unit."""
        if interval is not None:
            check_coverage(interval)
        places = self.places(points)
        scaled = np.full(len(places), np.nan)
        for part in self._parts(places):
            scaled[part.rows] = part.values
        values = scaled / self.factor(places)
        return values if interval is None else pair_bounds(self, self.pairs, places, values, interval)

    def remarks(self, points: Points) -> list[str]:
        """Where nothing determines a pair's model, or too little its bounds, or a parameter is outside of the data."""
        lines, places = super().remarks(points), self.places(points)
        pair_at = self._pair_of_cell()[places.code * len(self.systems) + places.system]
        for place, pair in enumerate(pair_at):
            if pair >= 0 and not self.pairs[pair].determined:
                lines[place] = "not determined by the points of this pair"
            elif pair >= 0 and (freedom := self.pairs[pair].degrees_of_freedom) < LEAST_FREEDOM:
                few = f"no bounds: {freedom} degree{'s' * (freedom != 1)} of freedom"
                lines[place] = f"{lines[place]}; {few}" if lines[place] else few
        return lines

    def design_rows(self, points: Points) -> DesignRows:
        """Rows of the pairs that the points belong to, each pair a part of its own.

        Raises
        ------
        DataError
            A pair was never measured, or has no degrees of freedom.
        """
        return individual_rows(self, self.pairs, points)

    def rivals(self, points: Points) -> tuple[Rival, ...]:
        """Other functions for the pair that the points belong to; none where they belong to several."""
        return individual_rivals(self, self.pairs, self.ranking, points)

    def _parts(self, places: Places) -> Iterator[_Part]:
        """The points of pairs with the same functions, which are computed together; those of no pair are left out."""
        design = self.scaled_design(places)
        pair_at = self._pair_of_cell()[places.code * len(self.systems) + places.system]
        for functions, members in self._pairs_by_functions().items():
            rows = np.flatnonzero(np.isin(pair_at, members))
            which = np.searchsorted(members, pair_at[rows])
            pairs = [self.pairs[k] for k in members]
            basis = design[rows][:, [self.functions.index(name) for name in functions]]
            coefficients = np.array([pair.coefficients for pair in pairs])[which]
            covariance = np.array([pair.covariance for pair in pairs]).reshape(len(pairs), *2 * (len(functions),))
            yield _Part(
                rows=rows,
                pairs=pairs,
                which=which,
                values=np.einsum("ni,ni->n", basis, coefficients),
                leverage=np.einsum("ni,nij,nj->n", basis, covariance[which], basis),
            )

    def _pair_of_cell(self) -> Ints:
        """Index of the pair of each cell, code by code (C * S,); -1 for cells that were never measured."""
        codes = {code: k for k, code in enumerate(self.codes)}
        systems = {system: k for k, system in enumerate(self.systems)}
        table = np.full(len(codes) * len(systems), -1, dtype=np.int64)
        for k, pair in enumerate(self.pairs):
            table[codes[pair.code] * len(systems) + systems[pair.system]] = k
        return table

    def _pairs_by_functions(self) -> dict[tuple[str, ...], Ints]:
        """Indices of the pairs, increasing, by the functions that they are made of."""
        indices: dict[tuple[str, ...], list[int]] = {}
        for k, pair in enumerate(self.pairs):
            indices.setdefault(pair.functions, []).append(k)
        return {functions: np.array(members) for functions, members in indices.items()}

    def outliers(self) -> Outliers:
        """Residuals by which outliers are told, each against the fit of its own pair."""
        places, root = self.measured_places, np.array(self.root_weights)
        residuals, leverage = np.zeros(len(places)), np.ones(len(places))
        squares, freedom = np.zeros(len(places)), np.zeros(len(places))
        for part in self._parts(places):
            residuals[part.rows] = part.values
            leverage[part.rows] = part.leverage * root[part.rows] ** 2
            fits = [(pair.sum_of_squares, pair.total_squares, pair.degrees_of_freedom) for pair in part.pairs]
            of_pair, total, left = np.array(fits)[part.which].T
            squares[part.rows] = of_pair
            # Residuals of an exact fit are rounding, among which there is always a largest.
            freedom[part.rows] = np.where(of_pair > _EXACT * total, left, 0.0)
        residuals = (np.array(self.observations.value) * self.factor(places) - residuals) * root
        with np.errstate(divide="ignore", invalid="ignore"):
            leave_out = np.where(leverage < _FULL_LEVERAGE, residuals / (1.0 - leverage), np.nan)
        return find_outliers(residuals, leave_out, freedom, squares)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Coefficients of every pair, in the scale of the fit."""
        return tuple(
            Parameter(f"{self._name(pair)}: {function}", coefficient, error, self.coefficient_unit)
            for pair in self.pairs
            for function, coefficient, error in zip(
                pair.functions, pair.coefficients, pair.standard_errors, strict=True
            )
        )

    def _name(self, pair: PairFit) -> str:
        names = [n for n, labels in ((pair.code, self.codes), (pair.system, self.systems)) if len(labels) > 1]
        return " on ".join(names) or self.value_name

    @property
    def statistics(self) -> dict[str, float | int | str | None]:
        """Figures of all pairs together; R^2 both uncentered and centered, in the scale of the fit."""
        n = sum(pair.n_observations for pair in self.pairs)
        count = sum(len(pair.functions) for pair in self.pairs)
        squares = sum(pair.sum_of_squares for pair in self.pairs)
        left_out = [pair.leave_one_out for pair in self.pairs if pair.leave_one_out is not None]
        aicc = float(information(squares, n, count)[0])
        errors = self.errors()
        return {
            "n_observations": n,
            "n_pairs": len(self.pairs),
            "n_parameters": count,
            "sse": squares,
            "sst_uncentered": (total := sum(pair.total_squares for pair in self.pairs)),
            "r2_uncentered": float(r_squared(squares, total)),
            "r2_centered": _finite(float(r_squared(squares, sum(pair.centered_squares for pair in self.pairs)))),
            "aicc": _finite(aicc),
            "loo_rmse": float(np.sqrt(sum(left_out) / n)) if len(left_out) == len(self.pairs) else None,
            "mean_relative_error": float(errors.mean()),
            "max_relative_error": float(errors.max()),
        }

    @property
    def formula(self) -> str:
        """One line for each pair, in the scale of the fit where there is one."""
        return "\n".join(self._formula(pair) for pair in self.pairs)

    def _formula(self, pair: PairFit) -> str:
        return f"{self._name(pair)} = {self.in_unit(sum_of_terms(pair.coefficients, pair.functions))}"


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
