"""How verdicts on histories are shown."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_gate.history.detection import FEWEST_VALUES, Step, change_of
from perf_gate.history.gate import WINDOW, HistoryGate, JudgedSeries
from perf_gate.presenters.reports import sparkline
from perf_statistics.gating import Outcome
from perf_views.colours import CAREFUL, DATA, MODEL, QUIET
from perf_views.short_names import shortened
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_MOST_NAMED = 4
_MOST_ROWS = 40
_MOST_DRAWN = 6
_LONGEST_LINE = 30  # bars
_SHORT = 12  # letters of a commit that tell it from others
_HEX = set("0123456789abcdef")


class HistoryGatePresenter(Presenter):
    """Where each benchmark changed, by how much and how surely."""

    def title(self, result: HistoryGate) -> str:
        """One line over a picture."""
        return f"{result.source}: {result.outcome.value}"

    def summary(self, result: HistoryGate) -> list[str]:
        """The verdict, and what to keep in mind."""
        lines = _verdicts(result)
        short = [each for each in result.judged if each.detected is None]
        if short and len(short) < len(result):
            named = ", ".join(f"{each.series.name} ({len(each.series.logs)})" for each in short[:_MOST_NAMED])
            lines.append(f"of fewer than {FEWEST_VALUES} values, not judged: {named}{_more(short)}")
        drifting = [
            each.series.name for each in result.judged if each.detected is not None and each.detected.noise.drifts
        ]
        if drifting:
            lines.append(f"the level drifts, so that steps are hard to tell: {', '.join(drifting[:_MOST_NAMED])}")
        return lines

    def tables(self, result: HistoryGate) -> Tables:
        """Each benchmark, and each change."""
        rows = [_row(each) for each in result.judged[:_MOST_ROWS]]
        header = ["benchmark", "verdict", "values", "latest", "unit", "noise", "autocorrelation", "outliers", "history"]
        title = f"the first {_MOST_ROWS} of {len(result)}" if len(result) > _MOST_ROWS else ""
        changes = [
            [
                *(each.series.name, _name(each.commit_of(step)), _between(each, step)),
                *(f"{change_of(step.size):+.1%}", _bounds(step), "new" if step == each.alarm else ""),
            ]
            for each in result.judged
            for step in (() if each.detected is None else each.detected.steps)
        ]
        tables = [(title, header, rows)]
        if changes:
            head = ["benchmark", "since", "one of", "slower by", "95%", ""]
            tables.append((f"changes (slower is +){_first(changes)}", head, changes[-_MOST_ROWS:]))
        return tables

    def frame(self, result: HistoryGate) -> pd.DataFrame:
        """A row for each change."""
        import pandas as pd

        columns = ["benchmark", "commit", "first", "last", "change", "lower", "upper", "p", "new"]
        rows = [
            [
                *(each.series.name, each.commit_of(step), each.series.commits[step.first]),
                *(each.series.commits[step.last], *map(change_of, (step.size, step.lower, step.upper))),
                *(step.probability, step == each.alarm),
            ]
            for each in result.judged
            for step in (() if each.detected is None else each.detected.steps)
        ]
        return pd.DataFrame(rows, columns=columns)

    def plain_tables(self, result: HistoryGate) -> Tables:
        """All changes."""
        frame = self.frame(result)
        return [("", list(frame.columns), [[str(cell) for cell in row] for row in frame.itertuples(index=False)])]

    def panels(self, result: HistoryGate, data: Any = None) -> dict[str, Callable[[Axes], None]]:
        """Each of the first benchmarks."""
        drawn = enumerate(result.judged[:_MOST_DRAWN], 1)
        return {
            "values" if number == 1 else f"values-{number}": partial(_draw_series, each=each) for number, each in drawn
        }

    def draw(self, result: HistoryGate, figure: Figure, data: Any = None) -> None:
        """Draw values, levels, steps with their bounds, and outliers."""
        drawn = result.judged[:_MOST_DRAWN]
        figure.set_figheight(max(figure.get_figheight(), 2.0 * len(drawn)))
        for axes, each in zip(np.atleast_1d(figure.subplots(len(drawn), 1)), drawn, strict=True):
            _draw_series(axes, each)
        axes.set_xlabel("commit")
        figure.suptitle(self.title(result))


def _draw_series(axes: Axes, each: JudgedSeries) -> None:
    series, detected = each.series, each.detected
    places = np.arange(len(series.values))
    axes.plot(places, series.values, ".", color=DATA, markersize=4)
    if detected is not None:
        levels = np.exp(-detected.levels if series.larger_is_better else detected.levels)
        axes.plot(places, levels, color=MODEL, linewidth=1.5, drawstyle="steps-mid")
        for step in detected.steps:
            colour = CAREFUL if step == each.alarm else QUIET
            axes.axvspan(step.first - 0.5, step.last - 0.5 + 1e-9, color=colour, alpha=0.2, linewidth=0)
            axes.axvline(step.place - 0.5, color=colour, linewidth=1)
        out = list(detected.outliers)
        axes.plot(places[out], series.values[out], "x", color=CAREFUL, markersize=7)
    unit = f" ({series.unit})" if series.unit else ""
    axes.set_ylabel(f"{shortened(series.name)}{unit}", fontsize="small")
    ticks = np.unique(np.linspace(0, len(places) - 1, min(6, len(places))).astype(int))
    axes.set_xticks(ticks, [shortened(_name(series.commits[k]), _SHORT) for k in ticks.tolist()], fontsize="small")


def _verdicts(result: HistoryGate) -> list[str]:
    failed = [each for each in result.judged if each.outcome is Outcome.FAILED]
    if failed:
        lines = [f"failed: {_alarm(each)}" for each in failed[:_MOST_NAMED]]
        return lines + ([f"failed: {len(failed) - _MOST_NAMED} more"] if len(failed) > _MOST_NAMED else [])
    judged = [each for each in result.judged if each.detected is not None]
    if not judged:
        longest = max(len(each.series.logs) for each in result.judged)
        return [f"undecided: {longest} values at most, and {FEWEST_VALUES} are needed to know the noise"]
    worst = max(judged, key=lambda each: 0.0 if each.detected is None else each.detected.sight)
    assert worst.detected is not None
    where = f"since {result.since}" if result.since is not None else f"in the last {WINDOW} values"
    claim = f"none of {len(judged)}" if len(judged) > 1 else f"{worst.series.name} not"
    of = f" of {worst.series.name}" if len(judged) > 1 else ""
    return [
        f"passed: {claim} slower {where}; six commits ago {change_of(worst.detected.sight):+.1%}{of} would have been "
        "seen (90 % likely)"
    ]


def _alarm(each: JudgedSeries) -> str:
    step, detected = each.alarm, each.detected
    assert step is not None
    assert detected is not None
    texts = [f"{each.series.name} slower since {_name(each.commit_of(step))}"]
    if step.first < step.last:
        texts.append(f" (one of {_between(each, step)}, 95 %)")
    texts.append(f": {change_of(step.size):+.1%} {_bounds(step)}; outliers {len(detected.outliers)}; ")
    return "".join(texts) + f"noise {detected.noise.spread:.1%}, autocorrelation {detected.noise.autocorrelation:.1f}"


def _between(each: JudgedSeries, step: Step) -> str:
    return "..".join(_name(each.series.commits[index]) for index in dict.fromkeys((step.first, step.last)))


def _bounds(step: Step) -> str:
    return f"[{100.0 * change_of(step.lower):.1f}, {100.0 * change_of(step.upper):.1f}]"


def _name(commit: str) -> str:
    """A commit, its hash cut short."""
    return commit[:_SHORT] if len(commit) > _SHORT and set(commit) <= _HEX else commit


def _more(listed: list[JudgedSeries]) -> str:
    return f" and {len(listed) - _MOST_NAMED} more" if len(listed) > _MOST_NAMED else ""


def _first(changes: list[list[str]]) -> str:
    return f", the last {_MOST_ROWS} of {len(changes)}" if len(changes) > _MOST_ROWS else ""


def _row(each: JudgedSeries) -> list[str]:
    series, detected = each.series, each.detected
    noise = ["-", "-", "-"]
    if detected is not None:
        noise = [f"{detected.noise.spread:.1%}", f"{detected.noise.autocorrelation:.1f}", str(len(detected.outliers))]
    line = sparkline(series.values[-_LONGEST_LINE:].tolist())
    return [
        series.name,
        each.outcome.value,
        str(len(series.values)),
        f"{series.values[-1]:.4g}",
        series.unit,
        *noise,
        line,
    ]
