"""How designs, runs and recommendations are shown."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from perf_experiments.costs import Budgeted, duration_text
from perf_experiments.design import level_text, point_text
from perfcore.results import Column, Presenter, Table, Tables

if TYPE_CHECKING:
    import pandas as pd

    from perf_experiments.design import Design
    from perf_experiments.recommendation import Recommendation
    from perf_experiments.replications import Replications
    from perf_experiments.run_records import Run, Runs, Summary


_MOST_NAMED = 10  # points that a budget left out; the file has all
_MOST_CHARACTERS = 60  # of a problem in the table
_LONG = ("stdout", "stderr", "results", "environment")


def _factors(names: Iterable[str]) -> list[Column]:
    return [Column(name, lambda row, name=name: row.point.get(name), format=level_text, key=name) for name in names]


class DesignPresenter(Presenter):
    """A line that counts, lines of costs, and a table of the points."""

    def title(self, result: Design) -> str:
        return f"design of {', '.join(result.factors)}"

    def summary(self, result: Design) -> list[str]:
        count, runs = len(result.chosen()), sum(result.counts(result.chosen()))
        refused = {text: number for text, number in result.candidates()[1].items() if number}
        without = "".join(f"; {text} excludes {number}" for text, number in refused.items())
        replications = f"{result.replications} repetition{'s' * (result.replications > 1)}"
        counted = f"{count} point{'s' * (count > 1)} of {', '.join(result.factors)}, {replications}: {runs} runs"
        if not isinstance(result, Budgeted):
            return [counted + without]
        dear = [f"dropped: {point}, {duration_text(each)} per run" for point, each in result.too_dear_s.items()]
        if len(dear) > _MOST_NAMED:
            dear[_MOST_NAMED:] = [f"dropped: {len(dear) - _MOST_NAMED} more, see left_out in the design"]
        return [counted + without, f"about {duration_text(result.total_s)} in total", *dear]

    def tables(self, result: Design) -> Tables:
        points = result.chosen()
        levels = [Column(name, [p[name] for p in points], format=level_text, key=name) for name in result.factors]
        return [Table([*levels, Column("replications", result.counts(points), importance="data")])]


class RunPresenter(Presenter):
    """All about one run, line by line."""

    def title(self, result: Run) -> str:
        return f"run {result.number}: {_state(result)}"

    def summary(self, result: Run) -> list[str]:
        facts = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
        facts = {name: value for name, value in facts.items() if name not in _LONG}
        facts["command"] = shlex.join(result.command)
        lines = []
        for name, value in {**facts, **result.environment}.items():
            text = " ".join(f"{key}={each}" for key, each in value.items()) if isinstance(value, dict) else value
            if isinstance(value, bool):
                text = "yes" if value else "no"
            lines.append(f"{name}: {'-' if text in (None, '') else text}")
        return lines

    def frame(self, result: Run) -> pd.DataFrame:
        return _run_table([result]).frame()


class RunsPresenter(Presenter):
    """A table with one row for each run, and how many there are."""

    def title(self, result: Runs) -> str:
        return f"runs of {result.store}"

    def summary(self, result: Runs) -> list[str]:
        if result.in_full:
            texts = [line for name, text in result.printed.items() if text for line in (f"--- {name}", text.rstrip())]
            return [*result.listed[0].summary(), *texts]
        lines = [f"{result.store}: {result.succeeded} runs succeeded ({result.noisy} noisy), {result.failed} failed"]
        if result.checked:
            lines.append(f"{result.store}: checksums match")
        if result.waiting:
            lines.append(
                f"{result.waiting} runs pending in Slurm; collect with `perf experiment run DESIGN --scheduler slurm "
                "--collect`"
            )
        return lines

    def tables(self, result: Runs) -> Tables:
        return [_run_table(result.listed)] if result.listed and not result.in_full else []


class SummaryPresenter(Presenter):
    """What a call made, and what remains."""

    def title(self, result: Summary) -> str:
        return f"runs in {result.store}"

    def summary(self, result: Summary) -> list[str]:
        noisy = f", {result.noisy} of them noisy" if result.noisy else ""
        verb = "collected" if result.collected else "made"
        lines = [f"{result.store}: {result.made} new runs {verb}, {result.succeeded} in total{noisy}"]
        if result.waiting:
            lines.append(
                f"{result.handed_over} jobs submitted to Slurm, {result.waiting} pending or running; rerun to collect"
            )
        if result.wide:
            wide_points = ", ".join(result.wide[:5]) + (", ..." if len(result.wide) > 5 else "")
            lines.append(f"--until precision not reached at {len(result.wide)} points ({wide_points})")
        if result.failed:
            lines.append(
                f"{result.failed} failed (list with `perf experiment list {result.store} --failed`, repeat with "
                "--retry-failed)"
            )
        return lines

    def frame(self, result: Summary) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame([{**vars(result), "wide": len(result.wide)}])


def _state(run: Run) -> str:
    return "failed" if run.problem else "noisy" if run.noisy else "ok"


def _run_table(runs: Sequence[Run]) -> Table:
    columns = [
        Column("run", "number", key="run"),
        *_factors(dict.fromkeys(name for run in runs for name in run.point)),
        Column("replication", "replication"),
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
    return Table(columns, runs)


class RecommendationPresenter(Presenter):
    """What is predicted at the target, the choices in their order, and the models that disagree."""

    def title(self, result: Recommendation) -> str:
        return f"next points for {point_text(result.target)}"

    def answer(self, result: Recommendation) -> str:
        unit, first = f" {result.unit}" if result.unit else "", result.choices[0]
        errors = f"falls from {result.error:.3g} to {first.error:.3g}{unit}"
        at = f"{point_text(result.target)} (predicted {result.value:.4g}{unit})"
        return f"Measure {point_text(first.point)} next: the standard error at {at} {errors}"

    def summary(self, result: Recommendation) -> list[str]:
        unit = f" {result.unit}" if result.unit else ""
        return [
            self.answer(result),
            f"run-to-run SD at the target {result.noise:.3g}",
            *(
                f"competing model: {rival.value:.4g}{unit}, {rival.name} ({rival.figure}); farthest apart at "
                f"{point_text(rival.point)}, {rival.distance:.2g} standard deviations of a measurement"
                for rival in result.rivals
            ),
        ]

    def caveats(self, result: Recommendation) -> dict[str, Sequence[str]]:
        unit = f" {result.unit}" if result.unit else ""
        values = [rival.value for rival in result.rivals]
        uncertain = []
        if values:
            span = "..".join(dict.fromkeys(f"{value:.3g}" for value in (min(values), max(values))))
            uncertain.append(f"{len(values)} competing model{'s' * (len(values) != 1)}: {span}{unit}")
        return {"Assumed": [] if result.is_averaged else ["the model is correct"], "Uncertain": uncertain}

    def tables(self, result: Recommendation) -> Tables:
        columns = [
            *_factors(result.choices[0].point),
            Column("runs", "repetitions"),
            Column("SE after", "error", format=".3g", key="error"),
            Column("variance reduction", "gain", format=".1%", key="gain"),
            Column("cost", "cost_s", format=duration_text, key="cost_s"),
            Column("reduction per s", "gain_per_s", format=".4g", key="gain_per_s"),
            Column("in all", "in_all", importance="data"),
        ]
        return [Table(columns, result.choices)]


class ReplicationsPresenter(Presenter):
    """Each point of the store: how well it is known, and the runs that it needs."""

    def title(self, result: Replications) -> str:
        return f"repetitions for +-{100.0 * result.precision:.3g}% of each mean"

    def summary(self, result: Replications) -> list[str]:
        more = sum(each.more for each in result.wanting)
        seconds = sum(each.more * each.seconds for each in result.wanting)
        about = f", about {duration_text(seconds)}" if more else ""
        precision = f"+-{100.0 * result.precision:.3g}% (95% CI)"
        if not more:
            return [f"No further runs needed: all {len(result.points)} means within {precision}"]
        return [f"{more} more runs of {len(result.wanting)} points needed for {precision} of each mean{about}"]

    def tables(self, result: Replications) -> Tables:
        columns = [
            *_factors(result.points[0].point),
            Column("runs", "runs"),
            Column("CV", "spread", format=".1%", key="spread"),
            Column("95% CI half-width", "precision", format=".1%", key="precision"),
            Column("runs needed", "needed", key="needed"),
            Column("more", "more", importance="data"),
            Column("seconds", "seconds", importance="data"),
        ]
        return [Table(columns, result.points)]
