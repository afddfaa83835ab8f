"""How profiles are shown."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_analysis.inclusive_times import CYCLES, INSTRUCTIONS
from perf_analysis.profiles import NO_STATE, Profiles, RunProfile, imbalance_of
from perf_analysis.scaling_efficiencies import time_column
from perf_views.colours import AREAS, INK
from perf_views.names import existing_file, plain_names
from perfcore.data.units import readable
from perfcore.results import Column, Panels, Presenter, Table, Tables

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_MOST_FUNCTIONS = 20
_MOST_RUNS = 8
_MOST_BARS, _MOST_LINES = 15, 8
_MOST_PARTS = 40
_MOST_IN_MIXTURE = 4
_LEAST_SHARE = 0.005  # of what is named in a mixture


def longest_functions(profiles: Profiles, most: int) -> tuple[str, ...]:
    """The functions with the longest times, and the time in none of them wherever it stands by its length."""
    total = dict.fromkeys(profiles.functions, 0.0)
    for run in profiles:
        for name, time in zip(run.functions, run.by_function_ns.tolist(), strict=True):
            if name in total:
                total[name] += time / run.total_ns
    return tuple(sorted(total, key=lambda name: -total[name])[:most])


def mixture(names: Sequence[str], times_ns: Any) -> str:
    """Names of functions by their shares of a time: ``84% dgemm, 12% dtrsm``."""
    total = float(times_ns.sum())
    if not total:
        return "-"
    order = np.argsort(-times_ns, kind="stable")[:_MOST_IN_MIXTURE]
    parts = [f"{times_ns[k] / total:.0%} {names[k]}" for k in order if times_ns[k] >= _LEAST_SHARE * total]
    return ", ".join(parts)


def label_of(profiles: Profiles, run: RunProfile) -> str:
    """What distinguishes a run from the others: ``ranks=4``, and its place where several are alike."""

    def parameters_of(each: RunProfile) -> str:
        return ", ".join(f"{column}={each.parameters[column]:g}" for column in profiles.parameters.values()) + "".join(
            f" {value}" for name, value in each.parameters.items() if isinstance(value, str)
        )

    same_label = [each for each in profiles if parameters_of(each) == parameters_of(run)]
    return parameters_of(run) if len(same_label) == 1 else f"{parameters_of(run)} ({same_label.index(run) + 1})"


_FLAT = [
    Column("function", "function"),
    Column("share", "share", format=".2%"),
    Column("total time", "time", "ns", "time"),
    Column("mean per location", "mean", "ns", "time", key="mean_ns"),
    Column("longest", "longest", "ns", "time", importance="verbose"),
    Column("imbalance", "imbalance", format=".2f"),
    Column("slowest location", "slowest"),
    Column("inclusive", "inclusive", "ns", "time"),
    Column("calls", "calls"),
    Column(INSTRUCTIONS, INSTRUCTIONS, format=".4g"),
    Column("IPC", "ipc", format=".2f"),
]


def _flat(run: RunProfile) -> Table:
    """A row for each function with its share, times and imbalance."""
    order = [index for index in np.argsort(-run.by_function_ns, kind="stable").tolist() if run.occurs[index]]
    listed, others = order[:_MOST_FUNCTIONS], order[_MOST_FUNCTIONS:]
    names = plain_names([run.functions[index] for index in listed])
    groups = [(name, [index]) for name, index in zip(names, listed, strict=True)]
    groups += [(f"{len(others)} others", others)] if others else []
    rows = [_flat_row(run, name, group) for name, group in [*groups, ("total", order)]]
    return Table(_FLAT, rows, "Exclusive time by function")


def _flat_row(run: RunProfile, name: str, group: list[int]) -> dict[str, Any]:
    """What is known of some functions together; of one also how locations differ."""
    time, n = int(run.by_function_ns[group].sum()), len(run.locations)
    row: dict[str, Any] = {"function": name, "share": time / run.total_ns, "time": time, "mean": time / n}
    if len(group) == 1 and time and name != "total":
        times = run.by_location_ns[group]
        row |= {"longest": int(times.max()), "imbalance": float(imbalance_of(times)[0])}
        row |= {"slowest": run.locations[times.argmax()]} if n > 1 else {}
    if run.has_calls and name != "total" and [run.functions[index] for index in group] != [NO_STATE]:
        row |= {"calls": int(run.calls[group].sum())}
        row |= {"inclusive": int(run.inclusive_ns[group].sum()) / n} if len(group) == 1 else {}
    if (instructions := run.counted.get(INSTRUCTIONS)) is not None:
        row[INSTRUCTIONS] = float(instructions[group].sum())
        if (cycles := run.counted.get(CYCLES)) is not None and cycles[group].any():
            row["ipc"] = row[INSTRUCTIONS] / int(cycles[group].sum())
    return row


def _over_runs(profiles: Profiles) -> Table:
    """Mean times over locations, a column for each run."""
    runs = _shown_runs(profiles)
    names = longest_functions(profiles, _MOST_FUNCTIONS)
    last, rest = runs[-1], [name for name in profiles.functions if name not in names]
    groups = [*([name] for name in names), *([rest] if rest else []), list(profiles.functions)]
    spread = dict(zip(last.functions, imbalance_of(last.by_location_ns).tolist(), strict=True))
    columns = [Column("function", [*plain_names(names), *([f"{len(rest)} others"] if rest else []), "sum"])]
    for run in runs:
        columns.append(time_column(label_of(profiles, run), [_mean_ns(run, group) for group in groups]))
    shares = [_mean_ns(last, group) / last.elapsed_ns for group in groups]
    imbalances = [spread.get(name) for name in names] + [None] * (len(groups) - len(names))
    columns += [Column("last share", shares, format=".2%"), Column("last imbalance", imbalances, format=".2f")]
    more = f" ({len(runs)} of {len(profiles)} runs)" if len(runs) < len(profiles) else ""
    return Table(columns, title=f"Mean exclusive time per location{more}")


def _parts(profiles: Profiles, run: RunProfile) -> Table:
    """What each phase, marker, location or rank consists of."""
    called = plain_names(run.functions)
    if profiles.by in ("phase", "marker"):
        columns = [
            Column(profiles.by, run.parts),
            Column("duration", run.parts_ns, "ns", "time"),
            Column("share", run.parts_ns / run.elapsed_ns, format=".2%"),
            Column("functions", [mixture(called, times) for times in run.times_ns.sum(axis=1).T]),
        ]
    else:
        names = run.locations if profiles.by == "location" else run.ranks
        computes = np.isin(run.functions, run.computing)
        distinct = list(dict.fromkeys(names))
        times = [run.by_location_ns[:, [each == name for each in names]].sum(axis=1) for name in distinct]
        columns = [
            Column(profiles.by, [name or "(no rank)" for name in distinct]),
            Column("computing", [each[computes].sum() / each.sum() for each in times], format=".2%"),
            Column("functions", [mixture(called, each) for each in times]),
        ]
    which = f" of {run.source}" if len(profiles) > 1 else ""
    return Table(columns, title=f"Time breakdown by {profiles.by}{which}", limit=_MOST_PARTS)


def _shown_runs(profiles: Profiles) -> list[RunProfile]:
    """The runs in the order of what was varied; of many the first and the last ones."""
    columns = list(profiles.parameters.values())
    runs = sorted(profiles, key=lambda run: [run.parameters[column] for column in columns])
    return runs if len(runs) <= _MOST_RUNS else [runs[0], *runs[1 - _MOST_RUNS :]]


def _mean_ns(run: RunProfile, names: Sequence[str]) -> float:
    place = {name: index for index, name in enumerate(run.functions)}
    return sum(int(run.by_function_ns[place[name]]) for name in names if name in place) / len(run.locations)


def _draw_run(profiles: Profiles, axes: Axes) -> None:
    """The longest functions of the only run: bars of the mean, whiskers from the shortest to the longest location."""
    from perf_views.style import legend_below

    run = profiles[0]
    names = [name for name in longest_functions(profiles, _MOST_BARS + 1) if name != NO_STATE][:_MOST_BARS]
    rows = [run.functions.index(name) for name in names]
    n = len(run.locations)
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
    axes.set(ylim=(len(rows) - 0.5, -0.5), xlabel="share of runtime [%]", xlim=(0.0, None))
    if n > 1:
        axes.set_xlabel(f"share of runtime [%] (mean and range of {n} locations)")
    if few and len(run.parts) > 1:
        legend_below(axes)


def _draw_runs(profiles: Profiles, axes: Axes) -> None:
    """The longest functions over the first parameter, or side by side where it is the same in all runs."""
    from perf_views.style import legend_below

    names = longest_functions(profiles, _MOST_LINES)
    column = next(iter(profiles.parameters.values()))
    levels = np.array([float(run.parameters[column]) for run in profiles])
    varied = len(set(levels.tolist())) > 1 and bool((levels > 0).all())
    places = levels if varied else np.arange(float(len(levels)))
    order = np.argsort(places, kind="stable")
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
    axes.set_ylabel("mean time per location [s]")
    legend_below(axes)


class ProfilesPresenter(Presenter):
    """One run, or several side by side."""

    def title(self, result: Profiles) -> str:
        return f"Time by function: {result.source}"

    def answer(self, result: Profiles) -> str:
        run = result.runs[-1]
        largest = np.argsort(-run.by_function_ns, kind="stable")[:2].tolist()
        names = plain_names([run.functions[k] for k in largest])
        shares = [f"{run.by_function_ns[k] / run.total_ns:.1%} {name}" for k, name in zip(largest, names, strict=True)]
        n, source = len(run.locations), Path(run.source).name or run.source
        size = f"{n} location{'s' * (n != 1)} x {readable(run.elapsed_ns, 'ns', 4)}"
        before = f"{len(result)} runs over {', '.join(result.parameters)}, last " if len(result) > 1 else ""
        return f"{before}{source}: {', '.join(shares)} of {size}"

    def caveats(self, result: Profiles) -> dict[str, Sequence[str]]:
        return {"Uncertain": result.remarks()}

    def next_command(self, result: Profiles) -> str:
        file = existing_file(result[0].source)
        return f"perf overheads {file}" if file and len(result) == 1 else ""

    def tables(self, result: Profiles) -> Tables:
        tables = [_flat(result[0])] if len(result) == 1 else [_over_runs(result)]
        if result.by != "function":
            tables += [_parts(result, run) for run in result.runs[-_MOST_RUNS:]]
        return tables

    def plain_tables(self, result: Profiles) -> Tables:
        frame = result.table()
        return [Table([Column(name, frame[name].tolist(), key=name) for name in map(str, frame.columns)])]

    def frame(self, result: Profiles) -> pd.DataFrame:
        return result.table()

    def panels(self, result: Profiles, data: Any = None) -> Panels:
        return {"functions": partial(_draw_run if len(result) == 1 else _draw_runs, result)}
