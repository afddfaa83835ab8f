"""How well forms fit: many series, forms and sets of points at once, and what they are compared by.

A form is a set of terms, each a product of one function of each factor. A term has a number: the indices of its
functions, one for each factor, written as the digits of one integer. The digit 0 is the constant function, so the
product of terms of different factors is the sum of their numbers. Equal forms have equal numbers, which is what lets
them be fitted together.

Fits of one size go together, whatever categories and points they are of; series that share points and form share a
factorisation. Scores need no coefficients, so QR does, with which scoring takes less than half as long as with singular
values.

Default models of one category on one line of points are fitted one by one: W. Meira, "Modeling performance of parallel
programs", University of Rochester, 1995 (the tool `lca`); general linear least squares after W. H. Press et al.,
"Numerical Recipes in C", 2nd edition, 1992, section 15.4. Deviation: they set small singular values to zero by hand;
here those are dropped that rounding alone explains, and reported.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np

from perf_formulas.formula import Formula
from perf_lost_cycles.default_models import VARIABLE, DefaultModel
from perf_lost_cycles.options import CategoryOptions
from perf_statistics.batched import fit_subsets
from perf_statistics.goodness import finite
from perf_tables.category_table import CategoryTable, by_category, with_call_paths
from perf_tables.meanings import as_measurements
from perfcore.base.arrays import Floats, Ints
from perfcore.base.errors import DataError, OptionError, listing
from perfcore.data.columns import guess_roles
from perfcore.data.measurements import Measurements

TIE = 1e-9  # scores that differ by less are of forms that span the same functions

# Share of the sum of squares that rounding leaves of an exact fit: ten digits of the values.
_EXACT = 1e-20

# Ratio of singular values below which rank is no question; rounding hides a column at some 1e13 with 125 points.
_SURELY_FULL_RANK = 1e8
_LEVERAGE_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)

# Numbers in the arrays of one part, 16 MB; 64 MB take a tenth longer.
_NUMBERS_AT_ONCE = 1 << 21

Form = tuple[int, ...]  # numbers of terms, increasing
# Above this the coefficients have lost half of their digits: they are large and cancel.
_COLLINEAR = 1e8


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


def candidates(univariate: Sequence[Form]) -> dict[Form, Form]:
    """Return sums of products of univariate forms, one for each partition of the factors into products.

    Each comes with the terms that span the same functions on the points of a tuple's lines.
    """
    found: dict[Form, Form] = {}
    for blocks in partitions(range(len(univariate))):
        members = [[univariate[factor] for factor in block] for block in blocks]
        # A block with a constant in each of its forms has every term of its sum, and on the lines no more than that.
        lines = [union(block) if all(form[0] == 0 for form in block) else product_form(block) for block in members]
        found.setdefault(union([product_form(of_block) for of_block in members]), union(lines))
    return found


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
    n_points: int


def score_forms(grid: Grid, forms: Sequence[Form], sets: Ints, which: tuple[Ints, Ints, Ints]) -> Scores:
    """Fit each job, a form on a set of points to a series."""
    of_form, of_set, of_series = which
    n_jobs, n_points = len(of_form), sets.shape[1]
    sizes = np.array([len(form) for form in forms], dtype=np.int64)[of_form]
    squares, left_out, total = np.empty((3, n_jobs))
    scores = Scores(squares, left_out, total, np.empty(n_jobs, dtype=np.int64), n_points)
    occurring = np.array(sorted({term for number in np.unique(of_form).tolist() for term in forms[number]}))
    columns = (grid.terms.columns(grid.functions, occurring) * grid.root_weight).T if n_jobs else np.empty((0, 0))
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
            designs = columns[rows[:, :, None], np.searchsorted(occurring, numbers)[:, None, :]]
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
    """Return what forms are compared by, smaller is better; infinite if the points determine no fit."""
    freedom = scores.n_points - scores.rank
    if name == "loo":
        values = scores.leave_one_out
    elif name == "adjusted":
        values = np.divide(scores.sum_of_squares, freedom, out=np.full(freedom.shape, np.inf), where=freedom > 0)
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


class UsedModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A default model and what it was tried for."""

    categories: tuple[str, ...]
    factor: str  # symbol
    formula: str
    terms: tuple[str, ...]  # what its coefficients multiply, as formulas of ``x``
    coefficients: tuple[str, ...]  # their names
    origin: str


@dataclass(frozen=True)
class DefaultFit:
    """One default model fitted to one category."""

    model: DefaultModel | UsedModel
    coefficients: tuple[float | None, ...]  # None if a term is not finite
    standard_errors: tuple[float | None, ...]
    sum_of_squares: float | None  # weighted squares of the residuals
    r2: float | None  # centered; adjusted for the number of coefficients; of predicting each point from the others
    r2_adjusted: float | None
    r2_leave_one_out: float | None
    note: str  # what stands against the fit, such as dropped singular values

    def values(self, x: Floats) -> Floats:
        """Return the model at levels x (n,); all coefficients are known."""
        return np.asarray(term_values(self.model.terms, {VARIABLE: x}) @ np.array(self.coefficients, dtype=np.float64))

    def form(self, factor: str) -> str:
        """Return the formula with its coefficients' names, in the factor's symbol unless a coefficient has it."""
        return self.model.formula if factor in self.model.coefficients else self._substituted(factor, {})

    def text(self, factor: str, digits: int = 6) -> str:
        """Return the formula with its coefficients, as a person reads it: a constant of 0 is left out."""
        named = zip(self.model.coefficients, self.coefficients, strict=True)
        numbers = {name: Formula(f"{value or 0.0:.{digits}g}") for name, value in named}
        text = self._substituted(factor, numbers).replace("+ -", "- ").removeprefix("0 + ")
        return f"-{text[4:]}" if text.startswith("0 - ") else text

    def constants(self, digits: int) -> list[str]:
        """Return each coefficient with its standard error."""
        return [
            "-" if value is None else f"{value:.{digits}g}" + ("" if error is None else f" ± {error:.2g}")
            for value, error in zip(self.coefficients, self.standard_errors, strict=True)
        ]

    def _substituted(self, factor: str, numbers: Mapping[str, Formula]) -> str:
        formula = Formula(self.model.formula)
        symbols = {name: Formula(factor) for name in formula.names if name not in self.model.coefficients}
        return formula.substituted({**symbols, **numbers}).canonical


def fit_default_models(
    models: Sequence[DefaultModel | UsedModel], x: Floats, values: Floats, root_weight: Floats, name: str
) -> tuple[tuple[DefaultFit, ...], bool]:
    """Return fits of each model to values (n,) at levels x (n,), best by a criterion first, and if that can be judged.

    Those whose coefficients the points do not determine come last; models of equally many terms are fitted together.
    """
    n, terms = len(x), list(dict.fromkeys(term for model in models for term in model.terms))
    design = term_values(terms, {VARIABLE: x}) * root_weight[:, None]
    targets, is_finite = (values * root_weight)[None], np.asarray(np.isfinite(design).all(axis=0))
    members = [[terms.index(term) for term in model.terms] for model in models]
    ranked: list[tuple[float, int, int, Floats, Floats, Floats, str]] = []
    for size in {len(columns) for columns in members}:
        of_size = [k for k, columns in enumerate(members) if len(columns) == size]
        usable = [k for k in of_size if is_finite[members[k]].all()]
        for k in set(of_size) - set(usable):
            none = np.full(size, np.nan)
            ranked.append((np.inf, size, k, none, none, np.full(4, np.nan), "a term is not finite at a level"))
        if not usable:
            continue
        used = sorted({column for k in usable for column in members[k]})
        subsets = [[used.index(column) for column in members[k]] for k in usable]
        fits = fit_subsets(design[None][:, :, used], [0], targets, subsets)
        squares, left_out, rank = fits.sum_of_squares[0], fits.leave_one_out[0], fits.rank[0]
        judged = criterion(Scores(squares, left_out, targets[0] @ targets[0], rank, n), name)
        scale = (n - 1.0) / (n - size) if n > size else np.nan
        shares = [weighted_r2(sums, values, root_weight) for sums in (squares, squares * scale, left_out)]
        figures = np.stack([squares, *shares], axis=1)
        for row, k in enumerate(usable):
            is_determined = bool(rank[row] == size)
            coefficients = fits.coefficients[0, row]
            if not is_determined:  # of all that fit as well, those of least norm
                coefficients = np.linalg.lstsq(design[:, members[k]], targets[0], rcond=None)[0]
            note = _note(size, int(rank[row]), n, float(fits.condition[0, row]))
            score = float(judged[row]) if is_determined else np.inf
            ranked.append((score, size, k, coefficients, fits.standard_errors[0, row], figures[row], note))
    ranked.sort(key=lambda entry: entry[:3])
    default_fits = []
    for _, _, k, *rows, figures, note in ranked:
        coefficients, errors = (tuple(map(finite, row.tolist())) for row in rows)
        squares, r2, r2_adjusted, r2_leave_one_out = map(finite, figures.tolist())
        fit = DefaultFit(models[k], coefficients, errors, squares, r2, r2_adjusted, r2_leave_one_out, note)
        default_fits.append(fit)
    return tuple(default_fits), bool(np.isfinite(ranked[0][0]))


@functools.cache
def terms_in(terms: tuple[str, ...], factor: str) -> tuple[str, ...]:
    """Return terms of a default model in a factor's own symbol."""
    return tuple(Formula(term).substituted({VARIABLE: Formula(factor)}).canonical for term in terms)


def _note(size: int, rank: int, n: int, condition: float) -> str:
    if rank < size:
        dropped = f"{size - rank} of {size} singular values dropped, coefficients of least norm"
        return f"fewer points than coefficients: {dropped}" if n < size else f"dependent terms: {dropped}"
    if n == size:
        return "as many coefficients as points"
    if condition > _COLLINEAR:
        return f"nearly dependent terms: smallest singular value {1.0 / condition:.1e} of the largest"
    return ""


def category_table(data: Any, options: CategoryOptions, fitter: str, absent: str) -> tuple[CategoryTable, str]:
    """Return the data by category without those that are 0 throughout, and the first column that names one."""
    data = as_measurements(data, fitter)
    parameters = _parameters(data, options.parameter)
    data = data.with_roles(parameters, options.value, category=options.category, unit=options.unit)
    if options.where:
        data = data.where(options.where)
    data = with_call_paths(data)
    table = by_category(
        data, total=options.total, aggregate=options.aggregate, duplicates=options.duplicates, absent=absent
    )
    positive = np.asarray((table.values > 0.0).any(axis=0))
    if not positive.all() and positive.any():
        names = [name for name, is_positive in zip(table.categories, positive.tolist(), strict=True) if not is_positive]
        note = f"0 at every point and left out: {listing(names, 6)}"
        table = replace(table.only(positive), notes=(*table.notes, note))
    return table, data.roles.category[0]


def _parameters(data: Measurements, option: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return parameters as the user names them; those that count no processors keep their names in formulas."""
    words = data.given_roles.get("parameters") if option is None else option
    if words is None or isinstance(words, Mapping):
        return option
    parameters = []
    for word in words.split(",") if isinstance(words, str) else words:
        name = word.strip()
        column = next((c for c in data.table.columns if c.strip().lower() == name.lower()), name)
        counts_processors = bool(guess_roles([column], {column}).parameters)
        keeps_name = "=" not in name and not counts_processors
        parameters.append(f"{re.sub(r'[^A-Za-z0-9_]', '_', column)}={name}" if keeps_name else name)
    return tuple(parameters)


def root_weights(table: CategoryTable, weights: str) -> Floats:
    """Return the square roots of the points' weights (n,), which all categories share."""
    if weights == "relative":
        if not table.total.all():
            where = table.describe(int(np.argmin(table.total)))
            raise DataError(f"{table.source}: all categories are 0 at {where}; leave the point out, or --weights equal")
        return np.asarray(1.0 / table.total)
    if weights == "repetitions":
        if (table.repetitions < 2).all():
            raise OptionError(f"--weights repetitions needs repeated runs, and no point of {table.source} has several")
        return np.asarray(np.sqrt(table.repetitions / table.repetitions.mean()))
    return np.ones(len(table))
