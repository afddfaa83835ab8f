"""How verdicts are shown: on two versions, on histories, on a machine; and as reports of CI systems."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from perf_gate.change_detection import FEWEST_VALUES, change_of
from perf_gate.history import WINDOW, Added, HistoryGate, JudgedSeries
from perf_gate.self_test import SelfTest
from perf_gate.versions import VersionGate
from perf_statistics.gating import FEWEST_ROUNDS, NOISY, NOISY_LIMIT, Outcome
from perf_views.colours import CAREFUL, DATA, GOOD, MODEL, QUIET, RULE
from perf_views.names import shortened, shortened_apart
from perfcore.base.errors import InputError, listing
from perfcore.base.files import write_bytes
from perfcore.data.units import seconds_per
from perfcore.results import Column, Panel, Panels, Presenter, Result, Table, Tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIGNS = {"pass": "✅", "fail": "❌", "inconclusive": "❔"}
_BARS = "▁▂▃▄▅▆▇█"
_MOST_ROWS = 12
_NAME, _WIDTH = 36, 100  # letters of a benchmark's name and of a line
_MOST_DRAWN = 40  # benchmarks
_MOST_PANELS = 6  # histories
_LONGEST_LINE = 20  # bars
_MOST_SERIES, _MOST_CHANGES = 8, 5  # rows
_RUN = "perf gate --run --version old='OLD COMMAND' --version new='NEW COMMAND'"
_SHORT = 12  # letters of a commit that tell it from others
_HEX = set("0123456789abcdef")
_DRIFTS = 1.5  # times the noise of neighbours, from which on runs apart in time differ
_MANY = 50  # rounds that are worth it


def markdown(result: Result) -> str:
    """Title, summary and tables as GitHub's and GitLab's Markdown."""
    title = result.title
    sign = _SIGNS.get(title.rpartition(": ")[2], "")
    first, *others = [*result.summary(), *result.closing()]
    parts = [f"## {sign} {_cell(title)}".replace("  ", " "), "", f"**{_cell(first)}**", ""]
    parts += [f"- {_cell(line)}" for line in others] + ([""] if others else [])
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


def write_junit(suite: str, cases: Sequence[tuple[str, str, str]], path: str | os.PathLike[str]) -> None:
    """Write a suite of cases: name, outcome, and text; inconclusive is skipped."""
    counts = [sum(outcome == counted for _, outcome, _ in cases) for counted in ("fail", "inconclusive")]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?><!-- perfcore -->',
        f'<testsuite name={quoteattr(suite)} tests="{len(cases)}" failures="{counts[0]}" skipped="{counts[1]}">',
    ]
    for name, outcome, text in cases:
        head = f"  <testcase classname={quoteattr(suite)} name={quoteattr(name)}"
        tag = {"fail": "failure", "inconclusive": "skipped"}.get(outcome)
        lines.append(f"{head}/>" if tag is None else f"{head}><{tag} message={quoteattr(text)}/></testcase>")
    write_bytes(path, ("\n".join([*lines, "</testsuite>"]) + "\n").encode())


def _sparkline(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    if not high > low:
        return _BARS[0] * len(values)
    return "".join(_BARS[int((value - low) / (high - low) * (len(_BARS) - 1))] for value in values)


def _cell(text: str) -> str:
    """A text that shows itself in a cell and in a line."""
    return escape(" ".join(text.split())).replace("|", "\\|").replace("*", "\\*").replace("`", "\\`")


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell if cell == '---' else _cell(cell) for cell in cells)} |"


class VersionGatePresenter(Presenter):
    """How many times as slow each benchmark is, with interval and verdict."""

    def title(self, result: VersionGate) -> str:
        return f"{result.names[1]} against {result.names[0]}: {result.outcome.value}"

    def answer(self, result: VersionGate) -> str:
        count, limit = len(result), f"{result.judged.threshold:g}x"
        of = f"of {count} benchmark{'s' * (count != 1)}"
        if slow := int(result.judged.slower.sum()):
            errors = "family-wise error 5%" if result.errors == "fwer" else "false discovery rate 5%"
            text = f"FAIL  {slow} {of} slower than {limit} ({errors})"
        elif result.outcome is Outcome.FAILED:
            return f"FAIL  {sum(map(len, result.only))} benchmarks are missing in one version"
        elif result.outcome is Outcome.PASSED:
            text = f"PASS  none {of} slower than {limit} (95% confidence)"
        else:
            text = f"INCONCLUSIVE  {int((~result.judged.not_slower).sum())} {of} possibly slower than {limit}"
        chosen = result.judged.slower if slow else ~result.judged.not_slower
        k = next((k for k in _order(result) if chosen[k]), _order(result)[0])
        ratio, (lower, upper) = np.exp(result.estimates.log_ratio[k]), np.exp(result.estimates.bounds()[k])
        interval = f" [{lower:.3f}, {upper:.3f}]" if np.isfinite(upper) else ""
        largest = f"{text}; {shortened(result.benchmarks[k], _NAME)} {ratio:.3f}x{interval}"
        return largest if len(largest) <= _WIDTH else text

    def tables(self, result: VersionGate) -> Tables:
        order, bounds = _order(result), np.exp(result.estimates.bounds())
        unit = result.units[0] if len(set(result.units)) == 1 else ""
        names = dict(zip(result.benchmarks, shortened_apart(result.benchmarks, _NAME), strict=True))
        columns = [
            Column("benchmark", [result.benchmarks[k] for k in order], format=names.__getitem__),
            Column(shortened(result.names[0], _SHORT), result.values[0, order], unit, key="first"),
            Column(shortened(result.names[1], _SHORT), result.values[1, order], unit, key="second"),
            Column("unit", ["" if unit else result.units[k] for k in order], key=()),
            Column("unit", [result.units[k] for k in order], importance="data"),
            Column("ratio", np.exp(result.estimates.log_ratio[order]), format=".3f", key="slowdown"),
            Column("95% interval", bounds[order], format=".3f", key=("at_least", "at_most")),
            Column("verdict", [result.judged.outcome_of(k).value for k in order], key="outcome"),
            Column("p slow", result.judged.p_slow[order], importance="data"),
            Column("p not slower", result.judged.p_not_slower[order], importance="data"),
            Column("rounds", result.estimates.rounds[order], importance="data"),
            Column("layout", [result.designs[k] for k in order], importance="data"),
        ]
        return [Table(columns, limit=_MOST_ROWS)]

    def caveats(self, result: VersionGate) -> dict[str, Sequence[str]]:
        shifts = []
        if (shift := result.shift) is not None:
            text = f"all {shift.benchmarks} {shift.ratio:.3f}x [{shift.lower:.3f}, {shift.upper:.3f}], {shift.outcome}"
            share = (
                "" if shift.usual is None else f"; {shift.usual:.1%} of session pairs without a change shift as much"
            )
            shifts = [text + share]
        better: dict[str, dict[str, None]] = {}
        for unit, larger in zip(result.units, result.larger_is_better.tolist(), strict=True):
            text = "old/new, larger is better" if larger else "new/old, smaller is better"
            better.setdefault(text, {})[unit or "no unit"] = None
        sides = zip(result.names, result.only, strict=True)
        return {
            "Common shift": shifts,
            "Ratio": [f"{text} ({listing([*units], 3)})" for text, units in better.items()],
            "Assumed": _designs(result),
            "Uncertain": _doubts(result),
            "Not compared": [f"only {name} has {listing(only, 3)}" for name, only in sides if only],
        }

    def next_command(self, result: VersionGate) -> str:
        if result.outcome is Outcome.PASSED or "counts" in result.designs:
            return ""
        more = result.more_rounds
        rounds = int(more.max())
        if result.outcome is Outcome.FAILED:
            return "" if "sessions" not in result.designs else f"{_RUN}  (confirm interleaved)"
        if rounds <= 0:
            return "" if set(result.designs) == {"interleaved"} else _RUN
        seconds = rounds * sum(
            float(pair.sum()) * (seconds_per(unit) or 0.0)
            for pair, unit in zip(result.values.T, result.units, strict=True)
        )
        minutes = f", {seconds / 60.0:.1g} min" if seconds >= 1.0 else ""
        kind = "rounds" if "sessions" in result.designs else "more rounds"
        return f"{_RUN}  ({rounds} {kind} decide, 90% likely{minutes})"

    def panels(self, result: VersionGate, data: Any = None) -> Panels:
        return {"ratios": partial(_draw_ratios, result=result)}


def _draw_ratios(axes: Axes, result: VersionGate) -> None:
    order = _order(result)[:_MOST_DRAWN]
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
    axes.set_xlabel(f"{result.names[1]} over {result.names[0]}, ratio (95% CI)")


def _order(result: VersionGate) -> list[int]:
    """Benchmarks by effect, the largest slowdown first."""
    slowness = np.nan_to_num(result.estimates.log_ratio, nan=-np.inf)
    return sorted(range(len(result)), key=lambda k: -float(slowness[k]))


def _designs(result: VersionGate) -> list[str]:
    texts = []
    for design in dict.fromkeys(result.designs):
        orders = [order for order in result.orders if order.design == design]
        count, reason = len(orders[0].first), orders[0].reason
        if design == "sessions":
            sessions = f"{count} + {len(orders[0].second)} separate sessions"
            cv = float(np.nanmedian(result.session_cv)) if np.isfinite(result.session_cv).any() else None
            given, measured = result.between is not None, count + len(orders[0].second) > 3
            source = "--session-cv" if given else "measured" if measured else "from run-to-run noise; see --session-cv"
            texts.append(sessions if cv is None else f"{sessions}, session CV {cv:.2%} ({source})")
        elif design == "interleaved":
            texts.append(f"{count} interleaved rounds ({reason})")
        elif design == "blocked":
            texts.append(f"one version after the other ({reason}), so that drift counts as uncertainty")
        else:
            texts.append(f"exact comparison ({reason})")
    return texts


def _doubts(result: VersionGate) -> list[str]:
    """Why a verdict is open that more of the same would not decide."""
    texts = [f"the machines differ ({result.machines}), so two sessions decide nothing"] if result.machines else []
    noisy = int(np.count_nonzero(np.asarray(result.estimates.least) > 0.0))
    if noisy:
        which = f"noise above {NOISY:.0%} in {noisy} of {len(result)}"
        texts.append(f"{which}: two sessions fail only beyond {NOISY_LIMIT:g}x")
    few = ~result.estimates.decides & (result.estimates.rounds < FEWEST_ROUNDS)
    if few.any():
        rounds = int(result.estimates.rounds[few].min())
        texts.append(f"{rounds} run{'s' * (rounds != 1)} per version, at least {FEWEST_ROUNDS} are needed")
    hidden = result.estimates.rounding >= np.log(result.judged.threshold)
    if hidden.any():
        texts.append(
            f"values of {listing([result.benchmarks[k] for k in np.flatnonzero(hidden)], 2)} have too few digits"
        )
    return texts


class HistoryGatePresenter(Presenter):
    """Where each benchmark changed, by how much and how probably."""

    def title(self, result: HistoryGate) -> str:
        return f"{result.source}: {result.outcome.value}"

    def answer(self, result: HistoryGate) -> str:
        able = [each for each in result.judged if each.detected is not None]
        first, outcome = (able or result.judged)[0], result.outcome
        where = f"since {_name(result.since)}" if result.since is not None else f"in the last {WINDOW} values"
        name, of = shortened(first.series.name, _NAME), f"{len(able)} benchmark{'s' * (len(able) != 1)}"
        if first.alarm is not None:
            count, step = sum(each.outcome is outcome for each in able), first.alarm
            size = f"{change_of(step.size):+.1%} [{change_of(step.lower):+.1%}, {change_of(step.upper):+.1%}]"
            how = "gradually since" if step.is_gradual else "since"
            text = f"FAIL  {count} of {of} slower {where}"
            return f"{text}; {name} {size} {how} {_name(first.commit_of(step))}"
        if not able:
            longest = max(len(each.series.logs) for each in result.judged)
            return f"INCONCLUSIVE  {longest} values at most; the noise needs {FEWEST_VALUES}"
        if outcome is Outcome.UNDECIDED:
            change = f"{first.newest[0] - 1.0:+.1%}, {first.newest[1]:.1f} sigma"
            return f"INCONCLUSIVE  newest commit {_name(first.series.commits[-1])}: {name} {change}; run it again"
        sight = max(each.detected.sight for each in able if each.detected is not None)
        text = f"PASS  none of {of} slower {where}"
        return f"{text}; {change_of(sight):+.1%} six commits ago is detectable (90%)"

    def caveats(self, result: HistoryGate) -> dict[str, Sequence[str]]:
        short = [each.series.name for each in result.judged if each.detected is None]
        drifting = [each.series.name for each in result.judged if each.detected and each.detected.noise.drifts]
        better = "larger" if result.judged[0].series.larger_is_better else "smaller"
        return {
            "Assumed": [f"{better} is better ({result.judged[0].series.unit or 'no unit'})"],
            "Uncertain": [f"the level drifts: {listing(drifting, 3)}"] if drifting else [],
            "Not judged": [f"fewer than {FEWEST_VALUES} values: {listing(short, 3)}"] if short else [],
        }

    def tables(self, result: HistoryGate) -> Tables:
        detected, series = [each.detected for each in result.judged], [each.series for each in result.judged]
        noises = [None if found is None else found.noise for found in detected]
        benchmarks = [
            Column("benchmark", [each.name for each in series]),
            Column("latest", [float(each.values[-1]) for each in series]),
            Column("unit", [each.unit for each in series]),
            Column("newest", [each.newest[0] - 1.0 for each in result.judged], format="+.1%"),
            Column("sigma", [each.newest[1] for each in result.judged], format="+.1f"),
            Column("values", [len(each.values) for each in series]),
            Column("noise", [None if noise is None else noise.spread for noise in noises], format=".1%"),
            Column("autocorrelation", [noise and noise.autocorrelation for noise in noises], importance="verbose"),
            Column("outliers", [found and len(found.outliers) for found in detected], importance="verbose"),
            Column("history", [_sparkline(each.values[-_LONGEST_LINE:].tolist()) for each in series]),
            Column("verdict", [each.outcome.value for each in result.judged]),
        ]
        changes = [(each, step) for each in result.judged for step in each.changes]
        columns = [
            Column("benchmark", lambda row: row[0].series.name),
            Column("since", lambda row: row[0].commit_of(row[1]), format=_name, key="commit"),
            Column("between", lambda row: row[0].between(row[1]), format=_name, key=("first", "last")),
            Column("slower by", lambda row: change_of(row[1].size), format="+.1%", key="change"),
            Column(
                "95% interval",
                lambda row: (change_of(row[1].lower), change_of(row[1].upper)),
                format="+.1%",
                key=("lower", "upper"),
            ),
            Column("p", lambda row: row[1].probability, importance="data"),
            Column("new", lambda row: row[1] == row[0].alarm),
            Column("gradual", lambda row: row[1].is_gradual),
        ]
        shown = [Table(columns, changes, title="Changes (+ is slower)", limit=_MOST_CHANGES)] if changes else []
        return [Table(benchmarks, limit=_MOST_SERIES), *shown, Table(columns, changes, importance="data")]

    def panels(self, result: HistoryGate, data: Any = None) -> Panels:
        return {
            f"values-{number}" if number > 1 else "values": Panel(partial(_draw_series, each), height=2.0, width=1.0)
            for number, each in enumerate(result.judged[:_MOST_PANELS], 1)
        }


def _draw_series(each: JudgedSeries, axes: Axes) -> None:
    series, detected = each.series, each.detected
    places = np.arange(len(series.values))
    axes.plot(places, series.values, ".", color=DATA, markersize=4)
    if detected is not None:
        levels = np.exp(-detected.levels if series.larger_is_better else detected.levels)
        axes.plot(places, levels, color=MODEL, linewidth=1.5, drawstyle="steps-mid")
        for step in each.changes:
            colour = CAREFUL if step == each.alarm else QUIET
            axes.axvspan(step.first - 0.5, step.last - 0.5 + 1e-9, color=colour, alpha=0.2, linewidth=0)
            axes.axvline(step.place - 0.5, color=colour, linewidth=1)
        out = list(detected.outliers)
        axes.plot(places[out], series.values[out], "x", color=CAREFUL, markersize=7)
    unit = f" [{series.unit}]" if series.unit else ""
    axes.set_xlabel("commit", fontsize="small")
    axes.set_ylabel(f"{shortened(series.name)}{unit}", fontsize="small")
    ticks = np.unique(np.linspace(0, len(places) - 1, min(6, len(places))).astype(int))
    axes.set_xticks(ticks, [shortened(_name(series.commits[k]), _SHORT) for k in ticks.tolist()], fontsize="small")


def _name(commit: str) -> str:
    """A commit, its hash cut short."""
    return commit[:_SHORT] if len(commit) > _SHORT and set(commit) <= _HEX else commit


class SelfTestPresenter(Presenter):
    """The machine's noise, how often the same version would be called slower, and the rounds that a limit needs."""

    def title(self, result: SelfTest) -> str:
        return f"{result.source}: the same version against itself"

    def answer(self, result: SelfTest) -> str:
        rounds, limit = result.chances.rounds, f"{result.limit:g}x"
        decided = bool((rounds > 0).all())
        most = f"{int(rounds.max())}" if decided else "more than 10000"
        alarms = f"same version called slower in {result.chances.any_in_turn:.1%} of splits"
        return f"{most} interleaved rounds decide {limit} (90% likely); {alarms}"

    def tables(self, result: SelfTest) -> Tables:
        columns = [
            *(Column("benchmark", "benchmark"), Column("runs", "runs"), Column("noise", "noise", format=".2%")),
            Column("of neighbors", "noise_of_neighbours", format=".2%", key="noise_of_neighbours"),
            Column("false alarms", "slower_in_turn", format=".1%", key="slower_in_turn"),
            Column("blocked, Welch", "slower_one_after_other", format=".1%", key="slower_one_after_other"),
            Column("rounds", "rounds", key="rounds"),
            Column("smallest effect", "smallest_effect", format="+.1%", key="smallest_effect"),
        ]
        return [Table(columns, result.to_dict()["benchmarks"], limit=_MOST_ROWS)]

    def caveats(self, result: SelfTest) -> dict[str, Sequence[str]]:
        chances = result.chances
        drifts = chances.noise > _DRIFTS * np.maximum(chances.next_noise, 1e-12)
        names = listing([result.benchmarks[k] for k in np.flatnonzero(drifts)], 3)
        rounds = chances.rounds
        long = bool((rounds == 0).any() or rounds.max() > _MANY)
        return {
            "Columns": ["smallest effect: slowdown that a second file shows (80% likely); rounds: interleaved"],
            "Uncertain": [f"runs far apart in time differ more than neighbors ({names}); measure interleaved"]
            * bool(drifts.any())
            + [f"a limit of {result.limit:g}x needs many rounds: use a larger limit or longer runs"] * long,
            "Left out": [f"too few runs: {listing(result.left_out, 5)}"] if result.left_out else [],
        }

    def next_command(self, result: SelfTest) -> str:
        rounds = int(result.chances.rounds.max())
        return f"{_RUN} --max-rounds {rounds}" if 0 < rounds <= _MANY else ""

    def panels(self, result: SelfTest, data: Any = None) -> Panels:
        return {"noise": partial(_draw_noise, result=result)}


def _draw_noise(axes: Axes, result: SelfTest) -> None:
    places = np.arange(len(result))
    axes.barh(places - 0.2, 100.0 * result.chances.noise, 0.4, label="of all runs")
    axes.barh(places + 0.2, 100.0 * result.chances.next_noise, 0.4, label="of neighbors")
    axes.set_yticks(places, list(result.benchmarks))
    axes.invert_yaxis()
    axes.set_xlabel("noise [%]")
    axes.set_xlim(0.0, 1.3 * axes.get_xlim()[1])
    axes.legend(loc="upper right")


class AddedPresenter(Presenter):
    """A line that counts."""

    def summary(self, result: Added) -> list[str]:
        count = len(result.benchmarks)
        return [f"{result.path}: {count} value{'s' * (count != 1)} of {result.commit} added; {result.values} in all"]

    def tables(self, result: Added) -> Tables:
        columns = [
            Column("benchmark", lambda name: name),
            Column("commit", lambda name: result.commit),
            Column("file", lambda name: result.path),
        ]
        return [Table(columns, result.benchmarks, importance="data")]
