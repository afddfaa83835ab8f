"""Files of traces to what they are together: one run of several ranks, or runs of one program side by side."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from perf_traces.joined_trace import JoinedTrace, StoredTrace
from perf_traces.levels import located
from perf_traces.options import CurveOptions, TraceOptions
from perf_traces.ranks import is_one_run, one_run, without_rank
from perf_traces.windows import wanted_part
from perfcore.base import progress
from perfcore.base.errors import DataError, PerfError
from perfcore.data.trace import Trace
from perfcore.hooks.registry import registry
from perfcore.reading.recognise import read_one

# The files of ranks to traces on disk, on all cores where the files are large.
#
# Other processes are asked by lines of JSON and answer with files of numbers and JSON, so that nothing is unpickled.
# They are started as Python itself, and never run the program that called.

_WORTH_BYTES = 1 << 26  # that are read in less time than processes take to start
_PACKED = (".gz", ".bz2", ".xz", ".zst")
_TIMES_PACKED = 10
_MOST_PROCESSES = 8  # each holds one file, and one disk feeds them all
_SERVE = "from perf_traces.joining import serve; serve()"


def stored_parts(
    parts: Iterable[tuple[Path, Trace]],
    paths: Sequence[Path],
    how: Mapping[str, Any],
    targets: Sequence[Path],
    processes: int,
) -> Iterator[tuple[Path, StoredTrace]]:
    """Each file with its trace, whose intervals are on disk."""
    one_by_one = iter(parts)
    path, trace = next(one_by_one)
    yield path, StoredTrace.of(trace, targets[0])
    del trace
    n_processes = processes or (_free_cores() if _bytes(paths[1:]) > _WORTH_BYTES else 1)
    n_processes = min(n_processes, len(paths) - 1)
    task = _plain(how) if n_processes > 1 else None
    if task is None:
        for (path, trace), target in zip(one_by_one, targets[1:], strict=True):
            yield path, StoredTrace.of(trace, target)
        return
    for path, target in zip(paths[1:], _read_at_once(task, paths[1:], targets[1:], n_processes), strict=True):
        try:
            yield path, StoredTrace.load(target)
        except FileNotFoundError:  # what went wrong there is said here
            data = read_one(path, **how).data
            if not isinstance(data, Trace):
                raise DataError(f"{path} holds a {type(data).__name__}, and {paths[0]} a Trace") from None
            yield path, StoredTrace.of(data, target)


def _read_at_once(
    task: Mapping[str, Any], paths: Sequence[Path], targets: Sequence[Path], n_processes: int
) -> Iterator[Path]:
    """Have the files read by other processes; gives the targets in order, each once it is there or cannot be."""
    idle: queue.SimpleQueue[subprocess.Popen[str]] = queue.SimpleQueue()

    def ask(path: Path, target: Path) -> Path:
        process = idle.get()
        try:
            if process.stdin is not None and process.stdout is not None:
                process.stdin.write(json.dumps({**task, "path": str(path), "target": str(target)}) + "\n")
                process.stdin.flush()
                process.stdout.readline()  # empty where the process has ended
        except OSError:  # it ended before, for lack of memory as a rule
            pass
        finally:
            idle.put(process)
        return target

    with contextlib.ExitStack() as ended, progress.bar("reading ranks", len(paths)) as advance:
        for _ in range(n_processes):
            command = [sys.executable, "-P", "-c", _SERVE]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603
            ended.callback(_end, process)
            idle.put(process)
        pool = ended.enter_context(ThreadPoolExecutor(n_processes))
        ended.callback(pool.shutdown, wait=False, cancel_futures=True)
        for target in pool.map(ask, paths, targets):
            yield target
            advance(1)


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def _free_cores() -> int:
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(count, _MOST_PROCESSES)


def _bytes(paths: Sequence[Path]) -> int:
    return sum(path.stat().st_size * (_TIMES_PACKED if path.suffix in _PACKED else 1) for path in paths)


def _plain(how: Mapping[str, Any]) -> dict[str, Any] | None:
    """The same as JSON can say it; None where it cannot."""
    plain = {**how, "of_joins": list(how.get("of_joins", ()))}
    plain["wanted"] = [f"{each.__module__}:{each.__qualname__}" for each in how.get("wanted", ())]
    try:
        json.dumps(plain)
    except (TypeError, ValueError):
        return None
    return plain


def serve() -> None:
    """Read the files that are asked for on standard input, one for each line, until it ends."""
    for line in sys.stdin:
        task = json.loads(line)
        path, target = task.pop("path"), Path(task.pop("target"))
        task["wanted"] = [getattr(importlib.import_module(module), name) for module, name in
                          (each.split(":") for each in task["wanted"])]  # fmt: skip
        with contextlib.suppress(PerfError):
            trace = read_one(path, **task).data
            if isinstance(trace, Trace):
                StoredTrace.of(trace, target).save()
                del trace
        sys.stdout.write("read\n")
        sys.stdout.flush()


_CURVES = "perfcore.data.curve:UtilizationCurve"


def join_traces(
    parts: Iterable[tuple[Path, Trace]],
    fields: Sequence[Mapping[str, Any]],
    name: str,
    options: TraceOptions,
    paths: Sequence[Path],
    how: Mapping[str, Any],
) -> Any:
    """The part that is asked for of one run; of several runs what is registered for joining their curves.

    Files are one run if they are its ranks.

    Parameters
    ----------
    parts : iterable of (Path, Trace)
        At least one.
    fields : sequence of mapping of str to int, float or str
        What the name of each file says. Files that differ only in a field ``rank`` are of one run.
    name : str
        How the user names the set.
    options : TraceOptions
    paths : sequence of Path
        The files.
    how : mapping of str to object
        With what `perfcore.reading.recognise.read_one` reads one of them.
    """
    if len(fields) == 1 and not fields[0]:
        (_, trace), = parts  # fmt: skip
        return _selected_part(trace, options)
    parts = iter(parts)
    first = next(parts)
    together = is_one_run(first[1], paths, fields, options.files)
    parts = _chained([first], parts)
    del first
    if not together:
        if options.files == "auto" and not fields[0]:
            progress.note(
                f"{name}: taken as runs side by side, as neither the files nor their names tell ranks; -r files=ranks "
                "takes them as one run"
            )
        curves = ((path, _selected_part(trace, options).utilization()) for path, trace in parts)
        return registry().load("joins", _CURVES)(curves, fields, name, CurveOptions())
    runs = _runs(parts, fields, name, options, paths, how)
    if len(runs) == 1:
        return _selected_part(runs[0][1], options)
    run_fields = [of_run for of_run, _ in runs]
    firsts = [
        next(path for path, each in zip(paths, fields, strict=True) if without_rank(each) == of) for of in run_fields
    ]
    curves = (
        (path, _selected_part(trace, options).utilization()) for path, (_, trace) in zip(firsts, runs, strict=True)
    )
    return registry().load("joins", _CURVES)(curves, run_fields, name, CurveOptions())


def _chained(first: list[tuple[Path, Trace]], others: Iterator[tuple[Path, Trace]]) -> Iterator[tuple[Path, Trace]]:
    """The first and the others; unlike `itertools.chain` it does not hold the first while others are waited for."""
    yield first.pop()
    yield from others


def _runs(
    parts: Iterable[tuple[Path, Trace]],
    fields: Sequence[Mapping[str, Any]],
    name: str,
    options: TraceOptions,
    paths: Sequence[Path],
    how: Mapping[str, Any],
) -> list[tuple[dict[str, Any], JoinedTrace]]:
    """What names say of each run beside the rank, and its trace."""
    part_fields = [without_rank(each) for each in fields]
    distinct = [each for k, each in enumerate(part_fields) if each not in part_fields[:k]]
    folders = [Path(tempfile.mkdtemp(prefix="perfcore-ranks-")) for _ in distinct]
    try:
        targets = [folders[distinct.index(each)] / str(k) for k, each in enumerate(part_fields)]
        stored = list(stored_parts(parts, paths, how, targets, options.processes))
        runs = []
        for each, folder in zip(distinct, folders, strict=True):
            members = [(*part, of) for part, of in zip(stored, fields, strict=True) if without_rank(of) == each]
            label = ", ".join(f"{field}={value}" for field, value in each.items())
            runs.append((each, one_run(members, f"{name}: {label}" if label else name, options, folder)))
    except BaseException:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    return runs


def _selected_part(trace: Trace, options: TraceOptions) -> Trace:
    """The part of a run that is asked for, with locations of the level that is."""
    return located(wanted_part(trace, options), options.locations)
