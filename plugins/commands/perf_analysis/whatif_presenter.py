"""How scenarios are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from perf_analysis.replay_answers import Answer, Answers
from perf_views.colours import SERIES
from perf_views.names import existing_file
from perfcore.data.units import readable
from perfcore.results import Column, Panels, Presenter, Table, Tables

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from perf_analysis.replay_answers import PathShares


_MOST_NAMES, _MOST_SHARES = 8, 3
_PATHS = [
    Column("question", lambda row: row[0].question), Column("runtime_ns", lambda row: row[0].runtime_ns),
    Column("before_ns", 3), Column("class", 1), Column("path_ns", 2),
]  # fmt: skip
_MESSAGES = [
    Column("run", 0), Column("from", 2), Column("to", 3), Column("messages", 4), Column("time", 5, "ns", "time"),
    Column("share", lambda row: row[5] / max(row[1].total_ns, 1), format=".2%"),
]  # fmt: skip
_RULES = [
    Column("operation", "operation"), Column("calls", "calls"), Column("returned before", "tested"),
    Column("refuted", "refuted"), Column("blocks on", "waits"),
]  # fmt: skip
_OTHERS = "others"


class AnswersPresenter(Presenter):
    """Runtimes and critical paths before and after."""

    def title(self, result: Answers) -> str:
        return f"What if: {result.source}"

    def answer(self, result: Answers) -> str:
        best = max(result.answers, key=lambda each: abs(each.runtime_ns - result.runtime_ns))
        before, after = (readable(time, "ns", 4) for time in (result.runtime_ns, best.runtime_ns))
        return f"{best.question} changes the runtime most: {before} to {after}{_gain(best, result)}"

    def caveats(self, result: Answers) -> dict[str, Sequence[str]]:
        path = sorted(result.path.by_class.items(), key=lambda each: -each[1])
        shares = [f"{time / max(result.path.total_ns, 1):.0%} {name}" for name, time in path[:_MOST_SHARES]]
        shared = [text for text in result.answers[0].assumptions if all(text in a.assumptions for a in result.answers)]
        violated = f"{result.contradictions} of {result.n_calls} calls violate the inferred synchronisation rules"
        return {"Critical path": [", ".join(shares)], "Assumed": shared, "Uncertain": [violated]}

    def next_command(self, result: Answers) -> str:
        file = existing_file(result.source)
        return f"perf profile {file} --by rank" if file else ""

    def summary(self, result: Answers) -> list[str]:
        ranks = "1 rank" if result.n_ranks == 1 else f"{result.n_ranks} ranks"
        lines = [
            self.answer(result),
            f"{result.source}: {ranks}, {result.n_calls} calls, {result.n_messages} messages, "
            f"{result.n_collectives} collectives; runtime {readable(result.runtime_ns, 'ns')}",
            "replay of the recorded run reproduces it exactly",
            *([f"estimated network: {result.network}"] if result.network else []),
            *result.remarks,
        ]
        for answer in result.answers:
            lines.append(f"{answer.question}: {readable(answer.runtime_ns, 'ns')}{_gain(answer, result)}")
            lines.append(f"  assumes: {'; '.join(answer.assumptions)}")
            if (carried := answer.carried_by) is not None:
                lines.append(f"  sensitivity ({carried[0]}): {carried[1]:+.2%}")
            if answer.value is not None:
                low, high = (readable(float(answer.value.quantile(share)), "s") for share in (0.025, 0.975))
                lines.append(f"  95% interval [{low}, {high}]")
        return lines

    def tables(self, result: Answers) -> Tables:
        paths = _paths(result)
        messages = [
            (name, path, *row) for name, path in (paths if len(paths) == 2 else paths[:1]) for row in path.messages
        ]
        by_class = [(each, *item, result.runtime_ns) for each in result.answers for item in each.path.by_class.items()]
        runs: list[Any] = [("baseline", result.runtime_ns, None, None)]
        runs += [
            (a.question, a.runtime_ns, a.runtime_ns / result.runtime_ns - 1.0, _interval(a)) for a in result.answers
        ]
        scenarios = [
            Column("scenario", 0), Column("runtime", 1, "ns", "time"), Column("change", 2, format="+.1%"),
            Column("95% interval", 3, "ns", "time"),
        ]  # fmt: skip
        return [
            Table(scenarios, runs, importance="brief"),
            _path_table("class", paths, [each.by_class for _, each in paths]),
            _path_table("rank", paths, [each.by_rank for _, each in paths]),
            *([Table(_MESSAGES, messages, "Messages on the critical path", "verbose")] if messages else []),
            *([Table(_RULES, result.rules.refutations, "Observed synchronisation rules", "verbose")]
              if result.rules.refutations else []),
            Table(_PATHS, by_class, importance="data"),
        ]  # fmt: skip

    def frame(self, result: Answers) -> pd.DataFrame:
        questions = [*_PATHS[:2], Column("is_bound", lambda row: row[0].is_bound)]
        frame = Table(questions, [(each, "", 0) for each in result.answers]).frame()
        frame.insert(2, "before_ns", result.runtime_ns)
        return frame

    def panels(self, result: Answers, data: Any = None) -> Panels:
        return {"paths": partial(_draw_paths, result)}


def _draw_paths(result: Answers, axes: Axes) -> None:
    from perf_views.data_pictures import readable_unit
    from perf_views.style import legend_below

    paths = _paths(result)
    per_unit, unit = readable_unit(max(sum(path.by_class.values()) for _, path in paths), "ns")
    totals: Counter[str] = Counter()
    for _, path in paths:
        totals.update(path.by_class)
    names = [name for name, _ in totals.most_common(len(SERIES) - 1)]
    parts = [{name: path.by_class.get(name, 0) * per_unit for name in names} for _, path in paths]
    if len(totals) > len(names):
        names.append(_OTHERS)
        for part, (_, path) in zip(parts, paths, strict=True):
            part[_OTHERS] = sum(path.by_class.values()) * per_unit - sum(part.values())
    left = [0.0] * len(paths)
    for name, colour in zip(names, SERIES, strict=False):
        widths = [part[name] for part in parts]
        axes.barh(range(len(paths)), widths, left=left, color=colour, height=0.6, label=name)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axes.set_yticks(range(len(paths)), [label for label, _ in paths])
    axes.invert_yaxis()
    axes.set(xlabel=f"critical path [{unit}]")
    legend_below(axes)


def _paths(result: Answers) -> list[tuple[str, PathShares]]:
    """The path before, and those after; of noise alone there is none, since each replay has its own."""
    changed = [each for each in result.answers if each.value is None or each.path.total_ns != result.path.total_ns]
    return [("baseline", result.path), *((each.question, each.path) for each in changed)]


def _interval(answer: Answer) -> tuple[float, float] | None:
    """95% interval of a runtime with noise, in nanoseconds."""
    if answer.value is None:
        return None
    low, high = (1e9 * float(answer.value.quantile(share)) for share in (0.025, 0.975))
    return low, high


def _gain(answer: Answer, result: Answers) -> str:
    change = answer.runtime_ns / result.runtime_ns - 1.0
    return f" ({change:+.2%}{', upper bound' if answer.is_bound else ''})"


def _path_table(heading: str, paths: list[tuple[str, PathShares]], times: list[Any]) -> Table:
    """A row for each name and a column for each path, with the share of the path."""
    totals = {name: max(t.get(name, 0) for t in times) for name in dict.fromkeys(n for t in times for n in t)}
    names = sorted(totals, key=lambda name: -totals[name])[:_MOST_NAMES]
    others = [_OTHERS] if len(totals) > len(names) else []
    columns = [Column(heading, [*names, *others, "sum"])]
    for (title, path), each in zip(paths, times, strict=True):
        spent = [each.get(name, 0) for name in names]
        spent += [path.total_ns - sum(spent)] if others else []
        shares = [f"{time / max(path.total_ns, 1):.2%}" for time in spent]
        columns.append(Column(title, [*shares, readable(path.total_ns, "ns")]))
    return Table(columns, title=f"Critical path by {heading}", importance="verbose")
