"""What a job of an array does: one part of a run, or the merge of all.

Run as ``python -m perf_analysis.summarize.array_job``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from perf_traces.summaries.run import Run
from perf_traces.summaries.summarized_trace import SummarizedTrace
from perf_traces.summaries.summarizing import Checkpoint, merged, summarized
from perf_traces.summaries.summary_file import save
from perfcore.base.errors import DataError, InputError, PerfError, listing

PLAN = "plan.json"


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What all jobs of an array work on."""

    run: Run
    folder: str  # that its files are below
    parts: int
    output: str  # the summary of all of them
    allow_missing: bool  # leave out files that cannot be read

    @staticmethod
    def read(where: Path) -> Plan:
        """The plan in a folder."""
        path = where / PLAN
        try:
            return msgspec.json.decode(path.read_bytes(), type=Plan)
        except OSError as error:
            raise InputError(path, f"cannot be read: {error.strerror or error}") from error
        except msgspec.DecodeError as error:
            raise InputError(path, f"is no plan of an array of jobs: {error}") from None

    def missing(self, where: Path) -> list[int]:
        """Which parts are not there."""
        return [part for part in range(1, self.parts + 1) if not part_file(where, part).is_file()]


def part_file(where: Path, part: int) -> Path:
    """The summary of a part."""
    return where / f"{part}.summary"


def make_part(where: Path, part: int) -> None:
    """Summarize a part, unless it is there."""
    plan = Plan.read(where)
    positions = plan.run.positions((part, plan.parts))
    path = part_file(where, part)
    if path.is_file():
        return
    checkpoint = Checkpoint(path.with_suffix(".unfinished"), plan.run, frozenset(positions))
    summary = summarized(
        plan.run, Path(plan.folder), positions, None, allow_missing=plan.allow_missing, checkpoint=checkpoint
    )
    SummarizedTrace(summary, plan.folder)  # what is wrong is said before anything is written
    save(summary, path, (part, plan.parts))
    checkpoint.remove()


def make_whole(where: Path) -> None:
    """Merge all parts to the output."""
    plan = Plan.read(where)
    missing = plan.missing(where)
    if missing:
        raise DataError(
            f"{len(missing)} of {plan.parts} parts are missing: {listing(map(str, missing), 8)}; {where}/part-K.out "
            "says why, and the same perf summarize hands them over again"
        )
    summary = merged([part_file(where, part) for part in range(1, plan.parts + 1)])
    SummarizedTrace(summary, plan.folder)
    save(summary, plan.output)


def main() -> None:
    """Do what the words after the command name: a folder, and a part or ``merge``."""
    _, folder, task = sys.argv
    try:
        if task == "merge":
            make_whole(Path(folder))
        else:
            make_part(Path(folder), int(task))
    except PerfError as error:
        sys.stderr.write(f"perf: error: {error}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
