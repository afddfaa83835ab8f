"""The table of efficiencies that users of POP's metrics know, as a picture: a row for each factor, a column a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_analysis.overheads.factors import FACTORS
from perf_analysis.overheads.scaling import efficiencies_of_runs
from perf_views.colours import PAPER, SIZES, size_colour, text_on
from perf_views.short_names import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from perf_analysis.overheads.other_tools import OtherRun
    from perf_analysis.overheads.predicted import Predicted
    from perf_analysis.overheads.profile import OverheadProfile


# How far a factor stands below those whose product it is part of.
_LEVEL = {
    "global": 0, "parallel": 1, "computation scalability": 1, "serialisation": 3, "transfer": 3,
    "MPI load balance": 3, "MPI communication": 3, "MPI serialisation": 4, "MPI transfer": 4,
    "OpenMP serialisation": 3, "OpenMP load balance": 3, "OpenMP scheduling": 3,
    "GPU communication": 3, "GPU orchestration": 3,
}  # fmt: skip
_MOST_COLUMNS = 16  # whose numbers can be read; of more, some that lie evenly between the first and the last
_MOST_LETTERS = 14
_LABEL_POINTS = 125  # as wide as the longest name with its indentation
# Efficiencies below have the darkest colour; POP's own tables are red from 80 % down, but half is not all.
_DARKEST, _LIGHTEST = 0.4, 1.0

Column = tuple[str, dict[str, float | None], dict[str, tuple[float, float]]]


def efficiency_columns(
    profiles: Sequence[OverheadProfile], others: Sequence[OtherRun] = (), predicted: Sequence[Predicted] = ()
) -> list[Column]:
    """What stands above each column, its factors, and bounds of those that were predicted; in the order of
    locations.
    """
    rows = efficiencies_of_runs(profiles) or []
    columns_by_p: list[tuple[float, Column]] = []
    for profile, row in zip(profiles, rows, strict=False):
        columns_by_p.append((len(profile.locations), (_named(profile.source, len(profile.locations)), row, {})))
    for other in others:
        columns_by_p.append((other.p, (_named(other.source, other.p), dict(other.factors), {})))
    for each in predicted:
        values: dict[str, float | None] = {name: row[0] for name, row in each.factors.items()}
        bounds = {name: (row[1], row[2]) for name, row in each.factors.items()}
        columns_by_p.append((each.p, (f"{each.p:g}\npredicted", values, bounds)))
    return [column for _, column in sorted(columns_by_p, key=lambda item: item[0])]


def draw_efficiency_table(columns: Sequence[Column], axes: Axes) -> None:
    """Draw numbers in cells, darker for less, so that they can be read without colours."""
    if len(columns) > _MOST_COLUMNS:
        columns = [columns[index] for index in np.unique(np.linspace(0, len(columns) - 1, _MOST_COLUMNS).astype(int))]
    names = [name for name in FACTORS if any(values.get(name) is not None for _, values, _ in columns)]
    shares = np.array([[_number(values.get(name)) for _, values, _ in columns] for name in names])
    axes.imshow(
        np.ma.masked_invalid(shares), cmap=SIZES, vmin=_DARKEST, vmax=_LIGHTEST, aspect="auto",
        interpolation="nearest", label="efficiency",
    )  # fmt: skip
    for (row, column), share in np.ndenumerate(shares):
        _write(axes, column, row, share, columns[column][2].get(names[row]))
    axes.set_xticks(range(len(columns)), [title for title, _, _ in columns], fontsize=7, parse_math=False)
    labels = ["    " * _LEVEL.get(name, 2) + name for name in names]
    axes.set_yticks(range(len(names)), labels, fontsize=8, ha="left")
    axes.tick_params(axis="y", pad=_LABEL_POINTS)
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    axes.set_xticks(np.arange(len(columns) - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(len(names) - 1) + 0.5, minor=True)
    axes.grid(which="minor", color=PAPER, linewidth=1.5)
    axes.tick_params(which="minor", length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_title("POP efficiencies in % (locations; darker is less)", fontsize=9, loc="left")


def _write(axes: Axes, column: int, row: int, share: float, bounds: tuple[float, float] | None) -> None:
    if np.isnan(share):
        axes.text(column, row, "-", ha="center", va="center", fontsize=8)
        return
    place = (share - _DARKEST) / (_LIGHTEST - _DARKEST)
    colour = text_on(size_colour(place))
    has_bounds = bounds is not None and bool(np.isfinite(bounds).all())
    axes.text(column, row - 0.15 * has_bounds, f"{100 * share:.1f}", ha="center", va="center", fontsize=8, color=colour)
    if bounds is not None and has_bounds:
        text = f"{100 * bounds[0]:.0f} to {100 * bounds[1]:.0f}"
        axes.text(column, row + 0.25, text, ha="center", va="center", fontsize=6, color=colour)


def _named(source: str, p: int) -> str:
    return f"{p}\n{shortened(PurePath(source).name, _MOST_LETTERS)}"


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)
