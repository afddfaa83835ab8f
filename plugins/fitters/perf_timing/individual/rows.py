"""What individual fits say about measurements that are not made yet: design rows, and rival functions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perf_points.points import Places
from perf_timing.characteristic import characteristics, design
from perf_timing.individual.pair import BEST_OF_EACH, PairFit
from perf_timing.scaling_model import ScalingModel
from perfcore.base.errors import DataError
from perfcore.models.design_rows import DesignRows, Rival
from perfcore.models.model import Points
from perfcore.models.ranking import Candidate

__all__ = ["individual_rivals", "individual_rows"]

Floats = npt.NDArray[np.float64]

# Of a model whose AICc is larger by this, the data give essentially no support (K. P. Burnham, D. R. Anderson, "Model
# selection and multimodel inference", 2002, section 2.6).
_AICC_APART = 10.0
# Where AICc is not defined: how many times the leave-one-out error of the best.
_ERROR_APART = 2.0
_MOST = 10


def individual_rows(model: ScalingModel, pairs: tuple[PairFit, ...], points: Points) -> DesignRows:
    """Rows of the pairs that the points belong to.

    Raises
    ------
    DataError
        A pair was never measured, or has no degrees of freedom.
    """
    at, seen = model.places(points), model.measured_places
    mine, theirs = _cells(model, at), _cells(model, seen)
    rows, asked, noise, scaled = [], [], [], np.zeros(len(at))
    root, basis, measured = np.array(model.root_weights), model.scaled_design(at), model.scaled_design(seen)
    for cell in np.unique(mine).tolist():
        pair = _pair(model, pairs, cell)
        freedom = pair.degrees_of_freedom
        if freedom <= 0:
            raise DataError(f"{pair.code} on {pair.system}: as many coefficients as points; measure more points first")
        columns = [model.functions.index(name) for name in pair.functions]
        rows.append(measured[:, columns] * (root * (theirs == cell))[:, None])
        asked.append(basis[:, columns] * (mine == cell)[:, None])
        noise.append(pair.sum_of_squares / freedom)
        scaled += asked[-1] @ np.array(pair.coefficients)
    weights = model.new_weights(scaled)
    return DesignRows(
        measured=tuple(rows),
        asked=tuple(part * weights[:, None] for part in asked),
        errors=np.diag(noise),
        scale=1.0 / (weights * model.factor(at)),
        points=model.measured_points(),
        repetitions=np.array(model.observations.repetitions),
        unit=model.unit,
    )


def individual_rivals(
    model: ScalingModel, pairs: tuple[PairFit, ...], ranking: tuple[Candidate, ...], points: Points
) -> tuple[Rival, ...]:
    """Other combinations of the ranking for the one pair that the points belong to, fitted again to its data."""
    at = model.places(points)
    cells = np.unique(_cells(model, at)).tolist()
    if not ranking or len(cells) > 1:
        return ()
    pair = _pair(model, pairs, cells[0])
    others = [
        candidate
        for candidate in ranking
        if set(candidate.functions) != set(pair.functions) and candidate.functions != BEST_OF_EACH
    ]
    own = next((candidate for candidate in ranking if set(candidate.functions) == set(pair.functions)), None)
    if own is None:  # a ranking over all pairs need not have what one of them was given
        return ()
    seen = model.measured_places
    here = _cells(model, seen) == cells[0]
    root = np.array(model.root_weights)[here]
    target = (np.array(model.observations.value) * model.factor(seen))[here] * root
    found: list[Rival] = []
    for other in others:
        figure = _compared(own, other)
        if figure is None or len(found) == _MOST:
            continue
        design_here = _design(model, other.functions, seen)[here] * root[:, None]
        design_there = _design(model, other.functions, at)
        if np.isfinite(design_here).all() and np.isfinite(design_there).all():
            values = design_there @ np.linalg.lstsq(design_here, target, rcond=None)[0]
            found.append(Rival(" + ".join(other.functions), figure, values / model.factor(at)))
    return tuple(found)


def _compared(own: Candidate, other: Candidate) -> str | None:
    """How well another combination does, in words; None where it does clearly worse or cannot be judged."""
    if other.note:
        return None
    figures = [(candidate.figures.get("aicc"), candidate.figures.get("loo_rmse")) for candidate in (own, other)]
    (mine, error), (theirs, other_error) = figures
    if mine is not None and theirs is not None:
        return f"AICc {theirs - mine:+.1f}" if theirs - mine <= _AICC_APART else None
    if error is not None and other_error is not None and other_error <= _ERROR_APART * error:
        return f"leave-one-out error {other_error:.3g} instead of {error:.3g}"
    return None


def _cells(model: ScalingModel, at: Places) -> npt.NDArray[np.int64]:
    return at.code * len(model.systems) + at.system


def _pair(model: ScalingModel, pairs: tuple[PairFit, ...], cell: int) -> PairFit:
    code, system = model.codes[cell // len(model.systems)], model.systems[cell % len(model.systems)]
    for pair in pairs:
        if (pair.code, pair.system) == (code, system):
            return pair
    raise DataError(f"{code} was never measured on {system}, so that no fit tells which point to measure")


def _design(model: ScalingModel, functions: tuple[str, ...], at: Places) -> Floats:
    values = design(characteristics(functions, tuple(model.columns)), at.points)
    codes, systems = [model.codes[k] for k in at.code], [model.systems[k] for k in at.system]
    return np.asarray(values * model.preparation.of_parameters.factor(at.points, codes, systems)[:, None])
