"""A sum of categories in tables: the overview of determination coefficients, and the categories, worst first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perf_lost_cycles.categories.options import CRITERIA
from perf_lost_cycles.modgen.history import mean_r2

if TYPE_CHECKING:
    import pandas as pd

    from perf_lost_cycles.modgen.model import ModgenModel


Floats = npt.NDArray[np.float64]
Table = tuple[str, list[str], list[list[str]]]

_MOST_SHOWN = 40
POOR_R2 = 0.9  # the paper's final models reach 0.93 or better
_NOTABLE = 0.01  # share of the total below which a badly fitted category does no harm


def summary_lines(model: ModgenModel) -> list[str]:
    """What was fitted, how well, what was left out, and which categories fit badly."""
    figures, options = model.statistics, model.origin.options
    unit = f" [{model.unit}]" if model.unit else ""
    shown = model.shown_names
    over = ", ".join(shown[s] if shown[s] == c else f"{s}={c}" for s, c in model.columns.items())
    lines = [
        model.title,
        f"{figures['n_points']:,} points of {model.value_name}{unit} over {over}, weights: {options['weights']}",
        f"forms chosen by {options['criterion']}: {CRITERIA[options['criterion']]}",
        f"total: R^2 centered {_shown(figures['r2_centered'])}; relative error: median "
        f"{figures['median_relative_error']:.1%}, largest {figures['max_relative_error']:.1%}; "
        f"{figures['n_parameters']:,} parameters",
    ]
    if model.set_aside:
        lines.append(
            f"{figures['n_set_aside']:,} points set aside (seed {options['seed']}): R^2 centered "
            f"{_shown(figures['r2_set_aside_centered'])}; relative error: median "
            f"{figures['set_aside_median_relative_error']:.1%}, largest {figures['set_aside_max_relative_error']:.1%}"
        )
    left_out = {
        factor.symbol: factor.left_out for each in model.generations for factor in each.factors if factor.left_out
    }
    if left_out:
        counts = ", ".join(f"{count} of {shown[symbol]}" for symbol, count in left_out.items())
        lines.append(f"lines left out, with fewer than three levels: {counts}")
    shares, _ = category_figures(model)
    flat, errors = _constants(model)
    notable = (shares >= _NOTABLE).tolist()
    poor = [
        fit.name
        for fit, is_notable, is_flat in zip(model.categories, notable, flat, strict=True)
        if fit.r2_centered is not None and fit.r2_centered < POOR_R2 and is_notable and not is_flat
    ]
    constant = [
        (error, fit.name)
        for fit, error, is_notable, is_flat in zip(model.categories, errors, notable, flat, strict=True)
        if is_notable and is_flat
    ]
    if poor:
        more = f" and {len(poor) - 8} more" if len(poor) > 8 else ""
        lines.append(f"fitted badly (R^2 below {POOR_R2:g}, {_NOTABLE:.0%} of the time or more): "
                     f"{', '.join(poor[:8])}{more}")  # fmt: skip
    if constant:
        more = f" and {len(constant) - 8} more" if len(constant) > 8 else ""
        names = ", ".join(f"{name} ({error:.1%})" for error, name in sorted(constant, reverse=True)[:8])
        lines.append(f"constant, so that R^2 does not judge them (off by, in the median): {names}{more}")
    return [*lines, *model.notes]


def modgen_tables(model: ModgenModel) -> list[Table]:
    """Overview of determination coefficients, and the categories with their formulas, worst first."""
    shares, errors = category_figures(model)
    order = sorted(range(len(shares)), key=lambda k: _sortable(model.categories[k].r2_centered))[:_MOST_SHOWN]
    of_factor = overview(model)
    names = [*model.columns, "tuples"]
    kept = f" (the worst {len(order)} of {len(shares):,}; --json has all)" if len(order) < len(shares) else ""
    header = ["category", *(model.shown_names.get(name, name) for name in names), "all points", "leave-one-out"]
    rows = []
    for k in order:
        fit = model.categories[k]
        averages = [of_factor[name][k] for name in names]
        rows.append([fit.name, *map(_shown, [*averages, fit.r2_centered, fit.r2_leave_one_out])])
    formulas = [
        [
            model.categories[k].name,
            f"{shares[k]:.1%}",
            f"{errors[k]:.2%}",
            model.categories[k].text(model.shown_names),
        ]
        for k in order
    ]
    return [
        (f"R^2 centered, averaged over lines and tuples{kept}", header, rows),
        (f"Models{kept}", ["category", "share", "error of total", "formula"], formulas),
    ]


def modgen_frame(model: ModgenModel) -> pd.DataFrame:
    """Every category, worst first, with all digits."""
    import pandas as pd

    shares, errors = category_figures(model)
    frame = pd.DataFrame(
        {
            "category": model.names,
            "share": shares,
            "error_of_total": errors,
            **{f"r2_{model.shown_names.get(name, name)}": averages for name, averages in overview(model).items()},
            "r2_centered": [fit.r2_centered for fit in model.categories],
            "r2_leave_one_out": [fit.r2_leave_one_out for fit in model.categories],
            "formula": [fit.text(model.shown_names) for fit in model.categories],
        }
    )
    return frame.sort_values("r2_centered", kind="stable", ignore_index=True)


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


def _constants(model: ModgenModel) -> tuple[list[bool], list[float]]:
    """Whether each category is the same at all points, and its median relative error where it was measured."""
    measured, _ = model.measured()
    each, _ = model.predicted()
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.where(measured > 0.0, np.abs(each / measured - 1.0), np.nan)
    flat, medians = [], []
    for values, error in zip(each.T, errors.T, strict=True):
        known = values[np.isfinite(values)]
        flat.append(known.size > 0 and bool(np.ptp(known) <= 1e-9 * np.abs(known).max()))
        medians.append(float(np.median(error[np.isfinite(error)])) if np.isfinite(error).any() else 0.0)
    return flat, medians


def _shown(value: float | int | str | None) -> str:
    return f"{value:.4f}" if isinstance(value, float) else "-"


def _sortable(value: float | None) -> float:
    return float("inf") if value is None else value
