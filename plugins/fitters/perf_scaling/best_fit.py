"""The model that fits the measured range best: sums of generic terms, weighed by evidence without any drift.

Each candidate is a constant, a term, or a sum of up to three (a constant, what falls, what grows), fitted by weighted
least squares relative to the measured means; a power law with a free exponent is one of them. With RSS the weighted
squares over N runs, the evidence is that of a linear model under Zellner's g prior, g = N (A. Zellner, "On assessing
prior distributions and Bayesian regression analysis with g-prior distributions", 1986): N levels instead where they
scatter more about every candidate than their runs explain. Usual terms count four times as much as others.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from perf_scaling.posterior import few_paths
from perf_scaling.terms import Factor, product_text, product_values
from perfcore.base.arrays import Booleans, Floats, Ints

if TYPE_CHECKING:
    from perf_scaling.fitted import FittedModel

Product = tuple[Factor, ...]  # empty for the constant
Design = tuple[Product, ...]

_TEXTS = "1/4 1/3 1/2 2/3 3/4 4/5 1 5/4 4/3 3/2 5/3 7/4 2 9/4 7/3 5/2 8/3 11/4 3"
_POWERS = tuple(float(Fraction(text)) for text in _TEXTS.split())
_FALLING = (*_POWERS[:7], 1.5, 2.0)
_USUAL = frozenset(
    [(0.0, 1), (0.5, 0), (1.0, 0), (1.0, 1), (1.5, 0), (2.0, 0), (3.0, 0), (-1.0, 0), (-0.5, 0), (0.0, 2), (2.0, 1)]
)
_FALLS = ((-1.0, 0), (-0.5, 0), (-2.0 / 3.0, 0))
_RISES = ((0.0, 1), (0.5, 0), (1.0, 0), (1.0, 1), (2.0, 0))
_AS_WELL = 2.0  # logarithm of the evidence that an alternative may lack
_KEPT = 3e-3  # weight of a candidate that takes part in predictions
_MOST_ALTERNATIVES = 5
_MOST_TERMS = 6  # of a parameter, where there are several
_SURE_CHANGE = 0.005  # p-value of a power of the parameters from which on no constant is named
_VARIES = 0.5  # coefficient of variation of the means from which on no constant is named
_MUCH = 4.0  # logarithm of the evidence by which the best beats a constant
_SURE_SCATTER = 0.01  # p-value from which on levels scatter by more than their runs explain
_DEVIATES = 0.5  # probability from which on a level is left out, where so many are measured
_ENOUGH_LEVELS = 5
_DEPENDENT = 1e-10  # determinants of correlations below are rounding
_HARDLY = 0.02  # probability of a parameter that has no part in a model
_APART = 0.13  # of exponents that are tried beyond those of the posterior
_LEAST_VARIANCE = 1e-12
_USUAL_SQUARES = 1e-4  # in `run_variance`, with one degree of freedom
_PATHS_AT_ONCE = 256
_TEMPERED = 0.5  # by which weights follow the evidence, so that intervals of clean series hold 95 %
_MOST_STEPS, _CLOSE = 60, 1e-14  # in the search for a quantile; error of its probability
_SURE_PART = 2.0  # standard errors


class BestFit(NamedTuple):
    """The best-fitting model of a path."""

    path: str
    terms: tuple[str, ...]  # as formulas; "1" is the constant
    coefficients: tuple[float, ...]  # in the unit of the data
    standard_errors: tuple[float, ...]
    probability: float  # among the candidates
    fit_error: float  # root mean square of the relative residuals of the means
    alternatives: tuple[str, ...]  # formulas of models that fit as well, best first
    reciprocal: bool = False  # the model and its coefficients are of one over what was measured

    @property
    def is_constant(self) -> bool:
        return self.terms == ("1",)

    @property
    def growth(self) -> str:
        """Its terms beside the constant, without coefficients."""
        terms = " + ".join(term for term in self.terms if term != "1") or "constant"
        return f"1/({terms})" if self.reciprocal and not self.is_constant else terms

    @property
    def formula(self) -> str:
        return formula_text(self.terms, self.coefficients, self.reciprocal)


def formula_text(terms: Sequence[str], coefficients: Sequence[float], reciprocal: bool) -> str:
    """A sum of terms with coefficients."""
    parts = []
    for term, coefficient in zip(terms, coefficients, strict=True):
        number = f"{coefficient:.4g}"
        parts.append(number if term == "1" else number + term[1:] if term.startswith("1/") else f"{number}*{term}")
    return f"1/({' + '.join(parts)})" if reciprocal else " + ".join(parts)


class Candidate(msgspec.Struct, frozen=True):
    """A model of one path."""

    terms: tuple[str, ...]
    products: Design
    is_power: bool  # coefficients are the logarithm of the factor and the exponents
    coefficients: Floats  # (m,), and their covariance (m, m)
    covariance: Floats
    freedom: float
    weight: float

    def standard_errors(self) -> Floats:
        """Of the coefficients of the terms."""
        errors = np.sqrt(np.diagonal(self.covariance))
        return np.asarray(errors[:1] * np.exp(self.coefficients[:1]) if self.is_power else errors)


@dataclass(frozen=True)
class BestFits:
    """Candidates of each path, best first, with weights that add up to 1."""

    candidates: tuple[tuple[Candidate, ...], ...]
    named: tuple[BestFit, ...]
    symbols: tuple[str, ...]
    reciprocal: bool

    def formula(self, path: int, number: int) -> str:
        """A candidate of a path as a formula."""
        one = self.candidates[path][number]
        return formula_text(one.terms, _factors(one), self.reciprocal)

    def predict(self, points: npt.ArrayLike, interval: float = 0.95, paths: Sequence[int] | None = None) -> Floats:
        """Values at points (T, q) if the models hold (K, T, 3): of the named one, and the ends of an interval."""
        places = np.asarray(points, dtype=np.float64)
        levels = dict(zip(self.symbols, places.T, strict=True))
        chosen = self.candidates if paths is None else [self.candidates[k] for k in paths]
        most = max(map(len, chosen))
        means, errors = np.zeros((len(chosen), most, len(places))), np.ones((len(chosen), most, len(places)))
        freedom, weights = np.ones((len(chosen), most, 1)), np.zeros((len(chosen), most, 1))
        alike: dict[tuple[bool, Design], list[tuple[int, int]]] = defaultdict(list)
        for k, candidates in enumerate(chosen):
            for c, one in enumerate(candidates):
                alike[one.is_power, () if one.is_power else one.products].append((k, c))
                freedom[k, c], weights[k, c] = one.freedom, one.weight
        for (is_power, products), cells in alike.items():
            if is_power:
                columns = np.stack([np.ones(len(places)), *np.log(places.T)], axis=1)
            else:
                columns = np.stack([product_values(factors, levels) for factors in products], axis=1)
            each = [chosen[k][c] for k, c in cells]
            values = np.stack([one.coefficients for one in each]) @ columns.T
            deviations = np.sqrt(
                np.einsum("tm,kmj,tj->kt", columns, np.stack([one.covariance for one in each]), columns)
            )
            place = tuple(np.array(cells).T)
            means[place] = values if is_power else np.log(values)
            errors[place] = deviations if is_power else deviations / values
        for k, candidates in enumerate(chosen):
            means[k, len(candidates) :] = means[k, 0]
        errors = np.maximum(errors, 1e-12)
        ends = _quantiles(means, errors, freedom, weights, (0.5 - 0.5 * interval, 0.5 + 0.5 * interval))
        best = means[:, 0]
        logs = np.stack([best, np.minimum(ends[0], best), np.maximum(ends[1], best)], axis=2)
        return np.asarray(np.exp(-logs[:, :, [0, 2, 1]] if self.reciprocal else logs))


def _special(n_paths: int) -> Any:
    """The distributions, in array operations of our own for few paths: ``scipy.special`` takes longer to import."""
    if n_paths <= few_paths.FEW:
        return few_paths
    import scipy.special

    return scipy.special


def _quantiles(means: Floats, errors: Floats, freedom: Floats, weights: Floats, levels: Sequence[float]) -> Floats:
    """Of mixtures of Student's t (K, C, T): (L, K, T), by the Illinois method."""
    special = _special(len(means))
    each = np.stack([means + special.stdtrit(freedom, level) * errors for level in levels])
    low = np.where(weights > 0.0, each, np.inf).min(axis=2)
    high = np.where(weights > 0.0, each, -np.inf).max(axis=2)

    def excess(values: Floats) -> Floats:
        shares = weights * special.stdtr(freedom, (values[:, :, None] - means) / errors)
        return np.asarray(shares.sum(axis=2) - np.reshape(levels, (-1, 1, 1)))

    if means.shape[1] == 1:
        return np.asarray(low)
    below, above = excess(low), excess(high)
    side = np.zeros(low.shape)
    for _ in range(_MOST_STEPS):
        with np.errstate(invalid="ignore"):
            middle = np.where(above > below, low - below * (high - low) / (above - below), low)
        error = excess(middle)
        if (np.abs(error) < _CLOSE).all():
            break
        is_low = error < 0.0
        now = np.where(is_low, -1.0, 1.0)
        halved = np.where(side == now, 0.5, 1.0)  # of the end that stays for a second time
        low, below = np.where(is_low, middle, low), np.where(is_low, error, below * halved)
        high, above = np.where(is_low, high, middle), np.where(is_low, above * halved, error)
        side = now
    return np.asarray(middle)


def best_fits(model: FittedModel) -> BestFits:
    """Fit and weigh the candidates of each path."""
    posterior = model.posterior
    measured = np.isfinite(model.means) & ~_deviating(model)
    values = np.where(np.isfinite(model.means), 1.0 / model.means if posterior.reciprocal else model.means, 1.0)
    counts = np.where(measured, posterior.counts, 0.0)
    found: list[tuple[Candidate, ...]] = [()] * len(values)
    for block in _blocks(model, measured):
        designs, is_free = _designs(model, int(block[0]))
        regression = _Regression(model, values[block], counts[block], posterior.spread[block], is_free)
        for k, candidates in zip(block.tolist(), regression.weigh(designs), strict=True):
            found[k] = candidates
    named = tuple(
        _named(path, candidates, values[k], measured[k], model)
        for k, (path, candidates) in enumerate(zip(model.paths, found, strict=True))
    )
    return BestFits(tuple(found), named, model.symbols, posterior.reciprocal)


def _named(
    path: str, candidates: Sequence[Candidate], values: Floats, measured: Booleans, model: FittedModel
) -> BestFit:
    best = candidates[0]
    reciprocal = model.posterior.reciprocal
    levels = dict(zip(model.symbols, model.measured[measured].T, strict=True))
    columns = [product_values(factors, levels) for factors in best.products]
    errors = values[measured] / (np.array(_factors(best)) @ columns) - 1.0
    least = best.weight * math.exp(-_TEMPERED * _AS_WELL)
    as_well = [one for one in candidates[1 : 1 + _MOST_ALTERNATIVES] if one.weight >= least]
    return BestFit(
        path=path,
        terms=best.terms,
        coefficients=_factors(best),
        standard_errors=tuple(best.standard_errors().tolist()),
        probability=best.weight,
        fit_error=float(np.sqrt(np.mean(errors**2))),
        alternatives=tuple(formula_text(one.terms, _factors(one), reciprocal) for one in as_well),
        reciprocal=reciprocal,
    )


def _factors(candidate: Candidate) -> tuple[float, ...]:
    if candidate.is_power:
        return (float(np.exp(candidate.coefficients[0])),)
    return tuple(candidate.coefficients.tolist())


def _deviating(model: FittedModel) -> Booleans:
    """Levels of each path (K, n) that probably are exceptions, where enough others are left."""
    posterior = model.posterior
    of_level = (np.where(posterior.level == point, posterior.weight, 0.0) for point in range(len(model.measured)))
    share = np.stack([weight.sum(axis=1) for weight in of_level], axis=1)
    return np.asarray((share > _DEVIATES) & (np.isfinite(model.means).sum(axis=1) >= _ENOUGH_LEVELS)[:, None])


def _blocks(model: FittedModel, measured: Booleans) -> Iterator[Ints]:
    """Paths that have the same candidates."""
    if len(model.symbols) > 1:
        yield from np.arange(len(measured))[:, None]
        return
    patterns, pattern = np.unique(measured, axis=0, return_inverse=True)
    for number in range(len(patterns)):
        paths = np.flatnonzero(pattern.ravel() == number)
        yield from np.split(paths, range(_PATHS_AT_ONCE, len(paths), _PATHS_AT_ONCE))


def _designs(model: FittedModel, path: int) -> tuple[list[Design], bool]:
    """Candidates of a path, and whether a power with free exponents is one of them."""
    options = model.origin.options
    named: tuple[Sequence[str], Sequence[int]] = (options.get("exponents") or (), options.get("logarithms") or ())
    is_free = not any(named)
    if len(model.symbols) == 1:
        rising, falling = _generic_terms(*named)
        symbol = model.symbols[0]
        products = [_product(symbol, term) for term in (*rising, *falling)]
        pairs = itertools.product(_FALLS, _RISES) if is_free else itertools.product(falling, rising)
        both = [(_product(symbol, fall), _product(symbol, rise)) for fall, rise in pairs]
        return [
            ((),),
            *((p,) for p in products),
            *(((), p) for p in products),
            *both,
            *(((), *p) for p in both),
        ], is_free
    terms = {symbol: _likely_terms(model, path, symbol, named) for symbol in model.symbols}
    terms = {symbol: own for symbol, own in terms.items() if own}
    products = [own for factors in terms.values() for own in factors]
    designs: list[Design] = [((),), *((p,) for p in products), *(((), p) for p in products)]
    for first, second in itertools.combinations(terms.values(), 2):
        for a, b in itertools.product(first, second):
            designs += [(a + b,), ((), a + b), (a, b), ((), a, b), (a, a + b), (b, a + b)]
    if len(terms) > 2:
        for several in itertools.product(*(own[:3] for own in terms.values())):
            designs += [(sum(several, ()),), ((), sum(several, ())), ((), *several)]
    return designs, is_free


def _generic_terms(
    exponents: Sequence[str], logarithms: Sequence[int]
) -> tuple[list[tuple[float, int]], list[tuple[float, int]]]:
    """Terms that rise and terms that fall, as exponents and powers of the logarithm; only those that a user names."""
    if exponents or logarithms:
        powers = [float(Fraction(word)) for word in exponents] or [0.0, *_POWERS, *(-i for i in _POWERS)]
        terms = [(i, j) for i in powers for j in logarithms or (0,) if i or j]
        return [term for term in terms if term[0] >= 0.0], [term for term in terms if term[0] < 0.0]
    rising = [(i, j) for i in (0.0, *_POWERS) for j in (0, 1, 2) if i or j]
    return rising, [(-i, j) for i in _FALLING for j in (0, 1)]


def _product(symbol: str, term: tuple[float, int]) -> Product:
    return (Factor(symbol, *term),)


def _likely_terms(
    model: FittedModel, path: int, symbol: str, named: tuple[Sequence[str], Sequence[int]]
) -> list[Product]:
    """Terms of one of several parameters near those that the posterior of a path has, the nearest first."""
    posterior = model.posterior
    place = model.symbols.index(symbol)
    components = posterior.weight[path] > 0.0
    laws = posterior.law[path][components]
    weight = np.repeat(posterior.weight[path][components][:, None], posterior.laws.exponents.shape[1], axis=1)
    exponents, logarithms = posterior.laws.exponents[laws, :, place], posterior.laws.logarithms[laws, :, place]
    has = ((exponents != 0.0) | (logarithms > 0)) & (posterior.laws.coefficients[laws] > 0.0)
    if not has.any() or weight[has].sum() < _HARDLY:
        return []
    order = np.argsort(exponents[has])
    cumulated = np.cumsum(weight[has][order]) / weight[has].sum()
    low, middle, high = exponents[has][order][np.searchsorted(cumulated, [0.1, 0.5, 0.9]).clip(max=len(order) - 1)]
    chosen = [
        (i, j)
        for i, j in itertools.chain(*_generic_terms(*named))
        if low - _APART <= i <= high + _APART and (j == 0 or named[1] or j == 1)
    ]
    chosen.sort(key=lambda term: (abs(term[0] - middle) + 0.1 * term[1], term))
    return [_product(symbol, term) for term in chosen[:_MOST_TERMS]]


class _Regression:
    """Weighted least squares of the values (K, n) of paths that have the same candidates."""

    def __init__(self, model: FittedModel, values: Floats, counts: Floats, spread: Floats, is_free: bool) -> None:
        self.is_free = is_free  # powers with free exponents are candidates
        self.names = model.parameter_names
        self.measured = counts[0] > 0.0
        self.levels = dict(zip(model.symbols, model.measured[self.measured].T, strict=True))
        self.values, counts = values[:, self.measured], counts[:, self.measured]
        freedom = np.maximum(counts - 1.0, 0.0).sum(axis=1)
        # Without the usual noise that `run_variance` adds where the runs themselves tell.
        own = np.divide(spread * (freedom + 1.0) - _USUAL_SQUARES, freedom, out=spread.copy(), where=freedom > 1.0)
        self.freedom = np.maximum(freedom, 1.0)
        self.variances = np.maximum(own, _LEAST_VARIANCE)[:, None] / counts
        self.n_runs = counts.sum(axis=1)

    def weigh(self, designs: Sequence[Design]) -> list[tuple[Candidate, ...]]:
        n = self.values.shape[1]
        fits = self._fits(designs, self.variances, self.freedom)
        squares = np.where(fits.valid, fits.squares, np.inf)
        left = np.maximum(n - fits.sizes, 1)
        with np.errstate(invalid="ignore"):
            explained = _special(len(self.values)).fdtrc(left, self.freedom[:, None], squares / left)
        scatters = (explained.max(axis=1) < _SURE_SCATTER) & (n > _ENOUGH_LEVELS)
        found = [self._candidates(fits, k, self.freedom[k], self.n_runs[k]) for k in range(len(self.values))]
        if scatters.any():
            fits = self._fits(designs, np.ones_like(self.variances), np.zeros_like(self.freedom))
            for k in np.flatnonzero(scatters).tolist():
                found[k] = self._candidates(fits, k, 0.0, float(n))
        return found

    def _fits(self, designs: Sequence[Design], variances: Floats, freedom: Floats) -> _Fits:
        n_paths, n = self.values.shape
        roots = 1.0 / (self.values * np.sqrt(variances))
        column_of = functools.cache(lambda factors: product_values(factors, self.levels))
        usable = [design for design in designs if len(design) < max(n, 2)]
        with np.errstate(all="ignore"):
            columns = {factors: column_of(factors) for design in usable for factors in design}
        bad = {factors for factors, column in columns.items() if not (np.isfinite(column) & (column >= 0.0)).all()}
        fits = _Fits(n_paths)
        for size in sorted({len(design) for design in usable}):
            own = [design for design in usable if len(design) == size and not bad.intersection(design)]
            if own:
                stacked = np.array([[columns[factors] for factors in design] for design in own]).transpose(0, 2, 1)
                fits.add(own, stacked, roots, self.values * roots, freedom)
        powers = [np.log(level) for level in self.levels.values() if np.ptp(level) > 0.0]
        if len(powers) == len(self.levels) and n > len(powers) + 1:
            stacked = np.stack([np.ones(n), *powers], axis=1)[None]
            roots = 1.0 / np.sqrt(variances)
            fits.add([()], stacked, roots, np.log(self.values) * roots, freedom)
        return fits

    def _candidates(self, fits: _Fits, k: int, freedom: float, count: float) -> tuple[Candidate, ...]:
        n = self.values.shape[1]
        squares, sizes = fits.squares[k], fits.sizes
        with np.errstate(divide="ignore"):
            evidence = fits.log_prior - 0.5 * (sizes - 1) * np.log(count)
            if freedom:
                evidence = evidence - 0.5 * (freedom + n - 1.0) * np.log(freedom + squares)
            else:  # levels scatter: Akaike's criterion for few of them (C. Hurvich and C.-L. Tsai, 1989)
                estimated = sizes + 1.0
                penalty = np.where(n > estimated + 1.0, estimated * n / np.maximum(n - estimated - 1.0, 1.0), np.inf)
                evidence = fits.log_prior - 0.5 * n * np.log(np.maximum(squares, _LEAST_VARIANCE)) - penalty
        evidence = np.where(fits.valid[k], evidence, -np.inf)
        if not fits.designs[-1]:
            scale, left = self._scale(fits, k, -1, freedom)
            errors = np.sqrt(np.diagonal(fits.covariance[-1][k])[1:] * scale)
            ratios = -np.abs(fits.coefficients[-1][k][1:]) / np.maximum(errors, 1e-300)
            changes = _special(len(self.values)).stdtr(left, ratios).min()
            if not self.is_free:
                evidence[-1] = -np.inf
            if changes < 0.5 * _SURE_CHANGE / len(errors) and np.isfinite(np.delete(evidence, 0)).any():
                evidence[0] = -np.inf  # the constant
        varies = np.std(self.values[k]) > _VARIES * np.mean(self.values[k])
        if varies and np.isfinite(np.delete(evidence, 0)).any():
            evidence[0] = -np.inf
        # It is named where nothing is significant, and not the best of many that grow a little.
        is_flat = evidence[0] > evidence.max() - _MUCH
        weight = np.exp(_TEMPERED * (evidence - evidence.max()))
        weight /= weight.sum()
        chosen = [c for c in np.argsort(-weight, kind="stable").tolist() if weight[c] >= _KEPT]
        chosen = [0, *(c for c in chosen if c)] if is_flat else chosen
        total = weight[chosen].sum()
        return tuple(self._candidate(fits, k, c, freedom, float(weight[c] / total)) for c in chosen)

    def _scale(self, fits: _Fits, k: int, c: int, freedom: float) -> tuple[float, float]:
        """Factor of the variances that residuals ask for, and its degrees of freedom."""
        left = max(self.values.shape[1] - int(fits.sizes[c]), 1)
        return (freedom + float(fits.squares[k, c])) / (freedom + left), freedom + left

    def _candidate(self, fits: _Fits, k: int, c: int, freedom: float, weight: float) -> Candidate:
        coefficients, covariance, design = fits.coefficients[c][k], fits.covariance[c][k], fits.designs[c]
        scale, left = self._scale(fits, k, c, freedom)
        if not design:  # exponents as they are written, and the factor that goes with them
            exponents = np.array([float(f"{exponent:.3g}") for exponent in coefficients[1:]])
            logs = np.stack([np.log(level) for level in self.levels.values()], axis=1)
            factor = np.mean(np.log(self.values[k]) - logs @ exponents)
            coefficients = np.array([factor, *exponents])
            design = (tuple(Factor(s, e, 0) for s, e in zip(self.levels, exponents.tolist(), strict=True) if e),)
            return Candidate(
                (product_text(design[0], self.names) if design[0] else "1",), design, True, coefficients,
                covariance * scale, left, weight,
            )  # fmt: skip
        terms = tuple(product_text(factors, self.names) if factors else "1" for factors in design)
        return Candidate(terms, design, False, coefficients, covariance * scale, left, weight)


def _log_prior(design: Design) -> float:
    """Usual terms are likelier, and sums of two that are no constants are not."""
    if not design:
        return math.log(2.0)
    terms = [factors for factors in design if factors]
    usual = sum((f.exponent, f.logarithm) in _USUAL for factors in terms for f in factors)
    return math.log(4.0) * (usual - (len(terms) > 1))


class _Fits:
    """Fits of D designs to K paths."""

    def __init__(self, n_paths: int) -> None:
        self.designs: list[Design] = []  # empty: a power with free exponents
        self.coefficients: list[Floats] = []  # (K, m), and their covariances (K, m, m), of each design
        self.covariance: list[Floats] = []
        self.sizes = np.empty(0, dtype=np.int64)
        self.log_prior = np.empty(0)
        self.squares, self.valid = np.empty((n_paths, 0)), np.empty((n_paths, 0), dtype=np.bool_)

    def add(
        self, designs: Sequence[Design], columns: Floats, roots: Floats, weighted_values: Floats, freedom: Floats
    ) -> None:
        """Fit designs of as many columns (D, n, m) each by least squares.

        Invalid are those with coefficients that are not positive, and sums of what falls and what grows of which one
        part hardly differs from 0.
        """
        n, size = columns.shape[1:]
        weighted = columns[None] * roots[:, None, :, None]
        lengths = np.maximum(np.sqrt((weighted**2).sum(axis=2)), 1e-300)
        weighted = weighted / lengths[:, :, None, :]
        normal = np.swapaxes(weighted, 2, 3) @ weighted
        singular = ~(np.linalg.det(normal) > _DEPENDENT)
        inverse = np.linalg.inv(np.where(singular[:, :, None, None], np.eye(size), normal))
        solution = (inverse @ (np.swapaxes(weighted, 2, 3) @ weighted_values[:, None, :, None]))[..., 0]
        fitted = (weighted @ solution[..., None])[..., 0]
        squares = ((weighted_values[:, None] - fitted) ** 2).sum(axis=2)
        valid = ~singular
        if designs[0]:
            parts = np.array([sum(map(bool, design)) for design in designs])
            scale = (freedom[:, None] + squares) / np.maximum(freedom + n - size, 1.0)[:, None]
            least = _SURE_PART * np.sqrt(np.diagonal(inverse, axis1=2, axis2=3) * scale[:, :, None])
            valid &= (solution > np.where((parts > 1)[:, None], least, 0.0)).all(axis=2) & (fitted > 0.0).all(axis=2)
        self.designs += designs
        self.coefficients += list(np.swapaxes(solution / lengths, 0, 1))
        self.covariance += list(np.swapaxes(inverse / (lengths[:, :, :, None] * lengths[:, :, None, :]), 0, 1))
        self.sizes = np.append(self.sizes, np.full(len(designs), size))
        self.log_prior = np.append(self.log_prior, list(map(_log_prior, designs)))
        self.squares, self.valid = np.hstack([self.squares, squares]), np.hstack([self.valid, valid])
