"""Experiments: design them, make their runs, keep every run.

A `Design` says which points are measured, how often and in which order. `run_design` makes its runs and keeps each in a
`Store`, an SQLite file, as soon as it ends; `perfcore.read` reads the store as a table of measurements.
"""

from perfcore.experiments.design import Design, make_design, read_design
from perfcore.experiments.design_file import write_design
from perfcore.experiments.handing import hand_over
from perfcore.experiments.history import Summary
from perfcore.experiments.next_points import Advice, next_points
from perfcore.experiments.replications import needed_replications
from perfcore.experiments.run_options import RunOptions
from perfcore.experiments.runner import run_design
from perfcore.experiments.store import Store

__all__ = [
    "Advice",
    "Design",
    "RunOptions",
    "Store",
    "Summary",
    "hand_over",
    "make_design",
    "needed_replications",
    "next_points",
    "read_design",
    "run_design",
    "write_design",
]
