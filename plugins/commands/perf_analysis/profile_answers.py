"""What is said of profiles: the answer, tables and the plot of one run and of several."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_analysis.categories import NO_STATE
from perf_analysis.nested_calls import CYCLES, INSTRUCTIONS
from perf_analysis.scaling_efficiencies import time_column
from perf_views.names import existing_file, plain_names, shortened
from perfcore.data.units import readable
from perfcore.report import Axis, Bars, Column, Figure, Line, Note, Plot, Points, Report, Spans, Table, Text

if TYPE_CHECKING:
    from perf_analysis.profiles import Profiles, RunProfile

_LETTERS = 60  # of a name, where there is room
_MOST_FUNCTIONS, _MOST_RUNS, _MOST_PATHS = 20, 8, 8
_MOST_BARS, _MOST_LINES, _MOST_AREAS = 15, 8, 10
_MOST_PARTS = 40
_NARROWEST, _MOST_BOXES, _LETTERS_ACROSS = 0.002, 1000, 130  # of an icicle: share of a box, boxes, and letters
_MOST_IN_MIXTURE, _LEAST_SHARE = 4, 0.005  # functions, and of what is named in a mixture
_IMBALANCED = 1.1  # longest by mean time, from which on it matters which location


def report_of(profiles: Profiles, data: Any = None) -> Report:
    """Return the report of profiles of one run or of several."""
    run, n_runs = _shown_runs(profiles)[-1], len(profiles)
    largest = np.argsort(-run.by_function_ns, kind="stable")[:2].tolist()
    names = plain_names([run.functions[k] for k in largest], _LETTERS)
    figures = [Figure(name, int(run.by_function_ns[k]) / run.total_ns, format=".1%")
               for k, name in zip(largest, names, strict=True)]  # fmt: skip
    n, source = len(run.locations), Path(run.source).name or run.source
    size = f"{n} location{'s' * (n != 1)} x {readable(run.elapsed_ns, 'ns', 4)}"
    before = f"{n_runs} runs over {', '.join(profiles.parameters)}, last " if n_runs > 1 else ""
    answer = f"{before}{source}: {', '.join(f'{each.text} {each.name}' for each in figures)} of {size}"
    tables = [_flat(run)] if n_runs == 1 else [_over_runs(profiles)]
    if n_runs == 2 and all(each.paths is not None for each in profiles):
        tables.append(_path_differences(profiles))
    if profiles.by != "function":
        tables += [_parts(profiles, each) for each in profiles.runs[-_MOST_RUNS:]]
    frame = profiles.table()
    columns = [Column(name, frame[name].tolist(), key=name) for name in map(str, frame.columns)]
    notes = [Note("Uncertain", text) for text in profiles.remarks()]
    return Report(
        f"Time by function: {profiles.source}", answer, figures, [Table(columns, importance="data"), *tables],
        lambda: [_plot_of_runs(profiles)] if n_runs > 1 else [_plot_of_run(profiles), *_icicle(run)],
        notes, _next(profiles),
    )  # fmt: skip


def _next(profiles: Profiles) -> str:
    """By location where one of the longest functions is not balanced, and of locations who waits for whom."""
    run, file = profiles.runs[0], existing_file(profiles.runs[0].source)
    longest = np.argsort(-run.by_function_ns, kind="stable")[:2]
    if not file or len(profiles) > 1 or len(run.locations) < 2:
        return ""
    if profiles.by in ("location", "rank"):
        return f"perf messages {file}" if run.has_messages else ""
    is_unequal = profiles.by == "function" and (run.imbalance[longest] > _IMBALANCED).any()
    return f"perf profile {file} --by location" if is_unequal else ""


def longest_functions(profiles: Profiles, most: int) -> tuple[str, ...]:
    """Return the functions with the longest times, and the time in none of them wherever it stands by its length."""
    total = dict.fromkeys(profiles.functions, 0.0)
    for run in profiles:
        for name, time in zip(run.functions, run.by_function_ns.tolist(), strict=True):
            if name in total:
                total[name] += time / run.total_ns
    return tuple(sorted(total, key=lambda name: -total[name])[:most])


def mixture(names: Sequence[str], times_ns: Any) -> str:
    """Return names of functions by their shares of a time: ``84% dgemm, 12% dtrsm``."""
    total = float(times_ns.sum())
    if not total:
        return "-"
    order = np.argsort(-times_ns, kind="stable")[:_MOST_IN_MIXTURE]
    parts = [f"{times_ns[k] / total:.0%} {names[k]}" for k in order if times_ns[k] >= _LEAST_SHARE * total]
    return ", ".join(parts)


def label_of(profiles: Profiles, run: RunProfile) -> str:
    """Return what distinguishes a run from the others: ``ranks=4``, and its place if several are alike."""

    def parameters_of(each: RunProfile) -> str:
        return ", ".join(f"{column}={each.parameters[column]:g}" for column in profiles.parameters.values()) + "".join(
            f" {value}" for name, value in each.parameters.items() if isinstance(value, str)
        )

    same_label = [each for each in profiles if parameters_of(each) == parameters_of(run)]
    return parameters_of(run) if len(same_label) == 1 else f"{parameters_of(run)} ({same_label.index(run) + 1})"


def _path_differences(profiles: Profiles) -> Table:
    """Return the call paths whose times, with callees, differ most between two runs."""
    before, after = (
        {path: time / len(run.locations) for path, time in run.paths.named(run.functions, " → ").items()}
        for run in profiles if run.paths is not None
    )  # fmt: skip
    rows = [(path, before.get(path, 0.0), after.get(path, 0.0)) for path in before | after]
    rows.sort(key=lambda row: -abs(row[2] - row[1]))
    old, new = (label_of(profiles, run) for run in profiles)
    columns = [
        Column("call path", 0, least=_LETTERS),
        Column(old, 1, "ns", "time"),
        Column(new, 2, "ns", "time"),
        Column("difference", lambda row: row[2] - row[1], "ns", "time"),
        Column("ratio", lambda row: row[2] / row[1] if row[1] else None, format=".3g"),
    ]
    return Table(columns, rows, "Mean time per location with callees, by call path", limit=_MOST_PATHS)


def _flat(run: RunProfile) -> Table:
    """A row for each function with its share, times and imbalance."""
    order = [index for index in np.argsort(-run.by_function_ns, kind="stable").tolist() if run.occurs[index]]
    listed, others = order[:_MOST_FUNCTIONS], order[_MOST_FUNCTIONS:]
    names = plain_names([run.functions[index] for index in listed], _LETTERS)
    groups = [(name, [index]) for name, index in zip(names, listed, strict=True)]
    groups += [(f"{len(others)} others", others)] if others else []
    rows = [_flat_row(run, name, group) for name, group in [*groups, ("total", order)]]
    nests = any(row.get("inclusive") not in (None, row["time"]) for row in rows)
    several = len(run.locations) > 1
    columns = [
        Column("function", "function", least=_LETTERS),
        Column("share", "share", format=".1%"),
        Column("total time", "time", "ns", "time"),
        *([Column("imbalance", "imbalance", format=".2f"), Column("slowest location", "slowest")] if several else []),
        Column("calls", "calls"),
        *([Column("inclusive", "inclusive", "ns", "time")] if nests else []),
        *([Column("mean per location", "mean", "ns", "time", key="mean_ns", importance="verbose"),
           Column("longest", "longest", "ns", "time", importance="verbose")] if several else []),
        Column(INSTRUCTIONS, INSTRUCTIONS, format=".4g"),
        Column("IPC", "ipc", format=".2f"),
    ]  # fmt: skip
    return Table(columns, rows)


def _flat_row(run: RunProfile, name: str, group: list[int]) -> dict[str, Any]:
    """What is known of some functions together; of one also how locations differ."""
    time, n = int(run.by_function_ns[group].sum()), len(run.locations)
    row: dict[str, Any] = {"function": name, "share": time / run.total_ns, "time": time, "mean": time / n}
    if len(group) == 1 and time and name != "total":
        times = run.by_location_ns[group]
        row |= {"longest": int(times.max()), "imbalance": float(run.imbalance[group[0]])}
        row |= {"slowest": run.locations[times.argmax()]} if n > 1 else {}
    if run.has_calls and name != "total" and [run.functions[index] for index in group] != [NO_STATE]:
        row |= {"calls": int(run.calls[group].sum()) or None}  # of the background of calls none are known
        row |= {"inclusive": int(run.inclusive_ns[group].sum())} if len(group) == 1 else {}
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
    spread = dict(zip(last.functions, last.imbalance.tolist(), strict=True))
    shown = [*plain_names(names, _LETTERS), *([f"{len(rest)} others"] if rest else []), "sum"]
    columns = [Column("function", shown)]
    for run in runs:
        columns.append(time_column(label_of(profiles, run), [_mean_ns(run, group) for group in groups]))
    shares = [_mean_ns(last, group) / last.elapsed_ns for group in groups]
    imbalances = [spread.get(name) for name in names] + [None] * (len(groups) - len(names))
    if len(runs) == 2:
        before, after = (np.array([_mean_ns(run, group) for group in groups]) for run in runs)
        columns.append(Column("difference", after - before, "ns", "time"))
        ratios = np.divide(after, before, out=np.full(len(before), np.nan), where=before > 0)
        columns.append(Column("ratio", ratios, format=".3g"))
    columns += [Column("last share", shares, format=".1%"), Column("last imbalance", imbalances, format=".2f")]
    more = f" ({len(runs)} of {len(profiles)} runs)" if len(runs) < len(profiles) else ""
    return Table(columns, title=f"Mean exclusive time per location{more}")


def _parts(profiles: Profiles, run: RunProfile) -> Table:
    """What each phase, marker, location or rank consists of."""
    called = plain_names(run.functions)
    if profiles.by in ("phase", "marker"):
        columns = [
            Column(profiles.by, run.parts),
            Column("duration", run.parts_ns, "ns", "time"),
            Column("share", run.parts_ns / run.elapsed_ns, format=".1%"),
            Column("functions", [mixture(called, times) for times in run.times_ns.sum(axis=1).T]),
        ]
    else:
        names = run.locations if profiles.by == "location" else run.ranks
        computes = np.isin(run.functions, run.computing)
        distinct = list(dict.fromkeys(names))
        times = [run.by_location_ns[:, [each == name for each in names]].sum(axis=1) for name in distinct]
        columns = [
            Column(profiles.by, [name or "(no rank)" for name in distinct]),
            Column("computing", [each[computes].sum() / each.sum() for each in times], format=".1%"),
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


def _plot_of_run(profiles: Profiles) -> Plot:
    """The longest functions of the only run: bars of the mean, whiskers from the shortest to the longest location."""
    run = profiles[0]
    names = [name for name in longest_functions(profiles, _MOST_BARS + 1) if name != NO_STATE][:_MOST_BARS]
    rows = [run.functions.index(name) for name in names]
    n = len(run.locations)
    few = len(run.parts) <= _MOST_AREAS
    by_part = (run.times_ns.sum(axis=1) if few else run.by_function_ns[:, None])[rows] / n / run.elapsed_ns
    left, bars = np.zeros(len(rows)), []
    times = run.by_location_ns[rows] / run.elapsed_ns
    for part, name in enumerate(run.parts if few else [""]):
        last = n > 1 and part == by_part.shape[1] - 1
        low, high = (times.min(axis=1).tolist(), times.max(axis=1).tolist()) if last else ((), ())
        bars.append(Bars(range(len(rows)), by_part[:, part].tolist(), name, f"area:{part}", left.tolist(), True,
                         low=low, high=high))  # fmt: skip
        left = left + by_part[:, part]
    label = "share of runtime (mean, range)" if n > 1 else "share of runtime"
    of_names = Axis(scale="category", names=plain_names(names), is_reversed=True)
    return Plot("functions", bars, Axis(label, format=".0%", limits=(0.0, None)), of_names)


def _icicle(run: RunProfile) -> list[Plot]:
    """Return the call paths as an icicle: callees below their caller, as wide as their share of the time."""
    if run.paths is None:
        return []
    paths, depth = run.paths, run.paths.depth.tolist()
    share = (paths.time_ns / run.total_ns).tolist()
    begins, ends = [0.0] * len(share), dict[int, float]()  # where the next callee of a path begins
    for path in sorted(range(len(share)), key=lambda path: (depth[path], -share[path])):
        caller = int(paths.parent[path])
        begins[path] = ends.get(caller, begins[caller] if caller >= 0 else 0.0)
        ends[caller] = begins[path] + share[path]
    shown = [path for path, width in enumerate(share) if width >= _NARROWEST][:_MOST_BOXES]
    short = plain_names(run.functions, _LETTERS)
    names: dict[int, str] = {}
    for path, (function, caller) in enumerate(zip(paths.function.tolist(), paths.parent.tolist(), strict=True)):
        names[path] = f"{names[caller]} → {short[function]}" if caller >= 0 else short[function]
    rank = {int(k): place for place, k in enumerate(np.argsort(-run.by_function_ns, kind="stable"))}
    tops = np.array([depth[path] for path in shown], float)
    boxes = Spans(
        [begins[path] for path in shown], [begins[path] + share[path] for path in shown], "",
        [f"area:{rank[int(paths.function[path])]}" for path in shown], tops, tops + 0.94, 0.55,
        [names[path] for path in shown],
    )  # fmt: skip
    wide = [path for path in shown if share[path] * _LETTERS_ACROSS >= 4]  # of a name at least four letters
    texts = [shortened(short[int(paths.function[path])], int(share[path] * _LETTERS_ACROSS)) for path in wide]
    labels = Text([begins[path] + 0.002 for path in wide], [depth[path] + 0.47 for path in wide], texts)
    marks: list[Any] = [boxes, labels]
    deepest = float(tops.max(initial=0.0)) + 1.0
    y = Axis("call depth", limits=(0.0, deepest), ticks=[-1.0], is_reversed=True)
    x = Axis("share of total time", format=".1%", limits=(0.0, max(ends.get(-1, 1.0), 1e-9)))
    return [Plot("paths", marks, x, y, "Call paths", 1.2 + 0.28 * deepest, 1.0, legend=False)]


def _plot_of_runs(profiles: Profiles) -> Plot:
    """The longest functions over the first parameter, or side by side where it is the same in all runs."""
    names = longest_functions(profiles, _MOST_LINES)
    column = next(iter(profiles.parameters.values()))
    levels = np.array([float(run.parameters[column]) for run in profiles])
    varied = len(set(levels.tolist())) > 1 and bool((levels > 0).all())
    places = levels if varied else np.arange(float(len(levels)))
    order = np.argsort(places, kind="stable")
    marks: list[Any] = []
    for number, (name, text) in enumerate(zip(names, plain_names(names), strict=True)):
        times = [run.by_function_ns[run.functions.index(name)] if name in run.present else 0 for run in profiles]
        seconds = np.array([time / len(run.locations) / 1e9 for time, run in zip(times, profiles, strict=True)])
        drawn = np.where(seconds > 0, seconds, np.nan)[order].tolist()  # there is no logarithm of 0
        x, colour = places[order].tolist(), f"area:{number}"
        marks += [Line(x, drawn, text, colour), Points(x, drawn, colour=colour)] if varied else [
            Points(x, drawn, text, colour)]  # fmt: skip
    ticks = sorted(set(levels.tolist()))
    runs = Axis(column, scale="log", base=2, ticks=ticks, format="g") if varied else (
        Axis(scale="category", names=[label_of(profiles, run) for run in profiles]))  # fmt: skip
    return Plot("functions", marks, runs, Axis("mean time per location", "s", "log"))
