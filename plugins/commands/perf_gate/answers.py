"""What verdicts report: on two versions, on histories, on a machine; and the reports of CI systems."""

from __future__ import annotations

import html
import math
import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_statistics.gating import FEWEST_ROUNDS, NOISY, NOISY_LIMIT, Outcome
from perf_views.names import shortened, shortened_apart
from perfcore.base.errors import InputError, listing
from perfcore.base.files import refuse_other_kind, write_bytes
from perfcore.data.units import is_rate, seconds_per
from perfcore.report import (
    Axis,
    Bars,
    Column,
    Figure,
    Line,
    Note,
    Plot,
    Points,
    Report,
    Result,
    Rule,
    Spans,
    Steps,
    Table,
)
from perfcore.tables import printable

if TYPE_CHECKING:
    from perf_gate.change_detection import Step
    from perf_gate.history import Added, HistoryGate, JudgedSeries
    from perf_gate.self_test import SelfTest
    from perf_gate.versions import VersionGate

_SIGNS = {"pass": "✅", "fail": "❌", "inconclusive": "❔"}
_COLOURS = {Outcome.FAILED: "careful", Outcome.PASSED: "good", Outcome.UNDECIDED: "muted"}
_BARS = "▁▂▃▄▅▆▇█"
_MOST_ROWS = 12
_NAME = 60  # letters of a benchmark's name, in a sentence
_MOST_DRAWN = 40  # benchmarks
_MOST_PANELS = 6  # histories
_LONGEST_LINE = 20  # bars
_MOST_SERIES, _MOST_CHANGES = 8, 5  # rows
_SHORT = 12  # letters of a commit that tell it from others
_WIDE = 24  # letters of a version if there is one benchmark
_HEX = set("0123456789abcdef")
_DRIFTS = 1.5  # times the noise of neighbours, from which on runs apart in time differ
_MANY = 50  # rounds that are worth it
_COARSE = 1.5  # ratio: data that find no smaller slowdown are too few
_MOST_RERUN = 4  # benchmarks that a command names
_MANY_RUNS = 20  # that a repetition is of
_INTERLEAVED = "perf gate --run --version old={} --version new={}"
_PROGRAMS = ("'./old/app'", "'./new/app'")  # in place of programs that a file does not name
_CV_SOURCES = {
    "given": "from --session-cv",
    "measured": "measured by several files of a version",
    "scatter": "from the scatter of the ratios of {count} benchmarks",
    "short": "usual for times below {longest}",
    "noise": "from the run-to-run noise",
}
_CV_CURE = "several old files or --session-cv replace it"


def report_of_versions(result: VersionGate, data: Any = None) -> Report:
    """Return how many times as slow each benchmark is, with intervals and the verdict."""
    answer, figures = _answer_of_versions(result)
    return Report(
        title=f"{result.names[1]} against {result.names[0]}: {result.outcome.value}",
        answer=answer,
        figures=figures,
        tables=[_table_of_versions(result)],
        draw=lambda: [_ratios(result)],
        notes=_notes_of_versions(result),
        next=_next_of_versions(result),
        part=lambda name: _report_of_benchmark(result, name),
    )


def _report_of_benchmark(result: VersionGate, name: str) -> Report:
    """Return the runs of one benchmark in both versions; KeyError if there is no such benchmark."""
    if name not in result.benchmarks:
        raise KeyError(name)
    k = result.benchmarks.index(name)
    sides, unit = result.orders[k].values, result.units[k]
    marks: list[Any] = []
    for version, values, colour in zip(result.names, sides, ("data", "accent"), strict=True):
        ranked = np.sort(values)
        shares = np.arange(1, len(ranked) + 1) / len(ranked)
        marks += [Line(np.repeat(ranked, 2)[1:], np.repeat(shares, 2)[:-1], version, colour),
                  Points(ranked, shares, "", colour, size=3.0)]  # fmt: skip
    quantiles = [np.quantile(values, [0.0, 0.25, 0.5, 0.75, 1.0]) for values in sides]
    columns = [
        Column("version", list(result.names)),
        Column("runs", [len(values) for values in sides]),
        *(
            Column(heading, [float(each[place]) for each in quantiles], unit, ".4g")
            for place, heading in enumerate(("lowest", "quartile 1", "median", "quartile 3", "highest"))
        ),
    ]
    ratio, ends = float(np.exp(result.estimates.log_ratio[k])), np.exp(result.estimates.bounds()[k])
    figure = Figure("ratio", ratio, "x", (float(ends[0]), float(ends[1])), format=".3f")
    answer = f"{name}: {ratio:.3f}x [{ends[0]:.3f}, {ends[1]:.3f}], {result.judged.outcome_of(k).value}"
    return Report(
        name, answer, [figure], [Table(columns)],
        lambda: [Plot("runs", marks, Axis("value", unit), Axis("share of runs", format=".0%", limits=(0.0, 1.05)))],
        [Note("Assumed", text) for text in _designs(result)],
    )  # fmt: skip


def _answer_of_versions(result: VersionGate) -> tuple[str, list[Figure]]:
    count, judged, order = len(result), result.judged, _order(result)
    ratios, bounds = np.exp(result.estimates.log_ratio), np.exp(result.estimates.bounds())
    limit = f"{judged.threshold:g}x"
    benchmarks = f"{count} benchmarks"
    is_pair = count == 1 and result.commands is not None and result.sources[0] == result.sources[1]
    pair = " against ".join(shortened(name, _WIDE) for name in reversed(result.names))

    def named(k: int) -> tuple[str, str, list[Figure]]:
        ends = (float(bounds[k, 0]), float(bounds[k, 1])) if np.isfinite(bounds[k]).all() else None
        name = pair if is_pair else shortened(result.benchmarks[k], _NAME)
        ratio = f"{ratios[k]:.3f}x" + ("" if ends is None else f" [{ends[0]:.3f}, {ends[1]:.3f}]")
        return name, ratio, [Figure("ratio", float(ratios[k]), "x", ends, format=".3f")]

    if judged.slower.any():
        name, ratio, figures = named(next(k for k in order if judged.slower[k]))
        errors = "family-wise error 5%" if result.errors == "fwer" else "false discovery rate 5%"
        several = f"{int(judged.slower.sum())} of {benchmarks} slower than {limit} ({errors}); {name} {ratio}"
        text = f"{name} {ratio}, slower than {limit} (95% confidence)" if count == 1 else several
        return f"FAIL  {text}", figures
    if result.outcome is Outcome.FAILED:
        missing = [name for names in result.only for name in names]
        verb = f"benchmark{'s are' if len(missing) != 1 else ' is'} missing in one version"
        text = f"FAIL  {len(missing)} {verb}: {listing(missing, 3)}"
        return text, [Figure("missing benchmarks", len(missing), format="d")]
    if result.outcome is Outcome.UNDECIDED:
        open_ones = [k for k in order if judged.possibly_slower[k]]
        possible = [k for k in open_ones if result.estimates.decides[k]]
        name, ratio, figures = named(possible[0] if possible else open_ones[0])
        if not possible:
            why = result.what_differs or f"at least {FEWEST_ROUNDS} runs of each are needed"
            subject = f"{name} cannot" if result.estimates.decides.any() else "nothing can"
            return f"INCONCLUSIVE  {subject} be judged: {why}; {name} {ratio}", figures
        what = f"possibly slower{f' than {limit}' if result.is_strict else ''}"
        if len(possible) == 1:
            return f"INCONCLUSIVE  {name} is {what}: {ratio}; run it again", figures
        return f"INCONCLUSIVE  {len(possible)} of {benchmarks} {what}: {name} {ratio}; run these again", figures
    if result.is_strict:
        name, ratio, figures = named(order[0])
        none = f"none of {benchmarks} is" if count > 1 else f"{name} is not"
        return f"PASS  {none} slower than {limit} (95% confidence); {name} {ratio}", figures
    resolution = result.resolution
    typical, worst = float(np.median(resolution)), int(np.argmax(resolution))
    name, ratio, figures = named(0)
    figures = [Figure("resolution", typical, "x", format=".2f"), *(figures if count == 1 else [])]
    what = benchmarks if count > 1 else f"{name} ({ratio})"
    if not typical <= _COARSE:
        size = f"less than {typical:.1f}x" if np.isfinite(typical) else "a slowdown"
        more = "more rounds" if set(result.designs) == {"interleaved"} else "more runs, or interleaved ones,"
        return f"PASS  but too few data to find {size} in {what}; {more} do", figures
    text = f"PASS  no slowdown in {what}; one beyond {typical:.2f}x would have been found"
    if count > 1:
        much = f"{resolution[worst]:.2f}x" if np.isfinite(resolution[worst]) else "not judged"
        text += f" (worst: {shortened(result.benchmarks[worst], _NAME)} {much})"
    return text, figures


def _table_of_versions(result: VersionGate) -> Table:
    order, bounds, resolution = _order(result), np.exp(result.estimates.bounds()), result.resolution
    seconds = [seconds_per(unit) for unit in result.units]
    are_times = all(seconds)
    unit = result.units[0] if len(set(result.units)) == 1 else ""
    scaled = result.values * (np.array(seconds, dtype=float) if are_times else 1.0)
    names = dict(zip(result.benchmarks, shortened_apart(result.benchmarks, _NAME), strict=True))
    shown: dict[str, Any] = {"unit": "s", "format": "time"} if are_times else {"unit": unit}
    columns = [
        Column("benchmark", [result.benchmarks[k] for k in order], format=names.__getitem__),
        *(
            Column(name, scaled[side, order], **shown, key=())
            for side, name in enumerate(shortened_apart(result.names, _SHORT if len(order) > 1 else _WIDE))
        ),
        *(
            Column(key, result.values[side, order], key=key, importance="data")
            for side, key in enumerate(("first", "second"))
        ),
        Column("unit", ["" if unit or are_times else result.units[k] for k in order], key=()),
        Column("unit", [result.units[k] for k in order], importance="data"),
        Column("ratio", np.exp(result.estimates.log_ratio[order]), format=".3f", key="slowdown"),
        Column("95% interval", bounds[order], format=".3f", key=("at_least", "at_most")),
        Column("verdict", [result.judged.outcome_of(k).value for k in order], key="outcome"),
        Column("found beyond", [float(resolution[k]) if np.isfinite(resolution[k]) else None for k in order],
               format=".2f", key="resolution", importance="verbose"),
        Column("p slow", result.judged.p_slow[order], importance="data"),
        Column("p not slower", result.judged.p_not_slower[order], importance="data"),
        Column("rounds", result.estimates.rounds[order], importance="data"),
        Column("layout", [result.designs[k] for k in order], importance="data"),
    ]  # fmt: skip
    return Table(columns, limit=None if len(order) <= _MOST_ROWS else max(_MOST_ROWS, len(order)))


def _notes_of_versions(result: VersionGate) -> list[Note]:
    notes = [Note("Uncertain", text) for text in _doubts(result)]
    if (shift := result.shift) is not None:
        text = f"all {shift.benchmarks} together {shift.ratio:.3f}x [{shift.lower:.3f}, {shift.upper:.3f}]"
        share = "" if shift.usual is None else f"; {shift.usual:.1%} of session pairs without a change shift as much"
        notes.append(Note("Uncertain" if shift.outcome != "fail" else "Note", text + share))
    if result.larger_is_better.any():
        units = dict.fromkeys(u or "no unit" for u, x in zip(result.units, result.larger_is_better, strict=True) if x)
        notes.append(Note("Assumed", f"larger is better ({listing(units, 3)}), and ratios are old/new"))
    smaller = [unit for unit, larger in zip(result.units, result.larger_is_better, strict=True) if not larger]
    if unclear := dict.fromkeys(unit or "no unit" for unit in smaller if not seconds_per(unit) and not is_rate(unit)):
        notes.append(Note("Assumed", f"smaller is better ({listing(unclear, 3)}); --better sets it"))
    notes += [Note("Assumed", text) for text in _designs(result)]
    notes += _computed(result)
    sides = zip(result.names, result.only, strict=True)
    return [*notes, *(Note("Left out", f"only {name} has {listing(only, 3)}") for name, only in sides if only)]


def _next_of_versions(result: VersionGate) -> str:
    if result.outcome is Outcome.PASSED or "counts" in result.designs:
        return ""
    interleaved = _interleaved(result.commands)
    if result.outcome is Outcome.FAILED:
        confirmed = interleaved if result.commands else f"confirm it: {interleaved}"
        return confirmed if "sessions" in result.designs else ""
    names = [result.benchmarks[k] for k in _order(result) if result.judged.possibly_slower[k]]
    command = rerun_command(result.reader, names, result.program) if "sessions" in result.designs else ""
    rounds = int(result.more_rounds.max())
    minutes = ""
    if rounds > 0:
        both = zip(result.values.sum(axis=0).tolist(), result.units, strict=True)
        seconds = rounds * sum(total * (seconds_per(unit) or 0.0) for total, unit in both)
        minutes = f" ({rounds} rounds decide, 90% likely{f', {seconds / 60.0:.2g} min' if seconds >= 1.0 else ''})"
    if command and not result.what_differs and result.estimates.decides.any():
        return f"{command}, for both versions; or {interleaved}{minutes}"
    if set(result.designs) == {"interleaved"}:
        total, store = int(result.estimates.rounds.max()) + rounds, Path(result.sources[0])
        if rounds > 0 and len(result) == 1 and result.reader == "experiments" and store.exists():
            return f"perf experiment run --store {shlex.quote(str(store))} --rounds {total}"
        return f"measure {rounds} more rounds{minutes.replace(f'{rounds} rounds', 'which')}" if rounds > 0 else ""
    return interleaved if result.commands else f"measure in turn: {interleaved}{minutes}"


def _interleaved(commands: tuple[str, str] | None) -> str:
    """Return the command that measures two versions in turn."""
    return _INTERLEAVED.format(*(_PROGRAMS if commands is None else map(shlex.quote, commands)))


def rerun_command(reader: str, names: Sequence[str], program: str = "") -> str:
    """Return the command of a benchmark tool that runs some benchmarks again; empty if the file does not name it."""
    if not names or len(names) > _MOST_RERUN:
        return ""
    if reader == "hyperfine":
        return f"hyperfine --runs {_MANY_RUNS} --export-json again.json {' '.join(map(shlex.quote, names))}"
    if reader == "google-benchmark" and program:
        words = shlex.quote(f"^({'|'.join(map(re.escape, names))})$".replace("\\/", "/"))
        options = f"--benchmark_repetitions={_MANY_RUNS} --benchmark_out=again.json"
        return f"{shlex.quote(program)} --benchmark_filter={words} {options}"
    if reader == "pytest-benchmark" and all("::" in name for name in names):
        return f"pytest --benchmark-json=again.json {' '.join(map(shlex.quote, names))}"
    return ""


def _ratios(result: VersionGate) -> Plot:
    order = _order(result)[:_MOST_DRAWN]
    ratio, bounds = np.exp(result.estimates.log_ratio), np.exp(result.estimates.bounds())
    marks: list[Any] = []
    for outcome, colour in _COLOURS.items():
        rows = [(place, k) for place, k in enumerate(order) if result.judged.outcome_of(k) is outcome]
        if rows:
            places, chosen = [place for place, _ in rows], [k for _, k in rows]
            ends = np.where(np.isfinite(bounds[chosen]), bounds[chosen], ratio[chosen][:, None])
            marks.append(
                Points(ratio[chosen], places, outcome.value, colour, left=ends[:, 0], right=ends[:, 1], size=5.0,
                       names=[result.benchmarks[k] for k in chosen])
            )  # fmt: skip
    limit = f"limit {result.judged.threshold:g}x"
    marks += [Rule([1.0]), Rule([result.judged.threshold], label=limit, colour="careful", style="dashed")]
    names = [result.benchmarks[k] for k in order]
    x = Axis(f"{result.names[1]} over {result.names[0]}, ratio (95% CI)")
    y = Axis(scale="category", names=names, is_reversed=True)
    return Plot("ratios", marks, x, y, height=max(2.2, 0.25 * len(order) + 1.0), width=1.0)


def _order(result: VersionGate) -> list[int]:
    """Return benchmarks by effect, the largest slowdown first."""
    slowness = np.nan_to_num(result.estimates.log_ratio, nan=-np.inf)
    return sorted(range(len(result)), key=lambda k: -float(slowness[k]))


def _designs(result: VersionGate) -> list[str]:
    texts = []
    for design in dict.fromkeys(result.designs):
        chosen = [k for k, own in enumerate(result.designs) if own == design]
        first = result.orders[chosen[0]]
        count = len(first.first)
        if design == "sessions":
            text = f"{count} + {len(first.second)} separate sessions"
            cv = result.session_cv[chosen]
            if np.isfinite(cv).any():
                source = max(_CV_SOURCES, key=[result.cv_sources[k] for k in chosen].count)
                longest = max((result.values[0, k] * (seconds_per(result.units[k]) or 0.0) for k in chosen), default=0)
                limit = next((name for name, s in (("1 us", 1e-6), ("1 ms", 1e-3)) if longest <= s), "1 s")
                reason = _CV_SOURCES[source].format(count=len(chosen), longest=limit)
                text += f", between-session variation {float(np.nanmedian(cv)):.1%} ({reason})"
                text += f"; {_CV_CURE}" if source in ("short", "noise") else ""
            texts.append(text)
        elif design == "interleaved":
            texts.append(f"{count} interleaved round{'s' * (count != 1)} ({first.reason})")
        elif design == "blocked":
            texts.append(f"one version after the other ({first.reason}), so that drift counts as uncertainty")
        else:
            texts.append(f"exact comparison ({first.reason})")
    return texts


def _doubts(result: VersionGate) -> list[str]:
    """Return why a verdict is open that more of the same would not decide."""
    texts = [f"machines or builds differ: {result.machines}"] if result.machines else []
    if result.what_differs:
        texts = [f"{result.what_differs} ({result.machines}), so two sessions decide nothing"]
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
        names = listing([result.benchmarks[k] for k in np.flatnonzero(hidden)], 2)
        texts.append(f"values of {names} have too few digits")
    return texts


def report_of_history(result: HistoryGate, data: Any = None) -> Report:
    """Return where each benchmark and the suite changed, by how much and how probably."""
    answer, figures = _answer_of_history(result)
    drawn = [*([] if result.suite is None else [result.suite]), *result.judged][:_MOST_PANELS]
    return Report(
        title=f"{result.source}: {result.outcome.value}",
        answer=answer,
        figures=figures,
        tables=_tables_of_history(result),
        draw=lambda: [_values(each, f"values-{k}" if k > 1 else "values") for k, each in enumerate(drawn, 1)],
        notes=_notes_of_history(result),
    )


def _size(step: Step) -> tuple[str, Figure]:
    from perf_gate.change_detection import change_of

    size, low, high = (change_of(value) for value in (step.size, step.lower, step.upper))
    return f"{size:+z.1%} [{low:+z.1%}, {high:+z.1%}]", Figure("change", size, "", (low, high), format="+z.1%")


def _answer_of_history(result: HistoryGate) -> tuple[str, list[Figure]]:
    from perf_gate.change_detection import FEWEST_AFTER, FEWEST_VALUES, WINDOW

    suite = [] if result.suite is None else [result.suite]
    able = [each for each in result.judged if each.detected is not None]
    where = f"since {_commit(result.since)}" if result.since is not None else f"in the last {WINDOW} commits"
    what = f"{len(able)} benchmarks" if len(able) != 1 else shortened(able[0].series.name, _NAME)

    def step_of(each: JudgedSeries, name: str = "") -> tuple[str, list[Figure]]:
        assert each.alarm is not None
        size, figure = _size(each.alarm)
        since = f"{'gradually ' if each.alarm.is_gradual else ''}since {_commit(each.commit_of(each.alarm))}"
        return f"{name or shortened(each.series.name, _NAME)} {size} {since}", [figure]

    failed = [step_of(each) for each in able if each.outcome is Outcome.FAILED]
    if suite and suite[0].alarm is not None:
        text, figures = step_of(suite[0], f"all {what} together")
        return f"FAIL  {text}" + (f"; single steps: {failed[0][0]}" if failed else ""), figures
    if failed:
        text, figures = failed[0]
        return f"FAIL  {text if len(able) == 1 else f'{len(failed)} of {what} slower {where}; {text}'}", figures
    if result.outcome is Outcome.FAILED:
        ended = listing([f"{name} after {_commit(commit)}" for name, commit in result.ended], 3)
        return f"FAIL  {len(result.ended)} of {len(result) + len(result.ended)} benchmarks ended: {ended}", []
    if not able:
        longest = max((len(each.series.logs) for each in result.judged), default=0)
        few = f"{longest} commit{'s are' if longest != 1 else ' is'} too few to judge"
        return f"INCONCLUSIVE  {few}: at least {FEWEST_VALUES} are needed", []
    if result.outcome is Outcome.UNDECIDED:
        first = next(each for each in [*suite, *able] if each.outcome is Outcome.UNDECIDED)
        name = shortened(first.series.name, _NAME)
        if first.unclear is not None:
            size, figure = _size(first.unclear)
            since, values = _commit(first.commit_of(first.unclear)), len(first.series.values) - first.unclear.place
            doubt = f"in {values} values so far" if values < FEWEST_AFTER else "or it drifts"
            return f"INCONCLUSIVE  {name} {size} since {since}, {doubt}; more commits decide", [figure]
        change, sigma = first.newest[0] - 1.0, first.newest[1]
        newest = f"newest commit {_commit(first.series.commits[-1])}: {name} {change:+z.1%}, {sigma:.1f} sigma"
        return f"INCONCLUSIVE  {newest}; run it again", [Figure("change", change, "", format="+z.1%")]
    sights = [_sight(each) for each in able]
    found = [sight for sight in sights if sight <= _COARSE - 1.0]
    figures = [Figure("detectable", max(found or sights), format="+z.1%")]
    if not found:
        noise = float(np.median([each.detected.noise.spread for each in able if each.detected is not None]))
        how = f"{'is' if len(able) == 1 else 'are'} too noisy to judge (noise {noise:.0%})"
        return f"PASS  but {what} {how}: no slowdown below {1.0 + min(sights):.3g}x would have been found", figures
    in_some = f" in {len(found)} of them" if len(found) < len(able) else ""
    text = f"PASS  no slowdown in {what} {where}; {max(found):+z.1%} six commits ago would be found (90%){in_some}"
    return text, figures


def _sight(each: JudgedSeries) -> float:
    """Return the slowdown six commits ago that would have been found, 90% likely."""
    from perf_gate.change_detection import change_of

    return math.inf if each.detected is None else change_of(each.detected.sight)


def _notes_of_history(result: HistoryGate) -> list[Note]:
    from perf_gate.change_detection import FEWEST_VALUES

    able = [each for each in result.judged if each.detected is not None]
    short = [each.series.name for each in result.judged if each.detected is None]
    found = [each for each in able if each.alarm is None or not each.alarm.is_gradual]
    drifting = [each.series.name for each in found if each.detected and each.detected.noise.drifts]
    directions: dict[str, dict[str, None]] = {}
    for each in result.judged:
        word = "larger" if each.series.larger_is_better else "smaller"
        directions.setdefault(word, {})[each.series.unit or "no unit"] = None
    notes = [Note("Assumed", f"{word} is better ({listing(units, 3)})") for word, units in directions.items()]
    notes += [Note("Uncertain", f"the level drifts: {listing(drifting, 3)}")] if drifting else []
    if (noisy := [each for each in able if _sight(each) > _COARSE - 1.0]) and noisy != able:
        text = f"too noisy to judge: {listing([each.series.name for each in noisy], 3)}"
        notes.append(Note("Uncertain", text))
    if short and able:
        notes.append(Note("Left out", f"fewer than {FEWEST_VALUES} values: {listing(short, 3)}"))
    if result.ended:
        ended = [f"{name} (last at {_commit(commit)})" for name, commit in result.ended]
        notes.append(Note("Left out", f"{len(ended)} ended: {listing(ended, 3)}"))
    if result.left_out:
        notes.append(Note("Left out", f"in units of different quantities: {listing(result.left_out, 3)}"))
    return [*notes, *_computed(result)]


def _computed(result: VersionGate | HistoryGate) -> list[Note]:
    names = listing(result.computed, 3)
    return [Note("Left out", f"{names}, which the other benchmarks give")] if result.computed else []


def _tables_of_history(result: HistoryGate) -> list[Table]:
    from perf_gate.change_detection import change_of

    shown = [*([] if result.suite is None else [result.suite]), *result.judged]
    detected, series = [each.detected for each in shown], [each.series for each in shown]
    noises = [None if found is None else found.noise for found in detected]
    full = [each.name for each in series]
    names = dict(zip(full, shortened_apart(full, _NAME), strict=True))
    own = [each for each in series if each.name != "all benchmarks"] or series
    seconds = [seconds_per(each.unit) for each in own]
    unit = own[0].unit if len({each.unit for each in own}) == 1 else ""
    are_times = all(seconds)
    scales = [(seconds_per(each.unit) or 1.0) if are_times else 1.0 for each in series]
    latest = [float(s.values[-1]) * scale if s in own else None for s, scale in zip(series, scales, strict=True)]
    how: dict[str, Any] = {"unit": "s", "format": "time"} if are_times else {"unit": unit}
    benchmarks = [
        Column("benchmark", full, format=names.__getitem__),
        Column("latest", latest, **how),
        Column("unit", ["" if unit or are_times else each.unit for each in series], key=()),
        Column("newest", [each.newest[0] - 1.0 for each in shown], format="+z.1%"),
        Column("sigma", [each.newest[1] for each in shown], format="+z.1f"),
        Column("values", [len(each.values) for each in series]),
        Column("noise", [None if noise is None else noise.spread for noise in noises], format=".1%"),
        Column("autocorrelation", [noise and noise.autocorrelation for noise in noises], importance="verbose"),
        Column("outliers", [found and len(found.outliers) for found in detected], importance="verbose"),
        Column("history", [_sparkline(each.values[-_LONGEST_LINE:].tolist()) for each in series]),
        Column("verdict", [each.outcome.value for each in shown]),
    ]
    changes = [(each, step) for each in shown for step in each.changes]
    columns = [
        Column("benchmark", lambda row: row[0].series.name),
        Column("since", lambda row: row[0].commit_of(row[1]), format=_commit, key="commit"),
        Column("between", lambda row: row[0].between(row[1]), format=_commit, key=("first", "last")),
        Column("slower by", lambda row: change_of(row[1].size), format="+z.1%", key="change"),
        Column("95% interval", lambda row: (change_of(row[1].lower), change_of(row[1].upper)), format="+z.1%",
               key=("lower", "upper")),
        Column("p", lambda row: row[1].probability, importance="data"),
        Column("new", lambda row: row[1] == row[0].alarm),
        Column("gradual", lambda row: row[1].is_gradual),
    ]  # fmt: skip
    tables = [Table(benchmarks, limit=_MOST_SERIES)]
    tables += [Table(columns, changes, title="Changes (+ is slower)", limit=_MOST_CHANGES)] if changes else []
    return [*tables, Table(columns, changes, importance="data")]


def _values(each: JudgedSeries, name: str) -> Plot:
    series, detected = each.series, each.detected
    places = np.arange(len(series.values))
    marks: list[Any] = []
    if detected is not None:
        levels = np.exp(-detected.levels if series.larger_is_better else detected.levels)
        cuts = np.array([0, *sorted(step.place for step in detected.steps), len(places)])
        for step in each.changes:
            colour = "careful" if step == each.alarm else "muted"
            marks.append(Spans([step.first - 0.5], [step.last - 0.5 + 1e-9], colour=colour, opacity=0.2))
            marks.append(Rule([step.place - 0.5], colour=colour, style="solid"))
        marks.append(Steps(cuts - 0.5, levels[cuts[:-1]], colour="model", width=1.5))
    names = [shortened(_commit(commit), _SHORT) for commit in series.commits]
    marks.append(Points(places, series.values, "value", size=3.0, names=names))
    if detected is not None and detected.outliers:
        out = list(detected.outliers)
        marks.append(Points(out, series.values[out], "outlier", "careful", shape="cross", size=7.0))
    ticks = np.unique(np.linspace(0, len(places) - 1, min(6, len(places))).astype(int))
    x = Axis("commit", scale="category", names=names, ticks=ticks)
    label = "suite, relative" if not series.unit and series.name == "all benchmarks" else series.name
    return Plot(name, marks, x, Axis(label, series.unit), height=2.0, width=1.0, legend=False)


def _commit(commit: str) -> str:
    """Return a commit, with its hash cut short."""
    return commit[:_SHORT] if len(commit) > _SHORT and set(commit) <= _HEX else commit


def _sparkline(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    if not high > low:
        return _BARS[0] * len(values)
    return "".join(_BARS[int((value - low) / (high - low) * (len(_BARS) - 1))] for value in values)


def report_of_self_test(result: SelfTest, data: Any = None) -> Report:
    """Return the machine's noise, how often one version would be called slower, and the rounds that a limit needs."""
    limit, rows = f"{result.slower_than:g}x", result.benchmarks
    noise, next_noise, rounds = (
        np.array([row[name] or 0 for row in rows]) for name in ("noise", "noise_of_neighbours", "rounds")
    )
    is_decided = bool((rounds > 0).all())
    most = f"{int(rounds.max())}" if is_decided else "more than 10000"
    alarms = f"same version called slower in {result.any_in_turn:.1%} of splits"
    columns = [
        *(Column("benchmark", "benchmark"), Column("runs", "runs"), Column("noise", "noise", format=".2%")),
        Column("of neighbors", "noise_of_neighbours", format=".2%", key="noise_of_neighbours"),
        Column("false alarms", "slower_in_turn", format=".1%", key="slower_in_turn"),
        Column("blocked, Welch", "slower_one_after_other", format=".1%", key="slower_one_after_other"),
        Column("rounds", "rounds", key="rounds"),
        Column("smallest effect", "smallest_effect", format="+z.1%", key="smallest_effect"),
    ]
    notes = [Note("Note", "smallest effect: slowdown that a second file shows (80% likely); rounds: interleaved")]
    drifts = noise > _DRIFTS * np.maximum(next_noise, 1e-12)
    if drifts.any():
        names = listing([rows[k]["benchmark"] for k in np.flatnonzero(drifts)], 3)
        text = f"runs far apart in time differ more than neighbors ({names}); measure interleaved"
        notes.append(Note("Uncertain", text))
    if (rounds == 0).any() or rounds.max() > _MANY:
        notes.append(Note("Uncertain", f"a limit of {limit} needs many rounds: use a larger limit or longer runs"))
    if result.left_out:
        notes.append(Note("Left out", f"too few runs: {listing(result.left_out, 5)}"))

    def draw() -> list[Plot]:
        sides = ((-0.2, noise, "of all runs"), (0.2, next_noise, "of neighbors"))
        marks = [
            Bars(np.arange(len(rows)) + shift, 100.0 * values, label, f"series:{k}", is_horizontal=True, width=0.4)
            for k, (shift, values, label) in enumerate(sides)
        ]
        y = Axis(scale="category", names=[row["benchmark"] for row in rows], is_reversed=True)
        return [Plot("noise", marks, Axis("noise", "%"), y)]

    following = f"measure in turn: {_interleaved(None)} --max-rounds {int(rounds.max())}"
    return Report(
        title=f"{result.source}: the same version against itself",
        answer=f"{most} interleaved rounds decide {limit} (90% likely); {alarms}",
        figures=[
            Figure("rounds", int(rounds.max()) if is_decided else None, format="d"),
            Figure("false alarms", result.any_in_turn, format=".1%"),
        ],
        tables=[Table(columns, rows, limit=_MOST_ROWS)],
        draw=draw,
        notes=notes,
        next=following if is_decided and rounds.max() <= _MANY else "",
    )


def report_of_added(result: Added, data: Any = None) -> Report:
    """Return what was added to a history."""
    count = len(result.benchmarks)
    shown = (("benchmark", result.benchmarks), ("commit", [result.commit] * count), ("file", [result.path] * count))
    return Report(
        title=result.path,
        answer=f"{result.path}: {count} value{'s' * (count != 1)} of {result.commit} added; {result.values} in all",
        figures=[Figure("values", count, format="d")],
        tables=[Table([Column(name, values) for name, values in shown], importance="data")],
    )


def markdown(result: Result) -> str:
    """Return title, answer and tables as GitHub's and GitLab's Markdown."""
    report = result.report()
    sign = _SIGNS.get(report.title.rpartition(": ")[2], "")
    first, *others = [*report.lines, *report.closing()]
    parts = [f"## {sign} {_cell(report.title)}".replace("  ", " "), "", f"**{_cell(first)}**", ""]
    parts += [f"- {_cell(line)}" for line in others] + ([""] if others else [])
    for table in report.brief_tables:
        if table.title:
            parts += [_cell(table.title), ""]
        header, rows = table.shown()
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
    from xml.sax.saxutils import quoteattr

    refuse_other_kind(path, "JUnit report")
    counts = [sum(outcome == counted for _, outcome, _ in cases) for counted in ("fail", "inconclusive")]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuite name={quoteattr(suite)} tests="{len(cases)}" failures="{counts[0]}" skipped="{counts[1]}">',
    ]
    for name, outcome, text in cases:
        head = f"  <testcase classname={quoteattr(suite)} name={quoteattr(printable(name))}"
        tag = {"fail": "failure", "inconclusive": "skipped"}.get(outcome)
        lines.append(f"{head}/>" if tag is None else f"{head}><{tag} message={quoteattr(printable(text))}/></testcase>")
    write_bytes(path, ("\n".join([*lines, "</testsuite>"]) + "\n").encode())


def _cell(text: str) -> str:
    """Return a text that shows itself in a cell and in a line."""
    return html.escape(" ".join(text.split()), quote=False).replace("|", "\\|").replace("*", "\\*").replace("`", "\\`")


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell if cell == '---' else _cell(cell) for cell in cells)} |"
