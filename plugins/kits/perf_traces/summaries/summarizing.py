"""Files to a summary, with a checkpoint from which an interrupted call goes on, and parts of a run to the whole."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from perf_tables.executors import as_they_end
from perf_traces.summaries.run import ListedFile, Run
from perf_traces.summaries.sums import Facts, Summary, add_up, facts_of, joined, ordered_columns, save, sums_of
from perfcore.base import progress
from perfcore.base.errors import DataError, InputError, OptionError, PerfError, listing
from perfcore.data import type_in_words
from perfcore.data.trace import Trace
from perfcore.reading.recognise import read

Named = str | os.PathLike[str]

_EVERY_S = 30.0
_TIMES = 10  # what writing took passes so often before it is done again: of very many cells it takes minutes
_BYTES_OF_A_TASK = 1 << 26  # read in some seconds
_LEAST_TASKS, _MOST_TASKS = 1 << 5, 1 << 12
_MOST_PARTS = 1 << 6  # on the disk, before they are added up
_MOST_NAMED = 3


class Parts:
    """Sums of files of a run, in a folder, that are added up when asked for or when there are many."""

    def __init__(self, run: Run, folder: Path) -> None:
        self.run, self.folder = run, folder
        self.left_out: dict[int, str] = {}
        self.facts: Facts | None = None
        self._paths: list[Path] = []
        self._count = 0

    def add(self, facts: Facts, path: Path) -> None:
        """Add the sums of further files, in a file that may be one that stays."""
        self.facts = facts if self.facts is None else joined([self.facts, facts])
        self._paths.append(path)
        if len(self._paths) >= _MOST_PARTS:
            self.total()

    def total(self) -> Summary:
        """Return the sum; raises `DataError` if nothing was added."""
        if not self._paths:
            raise DataError("; ".join([*self.left_out.values()][:1]) or "there is nothing to be summarized")
        summary = add_up(self._paths)
        if len(self._paths) > 1:
            earlier, self._paths = self._paths, [self.path_of_next()]
            save(summary, self._paths[0])
            for path in earlier:
                if path.parent == self.folder:
                    path.unlink()
        left_out = {**summary.facts.left_out, **dict(sorted(self.left_out.items()))}
        return replace(summary, facts=msgspec.structs.replace(summary.facts, left_out=left_out))

    def path_of_next(self) -> Path:
        """Return a new path in the folder."""
        self._count += 1
        return self.folder / f"{self._count}.summary"


# A checkpoint is a file next to an output that has the sums of the files that are done.


def _earlier(checkpoint: Path, run: Run, positions: frozenset[int]) -> Facts | None:
    """Return what an earlier call left, if it is of the same files and options."""
    if not checkpoint.is_file():
        return None
    with contextlib.suppress(InputError):  # damaged, or none of ours
        facts = facts_of(checkpoint)
        if facts.run.identity == run.identity and facts.positions <= positions:
            progress.note(f"going on after {len(facts.positions)} of {len(positions)} files, from {checkpoint}")
            return facts
    return None


def _keep(parts: Parts, checkpoint: Path) -> int:
    """Write the sums of files that could be read, and return how many these are. The others are tried again."""
    try:
        summary = parts.total()
        summary = replace(summary, facts=msgspec.structs.replace(summary.facts, left_out={}))
        save(summary, checkpoint)
    except DataError:  # nothing is summed up yet
        return 0
    except InputError as error:  # the sums in the temporary folder are still good
        progress.note(f"what is summed up so far cannot be kept: {error}")
        return 0
    return len(summary.facts.files)


def summarized(
    run: Run,
    folder: Path,
    positions: Sequence[int],
    executor: Executor | None,
    *,
    allow_missing: bool = False,
    checkpoint: Path | None = None,
) -> Summary:
    """Return the summary of some files of a run."""
    with tempfile.TemporaryDirectory(prefix="perf-sums-") as within:
        parts = Parts(run, Path(within))
        if checkpoint is not None and (before := _earlier(checkpoint, run, frozenset(positions))) is not None:
            parts.add(before, checkpoint)
        done = frozenset() if parts.facts is None else parts.facts.positions
        remaining = [position for position in positions if position not in done]
        tasks = list(_tasks([run.files[position] for position in remaining], remaining))
        encoded, due = msgspec.json.encode(run), time.monotonic() + _EVERY_S
        arguments = [(encoded, str(folder), task) for task in tasks]
        try:
            with progress.bar("summarizing", len(positions)) as advance:
                advance(len(positions) - len(remaining))
                for number, content in as_they_end(executor, summary_of_files, arguments):
                    problems_of_task, _, summary = content.partition(b"\n")
                    parts.left_out |= msgspec.json.decode(problems_of_task, type=dict[int, str])
                    if summary:
                        path = parts.path_of_next()
                        path.write_bytes(summary)
                        parts.add(facts_of(path), path)
                    advance(len(tasks[number]))
                    if checkpoint is not None and (began := time.monotonic()) >= due:
                        _keep(parts, checkpoint)
                        ended = time.monotonic()
                        due = ended + max(_EVERY_S, _TIMES * (ended - began))
        except BaseException:  # Ctrl-C, most of all
            if checkpoint is not None and (n_saved := _keep(parts, checkpoint)):
                saved = f"{n_saved} of {len(positions)} files"
                progress.note(f"{saved} are in {checkpoint}; the same call goes on from there")
            raise
        problems = [text for _, text in sorted(parts.left_out.items())]
        some = len(problems) < len(positions)
        if problems and not (allow_missing and some):
            if checkpoint is not None and some:
                _keep(parts, checkpoint)
            raise DataError(listing(problems, 3) + ("; --allow-missing leaves out what cannot be read" if some else ""))
        if problems:
            progress.note(f"left out: {listing(problems, 3)}")
        return parts.total()


def _tasks(files: Sequence[ListedFile], positions: Sequence[int]) -> Iterator[list[int]]:
    """Yield positions of files that are read in some seconds together, or less if there are few."""
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
    """Do a task: which files cannot be summarized, on a line, and the summary of the others; all of it plain bytes."""
    left_out: dict[int, str] = {}
    with tempfile.TemporaryDirectory(prefix="perf-sums-") as within:
        parts = Parts(msgspec.json.decode(run, type=Run), Path(within))
        for position in positions:
            listed = parts.run.files[position]
            path = Path(folder) / listed.name
            try:
                listed.check(path)
                trace = read(path, reader=parts.run.reader, wanted=(Trace,), **parts.run.options)
                if not isinstance(trace, Trace):
                    raise DataError(f"{path} holds {type_in_words(trace)}; a summary is one of traces")
                columns = ordered_columns(trace)  # those of tables are read now
                listed.check(path)
            except OptionError:  # of all files alike
                raise
            except PerfError as error:
                left_out[position] = str(error).replace(f"{folder}{os.sep}", "")  # folders differ between machines
            else:  # what is wrong here concerns other files too
                summary, target = sums_of(parts.run, position, trace, columns), parts.path_of_next()
                save(summary, target)
                parts.add(summary.facts, target)
        content = b""
        if parts.facts is not None:
            save(parts.total(), answer := parts.path_of_next())
            content = answer.read_bytes()
        return msgspec.json.encode(left_out) + b"\n" + content


def prepare() -> None:
    """Load what a task needs, most of all compiled kernels: half of a second and more in a new process."""
    nothing = np.zeros(1, np.int64)
    trace = Trace(nothing, nothing, nothing, nothing + 1, ("",), ("",))
    run = Run((ListedFile("", 0, ""),), 1 << 4, None, "recorded", {})
    sums_of(run, 0, trace, ordered_columns(trace))


def merged(paths: Sequence[Named], *, allow_missing: bool = False) -> Summary:
    """Return the sum of the summaries in files; what does not belong together, is doubled or missing is named."""
    if not paths:
        raise OptionError("there are no parts; name those that perf summarize --part has made")
    holder: dict[int, Named] = {}
    counts = set()
    run: Run | None = None
    with tempfile.TemporaryDirectory(prefix="perf-sums-") as within, progress.bar("merging", len(paths)) as advance:
        for path in paths:
            facts = facts_of(path)
            if run is None:
                run = facts.run
                parts = Parts(run, Path(within))
            elif (difference := run.difference(facts.run)) is not None:
                raise DataError(f"{os.fspath(path)} does not belong to {os.fspath(paths[0])}: {difference}")
            if doubled := sorted(facts.positions & holder.keys()):
                other = holder[doubled[0]]
                if other == path:
                    raise DataError(f"{os.fspath(path)} is named twice; name each part once")
                names = listing([facts.run.files[position].name for position in doubled], _MOST_NAMED)
                both = f"{os.fspath(path)} and {os.fspath(other)}"
                raise DataError(f"{both} both hold {names}; leave one of them out")
            holder |= dict.fromkeys(facts.positions, path)
            counts.add(None if facts.part is None else facts.part[1])
            parts.add(facts, Path(path))
            advance(1)
        total = parts.total()
    missing = total.facts.missing()
    if missing and not allow_missing:
        names = listing([total.facts.run.files[position].name for position in missing], _MOST_NAMED)
        text = f"{len(missing)} of {len(total.facts.run.files)} files are in none of the parts: {names}; "
        n_parts = counts.pop() if len(counts) == 1 else None
        if n_parts is None:
            raise DataError(f"{text}--allow-missing merges without them")
        numbers = sorted({position % n_parts + 1 for position in missing})
        named = listing([f"--part {k}/{n_parts}" for k in numbers], _MOST_NAMED)
        raise DataError(f"{text}summarize the same files with {named}, or merge without them by --allow-missing")
    return total
