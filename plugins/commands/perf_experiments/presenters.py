"""How designs, runs and recommendations are shown."""

from __future__ import annotations

import dataclasses
import shlex
from typing import TYPE_CHECKING

from perf_experiments.costs import Budgeted, duration_text
from perf_experiments.design import level_text, point_text
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    import pandas as pd

    from perf_experiments.design import Design
    from perf_experiments.recommendation import Disagreement, Recommendation
    from perf_experiments.replications import Replications
    from perf_experiments.run_records import Run, Runs, Summary


_MOST_NAMED = 10  # points that a budget left out; the file has all


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
        return [counted + without, *(_costs(result) if isinstance(result, Budgeted) else [])]

    def tables(self, result: Design) -> Tables:
        """The levels of each point."""
        rows = [[level_text(level) for level in point.values()] for point in result.chosen()]
        return [("", list(result.factors), rows)]

    def frame(self, result: Design) -> pd.DataFrame:
        """One row for each point: its levels, and how often it is measured."""
        import pandas as pd

        points = result.chosen()
        return pd.DataFrame(points).assign(replications=result.counts(points))


def _costs(design: Budgeted) -> list[str]:
    lines = [f"about {duration_text(design.total_s)} in all"]
    for number, (point, seconds) in enumerate(design.too_dear_s.items()):
        if number == _MOST_NAMED:
            lines.append(f"left out: {len(design.too_dear_s) - number} more, see left_out in the design")
            break
        lines.append(f"left out: {point}, {duration_text(seconds)} each run")
    return lines


_MOST_CHARACTERS = 60  # of a problem in the table
_LONG = ("stdout", "stderr", "results", "environment")


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
        return _frame([result])


class RunsPresenter(Presenter):
    """A table with one row for each run, and how many there are."""

    def title(self, result: Runs) -> str:
        """The store."""
        return f"runs of {result.store}"

    def summary(self, result: Runs) -> list[str]:
        """How many succeeded and failed, and how many a scheduler has."""
        lines = [f"{result.store}: {result.succeeded} succeeded, {result.noisy} of them noisy; {result.failed} failed"]
        if result.waiting:
            lines.append(
                f"{result.waiting} runs are with Slurm; `perf run DESIGN --scheduler slurm --collect` collects them"
            )
        return lines

    def tables(self, result: Runs) -> Tables:
        """The listed runs; long problems are cut."""
        factors = list(dict.fromkeys(name for run in result.listed for name in run.point))
        values = list(dict.fromkeys(name for run in result.listed for name in run.values))
        rows = []
        for run in result.listed:
            problem = run.problem or ""
            rows.append(
                [
                    str(run.number),
                    *(level_text(run.point[name]) if name in run.point else "" for name in factors),
                    str(run.replication),
                    f"{run.wall_ns / 1e9:.4g}",
                    *(f"{run.values[name]:.6g}" if name in run.values else "" for name in values),
                    _state(run),
                    problem[:_MOST_CHARACTERS] + "..." * (len(problem) > _MOST_CHARACTERS),
                ]
            )
        header = ["run", *factors, "replication", "wall_s", *values, "state", "problem"]
        return [("", header, rows)] if rows else []

    def frame(self, result: Runs) -> pd.DataFrame:
        """One row for each listed run: factors, values, times, state and problem."""
        return _frame(result.listed)


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
                f"{result.failed} failed; `perf runs {result.store} --failed` lists them, --retry-failed makes them "
                "again"
            )
        return lines

    def frame(self, result: Summary) -> pd.DataFrame:
        """One row of numbers."""
        import pandas as pd

        return pd.DataFrame([{**vars(result), "wide": len(result.wide)}])


def _state(run: Run) -> str:
    return "failed" if run.problem else "noisy" if run.noisy else "ok"


def _frame(runs: tuple[Run, ...] | list[Run]) -> pd.DataFrame:
    import pandas as pd

    rows = [
        {
            "run": run.number,
            **run.point,
            "replication": run.replication,
            **run.values,
            "wall_s": run.wall_ns / 1e9,
            "user_s": run.user_s,
            "system_s": run.system_s,
            "peak_memory_mib": run.peak_memory_kib / 1024,
            "state": _state(run),
            "problem": run.problem,
            "started": run.started,
        }
        for run in runs
    ]
    return pd.DataFrame(rows)


class RecommendationPresenter(Presenter):
    """What is predicted at the target, the choices in their order, and the models that disagree."""

    def title(self, result: Recommendation) -> str:
        """The target."""
        return f"next points for {point_text(result.target)}"

    def summary(self, result: Recommendation) -> list[str]:
        """The prediction and its error, what is taken for granted, and the models that fit about as well."""
        unit = f" {result.unit}" if result.unit else ""
        prediction = (
            f"{point_text(result.target)}: {result.value:.4g}{unit} predicted, standard error {result.error:.3g}"
        )
        prediction += f"; a measurement there varies by {result.noise:.3g}"
        if not result.rivals:
            nobody = "if the model is right; no other that fits about as well is known, to compare with"
            return [prediction, nobody]
        others = "if the model is right; others fit about as well and say at the target"
        return [prediction, others, *(_rival_text(rival, unit) for rival in result.rivals)]

    def tables(self, result: Recommendation) -> Tables:
        """The choices."""
        names = list(result.choices[0].point)
        rows = []
        for number, choice in enumerate(result.choices, 1):
            rows.append(
                [
                    str(number),
                    *(level_text(choice.point[name]) for name in names),
                    str(choice.repetitions),
                    f"{choice.error:.3g}",
                    f"{choice.gain:.1%}",
                    "-" if choice.cost_s is None else duration_text(choice.cost_s),
                    "-" if choice.gain_per_s is None else f"{choice.gain_per_s:.3%}",
                ]
            )
        return [("", ["", *names, "runs", "error after", "variance falls by", "cost", "per s"], rows)]

    def frame(self, result: Recommendation) -> pd.DataFrame:
        """One row for each choice: its point, runs, error, gain and cost."""
        import pandas as pd

        rows = [
            {
                **choice.point,
                "runs": choice.repetitions,
                "error": choice.error,
                "gain": choice.gain,
                "cost_s": choice.cost_s,
                "gain_per_s": choice.gain_per_s,
                "in_all": choice.in_all,
            }
            for choice in result.choices
        ]
        return pd.DataFrame(rows)


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
        names = list(result.points[0].point)
        rows = [
            [
                *(level_text(each.point[name]) for name in names),
                *(str(each.runs), f"{each.spread:.1%}", f"{each.precision:.1%}", str(each.needed)),
            ]
            for each in result.points
        ]
        return [("", [*names, "runs", "spread", "known to", "needed"], rows)]

    def frame(self, result: Replications) -> pd.DataFrame:
        """One row for each point: runs, spread, precision, and what it needs."""
        import pandas as pd

        rows = [
            {
                **each.point,
                "runs": each.runs,
                "spread": each.spread,
                "precision": each.precision,
                "needed": each.needed,
                "more": each.more,
                "seconds": each.seconds,
            }
            for each in result.points
        ]
        return pd.DataFrame(rows)


def _rival_text(rival: Disagreement, unit: str) -> str:
    text = f", {rival.distance:.2g} standard deviations of a measurement"
    return (
        f"  {rival.value:.4g}{unit}: {rival.name} ({rival.figure}); farthest apart at {point_text(rival.point)}{text}"
    )
