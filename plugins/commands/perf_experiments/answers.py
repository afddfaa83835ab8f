"""What designs, runs and recommendations answer."""

from __future__ import annotations

import dataclasses
import itertools
import shlex
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf_experiments.points import PRINTED, VERSION, duration_text, level_text, point_text
from perfcore.report import Axis, Column, Figure, Note, Plot, Points, Report, Table

if TYPE_CHECKING:
    from perf_experiments.design import Design
    from perf_experiments.recommendation import Recommendation, Replications
    from perf_experiments.run_records import Run, Runs, Summary

_MOST_NAMED = 10  # points that a budget left out; the file has all
_MOST_CHARACTERS = 60  # of a problem in the table
_FIRST = ("problem", "point", "command", "exit_status", "signal", "values", "stdout", "stderr")  # of a run
_LONG = (*PRINTED, "environment")
_MOST_ABOUT = 40  # rows about one run
_MOST_WIDE = 5  # points named whose median is not precise enough


def _following(name: str, then: str) -> str:
    """Return the command that saves a result under a free name, or what makes its runs if this one did."""
    words = [word for word in sys.argv[1:] if word not in ("--json", "--all")]
    for word, file in itertools.pairwise(words):
        if word in ("-o", "--output"):
            return then.format(shlex.quote(file))
    names = (f"{name}{f'-{k}' if k > 1 else ''}.toml" for k in itertools.count(1))
    free = next(file for file in names if not Path(file).exists())
    return shlex.join(["perf", *words, "-o", free]) if words[:1] == ["experiment"] else f"save it as {free}"


def _program(names: Iterable[str]) -> str:
    """Return what makes the runs of a design with a program of the user's."""
    places = " ".join(f"{{{{{name}}}}}" for name in names if name != VERSION)
    return f"measure them with your program: perf experiment run {{}} -- ./app {places}".rstrip()


def _factors(names: Iterable[str]) -> list[Column]:
    return [Column(name, lambda row, name=name: row.point.get(name), format=level_text, key=name) for name in names]


def report_of_design(result: Design, data: Any = None) -> Report:
    """Report how many points and runs there are, what they cost, and the points."""
    points = result.chosen()
    count, counts = len(points), result.counts(points)
    refused = "".join(f"; {text} excludes {number}" for text, number in result.candidates()[1].items() if number)
    replications = f"{result.replications} repetition{'s' * (result.replications > 1)}"
    answer = f"{count} point{'s' * (count > 1)} of {', '.join(result.factors)}, {replications}: {sum(counts)} runs"
    figures = [Figure("points", count, format="d"), Figure("runs", sum(counts), format="d")]
    details: list[str] = []
    if (total_s := getattr(result, "total_s", None)) is not None:  # of a `perf_experiments.recommendation.Budgeted`
        figures.append(Figure("time", total_s, "s"))
        dear = getattr(result, "too_dear_s", {})
        details = [f"dropped: {point}, {duration_text(each)} per run" for point, each in dear.items()]
        if len(details) > _MOST_NAMED:
            details[_MOST_NAMED:] = [f"dropped: {len(details) - _MOST_NAMED} more, see left_out in the design"]
        details.insert(0, f"about {duration_text(total_s)} in total")
    levels = [Column(name, [point[name] for point in points], format=level_text, key=name) for name in result.factors]
    return Report(
        title=f"design of {', '.join(result.factors)}",
        answer=answer + refused,
        figures=figures,
        tables=[Table([*levels, Column("repetitions", counts, importance="data")])],
        next=_following("design", _program(result.factors)),
        details=details,
    )


def _state(run: Run) -> str:
    return "failed" if run.problem else "noisy" if run.noisy else "ok"


def report_of_run(result: Run, data: Any = None) -> Report:
    """Report all about one run, line by line."""
    facts = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    facts = {name: value for name, value in facts.items() if name not in _LONG}
    facts["command"] = shlex.join(result.command)
    texts = dict.fromkeys(_FIRST, "")
    for name, value in {**facts, **result.environment}.items():
        text = " ".join(f"{key}={each}" for key, each in value.items()) if isinstance(value, dict) else value
        texts[name] = "" if text is None else {"True": "yes", "False": "no"}.get(str(text), str(text))
    for name in PRINTED:  # a row for each line
        lines = getattr(result, name).decode(errors="replace").rstrip().splitlines()
        texts |= {f"{name}{f' {k}' if k > 1 else ''}": line for k, line in enumerate(lines, 1)}
    shown = {name: text for name, text in texts.items() if text}
    title = f"run {result.number}: {_state(result)}"
    figures = [Figure("wall", result.wall_ns / 1e9, "s")]
    answer = f"{title}, {point_text(result.point)}, {result.wall_ns / 1e9:.4g} s"
    table = Table([Column("about", list(shown)), Column("value", list(shown.values()))], limit=_MOST_ABOUT)
    return Report(title, answer, figures, tables=[table, _run_table([result], "data")])


def report_of_runs(result: Runs, data: Any = None) -> Report:
    """Report how many runs there are, with one row for each."""
    title, notes = f"runs of {result.store}", [Note("Check", "checksums match")] if result.checked else []
    if result.in_full:
        return dataclasses.replace(result.listed[0].report(), title=title, notes=notes)
    store = shlex.quote(result.store)
    has_versions = any(VERSION in run.point for run in result.listed)
    following = f"perf {'gate' if has_versions else 'fit'} {store}" if result.succeeded else ""
    if result.failed:
        following = f"perf experiment list {store} --failed"
        if all(run.problem for run in result.listed):
            following = f"perf experiment list {store} --show {result.listed[0].number}"
    if result.waiting:
        collect = "collect with `perf experiment run DESIGN --parallel slurm --collect`"
        notes.append(Note("Uncertain", f"{result.waiting} runs pending in Slurm; {collect}"))
    counts = {"succeeded": result.succeeded, "noisy": result.noisy, "failed": result.failed}
    return Report(
        title=title,
        answer=f"{result.store}: {result.succeeded} runs succeeded ({result.noisy} noisy), {result.failed} failed",
        figures=[Figure(name, count, format="d") for name, count in counts.items()],
        tables=[_run_table(result.listed)] if result.listed else [],
        draw=partial(_plots_of_runs, result.listed),
        notes=notes,
        next=following,
    )


def _plots_of_runs(runs: Sequence[Run]) -> list[Plot]:
    """Return the wall time of each run in the order in which they were made: drift and outliers."""
    good, bad = ([run for run in runs if bool(run.problem) == failed] for failed in (False, True))
    marks = [
        Points([run.number for run in chosen], [run.wall_ns / 1e9 for run in chosen], label, colour)
        for chosen, label, colour in ((good, "ok", "data"), (bad, "failed", "accent"))
        if chosen
    ]
    return [Plot("runs", marks, Axis("run"), Axis("wall time", "s"))] if marks else []


def report_of_summary(result: Summary, data: Any = None) -> Report:
    """Report what a call made, and what remains."""
    noisy = f", {result.noisy} of them noisy" if result.noisy else ""
    verb, store = "collected" if result.collected else "made", shlex.quote(result.store)
    notes = []
    if result.failed:
        notes.append(Note("Uncertain", f"{result.failed} failed; --retry-failed repeats them"))
    if result.waiting:
        text = f"{result.handed_over} jobs submitted to Slurm, {result.waiting} pending or running; rerun to collect"
        notes.append(Note("Uncertain", text))
    if result.wide:
        wide = ", ".join(result.wide[:_MOST_WIDE]) + ", ..." * (len(result.wide) > _MOST_WIDE)
        notes.append(Note("Uncertain", f"--until precision not reached at {len(result.wide)} points ({wide})"))
    if result.at_once > 1:
        text = f"{result.at_once} runs at a time shared this machine; their times include each other's disturbance"
        notes.append(Note("Uncertain", text))
    row = {**vars(result), "wide": len(result.wide)}
    following = f"perf {'gate' if result.has_versions else 'fit'} {store}"
    following = f"perf experiment list {store} --failed" if result.failed else following
    return Report(
        title=f"runs in {result.store}",
        answer=f"{result.store}: {result.made} new runs {verb}, {result.succeeded} in total{noisy}",
        figures=[Figure("new runs", result.made, format="d"), Figure("runs", result.succeeded, format="d")],
        tables=[Table([Column(name, [value], key=name) for name, value in row.items()], importance="data")],
        notes=notes,
        next="" if result.waiting or not (result.succeeded or result.failed) else following,
    )


def _run_table(runs: Sequence[Run], importance: Any = "default") -> Table:
    columns = [
        Column("run", "number", key="run"),
        *_factors(dict.fromkeys(name for run in runs for name in run.point)),
        Column("repetition", "replication"),
        *(
            Column(name, lambda run, name=name: run.values.get(name), format=".6g", key=name)
            for name in dict.fromkeys(name for run in runs for name in run.values)
        ),
        Column("wall", lambda run: run.wall_ns / 1e9, "s"),
        Column("user", "user_s", "s", importance="data"),
        Column("system", "system_s", "s", importance="data"),
        Column("peak memory", lambda run: run.peak_memory_kib / 1024, "MiB", importance="data"),
        Column("state", _state),
        Column(
            "problem", "problem", format=lambda text: text[:_MOST_CHARACTERS] + "..." * (len(text) > _MOST_CHARACTERS)
        ),
        Column("started", "started", importance="data"),
    ]
    return Table(columns, runs, importance=importance)


def report_of_recommendation(result: Recommendation, data: Any = None) -> Report:
    """Report what to measure next, what it changes at the target, and the models that disagree."""
    unit, first = result.unit or "", result.choices[0]
    after = f" {unit}" if unit else ""
    figures = [
        Figure("standard error after", first.error, unit),
        Figure("standard error", result.error, unit),
        Figure("prediction", result.value, unit, format=".4g"),
    ]
    at = f"{point_text(result.target)} (predicted {result.value:.4g}{after})"
    falls = f"the standard error at {at} falls from {result.error:.3g} to {first.error:.3g}{after}"
    notes = [] if result.is_averaged else [Note("Assumed", "the model is correct")]
    values = [rival.value for rival in result.rivals]
    if values:
        span = "..".join(dict.fromkeys(f"{value:.3g}" for value in (min(values), max(values))))
        notes.append(Note("Uncertain", f"{len(values)} competing model{'s' * (len(values) != 1)}: {span}{after}"))
    columns = [
        *_factors(first.point),
        Column("runs", "repetitions"),
        Column("SE after", "error", format=".3g", key="error"),
        Column("variance reduction", "gain", format=".1%", key="gain"),
        Column("cost", "cost_s", format=duration_text, key="cost_s"),
        Column("reduction per s", "gain_per_s", format=".4g", key="gain_per_s"),
        Column("in all", "in_all", importance="data"),
    ]
    return Report(
        title=f"next points for {point_text(result.target)}",
        answer=f"Measure {point_text(first.point)} next: {falls}",
        figures=figures,
        tables=[Table(columns, result.choices)],
        notes=notes,
        next=_following("more", _program(first.point)),
        details=[
            f"run-to-run SD at the target {result.noise:.3g}",
            *(
                f"competing model: {rival.value:.4g}{after}, {rival.name} ({rival.figure}); farthest apart at "
                f"{point_text(rival.point)}, {rival.distance:.2g} standard deviations of a measurement"
                for rival in result.rivals
            ),
        ],
    )


def report_of_replications(result: Replications, data: Any = None) -> Report:
    """Report how many runs are missing, how well each point is known, and the runs that it needs."""
    more = sum(each.more for each in result.wanting)
    seconds = sum(each.more * each.seconds for each in result.wanting)
    precision = f"+-{100.0 * result.precision:.3g}% (95% CI)"
    answer = f"No further runs needed: all {len(result.points)} means within {precision}"
    if more:
        points, about = f"{len(result.wanting)} points", duration_text(seconds)
        answer = f"{more} more runs of {points} needed for {precision} of each mean, about {about}"
    columns = [
        *_factors(result.points[0].point),
        Column("runs", "runs"),
        Column("CV", "spread", format=".1%", key="spread"),
        Column("95% CI half-width", "precision", format=".1%", key="precision"),
        Column("runs needed", "needed", key="needed"),
        Column("more", "more", importance="data"),
        Column("seconds", "seconds", importance="data"),
    ]
    return Report(
        title=f"repetitions for +-{100.0 * result.precision:.3g}% of each mean",
        answer=answer,
        figures=[Figure("runs needed", more, format="d"), Figure("time", seconds, "s")],
        tables=[Table(columns, result.points)],
        next=_following("more", f"perf experiment run {{}} --store {shlex.quote(result.store)}") if more else "",
    )
