"""How well forms fit: many series, forms and sets of points at once, and what they are compared by.

A form is a set of terms, each a product of one function of each factor. A term has a number: the indices of its
functions, one for each factor, written as the digits of one integer. The digit 0 is the constant function, so the
product of terms of different factors is the sum of their numbers. Equal forms have equal numbers, which is what lets
them be fitted together.

Fits of one size go together, whatever categories and points they are of; series that share points and form share a
factorisation. Scores need no coefficients, so QR does, with which scoring takes less than half as long as with singular
values.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from perf_formulas.formula import Formula
from perf_statistics.batched import fit_subsets
from perfcore.base.arrays import Floats, Ints

TIE = 1e-9  # scores that differ by less are of forms that span the same functions

# Share of the sum of squares that rounding leaves of an exact fit: ten digits of the values.
_EXACT = 1e-20

# Ratio of singular values below which rank is no question; rounding hides a column at some 1e13 with 125 points.
_SURELY_FULL_RANK = 1e8
_LEVERAGE_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)

# Numbers in the arrays of one part, 16 MB; 64 MB take a tenth longer.
_NUMBERS_AT_ONCE = 1 << 21

Form = tuple[int, ...]  # numbers of terms, increasing


@dataclass(frozen=True)
class Terms:
    """The functions of each factor, and the products of them."""

    symbols: tuple[str, ...]  # factors by their names in formulas
    functions: tuple[tuple[str, ...], ...]  # for each factor its functions as formulas of ``x``; the first is ``"1"``

    @functools.cached_property
    def strides(self) -> tuple[int, ...]:
        """What one step of each factor's digit adds to a number."""
        sizes = [len(functions) for functions in self.functions]
        return tuple(math.prod(sizes[:k]) for k in range(len(sizes)))

    def text(self, number: int) -> str:
        """Return a term as a canonical formula of the factors."""
        parts = []
        for symbol, functions, stride in zip(self.symbols, self.functions, self.strides, strict=True):
            digit = number // stride % len(functions)
            if digit:
                parts.append(Formula(functions[digit]).substituted({"x": Formula(symbol)}).canonical)
        return Formula("*".join(f"({part})" for part in parts) or "1").canonical

    def values(self, points: Sequence[Floats]) -> list[Floats]:
        """Return values of each factor's functions (n, number of functions), at its values (n,)."""
        return [term_values(functions, {"x": x}) for functions, x in zip(self.functions, points, strict=True)]

    def columns(self, values: Sequence[Floats], numbers: Ints) -> Floats:
        """Return values of terms."""
        products = np.ones((*numbers.shape, len(values[0])))
        for of_factor, stride in zip(values, self.strides, strict=True):
            products *= of_factor.T[numbers // stride % of_factor.shape[1]]
        return products


@dataclass
class FormList:
    """Forms that occur, each once, by an index that arrays can hold."""

    forms: list[Form] = field(default_factory=list)
    _index: dict[Form, int] = field(default_factory=dict)

    def index(self, form: Form) -> int:
        """Return the index of a form; a new one is added."""
        number = self._index.setdefault(form, len(self.forms))
        if number == len(self.forms):
            self.forms.append(form)
        return number

    def sizes(self) -> Ints:
        """Return terms of each form (number of forms,)."""
        return np.array([len(form) for form in self.forms], dtype=np.int64)


@dataclass(frozen=True)
class Candidate:
    """One way to combine univariate forms."""

    blocks: tuple[tuple[int, ...], ...]  # factors that are multiplied with one another; the blocks are added
    form: Form
    on_cross: Form  # terms that span the same functions on the points of a tuple's lines


def partitions(items: Sequence[int]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Yield all ways to divide items into blocks, single items first."""
    if not items:
        yield ()
        return
    *rest, last = items
    for blocks in sorted(partitions(rest), key=len, reverse=True):
        yield (*blocks, (last,))
    for blocks in partitions(rest):
        for k, block in enumerate(blocks):
            yield (*blocks[:k], (*block, last), *blocks[k + 1 :])


def product_form(forms: Sequence[Form]) -> Form:
    """Return all products of one term of each form; the forms are of different factors."""
    numbers = {0}
    for form in forms:
        numbers = {one + other for one in numbers for other in form}
    return tuple(sorted(numbers))


def candidates(univariate: Sequence[Form]) -> list[Candidate]:
    """Return sums of products of univariate forms, one for each partition of the factors into products."""
    by_form: dict[Form, Candidate] = {}
    for blocks in partitions(range(len(univariate))):
        members = [[univariate[factor] for factor in block] for block in blocks]
        # A block with a constant in each of its forms has every term of its sum, and on the lines no more than that.
        lines = [union(block) if all(form[0] == 0 for form in block) else product_form(block) for block in members]
        form = union([product_form(of_block) for of_block in members])
        by_form.setdefault(form, Candidate(blocks, form, union(lines)))
    return list(by_form.values())


def union(forms: Sequence[Form]) -> Form:
    """Return the terms of all forms."""
    return tuple(sorted(set().union(*forms)))


@dataclass(frozen=True)
class Grid:
    """Measured points of a set of categories, and the terms of their models there."""

    terms: Terms
    functions: Sequence[Floats]  # values of each factor's functions
    values: Floats  # categories
    root_weight: Floats  # square roots of the points' weights, > 0


@dataclass(frozen=True)
class Scores:
    """Figures of B fits."""

    sum_of_squares: Floats  # weighted squares: of the residuals
    leave_one_out: Floats
    total: Floats
    rank: Ints
    n_terms: Ints
    n_points: Ints


def score_forms(grid: Grid, forms: Sequence[Form], sets: Ints, which: tuple[Ints, Ints, Ints]) -> Scores:
    """Fit each job, a form on a set of points to a series."""
    of_form, of_set, of_series = which
    n_jobs, n_points = len(of_form), sets.shape[1]
    sizes = np.array([len(form) for form in forms], dtype=np.int64)[of_form]
    scores = Scores(
        sum_of_squares=np.empty(n_jobs),
        leave_one_out=np.empty(n_jobs),
        total=np.empty(n_jobs),
        rank=np.empty(n_jobs, dtype=np.int64),
        n_terms=sizes,
        n_points=np.full(n_jobs, n_points),
    )
    for size in np.unique(sizes).tolist():
        jobs = np.flatnonzero(sizes == size)
        # Jobs of one design side by side, so that a part holds few designs.
        key = of_form[jobs] * len(sets) + of_set[jobs]
        order = np.argsort(key, kind="stable")
        jobs, key = jobs[order], key[order]
        length = max(1, _NUMBERS_AT_ONCE // (n_points * (2 * size + 3)))
        for begin in range(0, len(jobs), length):
            part, keys = jobs[begin : begin + length], key[begin : begin + length]
            first = np.diff(keys, prepend=-1) > 0
            form, set_index = np.divmod(keys[first], len(sets))
            numbers = np.array([forms[k] for k in form.tolist()])
            rows = sets[set_index]
            designs = np.ones((*rows.shape, size))
            for of_factor, stride in zip(grid.functions, grid.terms.strides, strict=True):
                designs *= of_factor[rows[:, :, None], (numbers // stride % of_factor.shape[1])[:, None, :]]
            designs *= grid.root_weight[rows][:, :, None]
            points = sets[of_set[part]]
            targets = grid.values[of_series[part, None], points] * grid.root_weight[points]
            projected = _project(designs, np.cumsum(first) - 1, targets)
            scores.total[part] = np.einsum("bn,bn->b", targets, targets)
            scores.sum_of_squares[part], scores.leave_one_out[part], scores.rank[part] = projected
    return scores


def _project(designs: Floats, group: Ints, targets: Floats) -> tuple[Floats, Floats, Ints]:
    """Return the squared residuals, squared leave-one-out errors, and rank (B,), of series with designs (G, n, m).

    With columns of unit norm, ``|R^-1|`` times the root of m bounds the ratio of the singular values from above. Where
    it is small the orthonormal Q of X = QR is all that the figures need; elsewhere `fit_subsets` finds the rank.
    """
    n, m = designs.shape[1:]
    if m > n:
        return _decompose(designs, group, targets)
    norms = np.linalg.norm(designs, axis=1)
    norms[norms == 0.0] = 1.0
    basis, triangles = np.linalg.qr(designs / norms[:, None, :])
    # A triangle without a small pivot can be inverted.
    sure = np.abs(np.diagonal(triangles, axis1=1, axis2=2)).min(axis=1) * _SURELY_FULL_RANK > 1.0
    sure[sure] = np.linalg.norm(np.linalg.inv(triangles[sure]), axis=(1, 2)) * np.sqrt(m) < _SURELY_FULL_RANK
    rest = 1.0 - np.einsum("gnm,gnm->gn", basis, basis)
    job_basis = basis[group]
    residuals = targets - np.einsum("bnm,bm->bn", job_basis, np.einsum("bnm,bn->bm", job_basis, targets))
    squares = np.einsum("bn,bn->b", residuals, residuals)
    # A point that is met whatever its value cannot be predicted from the others.
    determined = rest > _LEVERAGE_ROUNDING * n
    residuals /= np.where(determined, rest, 1.0)[group]
    left_out = np.einsum("bn,bn->b", residuals, residuals)
    left_out[~determined.all(axis=1)[group]] = np.inf
    rank = np.full(len(group), m, dtype=np.int64)
    if not sure.all():
        doubtful = np.flatnonzero(~sure[group])
        number = np.cumsum(~sure) - 1
        decomposed = _decompose(designs[~sure], number[group[doubtful]], targets[doubtful])
        squares[doubtful], left_out[doubtful], rank[doubtful] = decomposed
    return squares, left_out, rank


def _decompose(designs: Floats, group: Ints, targets: Floats) -> tuple[Floats, Floats, Ints]:
    """As `_project`, by singular values."""
    fits = fit_subsets(designs, group, targets, [list(range(designs.shape[2]))])
    return fits.sum_of_squares[:, 0], fits.leave_one_out[:, 0], fits.rank[group, 0]


def criterion(scores: Scores, name: str) -> Floats:
    """Return what forms are compared by (B,), smaller is better; infinite if the points determine no fit."""
    freedom = scores.n_points - scores.rank
    if name == "loo":
        values = scores.leave_one_out
    elif name == "adjusted":
        values = np.divide(scores.sum_of_squares, freedom, out=np.full(len(freedom), np.inf), where=freedom > 0)
    else:
        values = scores.sum_of_squares
    return np.where(freedom > 0, np.maximum(values, _EXACT * scores.total), np.inf)


def weighted_r2(sum_of_squares: Floats, values: Floats, root_weight: Floats) -> Floats:
    """Return centered R^2 of series (..., n) about their weighted mean; NaN if a series is constant."""
    weight = root_weight**2
    mean = (weight * values).sum(axis=-1, keepdims=True) / weight.sum(axis=-1, keepdims=True)
    centered = (weight * (values - mean) ** 2).sum(axis=-1)
    varies = centered > _EXACT * (weight * values**2).sum(axis=-1)
    out = np.full(np.broadcast(sum_of_squares, centered).shape, np.nan)
    return np.asarray(1.0 - np.divide(sum_of_squares, centered, out=out, where=varies))


def term_values(terms: Sequence[str], points: Mapping[str, Floats]) -> Floats:
    """Return values of terms (n, F), at factors by symbol (n,); not finite if a term is not."""
    return np.stack([_parsed(term).evaluate(points) for term in terms], axis=1)


_parsed = functools.lru_cache(Formula)
