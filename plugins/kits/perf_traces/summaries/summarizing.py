"""Files to a summary, with a checkpoint from which an interrupted call goes on, and parts of a run to the whole."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from perf_tables.executors import as_they_end
from perf_traces.summaries.run import ListedFile, Run
from perf_traces.summaries.summary import Gathered, Summary, ordered_columns
from perf_traces.summaries.summary_file import decode, encode, load, save
from perfcore.base import progress
from perfcore.base.errors import DataError, InputError, OptionError, PerfError, listing
from perfcore.data.kinds import type_in_words
from perfcore.data.trace import Trace
from perfcore.reading.recognise import read

_EVERY_S = 30.0
_TIMES = 10  # what writing took passes so often before it is done again: of very many cells it takes minutes
_BYTES_OF_A_TASK = 1 << 26  # read in some seconds
_LEAST_TASKS, _MOST_TASKS = 1 << 5, 1 << 12
_MOST_NAMED = 3

Named = str | os.PathLike[str]


class Checkpoint:
    """The file next to an output that has the sums of the files that are done."""

    def __init__(self, path: Path, run: Run, positions: frozenset[int]) -> None:
        self.path = path
        self._run, self._positions = run, positions
        self._next = time.monotonic() + _EVERY_S

    def earlier(self) -> Summary | None:
        """What an earlier call left, if it is of the same files and options."""
        if not self.path.is_file():
            return None
        with contextlib.suppress(InputError):  # damaged, or none of ours
            summary, _ = load(self.path)
            if summary.run.identity == self._run.identity and summary.positions <= self._positions:
                done = f"{len(summary.positions)} of {len(self._positions)} files"
                progress.note(f"going on after {done}, from {self.path}")
                return summary
        return None

    def save_if_due(self, gathered: Gathered) -> None:
        if time.monotonic() >= self._next:
            self.save(gathered)

    def save(self, gathered: Gathered) -> int:
        """Write the sums of files that could be read; how many these are. The others are tried again."""
        began = time.monotonic()
        try:
            summary = replace(gathered.summary(), left_out={})
            save(summary, self.path)
        except DataError:  # nothing is summed up yet
            return 0
        except InputError as error:  # the sums in memory are still good
            progress.note(f"what is summed up so far cannot be kept: {error}")
            return 0
        finally:
            ended = time.monotonic()
            self._next = ended + max(_EVERY_S, _TIMES * (ended - began))
        return len(summary.files)

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def summarized(
    run: Run,
    folder: Path,
    positions: Sequence[int],
    executor: Executor | None,
    *,
    allow_missing: bool = False,
    checkpoint: Checkpoint | None = None,
) -> Summary:
    """The summary of some files of a run."""
    gathered = Gathered(run)
    if checkpoint is not None and (before := checkpoint.earlier()) is not None:
        gathered.add(before)
    left = [position for position in positions if position not in gathered.positions]
    try:
        with progress.bar("summarizing", len(positions)) as advance:
            advance(len(positions) - len(left))
            for count in _gathering(gathered, folder, left, executor):
                advance(count)
                if checkpoint is not None:
                    checkpoint.save_if_due(gathered)
    except BaseException:  # Ctrl-C, most of all
        if checkpoint is not None and (n_saved := checkpoint.save(gathered)):
            done = f"{n_saved} of {len(positions)} files"
            progress.note(f"{done} are in {checkpoint.path}; the same call goes on from there")
        raise
    problems = [text for _, text in sorted(gathered.left_out.items())]
    some = len(problems) < len(positions)
    if problems and not (allow_missing and some):
        if checkpoint is not None and some:
            checkpoint.save(gathered)
        raise DataError(listing(problems, 3) + ("; --allow-missing leaves out what cannot be read" if some else ""))
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
        problems, _, summary = content.partition(b"\n")
        gathered.left_out |= msgspec.json.decode(problems, type=dict[int, str])
        if summary:
            gathered.add(decode(summary, "a part")[0])
        yield len(tasks[number])


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
    run = gathered.run
    for position in positions:
        listed = run.files[position]
        path = folder / listed.name
        try:
            listed.check(path)
            trace = read(path, reader=run.reader, wanted=(Trace,), **run.options)
            if not isinstance(trace, Trace):
                raise DataError(f"{path} holds {type_in_words(trace)}; a summary is one of traces")
            columns = ordered_columns(trace)  # those of tables are read now
            listed.check(path)
        except OptionError:  # of all files alike
            raise
        except PerfError as error:
            gathered.left_out[position] = str(error).replace(f"{folder}{os.sep}", "")  # which differs between machines
        else:
            gathered.add_trace(position, trace, columns)  # what is wrong here concerns other files too


def merged(paths: Sequence[Named], *, allow_missing: bool = False) -> Summary:
    """The sum of the summaries in files; what does not belong together, is doubled or missing is named."""
    if not paths:
        raise OptionError("there are no parts; name those that perf summarize --part has made")
    gathered: Gathered | None = None
    holder: dict[int, Named] = {}
    counts = set()
    with progress.bar("merging", len(paths)) as advance:
        for path in paths:
            summary, part = load(path)
            if gathered is None:
                gathered = Gathered(summary.run)
            elif (difference := gathered.run.difference(summary.run)) is not None:
                raise DataError(f"{os.fspath(path)} does not belong to {os.fspath(paths[0])}: {difference}")
            if doubled := sorted(summary.positions & holder.keys()):
                other = holder[doubled[0]]
                if other == path:
                    raise DataError(f"{os.fspath(path)} is named twice; name each part once")
                names = listing([summary.run.files[position].name for position in doubled], _MOST_NAMED)
                both = f"{os.fspath(path)} and {os.fspath(other)}"
                raise DataError(f"{both} both hold {names}; leave one of them out")
            holder |= dict.fromkeys(summary.positions, path)
            counts.add(None if part is None else part[1])
            gathered.add(summary)
            advance(1)
    assert gathered is not None
    total = gathered.summary()
    missing = total.missing()
    if missing and not allow_missing:
        raise DataError(_missing(total.run, missing, counts.pop() if len(counts) == 1 else None))
    return total


def _missing(run: Run, missing: Sequence[int], n_parts: int | None) -> str:
    names = listing([run.files[position].name for position in missing], _MOST_NAMED)
    text = f"{len(missing)} of {len(run.files)} files are in none of the parts: {names}; "
    if n_parts is None:
        return f"{text}--allow-missing merges without them"
    parts = sorted({position % n_parts + 1 for position in missing})
    named = listing([f"--part {k}/{n_parts}" for k in parts], _MOST_NAMED)
    return f"{text}summarize the same files with {named}, or merge without them by --allow-missing"
