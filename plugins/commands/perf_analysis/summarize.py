"""The functions behind ``perf summarize``."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from perf_analysis.slurm_array import SlurmOptions, SubmittedJobs, submit
from perf_traces.options import CELLS
from perf_traces.summaries.run import Run, is_summary, run_of
from perf_traces.summaries.summarized_trace import SummarizedTrace
from perf_traces.summaries.summarizing import Checkpoint, merged, summarized
from perf_traces.summaries.sums import load, save
from perfcore.base import progress
from perfcore.base.errors import InputError, OptionError
from perfcore.base.files import check_folder, refuse_existing
from perfcore.data.trace import Trace
from perfcore.hooks.options import NoOptions
from perfcore.reading.many_files import named_files
from perfcore.reading.source import Reader, Source

Named = str | os.PathLike[str]

_PART = re.compile(r"(\d{1,9})/(\d{1,9})")


def summarize(
    traces: Named | Sequence[Named],
    output: Named | None = None,
    *,
    part: str | None = None,
    cells: int = CELLS,
    executor: Executor | None = None,
    allow_missing: bool = False,
    overwrite: bool = False,
    reader: str | None = None,
    from_name: str | None = None,
    **options: Any,
) -> SummarizedTrace:
    """Sum up the traces of a run, file by file, in whole nanoseconds; or join the summaries of its parts.

    Take it where a run is too large for one process: memory holds one file and the sums, and parts that are made
    anywhere add up to the same numbers as one pass over all files.

    Parameters
    ----------
    traces : str or path, or a sequence of them
        Files of one run: names, folders and patterns. Or summaries of parts of one run, in any order: these are joined,
        to the same numbers as one pass over all files.
    output : str or path, optional
        File to write. One that is there and of the same files and options is kept, and read. A call that is
        interrupted leaves its sums next to it, as ``OUTPUT.unfinished``, and the same call goes on from these.
    part : str, optional
        ``"3/10"``: of the files in the order of their names the 3rd, 13th, 23rd and so on.
    cells : int, 16 to 1073741824
        The most stretches of time in which computing is summed up. They are a power of two nanoseconds wide.
    executor : concurrent.futures.Executor, optional
        What reads the files; by default this process does. Any number of workers gives the same numbers.
    allow_missing : bool
        Leave out files that cannot be read, or parts that are not there; the summary says which.
    overwrite : bool
        Replace a file that is there.
    reader, from_name, **options
        As for `perfcore.read`; ``clocks`` is ``"recorded"`` or ``"unaligned"``.

    Returns
    -------
    SummarizedTrace
        A trace without intervals: it has a curve, the time of each location in each state, and markers.

    Raises
    ------
    OptionError
        There is no such part, or an option does not go with summaries.
    InputError
        A file is not there, or the output is of other files or options.
    DataError
        Files cannot be read, or are not of one run; or of parts two hold the same file, or some are missing.

    Examples
    --------
    >>> run = summarize("examples/cholesky/cholesky_trace.csv.gz", cells=1024)
    >>> run.utilization().n_steps <= 1024
    True
    >>> run.start_ns
    Traceback (most recent call last):
        ...
    perfcore.base.errors.DataError: examples/cholesky/cholesky_trace.csv.gz: a summary holds no intervals; anything \
but time by location, state and window needs the traces themselves
    """
    names = [traces] if isinstance(traces, (str, os.PathLike)) else list(traces)
    if (parts := summaries_among(names)) is not None:
        if part is not None:
            raise OptionError("--part is of traces, and these are summaries")
        return merge(parts, output, allow_missing=allow_missing, overwrite=overwrite)
    folder, run = run_of(names, cells=cells, reader=reader, from_name=from_name, options=options)
    chosen = None if part is None else part_of(part)
    positions = range(len(run.files)) if chosen is None else run.positions(chosen)
    if output is not None:
        _check_output(output)
        if not overwrite and Path(output).is_file():
            return _existing(output, run, frozenset(positions))
    checkpoint = None
    if output is not None and (Path(output).is_file() or not Path(output).exists()):  # no pipe or device
        checkpoint = Checkpoint(Path(f"{os.fsdecode(output)}.unfinished"), run, frozenset(positions))
    summary = summarized(run, folder, positions, executor, allow_missing=allow_missing, checkpoint=checkpoint)
    name = os.fsdecode(names[0] if len(names) == 1 else folder)
    summarized_trace = SummarizedTrace(summary, name)  # refuse errors before anything is written
    if output is not None:
        save(summary, output, chosen)
        summarized_trace = SummarizedTrace(summary, os.fsdecode(output))
    if checkpoint is not None:
        checkpoint.remove()
    return summarized_trace


def summarize_by_slurm(
    traces: Named | Sequence[Named],
    output: Named,
    jobs: SlurmOptions,
    *,
    cells: int = CELLS,
    allow_missing: bool = False,
    overwrite: bool = False,
    reader: str | None = None,
    from_name: str | None = None,
    **options: Any,
) -> SubmittedJobs | SummarizedTrace:
    """The same by an array of jobs of Slurm: returns at once, and when called again hands over what is missing."""
    names = [traces] if isinstance(traces, (str, os.PathLike)) else list(traces)
    _, run = run_of(names, cells=cells, reader=reader, from_name=from_name, options=options)
    _check_output(output)
    if not overwrite and Path(output).is_file():
        return _existing(output, run, frozenset(range(len(run.files))))
    words = ["--cells", str(cells), *(["--allow-missing"] if allow_missing else [])]
    words += [] if reader is None else ["--reader", reader]
    words += [] if from_name is None else ["--from-name", from_name]
    words += [word for name, value in options.items() for word in ("-r", f"{name}={value}")]
    parts = submit(run, [*words, *map(os.fsdecode, names)], output, jobs, overwrite=overwrite)
    return parts if isinstance(parts, SubmittedJobs) else merge(parts, output, overwrite=overwrite)


def merge(
    parts: Sequence[Named], output: Named | None = None, *, allow_missing: bool = False, overwrite: bool = False
) -> SummarizedTrace:
    """Join the summaries of parts of a run, to the same numbers as one pass over all files."""
    if output is not None:
        _check_output(output)
        refuse_existing(output, overwrite)
    summary = merged(parts, allow_missing=allow_missing)
    summarized_trace = SummarizedTrace(summary, os.fsdecode(parts[0]))
    if output is not None:
        save(summary, output)
        summarized_trace = SummarizedTrace(summary, os.fsdecode(output))
    return summarized_trace


def summaries_among(names: Sequence[Named]) -> list[Path] | None:
    """The files, where they are summaries; None where none is."""
    files: list[Path] = []
    for name in names:
        files += [Path(name)] if Path(name).is_dir() else named_files(os.fspath(name)) or [Path(name)]
    readable = [path for path in files if path.is_file()]
    summaries = [path for path in readable if _begins_a_summary(path)]
    if summaries and len(summaries) < len(readable):
        other = next(path for path in readable if path not in summaries)
        raise InputError(other, f"is no summary, and {summaries[0]} is: name traces, or summaries of their parts")
    return files if summaries else None


def _begins_a_summary(path: Path) -> bool:
    with path.open("rb") as file:
        return is_summary(file.read(64))


def part_of(text: str) -> tuple[int, int]:
    """The k-th of N parts."""
    match = _PART.fullmatch(text)
    if match is None:
        raise OptionError(f"--part {text}: K/N is expected, such as 3/10 for the third of ten")
    return int(match[1]), int(match[2])


def _check_output(output: Named) -> None:
    """Refuse what cannot be written, before files are read for hours."""
    check_folder(output)
    if Path(output).is_dir():
        raise InputError(output, "is a folder; name a file in it")


def _existing(output: Named, run: Run, positions: frozenset[int]) -> SummarizedTrace:
    """What is already there, if it is what is asked for."""
    summary = load(output)
    difference = summary.facts.run.difference(run)
    if difference is None and summary.facts.positions != positions:
        difference = "another part"
    if difference is not None:
        raise InputError(output, f"exists, and is not what is asked for: {difference}; --overwrite replaces it")
    progress.note(f"{os.fsdecode(output)}: already there")
    return SummarizedTrace(summary, os.fsdecode(output))


class SummaryReader(Reader):
    """Summaries that ``perf summarize`` writes."""

    def sniff(self, source: Source) -> float:
        return 1.0 if is_summary(source.head) else 0.0

    def read(self, source: Source, options: NoOptions) -> Trace:
        with source.plain_file() as path:
            return SummarizedTrace(load(path, source.name), source.name)
