"""How runs are shown: one, those of a store, and what a call of `perf experiment run` did."""

from __future__ import annotations

import dataclasses
import shlex
from typing import TYPE_CHECKING

from perf_experiments.design.factors import level_text
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    import pandas as pd

    from perf_experiments.runs.history import Summary
    from perf_experiments.runs.records import Run, Runs


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
                f"{result.waiting} runs are with Slurm; `perf experiment run DESIGN --scheduler slurm --collect` "
                "collects them"
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
                f"{result.failed} failed; `perf experiment list {result.store} --failed` lists them, "
                "--retry-failed makes them "
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
