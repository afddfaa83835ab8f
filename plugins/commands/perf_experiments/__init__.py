"""Experiments: design them, make their runs, keep every run.

A `Design` says which points are measured, how often and in which order. `run_design` makes its runs and keeps each in a
`Store`, an SQLite file, as soon as it ends; `perfcore.read` reads the store as a table of measurements.
"""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.base.lazy import lazy_names
from perfcore.hooks.specs import Register

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Design": "perf_experiments.design",
        "Recommendation": "perf_experiments.recommendation",
        "Replications": "perf_experiments.replications",
        "Run": "perf_experiments.run_records",
        "RunOptions": "perf_experiments.run_records",
        "Runs": "perf_experiments.run_records",
        "Store": "perf_experiments.store",
        "Summary": "perf_experiments.run_records",
        "make_design": "perf_experiments.design",
        "needed_replications": "perf_experiments.replications",
        "next_points": "perf_experiments.next_runs",
        "read_design": "perf_experiments.design",
        "run_design": "perf_experiments.runner",
        "write_design": "perf_experiments.design",
    },
)


@hookimpl
def register_readers(register: Register) -> None:
    """Announce the reader of stores."""
    register(
        "experiments",
        "perf_experiments.store_reader:ExperimentStoreReader",
        options="perf_experiments.store_reader:ExperimentStoreOptions",
        help="stores of runs, made by perf run",
        suffixes=(".db", ".sqlite"),
    )


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the commands."""
    register(
        "design",
        "perf_experiments.cli.design:command",
        group="Measure",
        help="Which points to measure, how often, in which order.",
        function="perf_experiments.api:design",
    )
    register(
        "run",
        "perf_experiments.cli.run:command",
        group="Measure",
        help="Make the runs of a design; each is kept as soon as it ends.",
        function="perf_experiments.api:run",
    )
    register(
        "runs",
        "perf_experiments.cli.runs:command",
        group="Measure",
        help="The runs that a store holds.",
        function="perf_experiments.api:runs",
    )
    register(
        "next",
        "perf_experiments.cli.next:command",
        group="Measure",
        help="Which runs to make next.",
        function="perf_experiments.next_runs:next_points",
    )
    register(
        "sample",
        "perf_experiments.cli.sample:command",
        group="Measure",
        help="Sample the load of this machine.",
        function="perf_experiments.api:sample",
    )


@hookimpl
def register_presenters(register: Register) -> None:
    """Announce how the results are shown."""
    for result_class, presenter, text in (
        ("design:Design", "DesignPresenter", "points to measure"),
        ("run_records:Run", "RunPresenter", "a run"),
        ("run_records:Runs", "RunsPresenter", "the runs of a store"),
        ("run_records:Summary", "SummaryPresenter", "what perf run did"),
        ("recommendation:Recommendation", "RecommendationPresenter", "next points for a prediction"),
        ("replications:Replications", "ReplicationsPresenter", "replications that a store needs"),
    ):
        register(f"perf_experiments.{result_class}", f"perf_experiments.presenters:{presenter}", help=text)
