"""What a job of a scheduler executes: one run, measured as `perf experiment run` does it, and its record in a file.

The store is not touched: SQLite's locks are not to be trusted from many nodes of a network file system at once. The
record is written beside the task and renamed when it is whole; `perf_experiments.runs.handing` collects it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from perf_experiments.design.factors import Level
from perf_experiments.runs.environment import environment
from perf_experiments.runs.measurement import Measuring
from perf_experiments.runs.options import RunOptions
from perf_experiments.runs.records import Run
from perf_experiments.runs.values import parse_patterns
from perfcore.base.files import write_bytes


class Task(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run to make."""

    point: dict[str, Level]
    replication: int
    command: tuple[str, ...]  # with its places filled
    options: RunOptions


def outcome_file(task: Path) -> Path:
    """Where the record of a task's run is written."""
    return task.with_suffix(".done")


def read_outcome(task: Path) -> Run | None:
    """The run of a task; None where it has not ended."""
    try:
        content = outcome_file(task).read_bytes()
    except FileNotFoundError:
        return None
    return msgspec.json.decode(content, type=Run)


def execute(task: Path) -> int:
    """Make the run of a task file; returns the exit status of the job, 1 where the run failed."""
    try:
        content = task.read_bytes()
    except FileNotFoundError:
        print(f"{task}: withdrawn; nothing is run", file=sys.stderr)  # noqa: T201 (the job's own output)
        return 0
    spec = msgspec.json.decode(content, type=Task)
    patterns = parse_patterns(spec.options.values, list(spec.point))
    measuring = Measuring(spec.options, patterns, environment(spec.command[0]))
    run = measuring.run(spec.point, spec.replication, spec.command)
    write_bytes(outcome_file(task), msgspec.json.encode(run))
    return 0 if run.succeeded else 1


if __name__ == "__main__":
    sys.exit(execute(Path(sys.argv[1])))
