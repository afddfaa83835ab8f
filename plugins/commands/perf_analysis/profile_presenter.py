"""How profiles are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_analysis.inclusive_times import CYCLES, INSTRUCTIONS
from perf_analysis.profiles import NO_STATE, Profiles, RunProfile, imbalance_of
from perf_views.colours import AREAS, INK
from perf_views.function_names import plain_names
from perf_views.short_names import shortened
from perfcore.data.units import readable
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from perf_analysis.profiles import Profiles


_MOST_FUNCTIONS = 20
_MOST_RUNS = 8
_MOST_PARTS = 40
_MOST_IN_MIXTURE = 4
_LEAST_SHARE = 0.005  # of what is named in a mixture

Table = tuple[str, list[str], list[list[str]]]


def profile_tables(profiles: Profiles) -> Tables:
    """A flat profile of one run, or the functions of several; where parts are asked for, what each consists of."""
    tables = [_flat(profiles[0])] if len(profiles) == 1 else [_over_runs(profiles)]
    if profiles.by != "function":
        tables += [_parts(profiles, run) for run in profiles.runs[-_MOST_RUNS:]]
    return tables


def longest_functions(profiles: Profiles, most: int) -> tuple[str, ...]:
    """The functions with the longest times, and the time in none of them wherever it stands by its length."""
    total = {
        name: sum(
            float(run.by_function_ns[run.functions.index(name)]) / run.total_ns
            for run in profiles
            if name in run.functions
        )
        for name in profiles.functions
    }
    return tuple(sorted(total, key=lambda name: -total[name])[:most])


def mixture(names: Sequence[str], times_ns: Any) -> str:
    """Names of functions by their shares of a time: ``84% dgemm, 12% dtrsm``."""
    total = float(times_ns.sum())
    if not total:
        return "-"
    order = np.argsort(-times_ns, kind="stable")[:_MOST_IN_MIXTURE]
    parts = [
        f"{times_ns[index] / total:.0%} {names[index]}" for index in order if times_ns[index] >= _LEAST_SHARE * total
    ]
    return ", ".join(parts)


def label_of(profiles: Profiles, run: RunProfile) -> str:
    """What tells a run from the others: ``ranks=4``, and its place where several are alike."""

    def parameters_of(each: RunProfile) -> str:
        return ", ".join(f"{column}={each.parameters[column]:g}" for column in profiles.parameters.values()) + "".join(
            f" {value}" for name, value in each.parameters.items() if isinstance(value, str)
        )

    same_label = [each for each in profiles if parameters_of(each) == parameters_of(run)]
    return parameters_of(run) if len(same_label) == 1 else f"{parameters_of(run)} ({same_label.index(run) + 1})"


def _flat(run: RunProfile) -> Table:
    """A row for each function with its share, times and imbalance."""
    spread, longest = imbalance_of(run.by_location_ns), run.by_location_ns.argmax(axis=1)
    order = [index for index in np.argsort(-run.by_function_ns, kind="stable").tolist() if run.occurs[index]]
    rows, n = [], len(run.locations)
    listed = order[:_MOST_FUNCTIONS]
    for index, called in zip(listed, plain_names([run.functions[index] for index in listed]), strict=True):
        time = int(run.by_function_ns[index])
        rows.append(
            [
                called,
                f"{time / run.total_ns:.2%}",
                readable(time, "ns"),
                readable(time / n, "ns"),
                readable(int(run.by_location_ns[index].max()), "ns"),
                f"{spread[index]:.2f}" if time else "-",
                run.locations[longest[index]] if time and n > 1 else "-",
                *_calls(run, [index]),
            ]
        )
    rest = order[_MOST_FUNCTIONS:]
    if rest:
        time = int(run.by_function_ns[rest].sum())
        rows.append(
            [f"{len(rest)} others", f"{time / run.total_ns:.2%}", readable(time, "ns"), readable(time / n, "ns")]
        )
        rows[-1] += ["", "", "", "", _calls(run, rest)[1]]
    rows.append(["sum", "100.00%", readable(run.total_ns, "ns"), readable(run.elapsed_ns, "ns"), *[""] * 5])
    header = ["function", "share", "time of all", "mean", "longest", "longest/mean", "in", "inclusive", "calls"]
    for cells, index in zip([header, *rows], [None, *listed, *([rest] if rest else []), order], strict=True):
        cells.extend(_counted(run, index))
    return ("Exclusive times, of all locations, and of the mean and the longest one", header, rows)


def _calls(run: RunProfile, functions: Any) -> list[str]:
    """Inclusive time of a location, mean of all, and calls of all; a dash where they are not known."""
    if not run.has_calls or [run.functions[index] for index in functions] == [NO_STATE]:
        return ["-", "-"]
    inclusive, calls = (int(table[functions].sum()) for table in (run.inclusive_ns, run.calls))
    return [readable(inclusive / len(run.locations), "ns"), str(calls)]


def _counted(run: RunProfile, functions: Any) -> list[str]:
    """Instructions and instructions per cycle of functions, or their headings; nothing where they were not counted."""
    instructions, cycles = (run.counted.get(name) for name in (INSTRUCTIONS, CYCLES))
    if instructions is None:
        return []
    if functions is None:
        return [INSTRUCTIONS] if cycles is None else [INSTRUCTIONS, "IPC"]
    total = int(instructions[functions].sum())
    cells = [f"{total:.4g}"]
    if cycles is not None:
        took = int(cycles[functions].sum())
        cells.append(f"{total / took:.2f}" if took else "-")
    return cells


def _over_runs(profiles: Profiles) -> Table:
    """Mean times over locations, a column for each run."""
    runs = _shown_runs(profiles)
    names = longest_functions(profiles, _MOST_FUNCTIONS)
    header = ["function", *(label_of(profiles, run) for run in runs), "share of the last", "longest/mean of it"]
    last = runs[-1]
    spread = imbalance_of(last.by_location_ns)
    rows = []
    for name, called in zip(names, plain_names(names), strict=True):
        cells = [readable(_mean_ns(run, [name]), "ns") for run in runs]
        index = last.functions.index(name) if name in last.present else None
        rows.append([called, *cells, f"{_mean_ns(last, [name]) / last.elapsed_ns:.2%}"])
        rows[-1].append("-" if index is None or np.isnan(spread[index]) else f"{spread[index]:.2f}")
    rest = [name for name in profiles.functions if name not in names]
    if rest:
        cells = [readable(_mean_ns(run, rest), "ns") for run in runs]
        rows.append([f"{len(rest)} others", *cells, f"{_mean_ns(last, rest) / last.elapsed_ns:.2%}", ""])
    rows.append(["sum", *(readable(run.elapsed_ns, "ns") for run in runs), "100.00%", ""])
    more = f" ({len(runs)} of {len(profiles)} runs)" if len(runs) < len(profiles) else ""
    return (f"Exclusive time of a location, mean of all{more}", header, rows)


def _shown_runs(profiles: Profiles) -> list[RunProfile]:
    """The runs in the order of what was varied; of many the first and the last ones."""
    columns = list(profiles.parameters.values())
    runs = sorted(profiles, key=lambda run: [run.parameters[column] for column in columns])
    return runs if len(runs) <= _MOST_RUNS else [runs[0], *runs[1 - _MOST_RUNS :]]


def _mean_ns(run: RunProfile, names: Sequence[str]) -> float:
    place = {name: index for index, name in enumerate(run.functions)}
    return sum(int(run.by_function_ns[place[name]]) for name in names if name in place) / len(run.locations)


def _parts(profiles: Profiles, run: RunProfile) -> Table:
    """What each phase, marker, location or rank consists of."""
    which = f" of {run.source}" if len(profiles) > 1 else ""
    called = plain_names(run.functions)
    if profiles.by in ("phase", "marker"):
        by_part = run.times_ns.sum(axis=1)
        rows = [
            [name, readable(duration, "ns"), f"{duration / run.elapsed_ns:.2%}", mixture(called, by_part[:, index])]
            for index, (name, duration) in enumerate(zip(run.parts, run.parts_ns.tolist(), strict=True))
        ]
        header = [profiles.by, "duration", "share", "functions"]
    else:
        names = run.locations if profiles.by == "location" else run.ranks
        computes = np.isin(run.functions, run.computing)
        rows = []
        for name in dict.fromkeys(names):
            members = [index for index, each in enumerate(names) if each == name]
            times = run.by_location_ns[:, members].sum(axis=1)
            computing = f"{times[computes].sum() / times.sum():.2%}"
            rows.append([name or "(no rank)", computing, mixture(called, times)])
        header = [profiles.by, "computing", "functions"]
    if len(rows) > _MOST_PARTS:
        rows = [*rows[:_MOST_PARTS], [f"{len(rows) - _MOST_PARTS} more", *[""] * (len(header) - 1)]]
    return (f"What each {profiles.by}{which} is made of", header, rows)


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


class ProfilesPresenter(Presenter):
    """One run, or several beside one another."""

    def title(self, result: Profiles) -> str:
        """Of which run, or of how many."""
        return f"Time by function: {result.source}"

    def summary(self, result: Profiles) -> list[str]:
        """The run in a line, or how many there are; and what must be known about them."""
        first = result[0]
        if len(result) == 1:
            n = len(first.locations)
            line = (
                f"{first.source}: {n} location{'s' if n != 1 else ''} x {readable(first.elapsed_ns, 'ns')} = "
                f"{readable(first.total_ns, 'ns')}"
            )
        else:
            line = f"{len(result)} runs over {', '.join(result.parameters)}"
        return [f"{line}; every nanosecond of a location is in exactly one function", *result.remarks()]

    def tables(self, result: Profiles) -> Tables:
        """A flat profile, or one row for each function and one column for each run; then the parts."""
        from perf_analysis.profile_presenter import profile_tables

        return profile_tables(result)

    def plain_tables(self, result: Profiles) -> Tables:
        """The whole table."""
        frame = result.table()
        cells = frame.astype(object).where(frame.notna(), "").map(str)
        return [("", list(map(str, frame.columns)), cells.to_numpy().tolist())]

    def frame(self, result: Profiles) -> pd.DataFrame:
        """A row for each function of each run, and of each part of it; see `Profiles.measurements`."""
        return result.table()

    def draw(self, result: Profiles, figure: Figure, data: Any = None) -> None:
        """The longest functions of the run, or over what was varied."""
        from perf_analysis.profile_presenter import draw_run, draw_runs

        if len(result) == 1:
            draw_run(result, self.title(result), figure)
        else:
            draw_runs(result, self.title(result), figure)
