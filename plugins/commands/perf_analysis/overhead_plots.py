"""Pictures of lost cycles: categories over time, by location, and the phases' edges."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_analysis.scaling_efficiencies import efficiencies_of_runs
from perf_traces.pop_steps import FACTORS
from perf_views.colours import AREAS, CLASS_COLOURS, INK, PAPER, SIZES, pale, size_colour, text_on
from perf_views.data_pictures import time_axis
from perf_views.names import shortened, unique_suffixes
from perf_views.style import legend_below
from perfcore.results import Panel, Panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from perf_analysis.overhead_profile import OverheadProfile
    from perf_analysis.overheads import OverheadRuns
    from perf_analysis.scaling_efficiencies import ExternalMetrics


# How far a factor stands below those whose product it is part of.
_LEVEL = {
    "global": 0, "parallel": 1, "computation scalability": 1, "serialisation": 3, "transfer": 3,
    "MPI load balance": 3, "MPI communication": 3, "MPI serialisation": 4, "MPI transfer": 4,
    "OpenMP serialisation": 3, "OpenMP load balance": 3, "OpenMP scheduling": 3,
    "GPU communication": 3, "GPU orchestration": 3,
}  # fmt: skip
_MOST_COLUMNS = 16  # whose numbers can be read; of more, some that lie evenly between the first and the last
_LABEL_POINTS = 125  # as wide as the longest name with its indentation
# Efficiencies below have the darkest colour; POP's own tables are red from 80 % down, but half is not all.
_DARKEST, _LIGHTEST = 0.4, 1.0

Column = tuple[str, dict[str, float | None]]


def efficiency_columns(profiles: Sequence[OverheadProfile], others: Sequence[ExternalMetrics] = ()) -> list[Column]:
    """What stands above each column, and its factors; in the order of locations."""
    rows = efficiencies_of_runs(profiles) or []
    columns_by_p: list[tuple[float, Column]] = []
    for profile, row in zip(profiles, rows, strict=False):
        columns_by_p.append((len(profile.locations), (_named(profile.source, len(profile.locations)), row)))
    for other in others:
        columns_by_p.append((other.p, (_named(other.source, other.p), dict(other.factors))))
    return [column for _, column in sorted(columns_by_p, key=lambda item: item[0])]


def draw_efficiency_table(columns: Sequence[Column], axes: Axes) -> None:
    """Draw numbers in cells, darker for less, so that they can be read without colours."""
    if len(columns) > _MOST_COLUMNS:
        columns = [columns[index] for index in np.unique(np.linspace(0, len(columns) - 1, _MOST_COLUMNS).astype(int))]
    names = [name for name in FACTORS if any(values.get(name) is not None for _, values in columns)]
    shares = np.array([[_number(values.get(name)) for _, values in columns] for name in names])
    axes.imshow(
        np.ma.masked_invalid(shares), cmap=SIZES, vmin=_DARKEST, vmax=_LIGHTEST, aspect="auto",
        interpolation="nearest", label="efficiency",
    )  # fmt: skip
    for (row, column), share in np.ndenumerate(shares):
        _write(axes, column, row, share)
    axes.set_xticks(range(len(columns)), [title for title, _ in columns], fontsize=7, parse_math=False)
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


def _write(axes: Axes, column: int, row: int, share: float) -> None:
    if np.isnan(share):
        axes.text(column, row, "-", ha="center", va="center", fontsize=8)
        return
    place = (share - _DARKEST) / (_LIGHTEST - _DARKEST)
    colour = text_on(size_colour(place))
    axes.text(column, row, f"{100 * share:.1f}", ha="center", va="center", fontsize=8, color=colour)


def _named(source: str, p: int) -> str:
    return f"{p}\n{shortened(PurePath(source).name, _MOST_LETTERS)}"


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


# The class of states whose colour a category has, so that the timeline and this say the same; those of other sets take
# what is left.
_CLASS_OF = {
    "pure computation": "computing", "computing": "computing", "other": "other",
    "load imbalance": "waiting", "waiting for other ranks": "waiting", "insufficient parallelism": "idle",
    "communication loss": "communicating", "exposed communication": "communicating",
    "synchronization loss": "synchronizing", "exposed copies": "transferring", "input and output": "io",
    "resource contention": "contending", "runtime overhead": "runtime", "waiting for the host": "runtime",
    "launched, not started": "unknown", "idle": "idle", "not running": "not_running",
}  # fmt: skip
_HIDDEN = {"hidden communication": "communicating", "hidden copies": "transferring"}  # under computing
_MOST_LETTERS = 24  # of a location's name; longer ones would take the place of the bars
_MOST_BARS, _EXTREME = 40, 12  # by location; of more locations so many at either end have a bar of their own
_BAR = 0.13  # inches, with its name


def profile_panels(profile: OverheadProfile) -> Panels:
    """Categories over time and by location."""
    n_bars = min(len(profile.locations), _MOST_BARS)
    return {
        "time": Panel(partial(_draw_time, profile), height=max(4.1, _BAR * n_bars + 0.5), width=0.75),
        "locations": Panel(partial(_draw_locations, profile), width=0.25),
    }


def comparison_panels(runs: OverheadRuns) -> Panels:
    """The share of each category in each of several runs by the same set, and the table of their efficiencies."""
    columns = efficiency_columns(list(runs), runs.others)
    shares = partial(_draw_shares, list(runs))
    if not columns:
        return {"categories": shares}
    efficiencies = partial(draw_efficiency_table, columns)
    return {"categories": Panel(shares, 2.4, 1.0), "efficiencies": Panel(efficiencies, 3.2, 1.0)}


def _draw_shares(profiles: Sequence[OverheadProfile], axes: Axes) -> None:
    shares = np.array([profile.by_category_ns / profile.total_ns for profile in profiles]).T
    rows, left = np.arange(len(profiles)), np.zeros(len(profiles))
    colours = _category_colours(profiles[0].categories)
    for category in np.flatnonzero(shares.any(axis=1)):
        label, colour = profiles[0].categories[category], colours[category]
        axes.barh(rows, 100.0 * shares[category], left=left, color=colour, label=shortened(label, _MOST_LETTERS))
        left += 100.0 * shares[category]
    called = unique_suffixes([profile.source for profile in profiles])
    names = [
        f"{shortened(name, _MOST_LETTERS)} ({len(profile.locations)})"
        for name, profile in zip(called, profiles, strict=True)
    ]
    axes.set_yticks(rows, names, fontsize=7, parse_math=False)
    axes.set(ylim=(len(profiles) - 0.5, -0.5), xlim=(0.0, 100.0), xlabel="share of the run's cycles [%]")
    axes.set_ylabel("run (locations)")
    legend_below(axes)


def _category_colours(names: Sequence[str]) -> list[str]:
    known = {name: CLASS_COLOURS[_CLASS_OF[name]] for name in names if name in _CLASS_OF}
    known |= {name: pale(CLASS_COLOURS[_HIDDEN[name]]) for name in names if name in _HIDDEN}
    used = {colour.lower() for colour in known.values()}
    left = itertools.cycle([colour for colour in AREAS if colour.lower() not in used])
    return [known[name] if name in known else next(left) for name in names]


def _present(profile: OverheadProfile) -> list[tuple[int, str, str]]:
    """Number, label and colour of each category that has any time."""
    colours = _category_colours(profile.categories)
    present = np.flatnonzero(profile.by_category_ns).tolist()
    return [(index, shortened(profile.categories[index], _MOST_LETTERS), colours[index]) for index in present]


def _draw_time(profile: OverheadProfile, axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    edges = profile.timeline_edges_ns
    place = time_axis(axes, float(edges[0]), float(edges[-1]), "ns")
    below = np.zeros(len(edges) - 1)
    for index, label, colour in _present(profile):
        above = below + profile.timeline_ns[index] / np.diff(edges)
        axes.stairs(above, place(edges), baseline=below, fill=True, color=colour, label=label)
        below = above
    for index, edge in enumerate(profile.edges_ns[1:-1]):
        phases = "phases" if index == 0 else None
        axes.axvline(float(place(edge)), color=INK, linewidth=0.9, linestyle=":", label=phases)
    axes.set_ylim(0.0, len(profile.locations))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("locations")
    legend_below(axes)


def _draw_locations(profile: OverheadProfile, axes: Axes) -> None:
    count = len(profile.locations)
    shares, title = profile.by_location_ns / profile.elapsed_ns, "by location"
    members = np.split(np.arange(count), count)
    if count > _MOST_BARS:  # the extreme ones, and the others as means of those that are like them
        category = int(np.argmax(np.ptp(profile.by_location_ns, axis=1)))
        order = np.argsort(-shares[category], kind="stable")
        groups = np.array_split(order[_EXTREME:-_EXTREME], min(count, _MOST_BARS) - 2 * _EXTREME)
        members = [*np.split(order[:_EXTREME], _EXTREME), *groups, *np.split(order[-_EXTREME:], _EXTREME)]
        title = f"by location: most and least\n{shortened(profile.categories[category], _MOST_LETTERS)}"
    rows = np.arange(len(members))
    shares = np.column_stack([shares[:, group].mean(axis=1) for group in members])
    left = np.zeros(len(rows))
    for index, label, colour in _present(profile):
        height = 0.9 if len(rows) < 20 or count > _MOST_BARS else 1.0
        axes.barh(rows, 100.0 * shares[index], left=left, color=colour, height=height, label=label)
        left += 100.0 * shares[index]
    names = [
        shortened(profile.locations[group[0]], _MOST_LETTERS) if len(group) == 1 else f"mean of {len(group):,}"
        for group in members
    ]
    axes.set_yticks(rows, names, fontsize=7, parse_math=False)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0.0, 100.0)
    axes.set_xlabel("share of time [%]")
    axes.set_title(title, fontsize=9, parse_math=False)
    legend_below(axes)
