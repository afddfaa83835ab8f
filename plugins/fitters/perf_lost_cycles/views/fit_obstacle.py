"""Whether a formula can be fitted along the lines that were measured, known before anything is fitted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perf_formulas.formula import Formula
from perf_lost_cycles.categories.category_sum import term_values
from perf_lost_cycles.default_models.sets import VARIABLE

__all__ = ["fit_obstacle"]


def fit_obstacle(terms: Sequence[str], factor: str, along: Sequence[npt.NDArray[np.float64]]) -> tuple[str, str]:
    """The terms in the factor, and why they cannot be fitted on some lines or on any.

    A line whose levels are not more than the terms says nothing about which formula holds. Terms that depend on one
    another at the levels, as D and 2*D do, have no coefficients of their own.

    Parameters
    ----------
    terms : sequence of str
        Of ``x``, all finite at the levels.
    factor : str
        What texts call it.
    along : sequence of (n_levels,) float
        Different levels of each line.

    Returns
    -------
    shown, obstacle : str
        The second one is empty where each line can be fitted.

    Examples
    --------
    >>> levels = [np.array([1.0, 2.0, 4.0])]
    >>> fit_obstacle(["1", "x*log2(x)"], "P", levels)
    ('terms 1, P*log2(P)', '')
    >>> fit_obstacle(["1", "x", "x^2"], "P", levels)[1]
    'cannot be fitted: 3 constants, and 3 levels of P; fewer constants than levels are needed'
    """
    terms_text = ", ".join(Formula(term).substituted({VARIABLE: Formula(factor)}).canonical for term in terms)
    patterns = {levels.tobytes(): levels for levels in along}  # most lines have the same levels
    obstacles = {key: _obstacle(terms, factor, levels) for key, levels in patterns.items()}
    line_obstacles = [obstacles[levels.tobytes()] for levels in along]
    wrong = [text for text in line_obstacles if text]
    if not wrong:
        return f"terms {terms_text}", ""
    where = "" if len(wrong) == len(line_obstacles) else f" on {len(wrong)} of {len(line_obstacles)} lines"
    return f"terms {terms_text}", f"cannot be fitted{where}: {wrong[0]}"


def _obstacle(terms: Sequence[str], factor: str, levels: npt.NDArray[np.float64]) -> str:
    if len(levels) <= len(terms):
        return f"{len(terms)} constants, and {len(levels)} levels of {factor}; fewer constants than levels are needed"
    design = term_values(tuple(terms), {VARIABLE: levels})
    norms = np.linalg.norm(design, axis=0)
    rank = int(np.linalg.matrix_rank(design / np.where(norms > 0.0, norms, 1.0)))
    return "" if rank == len(terms) else f"its terms depend on one another at the {len(levels)} levels of {factor}"
