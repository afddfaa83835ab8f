"""Fits of the forms that were chosen: coefficients and their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_lost_cycles.modgen.forms import Form
from perf_lost_cycles.modgen.scores import Grid
from perf_statistics.least_squares.batched import fit_subsets


Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class FormFit:
    """One form fitted to several series on the same points."""

    series: Ints
    coefficients: Floats
    standard_errors: Floats
    covariance: Floats  # inverse of the weighted X'X; times the error variance, the covariance of the coefficients
    residuals: Floats  # weighted
    leave_one_out: Floats


def fit_forms(grid: Grid, forms: Sequence[Form], of_series: Ints) -> list[FormFit]:
    """Fit each series with its own form on all points; one fit for each form that occurs.

    Forms of one size are one call of `perf_statistics.least_squares.batched.fit_subsets`.
    """
    form_fits = []
    numbers, group = np.unique(of_series, return_inverse=True)
    sizes = np.array([len(forms[number]) for number in numbers.tolist()])
    for size in np.unique(sizes).tolist():
        chosen = np.flatnonzero(sizes == size)
        columns = grid.terms.columns(grid.functions, np.array([forms[number] for number in numbers[chosen].tolist()]))
        designs = (columns * grid.root_weight).swapaxes(1, 2)
        series = np.flatnonzero(sizes[group] == size)
        targets = grid.values[series] * grid.root_weight
        design_of = np.searchsorted(chosen, group[series])
        fits = fit_subsets(designs, design_of, targets, [list(range(size))])
        for number, design in enumerate(designs):
            rows = np.flatnonzero(design_of == number)
            coefficients, covariance = fits.coefficients[rows, 0], fits.covariance[number, 0]
            form_fits.append(
                FormFit(
                    series=series[rows],
                    coefficients=coefficients,
                    standard_errors=fits.standard_errors[rows, 0],
                    covariance=covariance,
                    residuals=targets[rows] - coefficients @ design.T,
                    leave_one_out=fits.leave_one_out[rows, 0],
                )
            )
    return form_fits
