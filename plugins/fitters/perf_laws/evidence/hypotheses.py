"""Which laws are considered, and how likely each is taken to be before the data are seen.

A law is a constant and up to three columns; a column is a generic term of one parameter, or a product of terms of
several.

The prior, the same for all data: each parameter matters with probability 1/2. Given those that matter, the forms below
share the probability, and a term of a form has the weight 1, or 4 where it is one of `perf_laws.evidence.terms.COMMON`,
or 0.2 where its exponent is neither in quarters nor in thirds. Coefficients have no sign, and no scale: flat in the
logarithm of their sum and in the shares of it.

- one parameter: one term (0.9), or a falling and a rising one of the common terms (0.1), as of time that is divided
  among processors and communication that grows with them;
- two: a sum of terms (0.35), a product (0.35), a product and one of its two terms (0.2), or a product and another term
  of one of them (0.1), of few terms;
- three and more, of the common terms: every way to put the parameters into groups, each a product.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from perf_laws.evidence.terms import COMMON, DEFAULT_EXPONENTS, DEFAULT_LOGARITHMS, Term, generic_terms

__all__ = ["Column", "Hypotheses", "column_values", "hypotheses_of", "term_weight"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

Column = tuple[tuple[int, Term], ...]  # factors: number of the parameter, and its term

_COMMON = frozenset(COMMON)
_COMMON_WEIGHT = 4.0
_BETWEEN_WEIGHT = 0.2
_COARSEST = 4  # denominators of exponents up to this are not between others
_MOST_COLUMNS = 3
_MOST_PARAMETERS = 4

# Of a product and a further term: few, since there are so many combinations.
_MIXED = tuple(Term(Fraction(i), j) for i, j in ((-1, 0), (0, 1), (Fraction(1, 2), 0), (1, 0), (1, 1), (2, 0), (3, 0)))

# Of three and more parameters likewise.
_FEW = tuple(Term(Fraction(i), j) for i, j in ((-1, 0), (0, 1), (Fraction(1, 2), 0), (1, 0), (1, 1), (2, 0)))

# Over a narrower range every two terms are nearly one, and nothing says how much there is of each.
_WIDE = 2.0

# Terms of two parameters in one cell are told apart only where their cell explains the data.
_CELLS = 18


@dataclass(frozen=True)
class Hypotheses:
    """Laws to compare, on n points.

    Attributes
    ----------
    points : (n, q) float
        Levels of the parameters.
    terms : tuple of Column
        What each of the F columns is.
    columns : (F, n) float
        Values at the points, over `scales`.
    scales : (F,) float
        Largest value of each column at the points.
    members : (H, M) int
        Columns of each law beside the constant; -1 after the last.
    log_prior : (H,) float
    coarse : (C,) int
        Laws to begin with: one of each cell.
    finer : (C, B) int
        Laws of the cell of each of these, without itself; -1 after the last.
    """

    points: Floats
    terms: tuple[Column, ...]
    columns: Floats
    scales: Floats
    members: Ints
    log_prior: Floats
    coarse: Ints
    finer: Ints

    def __len__(self) -> int:
        return len(self.members)


def column_values(column: Column, points: Floats) -> Floats:
    """A product of terms at points (n, q)."""
    found = np.ones(len(points))
    for parameter, term in column:
        found = found * term.values(points[:, parameter])
    return found


def hypotheses_of(
    points: npt.ArrayLike,
    exponents: Sequence[Fraction] = DEFAULT_EXPONENTS,
    logarithms: Sequence[int] = DEFAULT_LOGARITHMS,
) -> Hypotheses:
    """The laws that are considered at these points.

    Parameters
    ----------
    points : (n, q) array_like
        Levels of q parameters, positive; q from 1 to 4.
    exponents, logarithms : sequence
        Of the generic terms.

    Examples
    --------
    >>> laws = hypotheses_of([[4.0], [8.0], [16.0], [32.0]])
    >>> len(laws), round(float(np.exp(laws.log_prior).sum()), 12)
    (171, 1.0)
    """
    levels = np.asarray(points, dtype=np.float64)
    if levels.ndim != 2 or not 1 <= levels.shape[1] <= _MOST_PARAMETERS:
        raise ValueError(f"points (n, q) with q from 1 to {_MOST_PARAMETERS} are expected")
    terms = generic_terms(tuple(exponents), tuple(logarithms))
    table = _Table(levels)
    q = levels.shape[1]
    varied = [parameter for parameter in range(q) if len(np.unique(levels[:, parameter])) > 1]
    wide = (levels.max(axis=0) >= _WIDE * levels.min(axis=0)).tolist()
    for count in range(len(varied) + 1):
        for chosen in itertools.combinations(varied, count):
            table.add(list(_forms(chosen, terms, wide)), 0.5 ** len(varied))
    return table.hypotheses(cells=len(varied) == 2)


Form = tuple[float, list[tuple[float, tuple[Column, ...]]]]  # its share, and laws with their weights


def _forms(chosen: tuple[int, ...], terms: Sequence[Term], wide: Sequence[bool]) -> Iterator[Form]:
    """Laws in which exactly these parameters occur, of which some have levels far enough apart for two terms."""
    if not chosen:
        yield 1.0, [(1.0, ())]
        return
    known = set(terms)
    common = [term for term in COMMON if term in known] or list(terms)
    if len(chosen) == 1:
        (p,) = chosen
        yield 0.9, [(term_weight(t), (((p, t),),)) for t in terms]
        if wide[p]:
            falling, rising = ([t for t in common if t.falls == falls] for falls in (True, False))
            yield 0.1, [(1.0, (((p, a),), ((p, b),))) for a in falling for b in rising]
        return
    if len(chosen) == 2:
        p, r = chosen
        single = [t for t in terms if t.exponent.denominator <= _COARSEST and not (t.falls and t.logarithm)]
        weights = [term_weight(term) for term in single]
        weighed = list(zip(single, weights, strict=True))
        pairs = [(v * w, (p, a), (r, b)) for a, v in weighed for b, w in weighed]
        yield 0.35, [(weight, ((one,), (other,))) for weight, one, other in pairs]
        yield 0.35, [(weight, ((one, other),)) for weight, one, other in pairs]
        yield 0.2, [(weight, ((one, other), (alone,))) for weight, one, other in pairs for alone in (one, other)]
        few = [term for term in _MIXED if term in known]
        yield (
            0.1,
            [
                (1.0, (((p, a), (r, b)), ((s, c),)))
                for a, b, c in itertools.product(few, repeat=3)
                for s in chosen
                if c != (a if s == p else b)
            ],
        )
        return
    few = [term for term in _FEW if term in known] or common
    for groups in _partitions(list(chosen)):
        if len(groups) <= _MOST_COLUMNS:
            laws = []
            for own in itertools.product(few, repeat=len(chosen)):
                of = dict(zip(chosen, own, strict=True))
                laws.append((1.0, tuple(tuple((p, of[p]) for p in group) for group in groups)))
            yield 1.0, laws


def term_weight(term: Term) -> float:
    """How much likelier than others a term is before the data are seen."""
    if term in _COMMON:
        return _COMMON_WEIGHT
    return 1.0 if term.exponent.denominator <= _COARSEST else _BETWEEN_WEIGHT


def _partitions(items: list[int]) -> Iterator[list[list[int]]]:
    """All ways to put items into groups."""
    if not items:
        yield []
        return
    for groups in _partitions(items[1:]):
        yield [[items[0]], *groups]
        for k in range(len(groups)):
            yield [*groups[:k], [items[0], *groups[k]], *groups[k + 1 :]]


class _Table:
    """Collects laws; a column that the points cannot tell from the constant is left out, with the laws that need it."""

    def __init__(self, points: Floats) -> None:
        self._points = points
        self._number: dict[Column, int] = {}
        self._values: list[Floats] = []
        self._members: list[tuple[int, ...]] = []
        self._prior: list[float] = []
        self._middle = [math.sqrt(column.min() * column.max()) for column in points.T]
        self._single: dict[tuple[int, Term], Floats] = {}

    def add(self, forms: list[Form], probability: float) -> None:
        """Laws of some forms, which share a probability."""
        found = []
        for share, laws in forms:
            own = [(weight, law) for weight, law in laws if all(self._column(column) >= 0 for column in law)]
            if own:
                found.append((share, own))
        shares = sum(share for share, _ in found)
        for share, own in found:
            weights = sum(weight for weight, _ in own)
            for weight, law in own:
                self._members.append(tuple(self._number[column] for column in law))
                self._prior.append(probability * share / shares * weight / weights)

    def _column(self, column: Column) -> int:
        if column not in self._number:
            values = np.ones(len(self._points))
            for part in column:
                if part not in self._single:
                    with np.errstate(all="ignore"):
                        self._single[part] = column_values((part,), self._points)
                values = values * self._single[part]
            usable = np.isfinite(values).all() and values.min() >= 0.0 and values.max() > values.min() * (1.0 + 1e-9)
            self._number[column] = len(self._values) if usable else -1
            if usable:
                self._values.append(values)
        return self._number[column]

    def hypotheses(self, cells: bool) -> Hypotheses:
        """Everything that was collected."""
        values = np.array(self._values).reshape(len(self._values), len(self._points))
        most = max(1, *map(len, self._members))
        members = np.full((len(self._members), most), -1, dtype=np.int64)
        for number, law in enumerate(self._members):
            members[number, : len(law)] = law
        scales = values.max(axis=1) if len(values) else np.empty(0)
        kept = sorted((number, column) for column, number in self._number.items() if number >= 0)
        terms = tuple(column for _, column in kept)
        coarse, finer = self._by_cell(terms, members) if cells else (np.arange(len(members)), None)
        return Hypotheses(
            points=self._points,
            terms=terms,
            columns=values / scales[:, None],
            scales=scales,
            members=members,
            log_prior=np.log(np.array(self._prior) / sum(self._prior)),
            coarse=coarse,
            finer=np.empty((len(coarse), 0), dtype=np.int64) if finer is None else finer,
        )

    def _by_cell(self, terms: tuple[Column, ...], members: Ints) -> tuple[Ints, Ints]:
        """Laws of alike terms together; the one in the middle stands for them."""
        cell_of = self._cells(terms)
        keys: list[tuple[object, ...]] = []
        for number, law in enumerate(members.tolist()):
            own = [terms[f] for f in law if f >= 0]
            several = len({parameter for column in own for parameter, _ in column}) > 1
            # Laws of one parameter are few, and those of a cell differ: each is looked at.
            keys.append(tuple(cell_of[column] for column in own) if several else (number,))
        together: dict[tuple[object, ...], list[int]] = defaultdict(list)
        for number, key in enumerate(keys):
            together[key].append(number)
        coarse, finer = [], []
        for numbers in together.values():
            # The likeliest by its prior, so that a common order is never passed over.
            first = max(numbers, key=lambda number: self._prior[number])
            coarse.append(first)
            finer.append([number for number in numbers if number != first])
        width = max(map(len, finer))
        table = np.full((len(finer), width), -1, dtype=np.int64)
        for row, numbers in enumerate(finer):
            table[row, : len(numbers)] = numbers
        return np.array(coarse, dtype=np.int64), table

    def _cells(self, columns: tuple[Column, ...]) -> dict[Column, tuple[tuple[int, int], ...]]:
        """For each column, the cell of each of its terms: terms of one parameter that grow alike."""
        cell: dict[tuple[int, Term], int] = {}
        for parameter, middle in enumerate(self._middle):
            level = max(middle, 2.0)  # where the logarithm, which slopes are measured in, is clearly above 0
            own = sorted({t for column in columns for p, t in column if p == parameter}, key=lambda t: t.slope(level))
            for number, group in enumerate(np.array_split(np.arange(len(own)), min(_CELLS, max(1, len(own))))):
                cell.update({(parameter, own[k]): number for k in group.tolist()})
        return {column: tuple((p, cell[p, term]) for p, term in column) for column in columns}
