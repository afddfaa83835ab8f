"""Rows of the design of a sum of categories' models, by which further measurements are chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_lost_cycles.categories.points import category_points
from perfcore.base.errors import DataError, OptionError
from perfcore.models.design_rows import DesignRows
from perfcore.models.model import Points

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Part:
    """The model of one category."""

    terms: tuple[str, ...]
    coefficients: Floats
    values: Floats  # measured; NaN where it was not


def one_category(
    points: Points, columns: Mapping[str, str], categories: Sequence[str]
) -> tuple[dict[str, Floats], int | None]:
    """Checked points of one category; None for the total."""
    coordinates, which = category_points(points, columns, categories)
    numbers = np.unique(which).tolist()
    if len(numbers) > 1:
        raise OptionError("points of several categories: one, or the total, is expected")
    return coordinates, None if numbers[0] < 0 else int(numbers[0])


def rows_of_sum(
    parts: Sequence[Part],
    measured: Callable[[tuple[str, ...]], Floats],
    new_rows: Callable[[tuple[str, ...]], Floats],
    root_weights: Floats,
    new_weights: Floats,
    points: Mapping[str, Floats],
    repetitions: Ints,
    unit: str | None,
) -> DesignRows:
    """Rows of all parts; those that have the same terms and points are one.

    The covariance of the errors is estimated as in `total_uncertainty`, so that the variance of the total at hand is
    the one of its prediction bounds.
    """
    together: dict[tuple[tuple[str, ...], bytes], list[Part]] = {}
    for part in parts:
        together.setdefault((part.terms, np.isfinite(part.values).tobytes()), []).append(part)
    rows, new, errors = [], [], []
    for (terms, pattern), members in together.items():
        is_measured = np.frombuffer(pattern, dtype=np.bool_)
        freedom = int(is_measured.sum()) - len(terms)
        if freedom <= 0:
            raise DataError("the data leave no degree of freedom, so that nothing tells the noise; measure more points")
        # A term may be infinite where none of these categories was measured.
        design = np.where(is_measured[:, None], measured(terms), 0.0) * root_weights[:, None]
        values = np.where(is_measured, sum(part.values for part in members), 0.0) * root_weights
        coefficients = np.sum([part.coefficients for part in members], axis=0)
        rows.append(design)
        new.append(new_rows(terms) * new_weights[:, None])
        errors.append((values - design @ coefficients) / np.sqrt(freedom))
    return DesignRows(
        measured=tuple(rows),
        asked=tuple(new),
        errors=np.asarray(np.array(errors) @ np.array(errors).T),
        scale=1.0 / new_weights,
        points=points,
        repetitions=repetitions,
        unit=unit,
    )
