"""Separate models of every code on every system."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import msgspec
import numpy as np

from perf_formulas.formula import sum_of_terms
from perf_statistics.batched import fit_subsets
from perf_statistics.goodness import Outliers, find_outliers, finite, information, r_squared
from perf_statistics.model_average import GatheredShapes, Shapes, expected_runs
from perf_tables.points import Places
from perf_timing.options import number_of_terms, parse_terms
from perf_timing.prepared import characteristics, design
from perf_timing.scaling_model import ScalingModel, some_places
from perfcore.base import grouped
from perfcore.base.arrays import Booleans, Floats, Ints
from perfcore.base.errors import DataError
from perfcore.models.model import Parameter, Points
from perfcore.models.points import DesignRows, Rival, check_coverage
from perfcore.models.ranking import Candidate

_STEP = 0.7  # between proportions of two functions, in the logarithm; what lies between, the tilt reaches
_TILT = 0.6 * _STEP  # standard deviation of the proportion about a step
_HIDDEN = 4.0  # how far the smaller function stays below the larger one everywhere: at most 2 % of it
_SIZES = (0.3, 0.5, 0.2)  # how likely one, two, three or more functions are
# Of a model whose AICc is larger by this, the data give essentially no support (K. P. Burnham, D. R. Anderson, "Model
# selection and multimodel inference", 2002, section 2.6).
_AICC_APART = 10.0
# Where AICc is not defined: how many times the leave-one-out error of the best.
_ERROR_APART = 2.0
_MOST = 10
_POINTS_AT_ONCE = 128
_EXACT = 1e-24  # share of the total sum of squares that rounding leaves
_FULL_LEVERAGE = 1.0 - 1e-10  # a point that alone determines a coefficient; rounding leaves it a little less

# Stands in a ranking where the functions of one combination stand otherwise.
BEST_OF_EACH = ("best of each pair",)
# Degrees of freedom: with one, the spread is a single number's, and 95 % bounds are 12.7 times as wide as it says.
LEAST_FREEDOM = 2


def shapes_of(
    values: Floats,
    measured_design: Floats,
    new_design: Floats,
    hypotheses: Sequence[tuple[int, ...]],
    *,
    signed: bool,
    expected: Floats,
) -> Shapes:
    """Return every shape of some sums of functions.

    Of two functions all proportions are taken, from one where the first hides the second everywhere to the opposite; of
    more functions, and of negative coefficients, those about the coefficients of least relative squares.
    """
    gathered = GatheredShapes()
    sizes = np.array([min(len(members), len(_SIZES)) for members in hypotheses])
    counts = np.bincount(sizes, minlength=len(_SIZES) + 1)[1:]
    likely = np.where(counts > 0, _SIZES, 0.0)
    likely = likely / likely.sum()
    for members, size in zip(hypotheses, sizes.tolist(), strict=True):
        prior = float(np.log(likely[size - 1] / counts[size - 1]))
        columns = list(members)
        if len(columns) == 1:
            gathered.single(measured_design[:, columns[0]], new_design[:, columns[0]], prior)
        elif len(columns) == 2:
            _proportions(gathered, measured_design[:, columns], new_design[:, columns], prior)
        if len(columns) > 2 or signed:
            gathered.about_fit(values, measured_design[:, columns], new_design[:, columns], prior, signed=signed)
    shapes = gathered.shapes()
    if shapes is None:
        gathered.last_resort(values, values, expected)
        shapes = gathered.shapes()
    assert shapes is not None
    return shapes


def _proportions(gathered: GatheredShapes, measured_design: Floats, new_design: Floats, prior: float) -> None:
    """Add two functions in all proportions, none of them negative."""
    if (measured_design < 0.0).any() or (new_design < 0.0).any():
        return
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log(measured_design[:, 0] / measured_design[:, 1])
    ratios = ratios[np.isfinite(ratios)]
    if not len(ratios):
        return
    low, high = -ratios.max() - _HIDDEN, -ratios.min() + _HIDDEN
    half = np.exp(0.5 * np.linspace(low, high, 1 + int(np.ceil((high - low) / _STEP))))[:, None]
    first = half * measured_design[:, 0], half * new_design[:, 0]
    second = measured_design[:, 1] / half, new_design[:, 1] / half
    sums = first[0] + second[0], first[1] + second[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        tilt, tilt_new = (part / both - 0.5 for part, both in zip(first, sums, strict=True))
    gathered.add(*sums, tilt[:, None], tilt_new[:, None], _TILT, prior - float(np.log(len(half))))


def _compared(chosen: Candidate, other: Candidate) -> str | None:
    """Return how well another combination does, in words; None if it does clearly worse or cannot be judged."""
    if other.note:
        return None
    figures = [(candidate.figures.get("aicc"), candidate.figures.get("loo_rmse")) for candidate in (chosen, other)]
    (aicc, error), (other_aicc, other_error) = figures
    if aicc is not None and other_aicc is not None:
        return f"AICc {other_aicc - aicc:+.1f}" if other_aicc - aicc <= _AICC_APART else None
    if error is not None and other_error is not None and other_error <= _ERROR_APART * error:
        return f"leave-one-out error {other_error:.3g} instead of {error:.3g}"
    return None


def pair_bounds(
    model: ScalingModel, pairs: Sequence[PairFit], places: Places, values: Floats, interval: float
) -> Floats:
    """Return values with the bounds of single runs, in the user's unit."""
    bounds = np.column_stack([values, np.full((len(places), 2), np.nan)])
    measured_places, observed = model.measured_places, model.observations
    cells, measured_cells = model.cells(places), model.cells(measured_places)
    functions = characteristics(model.functions, model.columns)
    for pair in pairs:
        cell = model.codes.index(pair.code) * len(model.systems) + model.systems.index(pair.system)
        rows = np.flatnonzero(cells == cell)
        if pair.degrees_of_freedom < LEAST_FREEDOM or None in pair.standard_errors or not len(rows):
            continue
        of_pair = np.flatnonzero(measured_cells == cell)
        pair_points = some_places(measured_places, of_pair).points
        columns = (observed.value, observed.spread, observed.repetitions)
        measured, spread, repetitions = (np.array(column, dtype=np.float64)[of_pair] for column in columns)
        hypotheses = _hypotheses(model.origin.options, pair, len(functions))
        for begin in range(0, len(rows), _POINTS_AT_ONCE):
            part = rows[begin : begin + _POINTS_AT_ONCE]
            points = some_places(places, part).points
            shapes = shapes_of(
                measured,
                design(functions, pair_points),
                design(functions, points),
                hypotheses,
                signed=min(pair.coefficients, default=0.0) < 0.0,
                expected=values[part],
            )
            runs = expected_runs(measured, repetitions, spread / measured, pair_points, points, shapes)
            low, high = runs.ratio_quantiles((0.5 - 0.5 * interval, 0.5 + 0.5 * interval))
            bounds[part, 1] = np.minimum(low, values[part])
            bounds[part, 2] = np.maximum(high, values[part])
    return bounds


def _hypotheses(options: dict[str, Any], pair: PairFit, n_functions: int) -> tuple[tuple[int, ...], ...]:
    """Return what could have been chosen: the named functions, or all sums that leave two degrees of freedom."""
    if tuple(options["functions"]) not in (("all",), ("each",)):
        return (tuple(range(n_functions)),)
    try:
        terms = parse_terms(options["terms"])
    except ValueError as error:
        raise DataError(f"the model is damaged: its option terms is {options['terms']!r}; {error}") from None
    sizes = [size for size in number_of_terms(terms) if size <= pair.n_observations - LEAST_FREEDOM]
    return subsets(n_functions, sizes or [len(pair.functions)])


class _Part(NamedTuple):
    """Points of pairs with the same functions."""

    rows: Ints  # (k,)
    pairs: list[PairFit]
    which: Ints  # (k,) index into pairs
    values: Floats  # (k,) in the scale of the fit
    leverage: Floats  # (k,) x (X'X)^-1 x' of the unweighted row


class IndividualModel(ScalingModel, frozen=True, forbid_unknown_fields=True):
    """A model for each code on each system."""

    pairs: tuple[PairFit, ...]
    ranking: tuple[Candidate, ...]  # combinations, each used for all pairs; empty if the functions were named

    reporter: ClassVar[str] = "perf_timing.answers:individual_report"
    kind: ClassVar[str] = "individual fits"
    needed_options: ClassVar[tuple[str, ...]] = ("weights", "functions", "terms")

    def __post_init__(self) -> None:
        super().__post_init__()
        for pair in self.pairs:
            if pair.code not in self.codes or pair.system not in self.systems:
                raise ValueError(f"a pair is of {pair.code} on {pair.system}, which the model does not have")
            if not set(pair.functions) <= set(self.functions):
                raise ValueError(f"{pair.code} on {pair.system} has a function that the model does not have")

    def predict_array(self, points: Points, interval: float | None = None) -> Floats:
        if interval is not None:
            check_coverage(interval)
        places = self.places(points)
        scaled = np.full(len(places), np.nan)
        for part in self._parts(places):
            scaled[part.rows] = part.values
        values = scaled / self.factor(places)
        return values if interval is None else pair_bounds(self, self.pairs, places, values, interval)

    def remarks(self, points: Points) -> list[str]:
        lines, places = super().remarks(points), self.places(points)
        pair_at = self._pair_of_cell()[self.cells(places)]
        for place, pair in enumerate(pair_at):
            if pair >= 0 and not self.pairs[pair].determined:
                lines[place] = "not identifiable from the points of this pair"
            elif pair >= 0 and (freedom := self.pairs[pair].degrees_of_freedom) < LEAST_FREEDOM:
                few = f"no bounds: {freedom} degree{'s' * (freedom != 1)} of freedom"
                lines[place] = f"{lines[place]}; {few}" if lines[place] else few
        return lines

    def design_rows(self, points: Points) -> DesignRows:
        """Return rows of the pairs that the points belong to."""
        places, measured_places = self.places(points), self.measured_places
        cells, measured_cells = self.cells(places), self.cells(measured_places)
        rows, new_rows, noise, scaled = [], [], [], np.zeros(len(places))
        root = np.array(self.root_weights)
        basis, measured = self.scaled_design(places), self.scaled_design(measured_places)
        for cell in np.unique(cells).tolist():
            pair = self._pair(cell)
            freedom = pair.degrees_of_freedom
            if freedom <= 0:
                raise DataError(
                    f"{pair.code} on {pair.system}: as many coefficients as points; measure more points first"
                )
            columns = [self.functions.index(name) for name in pair.functions]
            rows.append(measured[:, columns] * (root * (measured_cells == cell))[:, None])
            new_rows.append(basis[:, columns] * (cells == cell)[:, None])
            noise.append(pair.sum_of_squares / freedom)
            scaled += new_rows[-1] @ np.array(pair.coefficients)
        weights = self.new_weights(scaled)
        return DesignRows(
            measured=tuple(rows),
            asked=tuple(part * weights[:, None] for part in new_rows),
            errors=np.diag(noise),
            scale=1.0 / (weights * self.factor(places)),
            points=self.fitted_points,
            repetitions=np.array(self.observations.repetitions),
            unit=self.unit,
        )

    def rivals(self, points: Points) -> tuple[Rival, ...]:
        """Return other combinations of the ranking, fitted again to the one pair that the points belong to."""
        places, measured_places = self.places(points), self.measured_places
        cells = np.unique(self.cells(places)).tolist()
        if len(cells) > 1:
            return ()
        used = set(self._pair(cells[0]).functions)
        chosen = next((candidate for candidate in self.ranking if set(candidate.functions) == used), None)
        if chosen is None:  # a ranking over all pairs need not have what one of them was given
            return ()
        in_pair = self.cells(measured_places) == cells[0]
        root = np.array(self.root_weights)[in_pair]
        target = (np.array(self.observations.value) * self.factor(measured_places))[in_pair] * root
        rivals: list[Rival] = []
        for other in self.ranking:
            if set(other.functions) == used or other.functions == BEST_OF_EACH or len(rivals) == _MOST:
                continue
            if (figure := _compared(chosen, other)) is None:
                continue
            with contextlib.suppress(DataError):  # functions that are not finite at a point
                measured_design = self.scaled_design(measured_places, other.functions)[in_pair] * root[:, None]
                coefficients = np.linalg.lstsq(measured_design, target, rcond=None)[0]
                values = self.scaled_design(places, other.functions) @ coefficients / self.factor(places)
                rivals.append(Rival(" + ".join(other.functions), figure, values))
        return tuple(rivals)

    def _pair(self, cell: int) -> PairFit:
        code, system = self.codes[cell // len(self.systems)], self.systems[cell % len(self.systems)]
        for pair in self.pairs:
            if (pair.code, pair.system) == (code, system):
                return pair
        raise DataError(f"{code} was never measured on {system}, so no fit can suggest a point to measure")

    def _parts(self, places: Places) -> Iterator[_Part]:
        """Yield the points of pairs with the same functions, which are computed together; none of no pair."""
        design = self.scaled_design(places)
        pair_at = self._pair_of_cell()[self.cells(places)]
        for functions, members in grouped((pair.functions, k) for k, pair in enumerate(self.pairs)).items():
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
        """Return the index of the pair of each cell, code by code (C * S,); -1 for cells that were never measured."""
        numbers = {(pair.code, pair.system): k for k, pair in enumerate(self.pairs)}
        return np.array([numbers.get((code, system), -1) for code in self.codes for system in self.systems])

    def outliers(self) -> Outliers:
        """Return residuals that identify outliers, each against the fit of its pair."""
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
            "r2_centered": finite(float(r_squared(squares, sum(pair.centered_squares for pair in self.pairs)))),
            "aicc": finite(aicc),
            "loo_rmse": float(np.sqrt(sum(left_out) / n)) if len(left_out) == len(self.pairs) else None,
            "mean_relative_error": float(errors.mean()),
            "max_relative_error": float(errors.max()),
        }

    @property
    def formula(self) -> str:
        return "\n".join(
            f"{self._name(pair)} = {self.in_unit(sum_of_terms(pair.coefficients, pair.functions))}"
            for pair in self.pairs
        )


# Every subset of the functions for every code on every system, in batched array work.
#
# Source: E. Strohmaier, "Statistical Performance Modeling: Case Study of the NPB 2.1 Results", section 4.


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
    sizes = fits.sizes
    for count in np.unique(counts):
        of_count = np.flatnonzero(counts == count)
        rows = first[of_count, None] + np.arange(count)
        designs, group = _shared(design[rows])
        values = target[rows]
        for size in np.unique(sizes).tolist():
            chosen = np.flatnonzero(sizes == size)
            fit = fit_subsets(designs, group, values, [hypotheses[int(h)] for h in chosen])
            place = np.ix_(of_count, chosen)
            # A view of the own functions first: an index array and a slice in one subscript would move the axes.
            fits.coefficients[:, :, :size][place] = fit.coefficients
            fits.covariance[:, :, :size, :size][place] = fit.covariance[group]
            fits.sum_of_squares[place] = fit.sum_of_squares
            fits.leave_one_out[place] = fit.leave_one_out
            fits.rank[place] = fit.rank[group]
            fits.condition[place] = fit.condition[group]
    return fits, _bounded(fits) if bounds else fits


def _shared(designs: Floats) -> tuple[Floats, Ints]:
    """Return the designs that differ (G, n, F), and which of them each series has (K,)."""
    flat = designs.reshape(len(designs), -1)
    if (flat == flat[0]).all():
        return designs[:1], np.zeros(len(designs), dtype=np.int64)
    different, group = np.unique(flat, axis=0, return_inverse=True)
    return different.reshape(-1, *designs.shape[1:]), group.ravel()


def _bounded(fits: IndividualFits) -> IndividualFits:
    """Return the hypotheses, each replaced by the part of it that has positive coefficients.

    Times are sums of nonnegative shares: a negative coefficient has no meaning there. The least sum of squares with
    coefficients >= 0 is reached with linearly independent functions whose coefficients are positive, and on these
    functions it is the unconstrained fit; conversely each unconstrained fit without negative coefficients is
    admissible. So the best admissible one among the subsets of a hypothesis, the empty one included, is the optimum: no
    iteration. The conditions are those of C. L. Lawson, R. J. Hanson, "Solving Least Squares Problems", 1974, chapter
    23; their active-set iteration visits a few of these subsets, the fits hold them all.
    """
    squares, effective = fits.total[:, None], np.full_like(fits.effective, -1)
    is_admissible = (fits.rank == fits.sizes) & (fits.coefficients >= 0.0).all(axis=2)
    admissible = np.where(is_admissible, fits.sum_of_squares, np.inf)
    masks = np.array([sum(1 << function for function in hypothesis) for hypothesis in fits.hypotheses])
    for h in range(len(masks)):
        parts = np.flatnonzero(masks & ~masks[h] == 0)
        best = parts[admissible[:, parts].argmin(axis=1)]
        effective[:, h] = np.where(admissible[np.arange(len(best)), best] < fits.total, best, -1)
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
