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
    """A column for each factor of the rows' points."""
    return [Column(name, lambda row, name=name: row.point.get(name), format=level_text, key=name) for name in names]


class DesignPresenter(Presenter):
    """A line that counts, lines of costs, and a table of the points."""

    def title(self, result: Design) -> str:
        """The factors."""
        return f"design of {', '.join(result.factors)}"

    def summary(self, result: Design) -> list[str]:
        """How many points and runs, what the constraints refuse, and the costs where they are known."""
        count, runs = len(result.chosen()), sum(result.counts(result.chosen()))
        refused = {text: number for text, number in result.candidates()[1].items() if number}
        without = "".join(f"; {text} refuses {number}" for text, number in refused.items())
        replications = f"{result.replications} replication{'s' * (result.replications > 1)}"
        counted = f"{count} point{'s' * (count > 1)} of {', '.join(result.factors)}, {replications}: {runs} runs"
        if not isinstance(result, Budgeted):
            return [counted + without]
        dear = [f"left out: {point}, {duration_text(each)} each run" for point, each in result.too_dear_s.items()]
        if len(dear) > _MOST_NAMED:
            dear[_MOST_NAMED:] = [f"left out: {len(dear) - _MOST_NAMED} more, see left_out in the design"]
        return [counted + without, f"about {duration_text(result.total_s)} in all", *dear]

    def tables(self, result: Design) -> Tables:
        """The levels of each point."""
        points = result.chosen()
        levels = [Column(name, [p[name] for p in points], format=level_text, key=name) for name in result.factors]
        return [Table([*levels, Column("replications", result.counts(points), importance="data")])]


class RunPresenter(Presenter):
    """All about one run, line by line."""

    def title(self, result: Run) -> str:
        """Its number and state."""
        return f"run {result.number}: {_state(result)}"

    def summary(self, result: Run) -> list[str]:
        """Every fact, then those of its environment."""
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
        """One row."""
        return _run_table([result]).frame()


class RunsPresenter(Presenter):
    """A table with one row for each run, and how many there are."""

    def title(self, result: Runs) -> str:
        """The store."""
        return f"runs of {result.store}"

    def summary(self, result: Runs) -> list[str]:
        """How many succeeded and failed, and how many a scheduler has."""
        if result.in_full:
            texts = [line for name, text in result.printed.items() if text for line in (f"--- {name}", text.rstrip())]
            return [*result.listed[0].summary(), *texts]
        lines = [f"{result.store}: {result.succeeded} succeeded, {result.noisy} of them noisy; {result.failed} failed"]
        if result.checked:
            lines.append(f"{result.store}: everything is as it was written")
        if result.waiting:
            lines.append(
                f"{result.waiting} runs are with Slurm; `perf experiment run DESIGN --scheduler slurm --collect` "
                "collects them"
            )
        return lines

    def tables(self, result: Runs) -> Tables:
        """The listed runs; long problems are cut."""
        return [_run_table(result.listed)] if result.listed and not result.in_full else []


class SummaryPresenter(Presenter):
    """What a call made, and what is left."""

    def title(self, result: Summary) -> str:
        """The store."""
        return f"runs in {result.store}"

    def summary(self, result: Summary) -> list[str]:
        """Runs made or collected; those that wait, are not sure enough, or failed."""
        noisy = f", {result.noisy} of them noisy" if result.noisy else ""
        verb = "collected" if result.collected else "made"
        lines = [f"{result.store}: {result.made} runs {verb}; {result.succeeded} measurements in all{noisy}"]
        if result.waiting:
            lines.append(
                f"{result.handed_over} runs handed to Slurm; {result.waiting} waiting or running; call again to collect"
            )
        if result.wide:
            wide_points = ", ".join(result.wide[:5]) + (", ..." if len(result.wide) > 5 else "")
            lines.append(f"not yet as narrow as --until asks: {len(result.wide)} points ({wide_points})")
        if result.failed:
            lines.append(
                f"{result.failed} failed; `perf experiment list {result.store} --failed` lists them, --retry-failed "
                "makes them again"
            )
        return lines

    def frame(self, result: Summary) -> pd.DataFrame:
        """One row of numbers."""
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
        """The target."""
        return f"next points for {point_text(result.target)}"

    def summary(self, result: Recommendation) -> list[str]:
        """The prediction and its error, what is taken for granted, and the models that fit about as well."""
        unit = f" {result.unit}" if result.unit else ""
        prediction = (
            f"{point_text(result.target)}: {result.value:.4g}{unit} predicted, standard error {result.error:.3g}; a "
            f"measurement there varies by {result.noise:.3g}"
        )
        if not result.rivals:
            return [prediction, "if the model is right; no other that fits about as well is known, to compare with"]
        return [
            prediction,
            "if the model is right; others fit about as well and say at the target",
            *(
                f"  {rival.value:.4g}{unit}: {rival.name} ({rival.figure}); farthest apart at "
                f"{point_text(rival.point)}, {rival.distance:.2g} standard deviations of a measurement"
                for rival in result.rivals
            ),
        ]

    def tables(self, result: Recommendation) -> Tables:
        """The choices."""
        columns = [
            *_factors(result.choices[0].point),
            Column("runs", "repetitions"),
            Column("error after", "error", format=".3g", key="error"),
            Column("variance falls by", "gain", format=".1%", key="gain"),
            Column("cost", "cost_s", format=duration_text, key="cost_s"),
            Column("per s", "gain_per_s", format=".3%", key="gain_per_s"),
            Column("in all", "in_all", importance="data"),
        ]
        return [Table(columns, result.choices)]


class ReplicationsPresenter(Presenter):
    """Each point of the store: how well it is known, and the runs that it needs."""

    def title(self, result: Replications) -> str:
        """The precision."""
        return f"replications for {100.0 * result.precision:.3g} % of each mean"

    def summary(self, result: Replications) -> list[str]:
        """How many runs are missing, and how long they take."""
        more = sum(each.more for each in result.wanting)
        seconds = sum(each.more * each.seconds for each in result.wanting)
        about = f", about {duration_text(seconds)}" if more else ""
        precision = f"{100.0 * result.precision:.3g} % of each mean (95 %)"
        return [f"{more} more runs of {len(result.wanting)} points for {precision}{about}"]

    def tables(self, result: Replications) -> Tables:
        """One row for each point."""
        columns = [
            *_factors(result.points[0].point),
            Column("runs", "runs"),
            Column("spread", "spread", format=".1%"),
            Column("known to", "precision", format=".1%", key="precision"),
            Column("needed", "needed"),
            Column("more", "more", importance="data"),
            Column("seconds", "seconds", importance="data"),
        ]
        return [Table(columns, result.points)]
