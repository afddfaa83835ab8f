"""Experiments: design them, make their runs, keep every run.

A `Design` says which points are measured, how often and in which order. `run_design` makes its runs and keeps each in a
`Store`, an SQLite file, as soon as it ends; `perfcore.read` reads the store as a table of measurements.
"""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.base import lazy_names
from perfcore.hooks.specs import COMMAND_GROUP, Register

_PUBLIC = {
    "api": ("next_points",),
    "design": ("Design", "make_design", "read_design", "write_design"),
    "recommendation": ("Recommendation", "Replications", "needed_replications"),
    "run_records": ("Run", "RunOptions", "Runs", "Summary"),
    "runner": ("run_design",),
    "store": ("Store",),
}
_HOMES = {name: f"perf_experiments.{module}" for module, names in _PUBLIC.items() for name in names}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)


@hookimpl
def register_readers(register: Register) -> None:
    """Announce the reader of stores."""
    register(
        "experiments",
        "perf_experiments.store:ExperimentStoreReader",
        options="perf_experiments.points:ExperimentStoreOptions",
        help="run databases, made by perf experiment run",
        suffixes=(".db", ".sqlite"),
    )


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the commands."""
    register("experiment", COMMAND_GROUP, group="Measure", help="Plan, execute and list runs; recommend the next.")
    design = "Write the design (.toml), which `perf experiment run` takes."
    for name, text, function, saves in (
        ("design", "Create an experiment design.", "design", design),
        ("run", "Execute the runs of a design (resumable).", "run", ""),
        ("list", "List recorded runs.", "runs", ""),
        ("next", "Recommend the most informative next runs.", "next_points", design),
        ("sample", "Record CPU or network load.", "sample", ""),
    ):
        target = f"perf_experiments.api:{function}"
        register(f"experiment {name}", target, group="Measure", help=text, function=target, saves=saves)
