"""Files to a summary: one at a time, here or by whatever runs tasks elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path

import msgspec
import numpy as np

from perf_traces.summaries.run import ListedFile, Run
from perf_traces.summaries.summary import Gathered, Summary, ordered_columns
from perf_traces.summaries.summary_file import decode, encode
from perf_traces.summaries.unfinished import Unfinished
from perfcore.base import progress
from perfcore.base.errors import DataError, OptionError, PerfError, listing
from perfcore.base.executors import as_they_end
from perfcore.data.kinds import type_in_words
from perfcore.data.trace import Trace
from perfcore.reading.recognise import read

_BYTES_OF_A_TASK = 1 << 26  # read in some seconds
_LEAST_TASKS, _MOST_TASKS = 1 << 5, 1 << 12


def summarized(
    run: Run,
    folder: Path,
    positions: Sequence[int],
    executor: Executor | None,
    *,
    allow_missing: bool = False,
    unfinished: Unfinished | None = None,
) -> Summary:
    """The summary of some files of a run."""
    gathered = Gathered(run)
    if unfinished is not None and (before := unfinished.earlier()) is not None:
        gathered.add(before)
    present = gathered.positions
    left = [position for position in positions if position not in present]
    try:
        with progress.bar("summarizing", len(positions)) as advance:
            advance(len(positions) - len(left))
            for count in _gathering(gathered, folder, left, executor):
                advance(count)
                if unfinished is not None:
                    unfinished.keep(gathered)
    except BaseException:  # Ctrl-C, most of all
        if unfinished is not None and (n_saved := unfinished.save(gathered)):
            progress.note(
                f"{n_saved} of {len(positions)} files are in {unfinished.path}; the same call goes on from there"
            )
        raise
    problems = [text for _, text in sorted(gathered.left_out.items())]
    if problems and not (allow_missing and len(problems) < len(positions)):
        if unfinished is not None and len(problems) < len(positions):
            unfinished.save(gathered)
        named = listing(problems, 3)
        cure = "; --allow-missing leaves out what cannot be read" if len(problems) < len(positions) else ""
        raise DataError(f"{named}{cure}")
    if problems:
        progress.note(f"left out: {listing(problems, 3)}")
    return gathered.summary()


def _gathering(gathered: Gathered, folder: Path, positions: Sequence[int], executor: Executor | None) -> Iterator[int]:
    """Add files, here or by an executor, and give how many with each step."""
    run = gathered.run
    if executor is None:
        for position in positions:
            _gather(gathered, folder, [position])
            yield 1
        return
    tasks = list(_tasks([run.files[position] for position in positions], positions))
    encoded = msgspec.json.encode(run)
    for number, content in as_they_end(executor, summary_of_files, [(encoded, str(folder), task) for task in tasks]):
        _take(gathered, content)
        yield len(tasks[number])


def summary_of_files(run: bytes, folder: str, positions: Sequence[int]) -> bytes:
    """A task: which files cannot be summarized, on a line, and the summary of the others; all of it plain bytes."""
    gathered = Gathered(msgspec.json.decode(run, type=Run))
    _gather(gathered, Path(folder), positions)
    left_out, gathered.left_out = gathered.left_out, {}
    summary = b"" if len(left_out) == len(positions) else encode(gathered.summary())
    return msgspec.json.encode(left_out) + b"\n" + summary


def prepare() -> None:
    """Load what a task needs, most of all compiled kernels: half of a second and more in a new process."""
    nothing = np.zeros(1, np.int64)
    trace = Trace(nothing, nothing, nothing, nothing + 1, ("",), ("",))
    run = Run((ListedFile("", 0, ""),), 1 << 4, None, "recorded", {})
    Gathered(run).add_trace(0, trace, ordered_columns(trace))


def _gather(gathered: Gathered, folder: Path, positions: Iterable[int]) -> None:
    for position in positions:
        listed = gathered.run.files[position]
        path = folder / listed.name
        try:
            listed.check(path)
            trace = _trace(path, gathered.run)
            columns = ordered_columns(trace)  # those of tables are read now
            listed.check(path)
        except OptionError:  # of all files alike
            raise
        except PerfError as error:
            gathered.left_out[position] = str(error).replace(f"{folder}{os.sep}", "")  # which differs between machines
        else:
            gathered.add_trace(position, trace, columns)  # what is wrong here concerns other files too


def _trace(path: Path, run: Run) -> Trace:
    data = read(path, reader=run.reader, wanted=(Trace,), **run.options)
    if not isinstance(data, Trace):
        raise DataError(f"{path} holds {type_in_words(data)}; a summary is one of traces")
    return data


def _take(gathered: Gathered, content: bytes) -> None:
    problems, _, summary = content.partition(b"\n")
    gathered.left_out |= msgspec.json.decode(problems, type=dict[int, str])
    if summary:
        gathered.add(decode(summary, "a part")[0])


def _tasks(files: Sequence[ListedFile], positions: Sequence[int]) -> Iterator[list[int]]:
    """Positions of files that are read in some seconds together, or less where there are few."""
    total = sum(file.size for file in files)
    size = max(min(_BYTES_OF_A_TASK, total // _LEAST_TASKS), total // _MOST_TASKS)
    task: list[int] = []
    task_size = 0
    for file, position in zip(files, positions, strict=True):
        task.append(position)
        task_size += file.size
        if task_size >= size:
            yield task
            task, task_size = [], 0
    if task:
        yield task
