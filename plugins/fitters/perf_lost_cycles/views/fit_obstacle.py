"""Whether a formula can be fitted along the lines that were measured, known before anything is fitted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perf_formulas.formula import Formula
from perf_lost_cycles.categories.category_sum import term_values
from perf_lost_cycles.default_models.sets import VARIABLE


def fit_obstacle(terms: Sequence[str], factor: str, along: Sequence[npt.NDArray[np.float64]]) -> tuple[str, str]:
    """The terms in the factor, and why they cannot be fitted on some lines or on any."""
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
