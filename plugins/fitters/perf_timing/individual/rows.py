"""What individual fits say about measurements that are not made yet: design rows, and rival functions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perf_tables.points.points import Places
from perf_timing.characteristic import characteristics, design
from perf_timing.individual.pair import BEST_OF_EACH, PairFit
from perf_timing.scaling_model import ScalingModel
from perfcore.base.errors import DataError
from perfcore.models.design_rows import DesignRows, Rival
from perfcore.models.model import Points
from perfcore.models.ranking import Candidate


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
    places, measured_places = model.places(points), model.measured_places
    cells, measured_cells = _cells(model, places), _cells(model, measured_places)
    rows, new_rows, noise, scaled = [], [], [], np.zeros(len(places))
    root, basis, measured = (
        np.array(model.root_weights),
        model.scaled_design(places),
        model.scaled_design(measured_places),
    )
    for cell in np.unique(cells).tolist():
        pair = _pair(model, pairs, cell)
        freedom = pair.degrees_of_freedom
        if freedom <= 0:
            raise DataError(f"{pair.code} on {pair.system}: as many coefficients as points; measure more points first")
        columns = [model.functions.index(name) for name in pair.functions]
        rows.append(measured[:, columns] * (root * (measured_cells == cell))[:, None])
        new_rows.append(basis[:, columns] * (cells == cell)[:, None])
        noise.append(pair.sum_of_squares / freedom)
        scaled += new_rows[-1] @ np.array(pair.coefficients)
    weights = model.new_weights(scaled)
    return DesignRows(
        measured=tuple(rows),
        asked=tuple(part * weights[:, None] for part in new_rows),
        errors=np.diag(noise),
        scale=1.0 / (weights * model.factor(places)),
        points=model.measured_points(),
        repetitions=np.array(model.observations.repetitions),
        unit=model.unit,
    )


def individual_rivals(
    model: ScalingModel, pairs: tuple[PairFit, ...], ranking: tuple[Candidate, ...], points: Points
) -> tuple[Rival, ...]:
    """Other combinations of the ranking for the one pair that the points belong to, fitted again to its data."""
    places = model.places(points)
    cells = np.unique(_cells(model, places)).tolist()
    if not ranking or len(cells) > 1:
        return ()
    pair = _pair(model, pairs, cells[0])
    others = [
        candidate
        for candidate in ranking
        if set(candidate.functions) != set(pair.functions) and candidate.functions != BEST_OF_EACH
    ]
    chosen = next((candidate for candidate in ranking if set(candidate.functions) == set(pair.functions)), None)
    if chosen is None:  # a ranking over all pairs need not have what one of them was given
        return ()
    measured_places = model.measured_places
    in_pair = _cells(model, measured_places) == cells[0]
    root = np.array(model.root_weights)[in_pair]
    target = (np.array(model.observations.value) * model.factor(measured_places))[in_pair] * root
    rivals: list[Rival] = []
    for other in others:
        figure = _compared(chosen, other)
        if figure is None or len(rivals) == _MOST:
            continue
        measured_design = _design(model, other.functions, measured_places)[in_pair] * root[:, None]
        new_design = _design(model, other.functions, places)
        if np.isfinite(measured_design).all() and np.isfinite(new_design).all():
            values = new_design @ np.linalg.lstsq(measured_design, target, rcond=None)[0]
            rivals.append(Rival(" + ".join(other.functions), figure, values / model.factor(places)))
    return tuple(rivals)


def _compared(chosen: Candidate, other: Candidate) -> str | None:
    """How well another combination does, in words; None where it does clearly worse or cannot be judged."""
    if other.note:
        return None
    figures = [(candidate.figures.get("aicc"), candidate.figures.get("loo_rmse")) for candidate in (chosen, other)]
    (aicc, error), (other_aicc, other_error) = figures
    if aicc is not None and other_aicc is not None:
        return f"AICc {other_aicc - aicc:+.1f}" if other_aicc - aicc <= _AICC_APART else None
    if error is not None and other_error is not None and other_error <= _ERROR_APART * error:
        return f"leave-one-out error {other_error:.3g} instead of {error:.3g}"
    return None


def _cells(model: ScalingModel, places: Places) -> npt.NDArray[np.int64]:
    return places.code * len(model.systems) + places.system


def _pair(model: ScalingModel, pairs: tuple[PairFit, ...], cell: int) -> PairFit:
    code, system = model.codes[cell // len(model.systems)], model.systems[cell % len(model.systems)]
    for pair in pairs:
        if (pair.code, pair.system) == (code, system):
            return pair
    raise DataError(f"{code} was never measured on {system}, so that no fit tells which point to measure")


def _design(model: ScalingModel, functions: tuple[str, ...], places: Places) -> Floats:
    values = design(characteristics(functions, model.columns), places.points)
    codes, systems = [model.codes[k] for k in places.code], [model.systems[k] for k in places.system]
    return np.asarray(values * model.preparation.of_parameters.factor(places.points, codes, systems)[:, None])
