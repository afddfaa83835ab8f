"""Figures of models by category that text, pictures and pages show."""

from __future__ import annotations

import numpy as np

from perf_lost_cycles.lca.model import LcaModel
from perf_lost_cycles.modgen.model import ModgenModel, mean_r2
from perfcore.base.arrays import Floats

POOR_R2 = 0.9  # the paper's final models reach 0.93 or better


def shares(model: LcaModel) -> list[float]:
    """The part of all measured time that each category took."""
    times = [float(np.nansum(np.array(fit.measured, dtype=np.float64))) for fit in model.fits]
    total = sum(model.total)
    return [time / total if total > 0 else 0.0 for time in times]


def overview(model: ModgenModel) -> dict[str, list[float | None]]:
    """Average R^2 of each category (C,): by factor over its lines, and under ``tuples`` over the cross-tuples."""
    averages: dict[str, list[float | None]] = {
        name: [None] * len(model.categories) for name in [*model.columns, "tuples"]
    }
    for each in model.generations:
        tables = {**{factor.symbol: factor.r2 for factor in each.factors}, "tuples": each.tuple_r2}
        for name, rows in tables.items():
            for category, value in zip(each.categories, mean_r2(rows), strict=True):
                averages[name][category] = value
    return averages


def category_figures(model: ModgenModel) -> tuple[Floats, Floats]:
    """Share of the total time, and median absolute error as a share of the total of its point, of categories (C,)."""
    measured, total = model.measured()
    each, _ = model.predicted()
    filled = np.where(np.isfinite(measured), measured, 0.0)
    shares = filled.sum(axis=0) / total.sum()
    return np.asarray(shares), np.nanmedian(np.abs(each - measured) / total[:, None], axis=0)
