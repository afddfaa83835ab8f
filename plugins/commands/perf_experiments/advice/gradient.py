"""Rows of the design of any model that says how sure its parameters are, by its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perfcore.base.errors import DataError, OptionError, PerfError
from perfcore.models.design_rows import DesignRows

__all__ = ["design_rows_of"]

Floats = npt.NDArray[np.float64]

_STEP = float(np.finfo(np.float64).eps) ** (1 / 3)  # where rounding and the third derivative err alike
_COVERAGES = (0.2, 0.95)  # of the bounds that tell the noise
_LEAST_NOISE = 1e-6  # share of the bounds' variance; less is what the gradient errs by


def design_rows_of(model: Any, points: Any) -> DesignRows:
    """What further measurements are chosen by: as the model says, or else from its parameters' standard errors.

    Raises
    ------
    OptionError, DataError
        As of `rows_by_gradient`, or of the model's own `Model.design_rows`.
    """
    rows: DesignRows | None = model.design_rows(points)
    return rows_by_gradient(model, points) if rows is None else rows


def rows_by_gradient(model: Any, points: Any) -> DesignRows:
    """Rows of any model that says how sure its parameters are, linear in these at their estimates.

    The covariance C = R R' is the attribute ``covariance`` of the model, in the order of its parameters, or else the
    squares of the standard errors; parameters without a standard error, or with one of 0, are taken for known. In units
    of R the observations so far are worth one row for each parameter, and a point g'R, with the gradient g of the
    prediction by central differences. What one run varies by is what the bounds of predictions hold beyond g'Cg; where
    there are none, every run is taken for as unsure as the model is on average at these points, in proportion to its
    value.

    Parameters
    ----------
    model : Model
    points : mapping or (n,) float
        As `Model.predict` takes them.

    Raises
    ------
    OptionError
        No parameter has a standard error, or one is no field of the model.
    DataError
        The covariance or the gradient is not finite.
    """
    root, names = _root_of_covariance(model)
    values = np.asarray(model.predict(points), dtype=np.float64)
    estimates = {each.name: each.estimate for each in model.parameters}
    gradient = np.empty((len(values), len(names)))
    for number, name in enumerate(names):
        step = _STEP * max(abs(estimates[name]), float(np.linalg.norm(root[number])))
        higher, lower = (model.with_parameters({name: estimates[name] + way * step}) for way in (1, -1))
        gradient[:, number] = (np.asarray(higher.predict(points)) - np.asarray(lower.predict(points))) / (2.0 * step)
    if not np.isfinite(gradient).all():
        raise DataError("the prediction does not change smoothly with the model's parameters at all points asked for")
    rows = gradient @ root
    variance = np.sum(rows**2, axis=1)
    noise = _noise_by_bounds(model, points, values, variance)
    size = np.maximum(np.abs(values), 1e-3 * float(np.median(np.abs(values)))) if values.any() else np.ones(len(values))
    scale = size * (float(np.mean(np.sqrt(variance) / size)) or 1.0) if noise is None else noise
    independent = getattr(model, "covariance", None) is None and len(names) > 1
    return DesignRows(
        measured=(np.eye(root.shape[1]),),
        asked=(rows / scale[:, None],),
        errors=np.eye(1),
        scale=scale,
        points={},
        repetitions=np.ones(root.shape[1], dtype=np.int64),
        unit=model.unit,
        noise_known=noise is not None,
        assumed=("the errors of the parameters are independent",) * independent,
    )


def _root_of_covariance(model: Any) -> tuple[Floats, list[str]]:
    """R with R R' = C (P, P), of the P parameters that are not known exactly, and their names."""
    parameters = model.parameters
    model_covariance = getattr(model, "covariance", None)
    errors = [0.0 if each.standard_error is None else each.standard_error for each in parameters]
    covariance = (
        np.diag(np.square(errors)) if model_covariance is None else np.asarray(model_covariance, dtype=np.float64)
    )
    if covariance.shape != (len(parameters), len(parameters)) or not np.isfinite(covariance).all():
        raise DataError(
            f"the covariance is not {len(parameters)} x {len(parameters)} finite numbers; more data may help"
        )
    free = np.flatnonzero(np.diag(covariance) > 0.0)
    if not len(free):
        raise OptionError(
            f"a model of the kind {model.kind!r} does not say how sure its terms are; no point can be chosen by it"
        )
    size = np.sqrt(np.diag(covariance)[free])
    lengths, axes = np.linalg.eigh(covariance[np.ix_(free, free)] / np.outer(size, size))
    return size[:, None] * axes * np.sqrt(np.maximum(lengths, 0.0)), [parameters[number].name for number in free]


def _noise_by_bounds(model: Any, points: Any, values: Floats, variance: Floats) -> Floats | None:
    """Standard deviation of one run (n,), told by bounds that are Student's t times it and the model's own error."""
    from scipy.stats import t

    try:
        # The lower bound may have been held at 0.
        narrow, wide = (model.predict(points, interval=coverage)[:, 2] - values for coverage in _COVERAGES)
    except PerfError:  # models of this kind, or of these data, have no bounds
        return None
    if not (np.isfinite(wide).all() and (narrow > 0.0).all()):
        return None
    quantiles: Floats = np.asarray(t.ppf(0.5 + 0.5 * np.array(_COVERAGES)[:, None], np.arange(1.0, 1000.0)))
    nearest = int(np.argmin(np.abs(quantiles[1] / quantiles[0] - np.median(wide / narrow))))
    total_variance = np.square(narrow / quantiles[0, nearest])
    residual = total_variance - variance
    return np.sqrt(residual) if (residual > _LEAST_NOISE * total_variance).all() else None
