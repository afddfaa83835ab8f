"""One instance of the univariate step, fitted again: what a page shows of the candidates for one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perf_least_squares.batched import fit_subsets
from perf_lost_cycles.modgen.history import InstanceCandidate
from perf_lost_cycles.modgen.scores import weighted_r2
from perfcore.base.errors import OptionError, UnknownNameError
from perfcore.formulas.formula import Formula

if TYPE_CHECKING:
    from perf_lost_cycles.modgen.model import ModgenModel

__all__ = ["instance_candidates"]


def instance_candidates(model: ModgenModel, category: str, symbol: str, line: int) -> tuple[InstanceCandidate, ...]:
    """Every default model of a category over a factor, fitted along one line.

    Parameters
    ----------
    model : ModgenModel
    category, symbol : str
    line : int
        Place among the lines of the factor.

    Raises
    ------
    UnknownNameError
        No such category or factor.
    OptionError
        No such line.
    """
    if category not in model.names:
        raise UnknownNameError("category", category, model.names)
    if symbol not in model.columns:
        raise UnknownNameError("factor", symbol, model.columns)
    number = model.names.index(category)
    generation = next(each for each in model.generations if number in each.categories)
    factor = next(each for each in generation.factors if each.symbol == symbol)
    if not 0 <= line < len(factor.lines):
        raise OptionError(f"{symbol} has lines 0 to {len(factor.lines) - 1}, not {line}")
    points = np.array(factor.lines[line])
    root = np.array(model.root_weights)[points]
    values = np.array(model.observations.values[number], dtype=np.float64)[points]
    x = np.array(model.observations.points[symbol])[points]
    best = factor.chosen[line][generation.categories.index(number)]
    chosen = set(generation.forms[best]) if best >= 0 else set()
    found = []
    for default in model.default_models:
        if default.factor != symbol or category not in default.categories:
            continue
        terms = [Formula(text).substituted({"x": Formula(symbol)}).canonical for text in default.terms]
        design = np.stack([Formula(text).evaluate({"x": x}) for text in default.terms], axis=1)
        fits = fit_subsets((design * root[:, None])[None], [0], (values * root)[None], [list(range(len(terms)))])
        found.append(
            InstanceCandidate(
                formula=default.formula,
                origin=default.origin,
                terms=tuple(terms),
                coefficients=tuple(fits.coefficients[0, 0].tolist()),
                standard_errors=tuple(map(_finite, fits.standard_errors[0, 0].tolist())),
                r2=_finite(float(weighted_r2(fits.sum_of_squares[0], values[None], root)[0])),
                leave_one_out=_finite(float(fits.leave_one_out[0, 0])),
                chosen=set(terms) == chosen,
            )
        )
    return tuple(found)


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
