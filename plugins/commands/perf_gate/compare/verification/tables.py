"""A verification in lines and tables."""

from __future__ import annotations

import numpy as np

from perf_gate.compare.verification.verification import Verification
from perfcore.results import Tables

_MOST_ROWS = 40


def verification_summary(verification: Verification) -> list[str]:
    """What was verified, and the figures of each group of points."""
    lines = [verification.title]
    for name, kept in verification.groups.items():
        figures = verification.figures(kept)
        text = (
            f"{name} ({figures['n_points']:,}): R^2 centered {_shown(figures['r2_centered'], '.4f')}; relative "
            f"error: median {figures['median_relative_error']:.1%}, largest {figures['max_relative_error']:.1%}"
        )
        if figures["coverage"] is not None:
            text += f"; {figures['coverage']:.1%} within the {verification.interval:.0%} bounds"
        lines.append(text)
    return lines


def verification_tables(verification: Verification) -> Tables:
    """Categories and points of the first group, the points that are new to the model where there are any."""
    name, kept = next(iter(verification.groups.items()))
    tables: Tables = []
    if verification.categories:
        rows = [
            [str(row["category"]), *(_shown(row[key], form) for key, form in
             (("share", ".1%"), ("r2_centered", ".4f"), ("error_of_total", ".2%")))]
            for row in verification.category_figures(kept)[:_MOST_ROWS]
        ]  # fmt: skip
        tables.append(
            (f"Categories, {name}, worst first", ["category", "share", "R^2 centered", "error of total"], rows)
        )
    order = np.flatnonzero(kept)[np.argsort(-np.abs(verification.errors[kept]), kind="stable")]
    bounds = ["lower", "upper"] if np.isfinite(verification.lower[kept]).any() else []
    rows = [
        [
            verification.labels[k],
            *(f"{column[k]:.6g}" for column in (verification.measured, verification.predicted)),
            *(f"{column[k]:.6g}" for column in (verification.lower, verification.upper)[: len(bounds)]),
            f"{verification.errors[k]:+.1%}",
        ]
        for k in order[:_MOST_ROWS].tolist()
    ]
    count_note = f" ({_MOST_ROWS} of {len(order):,})" if len(order) > _MOST_ROWS else ""
    header = ["point", "measured", "predicted", *bounds, "error"]
    tables.append((f"Points, {name}, worst first{count_note}", header, rows))
    return tables


def _shown(value: str | float | int | None, form: str) -> str:
    return "-" if value is None else format(value, form)
