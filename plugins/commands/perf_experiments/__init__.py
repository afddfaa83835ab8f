"""Experiments: design them, make their runs, keep every run.

A `Design` says which points are measured, how often and in which order. `run_design` makes its runs and keeps each in a
`Store`, an SQLite file, as soon as it ends; `perfcore.read` reads the store as a table of measurements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfcore import hookimpl
from perfcore.base.lazy import lazy_names
from perfcore.hooks.specs import Register

if TYPE_CHECKING:
    from perf_experiments.advice.next_points import Advice
    from perf_experiments.advice.replications import Replications, needed_replications
    from perf_experiments.api.next_points import next_points
    from perf_experiments.design.design import Design, make_design, read_design
    from perf_experiments.design.design_file import write_design
    from perf_experiments.runs.handing import hand_over
    from perf_experiments.runs.history import Summary
    from perf_experiments.runs.options import RunOptions
    from perf_experiments.runs.records import Run, Runs
    from perf_experiments.runs.runner import run_design
    from perf_experiments.runs.store import Store

__all__ = [
    "Advice",
    "Design",
    "Replications",
    "Run",
    "RunOptions",
    "Runs",
    "Store",
    "Summary",
    "hand_over",
    "make_design",
    "needed_replications",
    "next_points",
    "read_design",
    "register_commands",
    "register_presenters",
    "register_readers",
    "run_design",
    "write_design",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Advice": "perf_experiments.advice.next_points",
        "Design": "perf_experiments.design.design",
        "Replications": "perf_experiments.advice.replications",
        "Run": "perf_experiments.runs.records",
        "RunOptions": "perf_experiments.runs.options",
        "Runs": "perf_experiments.runs.records",
        "Store": "perf_experiments.runs.store",
        "Summary": "perf_experiments.runs.history",
        "hand_over": "perf_experiments.runs.handing",
        "make_design": "perf_experiments.design.design",
        "needed_replications": "perf_experiments.advice.replications",
        "next_points": "perf_experiments.api.next_points",
        "read_design": "perf_experiments.design.design",
        "run_design": "perf_experiments.runs.runner",
        "write_design": "perf_experiments.design.design_file",
    },
)


@hookimpl
def register_readers(register: Register) -> None:
    """Announce the reader of stores."""
    register(
        "experiments",
        "perf_experiments.store_reader:ExperimentStoreReader",
        options="perf_experiments.reader_options:ExperimentStoreOptions",
        help="stores of runs, made by perf experiment run",
        suffixes=(".db", ".sqlite"),
    )


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the commands."""
    register("experiment", "", group="Measure", help="Plan runs, make them, list them, and choose the next ones.")
    for name, former, text, function in (
        ("design", "design", "Which points to measure, how often, in which order.", "design:design"),
        ("run", "run", "Make the runs of a design; each is kept as soon as it ends.", "run:run"),
        ("list", "runs", "The runs that a store holds.", "run:runs"),
        ("next", "next", "Which runs to make next.", "next_points:next_points"),
        ("sample", "sample", "Sample the load of this machine.", "sample:sample"),
    ):
        register(
            f"experiment {name}",
            f"perf_experiments.cli.{former}:command",
            group="Measure",
            help=text,
            function=f"perf_experiments.api.{function}",
            former=(former,),
        )


@hookimpl
def register_presenters(register: Register) -> None:
    """Announce how the results are shown."""
    for result_class, presenter, text in (
        ("design.design:Design", "designs:DesignPresenter", "points to measure"),
        ("runs.records:Run", "stored_runs:RunPresenter", "a run"),
        ("runs.records:Runs", "stored_runs:RunsPresenter", "the runs of a store"),
        ("runs.history:Summary", "stored_runs:SummaryPresenter", "what perf experiment run did"),
        ("advice.next_points:Advice", "advice:AdvicePresenter", "next points for a prediction"),
        ("advice.replications:Replications", "advice:ReplicationsPresenter", "replications that a store needs"),
    ):
        register(f"perf_experiments.{result_class}", f"perf_experiments.presenters.{presenter}", help=text)
