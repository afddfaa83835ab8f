"""A model of categories over one factor in lines and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perf_lost_cycles.categories.options import CRITERIA

if TYPE_CHECKING:
    import pandas as pd

    from perf_lost_cycles.lca.fits import CategoryFit, DefaultFit
    from perf_lost_cycles.lca.model import LcaModel


Table = tuple[str, list[str], list[list[str]]]

_MOST_CATEGORIES = 40
_WHY = {
    "loo": "it predicts better than R^2, which rewards every further coefficient",
    "adjusted": "it charges for every coefficient",
}


def lca_summary(model: LcaModel) -> list[str]:
    """What was fitted, by what models were chosen, and how well their sum does."""
    figures, options = model.statistics, model.origin.options
    unit = f" [{model.unit}]" if model.unit else ""
    over = model.column if model.factor_name == model.column else f"{model.factor}={model.column}"
    fixed = "".join(f", {symbol} held at {value:g}" for symbol, value in model.held.items())
    criterion = str(options["criterion"])
    return [
        model.title,
        f"{figures['n_points']} points of {model.value_name}{unit} over {over}{fixed}; weights: {options['weights']}; "
        f"default models: {', '.join(options['models'])}",
        f"chosen by {criterion}, {CRITERIA[criterion]}" + (f": {_WHY[criterion]}" if criterion in _WHY else ""),
        *model.notes,
        "the sum of the categories: "
        + ("" if figures["r2_centered"] is None else f"R^2 centered {figures['r2_centered']:.5f}, ")
        + f"relative error: median {figures['median_relative_error'] or 0:.1%}, "
        f"largest {figures['max_relative_error'] or 0:.1%}",
    ]


def lca_tables(model: LcaModel) -> list[Table]:
    """The categories, largest first; and the candidates of the one that ``show`` names."""
    part = shares(model)
    order = sorted(range(len(model.fits)), key=lambda k: -part[k])
    largest = order[:_MOST_CATEGORIES]
    header = ["category", "share", f"model over {model.factor_name}", "coefficients ± standard error", "R^2 centered"]
    header += ["adjusted", "leave-one-out", "note"]
    rows = [
        [
            model.fits[k].category,
            f"{part[k]:.1%}",
            model.fits[k].model.form(model.factor_name),
            *_cells(model.fits[k].model),
        ]
        for k in largest
    ]
    more = f" (the largest {len(largest)} of {len(order):,}; --json has all)" if len(largest) < len(order) else ""
    tables = [(f"Categories, their best default models{more}", header, rows)]
    show = model.origin.options.get("show")
    for fit in model.fits:
        if fit.category == show:
            tables.append(_candidates(fit, model.factor_name))
    return tables


def lca_frame(model: LcaModel) -> pd.DataFrame:
    """Every category, largest first, with all digits."""
    import pandas as pd

    part = shares(model)
    rows = [
        (fit.category, part[number], fit.model.text(model.factor_name), *_figures(fit.model))
        for number, fit in sorted(enumerate(model.fits), key=lambda pair: -part[pair[0]])
    ]
    return pd.DataFrame(
        rows, columns=["category", "share", "formula", "r2_centered", "r2_adjusted", "r2_leave_one_out"]
    )


def shares(model: LcaModel) -> list[float]:
    """The part of all measured time that each category took."""
    times = [float(np.nansum(np.array(fit.measured, dtype=np.float64))) for fit in model.fits]
    total = sum(model.total)
    return [time / total if total > 0 else 0.0 for time in times]


def _candidates(fit: CategoryFit, factor: str) -> Table:
    header = ["model", "coefficients ± standard error", "R^2 centered", "adjusted", "leave-one-out", "note"]
    rows = [[c.form(factor), *_cells(c), c.origin] for c in fit.candidates]
    return f"All default models of {fit.category}", [*header, "where the form comes from"], rows


def _cells(fit: DefaultFit) -> list[str]:
    parts = [
        "-" if coefficient is None else f"{coefficient:.4g}" + ("" if error is None else f" ± {error:.2g}")
        for coefficient, error in zip(fit.coefficients, fit.standard_errors, strict=True)
    ]
    figures = ["-" if value is None else f"{value:.4f}".replace("-0.0000", "0.0000") for value in _figures(fit)]
    return [", ".join(parts), *figures, fit.note]


def _figures(fit: DefaultFit) -> tuple[float | None, ...]:
    return fit.r2, fit.r2_adjusted, fit.r2_leave_one_out
