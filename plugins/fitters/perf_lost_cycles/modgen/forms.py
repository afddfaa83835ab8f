"""Forms of models of several factors: sets of terms, each a product of one function of each factor.

A term has a number: the indices of its functions, one for each factor, written as the digits of one integer. The digit
0 is the constant function, so the product of terms of different factors is the sum of their numbers. Equal forms have
equal numbers, which is what lets them be fitted together.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from perf_formulas.formula import Formula

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

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
        """A term as a canonical formula of the factors."""
        parts = []
        for symbol, functions, stride in zip(self.symbols, self.functions, self.strides, strict=True):
            digit = number // stride % len(functions)
            if digit:
                parts.append(Formula(functions[digit]).substituted({"x": Formula(symbol)}).canonical)
        return Formula("*".join(f"({part})" for part in parts) or "1").canonical

    def values(self, points: Sequence[Floats]) -> list[Floats]:
        """Values of each factor's functions (n, number of functions), at its values (n,)."""
        return [
            np.stack([Formula(text).evaluate({"x": x}) for text in functions], axis=1)
            for functions, x in zip(self.functions, points, strict=True)
        ]

    def columns(self, values: Sequence[Floats], numbers: Ints) -> Floats:
        """Values of terms."""
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
        """The index of a form; a new one is added."""
        number = self._index.setdefault(form, len(self.forms))
        if number == len(self.forms):
            self.forms.append(form)
        return number

    def sizes(self) -> Ints:
        """Terms of each form (number of forms,)."""
        return np.array([len(form) for form in self.forms], dtype=np.int64)


@dataclass(frozen=True)
class Candidate:
    """One way to combine univariate forms."""

    blocks: tuple[tuple[int, ...], ...]  # factors that are multiplied with one another; the blocks are added
    form: Form
    on_cross: Form  # terms that span the same functions on the points of a tuple's lines


def partitions(items: Sequence[int]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """All ways to divide items into blocks, single items first."""
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
    """All products of one term of each form; the forms are of different factors."""
    numbers = {0}
    for form in forms:
        numbers = {one + other for one in numbers for other in form}
    return tuple(sorted(numbers))


def candidates(univariate: Sequence[Form]) -> list[Candidate]:
    """Sums of products of univariate forms, one for each partition of the factors into products."""
    by_form: dict[Form, Candidate] = {}
    for blocks in partitions(range(len(univariate))):
        members = [[univariate[factor] for factor in block] for block in blocks]
        # A block with a constant in each of its forms has every term of its sum, and on the lines no more than that.
        lines = [
            union(of_block) if all(form[0] == 0 for form in of_block) else product_form(of_block)
            for of_block in members
        ]
        form = union([product_form(of_block) for of_block in members])
        by_form.setdefault(form, Candidate(blocks, form, union(lines)))
    return list(by_form.values())


def union(forms: Sequence[Form]) -> Form:
    """The terms of all forms."""
    return tuple(sorted(set().union(*forms)))
