"""Pictures of profiles: the longest functions of a run with their imbalance, and times over what was varied."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perf_analysis.profile.run_profile import NO_STATE
from perf_analysis.profile.tables import label_of, longest_functions
from perf_views.colours import AREAS, INK
from perf_views.names import plain_names, shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from perf_analysis.profile.profiles import Profiles


# Okabe and Ito's colours, which people with any colour vision tell apart.
_MOST_BARS = 15
_MOST_LINES = 8
_MOST_IN_TITLE = 90


def draw_run(profiles: Profiles, title: str, figure: Figure) -> None:
    """Draw the longest functions of the only run: bars of the mean, whiskers from the shortest to the longest
    location.
    """
    run = profiles[0]
    names = [name for name in longest_functions(profiles, _MOST_BARS + 1) if name != NO_STATE][:_MOST_BARS]
    rows = [run.functions.index(name) for name in names]
    n = len(run.locations)
    axes = figure.add_subplot()
    left, places = np.zeros(len(rows)), np.arange(len(rows))
    few = len(run.parts) <= len(AREAS)
    by_part = run.times_ns.sum(axis=1) if few else run.by_function_ns[:, None]
    for part, name in enumerate(run.parts if few else [""]):
        width = 100.0 * by_part[rows, part] / n / run.elapsed_ns
        axes.barh(places, width, left=left, color=AREAS[part], label=name or None)
        left += width
    if n > 1:
        times = 100.0 * run.by_location_ns[rows] / run.elapsed_ns
        low, high = times.min(axis=1), times.max(axis=1)
        # The mean of equal numbers is off by the last bit of it.
        reach = np.maximum([left - low, high - left], 0.0)
        axes.errorbar(left, places, xerr=reach, fmt="none", ecolor=INK, elinewidth=1.0, capsize=2.5)
    axes.set_yticks(places, plain_names(names), fontsize=8, parse_math=False)
    axes.set(ylim=(len(rows) - 0.5, -0.5), xlabel="share of the run's time (%)", xlim=(0.0, None))
    if n > 1:
        axes.set_xlabel(f"share of the run's time (%): mean of {n} locations, and from the shortest to the longest")
    axes.set_title(shortened(title, _MOST_IN_TITLE), fontsize=10, loc="left", parse_math=False)
    if few and len(run.parts) > 1:
        figure.legend(loc="outside lower center", ncols=4, fontsize=8, frameon=False)


def draw_runs(profiles: Profiles, title: str, figure: Figure) -> None:
    """Draw the longest functions over the first parameter, or beside one another where it is the same in all runs."""
    names = longest_functions(profiles, _MOST_LINES)
    column = next(iter(profiles.parameters.values()))
    levels = np.array([float(run.parameters[column]) for run in profiles])
    varied = len(set(levels.tolist())) > 1 and bool((levels > 0).all())
    places = levels if varied else np.arange(float(len(levels)))
    order = np.argsort(places, kind="stable")
    axes = figure.add_subplot()
    for name, text, colour in zip(names, plain_names(names), AREAS, strict=False):
        times = [run.by_function_ns[run.functions.index(name)] if name in run.present else 0 for run in profiles]
        seconds = np.array([time / len(run.locations) / 1e9 for time, run in zip(times, profiles, strict=True)])
        drawn = np.where(seconds > 0, seconds, np.nan)  # of which there is no logarithm
        axes.plot(places[order], drawn[order], "o-" if varied else "o", color=colour, label=text, ms=4)
    if varied:
        axes.set_xscale("log", base=2)
        ticks = sorted(set(levels.tolist()))
        axes.set_xticks(ticks, [f"{level:g}" for level in ticks])
        axes.set_xlabel(column, parse_math=False)
    else:
        axes.set_xticks(places, [label_of(profiles, run) for run in profiles], fontsize=7, parse_math=False)
    axes.set_yscale("log")
    axes.set_ylabel("time of a location, mean of all (s)")
    axes.set_title(shortened(title, _MOST_IN_TITLE), fontsize=10, loc="left", parse_math=False)
    figure.legend(loc="outside lower center", ncols=4, fontsize=8, frameon=False)
