"""``perf summarize``: the traces of a run to a small file, in this process, by workers, or by an array of Slurm's jobs.

The jobs of an array, and the one that merges what they make, are calls of ``perf summarize`` themselves.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from perf_tables.executors import executor_of
from perf_traces import slurm_client as slurm
from perf_traces.summaries.run import Run, is_summary, run_of
from perf_traces.summaries.summarized_trace import SummarizedTrace
from perf_traces.summaries.summarizing import merged, summarized
from perf_traces.summaries.sums import Summary, add_up, facts_of, save
from perfcore.base import progress
from perfcore.base.errors import InputError, OptionError
from perfcore.base.files import check_folder, refuse_existing, write_bytes
from perfcore.data.trace import Trace
from perfcore.hooks.options import NoOptions
from perfcore.reading.recognise import named_files
from perfcore.reading.source import Reader, Source
from perfcore.report import Figure, Note, Report, Result

Named = str | os.PathLike[str]

WAITING = 3  # the exit status while jobs wait or run, as of perf experiment run
_PART = re.compile(r"(\d{1,9})/(\d{1,9})")
_USUAL_PARTS = 100
_ONE_CORE = ("--ntasks=1", "--cpus-per-task=1")
_ONE_THREAD = "export NUMBA_NUM_THREADS=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1\n"


class RunSummary(SummarizedTrace, Result):
    """A summary that was made, merged or found: a trace without intervals, and what ``perf summarize`` says of it."""

    json_kind: ClassVar[str] = "summary"

    def report(self, data: Any = None) -> Report:
        counts = self._counts
        names = ("intervals", "locations", "states", "files")
        figures = [Figure(name, counts[name], format=",d") for name in names]
        intervals, locations, states, files = (figure.text for figure in figures)
        of = f"{files} of {counts['files_of_the_run']:,} files"
        path = shlex.quote(os.fspath(Path(self.source).with_name("whole.summary")))
        following = (
            f"perf summarize PARTS -o {path}"
            if self.summary.facts.missing()
            else f"perf fit {shlex.quote(self.source)}"
        )
        return Report(
            f"Summary: {self.source}", f"{intervals} intervals of {locations} locations and {states} states, from {of}",
            figures, notes=[Note("Note", note) for note in self.notes], next=following,
        )  # fmt: skip

    @property
    def _counts(self) -> dict[str, int]:
        summary, facts = self.summary, self.summary.facts
        return {
            "files": len(facts.files), "files_of_the_run": len(facts.run.files), "intervals": self.n_intervals,
            "locations": len(self.locations), "states": len(self.states), "cells": len(summary.cells),
            "cell_ns": 1 << facts.bits[0], "windows": len(summary.windows), "window_ns": 1 << facts.bits[1],
        }  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        is_file = os.path.isfile(self.source)  # noqa: PTH113 - the names of data may be too long for a path
        size = {"bytes": Path(self.source).stat().st_size} if is_file else {}
        facts = self.summary.facts
        missing = [facts.run.files[index].name for index in facts.missing()]
        left_out = list(facts.left_out.values())
        return {**self._counts, **size, "left_out": left_out, "notes": list(self.notes), "missing": missing}


@dataclass(frozen=True, repr=False)
class SubmittedJobs(Result):
    """How far an array is."""

    json_kind: ClassVar[str] = "array"
    status: ClassVar[int] = WAITING

    parts: int  # how many there are, and how many of them are done
    there: int
    jobs: tuple[str, ...]  # the array and the merge after it, which wait or run
    folder: Path  # where parts, and what jobs say, are

    def report(self, data: Any = None) -> Report:
        done = Figure("parts done", self.there, format=",d")
        answer = f"{done.text} of {self.parts:,} parts are done; jobs pending or running: {', '.join(self.jobs)}"
        following = "the same command again shows the status, submits what failed, and merges"
        return Report("Array of jobs", answer, [done], notes=[Note("Note", f"parts and logs: {self.folder}")],
                      next=following)  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        return {"parts": self.parts, "there": self.there, "jobs": list(self.jobs), "folder": str(self.folder)}


class _Array(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The jobs that were submitted last."""

    run: str  # its identity
    parts: int
    jobs: tuple[str, ...]


def summary_of(
    traces: Named | Sequence[Named], output: Named | None, part: str | None, cells: int, parallel: str | None,
    executor: Executor | None, allow_missing: bool, overwrite: bool, reader: str | None, from_name: str | None,
    options: Mapping[str, Any],
) -> RunSummary | SubmittedJobs:  # fmt: skip
    """Return what `perfcore.summarize` does."""
    if output is not None:  # before files are read for hours
        check_folder(output)
        if Path(output).is_dir():
            raise InputError(output, "is a folder; name a file in it")
    by_slurm = parallel is not None and parallel.partition(":")[0] == "slurm"
    if by_slurm and (part is not None or output is None):
        raise OptionError("--parallel slurm needs --output FILE and no --part, which is what each of its jobs does")
    names = [traces] if isinstance(traces, (str, os.PathLike)) else list(traces)
    if (parts := _summaries_among(names)) is not None:
        if part is not None:
            raise OptionError("--part is of traces, and these are summaries")
        return _merge(parts, output, allow_missing, overwrite)
    folder, run = run_of(names, cells=cells, reader=reader, from_name=from_name, options=options)
    positions, chosen = range(len(run.files)), None
    if part is not None:
        if (match := _PART.fullmatch(part)) is None:
            raise OptionError(f"--part {part}: K/N is expected, such as 3/10 for the third of ten")
        chosen = int(match[1]), int(match[2])
        positions = run.positions(chosen)
    if output is not None and not overwrite and Path(output).is_file():
        made = RunSummary(add_up([output]), os.fsdecode(output))
        difference = made.summary.facts.run.difference(run)
        if difference is None and made.summary.facts.positions != frozenset(positions):
            difference = "another part"
        if difference is not None:
            raise InputError(output, f"exists, and is not what is asked for: {difference}; --overwrite replaces it")
        progress.note(f"{os.fsdecode(output)}: already there")
        return made
    if by_slurm and output is not None:
        how = {"--cells": cells, "--reader": reader, "--from-name": from_name}
        words = [word for name, value in how.items() if value is not None for word in (name, str(value))]
        words += ["--allow-missing"] * allow_missing
        words += [word for name, value in options.items() for word in ("-r", f"{name}={value}")]
        outcome = _submit(run, [*words, *map(os.fsdecode, names)], output, str(parallel), overwrite)
        return outcome if isinstance(outcome, SubmittedJobs) else _merge(outcome, output, False, overwrite)
    checkpoint = None
    if output is not None and (Path(output).is_file() or not Path(output).exists()):  # no pipe or device
        checkpoint = Path(f"{os.fsdecode(output)}.unfinished")
    with executor_of(parallel, "perf_traces.summaries.summarizing:prepare") as workers:
        summary = summarized(
            run, folder, positions, executor or workers, allow_missing=allow_missing, checkpoint=checkpoint
        )
    made = _saved(summary, os.fsdecode(names[0] if len(names) == 1 else folder), output, chosen)
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
    return made


def _merge(parts: Sequence[Named], output: Named | None, allow_missing: bool, overwrite: bool) -> RunSummary:
    """Join the summaries of parts of a run, to the same numbers as one pass over all files."""
    if output is not None:
        refuse_existing(output, overwrite)
    return _saved(merged(parts, allow_missing=allow_missing), os.fsdecode(parts[0]), output)


def _saved(summary: Summary, name: str, output: Named | None, *chosen: tuple[int, int] | None) -> RunSummary:
    made = RunSummary(summary, name)  # refuse errors before anything is written
    if output is None:
        return made
    save(summary, output, *chosen)
    return RunSummary(summary, os.fsdecode(output))


def _summaries_among(names: Sequence[Named]) -> list[Path] | None:
    """Return the files if they are summaries, None if none is."""
    files: list[Path] = []
    for name in names:
        files += [Path(name)] if Path(name).is_dir() else named_files(os.fspath(name)) or [Path(name)]
    readable, summaries = [path for path in files if path.is_file()], []
    for path in readable:
        with path.open("rb") as file:
            summaries += [path] if is_summary(file.read(64)) else []
    if summaries and len(summaries) < len(readable):
        trace = next(path for path in readable if path not in summaries)
        raise InputError(trace, f"is no summary, and {summaries[0]} is: name traces, or summaries of their parts")
    return files if summaries else None


def _submit(
    run: Run, arguments: Sequence[str], output: Named, parallel: str, overwrite: bool
) -> SubmittedJobs | list[Path]:
    """Submit the parts that are missing, and the merge after them; return the parts once all are there."""
    words = slurm.sbatch_words(parallel.partition(":")[2])
    asked = dict(word.partition("=")[::2] for word in words).get("--parts")
    if asked is not None and not (asked.isdecimal() and int(asked)):
        raise OptionError(f"--parallel slurm: parts={asked}: a number of jobs is expected")
    words = (*_ONE_CORE, *(word for word in words if not word.startswith("--parts=")))
    n_parts = min(_USUAL_PARTS, len(run.files)) if asked is None else int(asked)
    if n_parts > len(run.files):
        raise OptionError(
            f"--parallel slurm: parts={n_parts}: there are {len(run.files)} files; give at most as many parts"
        )
    target = Path(output).absolute()
    where = target.with_name(f"{target.name}.parts")
    slurm.check_commands("sbatch", "squeue")
    files = [where / f"{part}.summary" for part in range(1, n_parts + 1)]
    jobs = _jobs(where, run, n_parts, overwrite)
    missing = [part for part, path in enumerate(files, 1) if not path.is_file()]
    if jobs and slurm.waiting(jobs):
        return SubmittedJobs(n_parts, n_parts - len(missing), jobs, where)
    if not missing:
        return files

    def submit(name: str, line: str, option: str, log: str, ending: str = "") -> str:
        lines = f"perfcore summarize {line}"
        return slurm.submit(where / f"{name}.sh", lines, [*words, option], where / log, "summarize", ending,
                            _ONE_THREAD)  # fmt: skip

    job = '"$SLURM_ARRAY_TASK_ID"'
    one_part = f"--part {job}/{n_parts} -o {shlex.quote(str(where))}/{job}.summary"
    array = submit("part", f"{shlex.join(arguments)} {one_part}", f"--array={_ranges(missing)}", "part-", "%a.out")
    submitted: tuple[str, ...] = (array,)
    write_bytes(where / "jobs", msgspec.json.encode(_Array(run.identity, n_parts, submitted)))
    merging = shlex.join([*map(str, files), "-o", str(target), *(["--overwrite"] if overwrite else [])])
    after = f"--dependency=afterany:{array.partition(';')[0]}"  # also if some failed: it says which are missing
    submitted = array, submit("merge", merging, after, "merge.out")
    write_bytes(where / "jobs", msgspec.json.encode(_Array(run.identity, n_parts, submitted)))
    return SubmittedJobs(n_parts, n_parts - len(missing), submitted, where)


def _jobs(where: Path, run: Run, n_parts: int, overwrite: bool) -> tuple[str, ...]:
    """Return the jobs submitted for this run; make the folder of parts, or refuse that of another run."""
    try:
        where.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(where, f"cannot be made: {error.strerror or error}") from error
    path, parts = where / "jobs", sorted(where.glob("*.summary"))
    if not path.is_file():
        return ()
    try:
        earlier = msgspec.json.decode(path.read_bytes(), type=_Array)
    except msgspec.DecodeError as error:
        raise InputError(path, f"is no list of jobs: {error}; remove it when none of them runs") from None
    if (earlier.run, earlier.parts) == (run.identity, n_parts):
        return earlier.jobs
    if not overwrite:
        difference = facts_of(parts[0]).run.difference(run) if parts else None
        difference = difference or f"{earlier.parts} parts, or other files or options"
        raise InputError(where, f"holds parts of another run: {difference}; --overwrite starts again")
    if slurm.waiting(earlier.jobs):
        raise InputError(where, f"jobs {', '.join(earlier.jobs)} still work on it; scancel them first")
    for old in [*parts, *where.glob("*.unfinished"), *where.glob("*.out"), path]:
        old.unlink(missing_ok=True)
    return ()


def _ranges(numbers: Sequence[int]) -> str:
    """Return numbers as sbatch takes them, such as ``1-3,7``."""
    groups = itertools.groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])
    runs = [[number for _, number in group] for _, group in groups]
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


class SummaryReader(Reader):
    """Summaries that ``perf summarize`` writes."""

    def sniff(self, source: Source) -> float:
        return 1.0 if is_summary(source.head) else 0.0

    def read(self, source: Source, options: NoOptions) -> Trace:
        with source.plain_file() as path:
            return SummarizedTrace(add_up([path], source.name), source.name)
