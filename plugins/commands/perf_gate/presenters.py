"""How verdicts are shown: on two versions, on histories, on a machine; and as reports of CI systems."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from perf_gate.change_detection import FEWEST_VALUES, Step, change_of
from perf_gate.history import WINDOW, Added, HistoryGate, JudgedSeries
from perf_gate.self_test import SelfTest
from perf_gate.versions import VersionGate
from perf_statistics.gating.judging import Outcome
from perf_views.colours import CAREFUL, DATA, GOOD, MODEL, QUIET, RULE
from perf_views.short_names import shortened
from perfcore.base.errors import InputError, listing
from perfcore.base.files import write_bytes
from perfcore.results import Presenter, Result, Tables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_SIGNS = {"passed": "✅", "failed": "❌", "undecided": "❔"}
_BARS = "▁▂▃▄▅▆▇█"


def markdown(result: Result) -> str:
    """Title, summary and tables as GitHub's and GitLab's Markdown."""
    title = result.title
    sign = _SIGNS.get(title.rpartition(": ")[2], "")
    first, *rest = result.summary()
    parts = [f"## {sign} {_cell(title)}".replace("  ", " "), "", f"**{_cell(first)}**", ""]
    parts += [f"- {_cell(line)}" for line in rest] + ([""] if rest else [])
    for caption, header, rows in result.tables():
        if caption:
            parts += [_cell(caption), ""]
        parts += [_line(header), _line(["---"] * len(header)), *map(_line, rows), ""]
    return "\n".join(parts)


def append_markdown(result: Result, path: str | os.PathLike[str]) -> None:
    """Append to a file, as the steps of a CI job share one."""
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(markdown(result))
    except OSError as error:
        raise InputError(path, f"cannot be written: {error.strerror or error}") from error


def junit(suite: str, cases: Sequence[tuple[str, str, str]]) -> str:
    """A suite of cases: name, outcome, and what is said of it; undecided is skipped."""
    counts = [sum(outcome == counted for _, outcome, _ in cases) for counted in ("failed", "undecided")]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuite name={quoteattr(suite)} tests="{len(cases)}" failures="{counts[0]}" skipped="{counts[1]}">',
    ]
    for name, outcome, text in cases:
        head = f"  <testcase classname={quoteattr(suite)} name={quoteattr(name)}"
        tag = {"failed": "failure", "undecided": "skipped"}.get(outcome)
        lines.append(f"{head}/>" if tag is None else f"{head}><{tag} message={quoteattr(text)}/></testcase>")
    return "\n".join([*lines, "</testsuite>"])


def write_junit(suite: str, cases: Sequence[tuple[str, str, str]], path: str | os.PathLike[str]) -> None:
    """Write a suite of cases."""
    write_bytes(path, (junit(suite, cases) + "\n").encode())


def sparkline(values: Sequence[float]) -> str:
    """Values as a line of bars."""
    low, high = min(values), max(values)
    if not high > low:
        return _BARS[0] * len(values)
    return "".join(_BARS[int((value - low) / (high - low) * (len(_BARS) - 1))] for value in values)


def _cell(text: str) -> str:
    """A text that shows itself in a cell and in a line."""
    return escape(" ".join(text.split())).replace("|", "\\|").replace("*", "\\*").replace("`", "\\`")


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell if cell == '---' else _cell(cell) for cell in cells)} |"


_MOST_NAMED = 4
_MOST_ROWS = 40
_MOST_DRAWN = 40


class VersionGatePresenter(Presenter):
    """How many times as slow each benchmark is, with bounds and verdict."""

    def title(self, result: VersionGate) -> str:
        """One line over a picture."""
        return f"{result.names[1]} against {result.names[0]}: {result.outcome.value}"

    def summary(self, result: VersionGate) -> list[str]:
        """The verdict, what it rests on, and what to do."""
        return [_verdict(result), *_shift(result), *_layout(result), *_missing(result)]

    def tables(self, result: VersionGate) -> Tables:
        """A row for each benchmark, those that fail first; the first of them."""
        order = _order(result)
        header, rows = _rows(result, order[:_MOST_ROWS])
        more = len(order) - len(rows)
        title = f"the first {_MOST_ROWS} of {len(order)}, slowest first" if more > 0 else ""
        return [(title, header, rows)]

    def plain_tables(self, result: VersionGate) -> Tables:
        """All benchmarks."""
        frame = self.frame(result)
        rows = [["" if _is_nan(cell) else str(cell) for cell in row] for row in frame.itertuples(index=False)]
        return [("", list(frame.columns), rows)]

    def frame(self, result: VersionGate) -> pd.DataFrame:
        """A row for each benchmark."""
        import pandas as pd

        bounds = np.exp(result.estimates.bounds())
        return pd.DataFrame(
            {
                "benchmark": list(result.benchmarks),
                "outcome": [result.judged.outcome_of(k).value for k in range(len(result))],
                "first": result.values[0],
                "second": result.values[1],
                "unit": list(result.units),
                "slowdown": np.exp(result.estimates.log_ratio),
                "at_least": bounds[:, 0],
                "at_most": bounds[:, 1],
                "p_slow": result.judged.p_slow,
                "p_not_slower": result.judged.p_not_slower,
                "rounds": result.estimates.rounds,
                "layout": list(result.layouts),
            }
        )

    def draw(self, result: VersionGate, figure: Figure, data: Any = None) -> None:
        """Draw each benchmark's ratio with its bounds beside the threshold."""
        order = _order(result)[:_MOST_DRAWN]
        axes = figure.subplots()
        ratio, bounds = np.exp(result.estimates.log_ratio), np.exp(result.estimates.bounds())
        colours = {Outcome.FAILED: CAREFUL, Outcome.PASSED: GOOD, Outcome.UNDECIDED: QUIET}
        for place, k in enumerate(order):
            colour = colours[result.judged.outcome_of(k)]
            axes.plot(bounds[k], [place, place], color=colour, linewidth=2)
            axes.plot(ratio[k], place, "o", color=colour, markersize=5)
        axes.axvline(1.0, color=RULE, linewidth=0.8)
        axes.axvline(result.judged.threshold, color=CAREFUL, linewidth=1, linestyle="--")
        axes.set_yticks(range(len(order)), [result.benchmarks[k] for k in order])
        axes.set_ylim(len(order) - 0.5, -0.5)
        axes.set_xlabel(f"{result.names[1]} over {result.names[0]}, times as slow (95 % sure of each side)")
        axes.set_title(self.title(result))


def _is_nan(cell: object) -> bool:
    return isinstance(cell, float) and np.isnan(cell)


def _order(result: VersionGate) -> list[int]:
    """Benchmarks that fail, then those undecided, then the others; in each the slowest first."""
    rank = {Outcome.FAILED: 0, Outcome.UNDECIDED: 1, Outcome.PASSED: 2}
    slowness = np.nan_to_num(result.estimates.log_ratio, nan=-np.inf)
    return sorted(range(len(result)), key=lambda k: (rank[result.judged.outcome_of(k)], -slowness[k]))


def _rows(result: VersionGate, order: list[int]) -> tuple[list[str], list[list[str]]]:
    ratio, bounds = np.exp(result.estimates.log_ratio), np.exp(result.estimates.bounds())
    header = ["benchmark", "verdict", *result.names, "unit", "times as slow", "95%", "rounds"]
    rows = []
    for k in order:
        sides = f"{bounds[k, 0]:.3f} .. {bounds[k, 1]:.3f}" if np.isfinite(bounds[k]).all() else "-"
        rows.append(
            [
                *(result.benchmarks[k], result.judged.outcome_of(k).value),
                *(f"{value:.4g}" for value in result.values[:, k]),
                *(result.units[k], f"{ratio[k]:.3f}", sides, str(result.estimates.rounds[k])),
            ]
        )
    return header, rows


def _verdict(result: VersionGate) -> str:
    threshold, count = f"{result.judged.threshold:g}x", len(result)
    ratio, bounds = np.exp(result.estimates.log_ratio), np.exp(result.estimates.bounds())
    order = _order(result)
    among = f" among {count}" if count > 1 else ""
    slow = [k for k in order if result.judged.slower[k]]
    if slow:
        named = [f"{result.benchmarks[k]} {ratio[k]:.3f}x (at least {bounds[k, 0]:.3f}x)" for k in slow[:_MOST_NAMED]]
        more = f" and {len(slow) - _MOST_NAMED} more" if len(slow) > _MOST_NAMED else ""
        chance = f"5 % chance of any false alarm{among}" if result.errors == "fwer" else "5 % of such alarms are false"
        return f"failed: {', '.join(named)}{more}, surely slower than {threshold}; {chance}"
    if result.outcome is Outcome.FAILED:
        return "failed: benchmarks are missing"
    if result.outcome is Outcome.PASSED:
        largest = int(np.argmax(result.estimates.log_ratio))
        at_most = f"{ratio[largest]:.3f}x, at most {bounds[largest, 1]:.3f}x"
        claim = f"none of {count}" if count > 1 else f"{result.benchmarks[0]} is not"
        sure = ", 95 % sure of each" if count > 1 else ", 95 % sure"
        named_largest = f"largest: {result.benchmarks[largest]} {at_most}" if count > 1 else at_most
        return f"passed: {claim} slower than {threshold}{sure} ({named_largest}); {_measured(result)}"
    left_open = [k for k in order if not result.judged.not_slower[k]]
    named = [_open(result, k) for k in left_open[:_MOST_NAMED]]
    more = f"; and {len(left_open) - _MOST_NAMED} more" if len(left_open) > _MOST_NAMED else ""
    others = count - len(left_open)
    rest = f"; {others} other{'s' if others > 1 else ''} not slower" if others else ""
    return f"undecided: {'; '.join(named)}{more}{rest}"


def _open(result: VersionGate, k: int) -> str:
    """What the data say of a benchmark that they leave open, and what would decide."""
    ratio, bounds = float(np.exp(result.estimates.log_ratio[k])), np.exp(result.estimates.bounds()[k])
    name, more = result.benchmarks[k], int(result.more_rounds[k])
    if not np.isfinite(bounds).all():
        runs = int(result.estimates.rounds[k])
        return f"{name} {ratio:.3f}x, of {runs} round{'s' if runs != 1 else ''}: at least 3 are needed"
    advice = f": {more} more round{'s decide' if more > 1 else ' decides'} (90 % likely)" if more > 0 else ""
    if result.layouts[k] == "turn" and more < 0:
        hidden = float(result.estimates.rounding[k]) >= np.log(result.judged.threshold)
        reason = "its values have too few digits" if hidden else "too near to the threshold"
        advice = f": {reason} for any number of rounds"
    return f"{name} {ratio:.3f}x, between {bounds[0]:.2f}x and {bounds[1]:.2f}x{advice}"


def _measured(result: VersionGate) -> str:
    """How many rounds, in which layout."""
    counts = sorted(set(result.estimates.rounds.tolist()))
    many = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    words = {"turn": "rounds in turn", "blocks": "runs of one after the other", "sessions": "runs in two sessions"}
    layouts = list(dict.fromkeys(result.layouts))
    return f"{many} {words[layouts[0]]}" if len(layouts) == 1 else f"{many} rounds or runs"


def _layout(result: VersionGate) -> list[str]:
    """What is wrong with a layout, and what to do about it."""
    lines = []
    if "sessions" in result.layouts:
        if result.between is None:
            lines.append(
                "nobody knows what the machine did between the two sessions: measured so, nothing passes, and only "
                "what is far slower fails; measure both in turn, or say how sessions differ, such as --between 2%"
            )
        else:
            lines.append(f"two sessions, of which the same version would differ by {100.0 * result.between:g} %")
    if "blocks" in result.layouts:
        lines.append("one version after the other, so that drift of the machine counts as doubt; in turn is surer")
    return lines


def _shift(result: VersionGate) -> list[str]:
    if result.shift is None:
        return []
    shift = result.shift
    word = "slower" if shift.ratio > 1.0 else "faster"
    return [
        f"all {shift.benchmarks} together {word}: {shift.ratio:.3f}x [{shift.lower:.3f}, {shift.upper:.3f}]: the "
        "machine, the compiler or a library, perhaps; it is in the figures above, not subtracted"
    ]


def _missing(result: VersionGate) -> list[str]:
    from perfcore.base.errors import listing

    return [
        f"only {name} has {listing(only, 5)}; not compared"
        for name, only in zip(result.names, result.only, strict=True)
        if only
    ]


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


_DRIFTS = 1.5  # times the noise of neighbours, from which on runs apart in time differ
_MANY = 50  # rounds, above which a limit is dear


class SelfTestPresenter(Presenter):
    """The machine's noise, how often the same version would be called slower, and the rounds that a limit needs."""

    def title(self, result: SelfTest) -> str:
        """One line over a picture."""
        return f"{result.source}: the same version against itself"

    def summary(self, result: SelfTest) -> list[str]:
        """What the machine says, and what to do."""
        chances, count = result.chances, len(result)
        limit = f"{result.limit:g}x"
        of = f" of {count} benchmarks" if count > 1 else ""
        lines = [
            f"noise {_range(chances.noise)}{of}; the same version against itself is called slower than {limit} in turn "
            f"in {chances.any_in_turn:.1%} of splits, one after the other (Welch's test) in "
            f"{chances.one_after_other.mean():.1%}",
            _advice(result),
        ]
        if _drifts(result).any():
            names = [result.benchmarks[k] for k in np.flatnonzero(_drifts(result)).tolist()]
            lines.append(
                f"runs far apart in time differ more than neighbours do ({listing(names, 4)}): measure in turn, "
                "as `perf gate --run` does"
            )
        if result.left_out:
            lines.append(f"too few runs, left out: {listing(result.left_out, 5)}")
        return lines

    def tables(self, result: SelfTest) -> Tables:
        """A row for each benchmark."""
        chances = result.chances
        header = [
            "benchmark",
            "runs",
            "noise",
            "of neighbours",
            "in turn",
            "one after other",
            f"rounds for {result.limit:g}x",
        ]
        rows = [
            [
                *(name, str(result.runs[k]), f"{chances.noise[k]:.2%}", f"{chances.next_noise[k]:.2%}"),
                *(f"{chances.in_turn[k]:.1%}", f"{chances.one_after_other[k]:.1%}", str(chances.rounds[k] or "-")),
            ]
            for k, name in enumerate(result.benchmarks[:_MOST_ROWS])
        ]
        more = f"the first {_MOST_ROWS} of {len(result)}; " if len(result) > _MOST_ROWS else ""
        return [
            (f"{more}how often the same version is called slower, and rounds that decide, 90 % likely", header, rows)
        ]

    def frame(self, result: SelfTest) -> pd.DataFrame:
        """A row for each benchmark."""
        import pandas as pd

        return pd.DataFrame(result.to_dict()["benchmarks"])

    def draw(self, result: SelfTest, figure: Figure, data: object = None) -> None:
        """Noise of each benchmark, of all runs and of neighbours."""
        axes = figure.subplots()
        places = np.arange(len(result))
        axes.barh(places - 0.2, 100.0 * result.chances.noise, 0.4, label="of all runs")
        axes.barh(places + 0.2, 100.0 * result.chances.next_noise, 0.4, label="of neighbours")
        axes.set_yticks(places, list(result.benchmarks))
        axes.invert_yaxis()
        axes.set_xlabel("noise (%)")
        axes.set_xlim(0.0, 1.3 * axes.get_xlim()[1])
        axes.legend(loc="upper right")
        axes.set_title(self.title(result))


def _drifts(result: SelfTest) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.asarray(result.chances.noise > _DRIFTS * np.maximum(result.chances.next_noise, 1e-12))


def _range(shares: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    low, high = f"{shares.min():.1%}", f"{shares.max():.1%}"
    return low if low == high else f"{low} to {high}"


def _advice(result: SelfTest) -> str:
    """How many rounds the limit needs, or which limit is within reach."""
    rounds, limit = result.chances.rounds, f"{result.limit:g}x"
    decided = rounds[rounds > 0]
    if len(decided) < len(rounds) or decided.max() > _MANY:
        worst = int(np.argmax(np.where(rounds == 0, np.iinfo(np.int64).max, rounds)))
        many = "more than 10,000" if rounds[worst] == 0 else str(rounds[worst])
        return (
            f"a limit of {limit} needs {many} rounds in turn for {result.benchmarks[worst]}: take a larger limit with "
            "--slower-than, longer runs, or a quieter machine"
        )
    worst, most = int(np.argmax(rounds)), int(rounds.max())
    named = f" ({result.benchmarks[worst]} most)" if len(rounds) > 1 else ""
    return f"{most} rounds in turn decide a limit of {limit}, 90 % likely{named}: `perf run --rounds {most}`"


class AddedPresenter(Presenter):
    """A line that counts."""

    def summary(self, result: Added) -> list[str]:
        """What was added, and what there is."""
        count = len(result.benchmarks)
        return [f"{result.path}: {count} value{'s' * (count != 1)} of {result.commit} added; {result.values} in all"]

    def frame(self, result: Added) -> pd.DataFrame:
        """A row for each value that was added."""
        import pandas as pd

        return pd.DataFrame({"benchmark": list(result.benchmarks), "commit": result.commit, "file": result.path})
