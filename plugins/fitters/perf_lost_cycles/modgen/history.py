"""How a model was generated, kept in its file: the hierarchy from the overview down to one fit.

Kept is what was decided, not every candidate's numbers: the observations and the default models are in the same file,
and one instance is fitted again in microseconds (`ModgenModel.instance`). Categories that share points share the table
of their lines, so 1,000 categories on 125 points take some megabytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from perf_lost_cycles.modgen.forms import Terms
from perf_lost_cycles.modgen.generate import Generated

Floats = npt.NDArray[np.float64]

_R2_DIGITS = 5


class FactorLines(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The univariate models of one factor."""

    symbol: str
    lines: tuple[tuple[int, ...], ...]  # points of each line, the other factors held
    left_out: int  # lines of too few levels
    chosen: tuple[tuple[int, ...], ...]
    r2: tuple[tuple[float | None, ...], ...]  # centered, likewise; None where the category is constant along the line


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """One step of combining the tuples' forms of one category."""

    category: int  # place in `Generation.categories`
    form: int  # the tuples' form that was taken, or added to what was at hand; -1 where a term was dropped
    n_tuples: int  # how many tuples chose it
    result: int  # the form after the step
    score: float  # criterion of the result on all points, smaller is better


class Generation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every step from the measurements to the forms of categories that were measured at the same points."""

    categories: tuple[int, ...]  # which of the model's categories
    points: tuple[int, ...]  # which of the model's observations
    forms: tuple[tuple[str, ...], ...]  # the forms that occur below, as terms
    factors: tuple[FactorLines, ...]
    tuples: tuple[int, ...]  # observations through which every factor has a line
    tuple_forms: tuple[tuple[int, ...], ...]
    tuple_r2: tuple[tuple[float | None, ...], ...]  # centered, on the points of the tuple's lines
    steps: tuple[Step, ...]


class InstanceCandidate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One default model fitted to one category along one line."""

    formula: str  # of the default model
    origin: str
    terms: tuple[str, ...]
    coefficients: tuple[float, ...]
    standard_errors: tuple[float | None, ...]
    r2: float | None  # centered
    leave_one_out: float | None  # sum of squared errors of predicting each point from the others
    chosen: bool


def generation_of(
    generated: Generated, terms: Terms, categories: Sequence[int], points: npt.NDArray[np.int64]
) -> Generation:
    """The steps as a file keeps them."""
    arrays = [*generated.instances, generated.tuple_forms, generated.steps.form, generated.steps.result]
    used = np.unique(np.concatenate([array.ravel() for array in arrays]))
    used = used[used >= 0]
    renumber = np.full(len(generated.forms.forms) + 1, -1, dtype=np.int64)  # the last place answers for -1
    renumber[used] = np.arange(len(used))
    numbers = {number for form in used.tolist() for number in generated.forms.forms[form]}
    texts = {number: terms.text(number) for number in numbers}
    factors = tuple(
        FactorLines(
            symbol=terms.symbols[lines.factor],
            lines=tuple(tuple(points[line].tolist()) for line in lines.points),
            left_out=lines.too_short,
            chosen=_rows(renumber[chosen]),
            r2=_r2_rows(r2),
        )
        for lines, chosen, r2 in zip(generated.lines, generated.instances, generated.instance_r2, strict=True)
    )
    steps = generated.steps
    columns = (steps.category, renumber[steps.form], steps.n_tuples, renumber[steps.result], steps.score)
    return Generation(
        categories=tuple(categories),
        points=tuple(points.tolist()),
        forms=tuple(tuple(texts[number] for number in generated.forms.forms[form]) for form in used.tolist()),
        factors=factors,
        tuples=tuple(points[generated.tuples].tolist()),
        tuple_forms=_rows(renumber[generated.tuple_forms]),
        tuple_r2=_r2_rows(generated.tuple_r2),
        steps=tuple(Step(*row) for row in zip(*(column.tolist() for column in columns), strict=True)),
    )


def mean_r2(rows: Sequence[Sequence[float | None]]) -> list[float | None]:
    """Average over lines or tuples (R, K) of each category's R^2; None where none is defined."""
    table = np.array(rows, dtype=np.float64).reshape(len(rows), -1)
    defined = np.isfinite(table)
    counts = defined.sum(axis=0)
    sums = np.where(defined, table, 0.0).sum(axis=0)
    return [float(total / count) if count else None for total, count in zip(sums, counts, strict=True)]


def _rows(array: npt.NDArray[np.int64]) -> tuple[tuple[int, ...], ...]:
    return tuple(map(tuple, array.tolist()))


def _r2_rows(array: Floats) -> tuple[tuple[float | None, ...], ...]:
    rounded = np.round(array, _R2_DIGITS).tolist()
    return tuple(tuple(None if math.isnan(value) else value for value in row) for row in rounded)
