"""Individual models in tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perf_least_squares.goodness import r_squared
from perf_least_squares.outliers import outlier_table
from perfcore.models.ranking import candidate_table

if TYPE_CHECKING:
    from perf_timing.individual.model import IndividualModel, PairFit

__all__ = ["individual_tables"]

Table = tuple[str, list[str], list[list[str]]]

_MOST_PAIRS = 40
_MOST_CANDIDATES = 20


def individual_tables(model: IndividualModel) -> list[Table]:
    """The pairs, worst first, outliers, and the ranking that the functions were chosen from."""
    found = [_pairs(model)]
    header, rows = outlier_table(
        model.outliers(), model.describe, model.value_name, model.observations.value, model.errors()
    )
    if rows:
        found.append(("Outliers, in standard errors of their own pair", header, rows))
    if model.ranking:
        title = "The same functions for all pairs" if len(model.pairs) > 1 else "All models"
        first = model.ranking[:_MOST_CANDIDATES]
        found.append((f"{title} (the best {len(first)} of {len(model.ranking)})", *candidate_table(first)))
    return found


def _pairs(model: IndividualModel) -> Table:
    shown = sorted(model.pairs, key=_uncentered)[:_MOST_PAIRS]
    columns = {
        "code": [pair.code for pair in shown] if len(model.codes) > 1 else None,
        "system": [pair.system for pair in shown] if len(model.systems) > 1 else None,
        "points": [str(pair.n_observations) for pair in shown],
        "functions": [" + ".join(pair.functions) or "none" for pair in shown],
        "coefficients ± standard error": [_coefficients(pair) for pair in shown],
        "SSE": [f"{pair.sum_of_squares:.4g}" for pair in shown],
        "R^2 uncentered": [f"{_uncentered(pair):.5f}" for pair in shown],
        "note": [pair.note for pair in shown] if any(pair.note for pair in shown) else None,
    }
    kept = {name: cells for name, cells in columns.items() if cells is not None}
    title = "Pairs"
    if len(shown) < len(model.pairs):
        title += f" (the worst {len(shown)} of {len(model.pairs):,}; --json has all)"
    return title, list(kept), [list(row) for row in zip(*kept.values(), strict=True)]


def _coefficients(pair: PairFit) -> str:
    parts = [
        f"{coefficient:.4g}" + ("" if error is None else f" ± {error:.2g}")
        for coefficient, error in zip(pair.coefficients, pair.standard_errors, strict=True)
    ]
    return ", ".join(parts)


def _uncentered(pair: PairFit) -> float:
    return float(r_squared(pair.sum_of_squares, pair.total_squares))
