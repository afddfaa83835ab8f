"""How answers are shown."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from perf_analysis.replay_answers import Answer, Answers
from perf_views.colours import SERIES
from perfcore.data.units import readable
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from perf_analysis.replay_answers import PathShares


_MOST_RANKS = _MOST_CLASSES = 8
_OTHERS = "others"


class AnswersPresenter(Presenter):
    """Runtimes and critical paths before and after."""

    def title(self, result: Answers) -> str:
        """What it is of."""
        return f"What if: {result.source}"

    def summary(self, result: Answers) -> list[str]:
        """What was replayed, how far that can be trusted, and what carries each answer."""
        ranks = "1 rank" if result.n_ranks == 1 else f"{result.n_ranks} ranks"
        lines = [
            f"{result.source}: {ranks}, {result.n_calls} calls, {result.n_messages} messages, "
            f"{result.n_collectives} collectives; runtime {readable(result.runtime_ns, 'ns')}",
            f"replay of what was: the same to the nanosecond; {result.contradictions} of {result.n_calls} calls "
            "contradict the rules by which calls wait",
            *([f"messages take {result.network}"] if result.network else []),
            *result.remarks,
        ]
        for answer in result.answers:
            lines.append(f"{answer.question}: {readable(answer.runtime_ns, 'ns')}{_gain(answer, result)}")
            lines.append(f"  taken for true: {'; '.join(answer.assumptions)}")
            if (carried := answer.carried_by) is not None:
                lines.append(f"  if {carried[0]} instead, {carried[1]:+.2%}")
            if answer.value is not None:
                low, high = (readable(float(answer.value.quantile(share)), "s") for share in (0.025, 0.975))
                lines.append(f"  95 % of the replays within {low} and {high}")
        return lines

    def tables(self, result: Answers) -> Tables:
        """Critical paths by class, by rank and by message; then whom calls wait for."""
        paths = _paths(result)
        tables = [
            ("Critical path by class", *_columns("class", paths, [each.by_class for _, each in paths], _MOST_CLASSES)),
            ("Critical path by rank", *_columns("rank", paths, [each.by_rank for _, each in paths], _MOST_RANKS)),
        ]
        rows = [
            [name, sender, receiver, str(count), readable(spent, "ns"), f"{spent / max(path.total_ns, 1):.2%}"]
            for name, path in (paths if len(paths) == 2 else paths[:1])
            for sender, receiver, count, spent in path.messages
        ]
        if rows:
            header = ["run", "from", "to", "messages", "time", "share"]
            tables.append(("Messages on the critical path", header, rows))
        rules = [
            [each.operation, str(each.calls), each.tested, str(each.refuted), each.waits]
            for each in result.rules.refutations
        ]
        if rules:
            header = ["operation", "calls", "left before", "how many", "waits for"]
            tables.append(("Whom calls wait for, as the trace shows", header, rules))
        return tables

    def plain_tables(self, result: Answers) -> Tables:
        """A row for each question, and for each class on its critical path."""
        header = ["question", "runtime_ns", "before_ns", "class", "path_ns"]
        rows = [
            [each.question, str(each.runtime_ns), str(result.runtime_ns), name, str(spent)]
            for each in result.answers
            for name, spent in each.path.by_class.items()
        ]
        return [("", header, rows)]

    def frame(self, result: Answers) -> pd.DataFrame:
        """A row for each question."""
        import pandas as pd

        return pd.DataFrame(
            [
                {"question": each.question, "runtime_ns": each.runtime_ns, "before_ns": result.runtime_ns,
                 "is_bound": each.is_bound}
                for each in result.answers
            ]
        )  # fmt: skip

    def draw(self, result: Answers, figure: Figure, data: Any = None) -> None:
        """Critical paths by class, one bar for the run as it was and one for each question."""
        from perf_views.pictures.data_pictures import readable_unit
        from perf_views.pictures.style import add_legend

        axes = figure.add_subplot()
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
        left, bars = [0.0] * len(paths), []
        for name, colour in zip(names, SERIES, strict=False):
            widths = [part[name] for part in parts]
            bars.append(axes.barh(range(len(paths)), widths, left=left, color=colour, height=0.6, label=name))
            left = [start + width for start, width in zip(left, widths, strict=True)]
        axes.set_yticks(range(len(paths)), [label for label, _ in paths])
        axes.invert_yaxis()
        axes.set(xlabel=f"critical path ({unit})")
        figure.suptitle(self.title(result), fontsize="medium")
        add_legend(figure, names, bars, loc="outside lower center", ncols=4, fontsize="small")


def _paths(result: Answers) -> list[tuple[str, PathShares]]:
    """The path before, and those after; of noise alone there is none, since each replay has its own."""
    changed = [each for each in result.answers if each.value is None or each.path.total_ns != result.path.total_ns]
    return [("as it was", result.path), *((each.question, each.path) for each in changed)]


def _gain(answer: Answer, result: Answers) -> str:
    change = answer.runtime_ns / result.runtime_ns - 1.0
    return f" ({change:+.2%}{'; at best' if answer.is_bound else ''})"


def _columns(
    heading: str, paths: list[tuple[str, PathShares]], shares: list[Any], most: int
) -> tuple[list[str], list[list[str]]]:
    """A row for each name and a column for each path, with the share of the path."""
    totals: dict[str, int] = {}
    for each in shares:
        for name, spent in each.items():
            totals[name] = max(totals.get(name, 0), spent)
    names = sorted(totals, key=lambda name: -totals[name])[:most]
    rows = [
        [
            name,
            *(
                f"{each.get(name, 0) / max(path.total_ns, 1):.2%}"
                for (_, path), each in zip(paths, shares, strict=True)
            ),
        ]
        for name in names
    ]
    left = [
        path.total_ns - sum(each.get(name, 0) for name in names) for (_, path), each in zip(paths, shares, strict=True)
    ]
    if len(totals) > len(names):
        rows.append(
            [_OTHERS, *(f"{rest / max(path.total_ns, 1):.2%}" for rest, (_, path) in zip(left, paths, strict=True))]
        )
    rows.append(["in all", *(readable(path.total_ns, "ns") for _, path in paths)])
    return [heading, *(name for name, _ in paths)], rows
