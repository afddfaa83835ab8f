"""Individual models in lines, tables and a data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perf_statistics.goodness import outlier_table
from perf_timing.individual.model import IndividualModel
from perf_timing.individual.pair import LEAST_FREEDOM, PairFit, freedom_warning
from perf_views.drawable import candidate_table
from perfcore.results import Tables

if TYPE_CHECKING:
    import pandas as pd


_MOST_PAIRS = 40
_MOST_CANDIDATES = 20


def individual_summary(model: IndividualModel) -> list[str]:
    """What was fitted, in which scale, and how well."""
    figures = model.statistics
    few = sum(pair.degrees_of_freedom < LEAST_FREEDOM for pair in model.pairs)
    return [
        model.title,
        *model.data_lines(),
        f"{figures['n_parameters']} parameters; SSE {figures['sse']:.6g} of {figures['sst_uncentered']:.6g}; "
        f"R^2 uncentered {figures['r2_uncentered']:.5f}"
        + ("" if figures["r2_centered"] is None else f", centered {figures['r2_centered']:.5f}"),
        f"relative error: mean {figures['mean_relative_error']:.1%}, largest {figures['max_relative_error']:.1%}",
        *([freedom_warning(few, len(model.pairs))] if few else []),
    ]


def individual_tables(model: IndividualModel) -> Tables:
    """The pairs, worst first, outliers, and the ranking that the functions were chosen from."""
    tables: Tables = [_pairs(model)]
    header, rows = outlier_table(
        model.outliers(), model.describe, model.value_name, model.observations.value, model.errors()
    )
    if rows:
        tables.append(("Outliers, in standard errors of their own pair", header, rows))
    if model.ranking:
        title = "The same functions for all pairs" if len(model.pairs) > 1 else "All models"
        first = model.ranking[:_MOST_CANDIDATES]
        tables.append(candidate_table(first, f"{title} (the best {len(first)} of {len(model.ranking)})"))
    return tables


def individual_frame(model: IndividualModel) -> pd.DataFrame:
    """Every pair, worst first: how well it fits, and its coefficients in the scale of the fit.

    A function has two columns, its coefficient and the standard error; they are NaN where it is no part of a pair, and
    the error where the data do not determine it.
    """
    import pandas as pd

    names = [name for name in model.functions if any(name in pair.functions for pair in model.pairs)]
    rows = []
    for pair in _worst_first(model):
        row: dict[str, Any] = {
            "code": pair.code,
            "system": pair.system,
            "n_observations": pair.n_observations,
            "sse": pair.sum_of_squares,
            "r2_uncentered": pair.r2_uncentered,
            "note": pair.note,
        }
        estimates = dict(zip(pair.functions, zip(pair.coefficients, pair.standard_errors, strict=True), strict=True))
        for name in names:
            coefficient, error = estimates.get(name, (None, None))
            row |= {name: coefficient, f"standard error of {name}": error}
        rows.append(row)
    frame = pd.DataFrame(rows)
    numbers = [column for name in names for column in (name, f"standard error of {name}")]
    return frame.astype(dict.fromkeys(numbers, float))


def _worst_first(model: IndividualModel) -> list[PairFit]:
    return sorted(model.pairs, key=lambda pair: pair.r2_uncentered)


def _pairs(model: IndividualModel) -> tuple[str, list[str], list[list[str]]]:
    worst = _worst_first(model)[:_MOST_PAIRS]
    columns = {
        "code": [pair.code for pair in worst] if len(model.codes) > 1 else None,
        "system": [pair.system for pair in worst] if len(model.systems) > 1 else None,
        "points": [str(pair.n_observations) for pair in worst],
        "functions": [" + ".join(pair.functions) or "none" for pair in worst],
        "coefficients ± standard error": [_coefficients(pair) for pair in worst],
        "SSE": [f"{pair.sum_of_squares:.4g}" for pair in worst],
        "R^2 uncentered": [f"{pair.r2_uncentered:.5f}" for pair in worst],
        "note": [pair.note for pair in worst] if any(pair.note for pair in worst) else None,
    }
    kept = {name: cells for name, cells in columns.items() if cells is not None}
    title = "Pairs"
    if len(worst) < len(model.pairs):
        title += f" (the worst {len(worst)} of {len(model.pairs):,}; --json has all)"
    return title, list(kept), [list(row) for row in zip(*kept.values(), strict=True)]


def _coefficients(pair: PairFit) -> str:
    parts = [
        f"{coefficient:.4g}" + ("" if error is None else f" ± {error:.2g}")
        for coefficient, error in zip(pair.coefficients, pair.standard_errors, strict=True)
    ]
    return ", ".join(parts)
