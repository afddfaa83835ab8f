"""The runs that a user names: files of one run to its trace, and several runs, each with what was varied in it."""

from __future__ import annotations

import contextlib
import importlib
import json
import operator
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from perf_tables import thread_count
from perf_tables.executors import LocalProcesses, in_order
from perf_traces.joined_trace import JoinedTrace, StoredTrace
from perf_traces.levels import located
from perf_traces.options import WARNING, CurveOptions, TraceOptions
from perf_traces.ranks import is_one_run, one_run, without_rank
from perf_traces.windows import wanted_part
from perfcore.base import pd, progress
from perfcore.base.errors import DataError, InputError, OptionError, PerfError, listing
from perfcore.data import type_in_words
from perfcore.data.columns import guess_roles, is_processors
from perfcore.data.curve import UtilizationCurve
from perfcore.data.measurements import Measurements
from perfcore.data.trace import Trace
from perfcore.reading import Read
from perfcore.reading.recognise import NamePattern, named_files, read_one, recognise, without_parts
from perfcore.reading.source import Source

_WORTH_BYTES = 1 << 26  # that are read in less time than processes take to start
_PACKED = (".gz", ".bz2", ".xz", ".zst")
_TIMES_PACKED = 10
_MOST_PROCESSES = 8  # each holds one file, and one disk feeds them all

_REPETITION = "r"  # a field that fitters know by its whole name as the repetition of a point
# Fields of a name that tell runs of the same point apart; they are columns and no parameters.
REPETITIONS = frozenset({"rep", "repeat", "repetition", "run", "trial"})
Named = str | os.PathLike[str]


def stored_parts(
    parts: Iterable[tuple[Path, Trace]],
    paths: Sequence[Path],
    how: Mapping[str, Any],
    targets: Sequence[Path],
    processes: int,
) -> Iterator[tuple[Path, StoredTrace]]:
    """Yield each file with its trace, whose intervals are on disk; read on all cores where the files are large."""
    one_by_one = iter(parts)
    path, trace = next(one_by_one)
    yield path, StoredTrace.of(trace, targets[0])
    del trace
    n_bytes = sum(path.stat().st_size * (_TIMES_PACKED if path.suffix in _PACKED else 1) for path in paths[1:])
    n_processes = processes or (thread_count(_MOST_PROCESSES) if n_bytes > _WORTH_BYTES else 1)
    n_processes = min(n_processes, len(paths) - 1)
    task = _as_json(how) if n_processes > 1 else None
    if task is None:
        for (path, trace), target in zip(one_by_one, targets[1:], strict=True):
            yield path, StoredTrace.of(trace, target)
        return
    arguments = [(task, str(path), str(target)) for path, target in zip(paths[1:], targets[1:], strict=True)]
    with LocalProcesses(n_processes) as executor, progress.bar("reading ranks", len(paths)) as advance:
        for path, target, answer in zip(paths[1:], targets[1:], in_order(executor, store, arguments), strict=True):
            if answer:
                yield path, StoredTrace.load(target)
            else:  # report the error here
                data = read_one(path, **how).data
                if not isinstance(data, Trace):
                    raise DataError(f"{path} holds a {type(data).__name__}, and {paths[0]} a Trace")
                yield path, StoredTrace.of(data, target)
            advance(1)


def _as_json(how: Mapping[str, Any]) -> str | None:
    """Return how files are read, for other processes; None if JSON cannot say it."""
    wanted = [f"{kind.__module__}:{kind.__qualname__}" for kind in how.get("wanted", ())]
    try:
        return json.dumps({**how, "wanted": wanted})
    except (TypeError, ValueError):
        return None


def store(how: str, path: str, target: str) -> bytes:
    """Return a task: read a file, and save its trace; nothing if it cannot be read."""
    task = json.loads(how)
    task["wanted"] = [operator.attrgetter(name)(importlib.import_module(module)) for module, name in
                      (kind.split(":") for kind in task["wanted"])]  # fmt: skip
    with contextlib.suppress(PerfError):
        trace = read_one(Path(path), **task).data
        if isinstance(trace, Trace):
            StoredTrace.of(trace, Path(target)).save()
            return b"stored"
    return b""


def without_sidecars(sources: Sequence[Any]) -> list[Any]:
    """Return the sources less files that are read with another of them, as ``*`` names the .pcf of a Paraver trace."""
    paths = {Path(source) for source in sources if isinstance(source, (str, os.PathLike))}
    kept = without_parts(paths)
    return [each for each in sources if not isinstance(each, (str, os.PathLike)) or Path(each) in kept]


class SeparateRuns(Measurements):
    """The traces of a folder or a pattern that are runs side by side, each to be read by its name in ``files``."""

    def __init__(self, files: Sequence[Path], source: str) -> None:
        self.files = [str(file) for file in files]
        super().__init__(pd.DataFrame({"file": self.files}), source=source)


def join_traces(
    parts: Iterable[tuple[Path, Trace]],
    fields: Sequence[Mapping[str, Any]],
    name: str,
    options: TraceOptions,
    paths: Sequence[Path],
    how: Mapping[str, Any],
) -> Any:
    """Return the part that is asked for of one run; of several runs `SeparateRuns`, or what their curves are together.

    Files are one run if they are its ranks, which differ only in a field ``rank`` of ``fields``, what their names say.
    ``how`` is with what `perfcore.reading.recognise.read_one` reads one of ``paths``.
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
        wanted = how.get("wanted", ())
        if Trace in wanted and UtilizationCurve not in wanted:  # who asks for states has no use for phases of curves
            return SeparateRuns(paths, name)
        curves = ((path, _selected_part(trace, options).utilization()) for path, trace in parts)
        return UtilizationCurve.join(curves, fields, name, CurveOptions())
    runs = _runs(parts, fields, name, options, paths, how)
    if len(runs) == 1:
        return _selected_part(runs[0][1], options)
    run_fields = [of_run for of_run, _ in runs]
    all_fields = [without_rank(of_file) for of_file in fields]
    firsts = [paths[all_fields.index(of_run)] for of_run in run_fields]
    curves = (
        (path, _selected_part(trace, options).utilization()) for path, (_, trace) in zip(firsts, runs, strict=True)
    )
    return UtilizationCurve.join(curves, run_fields, name, CurveOptions())


def _chained(first: list[tuple[Path, Trace]], others: Iterator[tuple[Path, Trace]]) -> Iterator[tuple[Path, Trace]]:
    """Yield the first and the others; unlike `itertools.chain`, without holding the first meanwhile."""
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
    """Return parameters of each run from names other than the rank, and its trace."""
    run_of_file = [without_rank(of_file) for of_file in fields]
    distinct = [run for k, run in enumerate(run_of_file) if run not in run_of_file[:k]]
    folders = [Path(tempfile.mkdtemp(prefix="perfcore-ranks-")) for _ in distinct]
    try:
        targets = [folders[distinct.index(run)] / str(k) for k, run in enumerate(run_of_file)]
        stored = list(stored_parts(parts, paths, how, targets, options.processes))
        runs = []
        for run, folder in zip(distinct, folders, strict=True):
            members = [(*part, of) for part, of in zip(stored, fields, strict=True) if without_rank(of) == run]
            label = ", ".join(f"{field}={value}" for field, value in run.items())
            runs.append((run, one_run(members, f"{name}: {label}" if label else name, options, folder)))
    except BaseException:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    return runs


def _selected_part(trace: Trace, options: TraceOptions) -> Trace:
    """Return the part of a run that is asked for, with locations of the level that is; say what its reader warns of."""
    for note in trace.notes:
        if WARNING in note:
            progress.note(f"{trace.source}: {note.replace(WARNING, '')}")
    return located(wanted_part(trace, options), options.locations)


def runs_of(
    sources: Sequence[Named | Trace], pattern: NamePattern | None, together: str, read: Read
) -> Iterator[tuple[Trace, Mapping[str, Any]]]:
    """Read each run, one at a time, with what its name says."""
    for item in sources:
        if isinstance(item, Trace):
            if pattern is not None:
                raise OptionError("from_name belongs to files; a trace in hand has no name of one")
            yield item, {}
            continue
        name = os.fsdecode(item)
        paths = known_files(name)
        if paths is None:
            yield _trace(name, read), fields_of(Path(name), pattern)
            continue
        fields = [fields_of(file, pattern) for file in paths]
        first = _trace(str(paths[0]), read)
        if not is_one_run(first, paths, fields, together):
            yield first, fields[0]
            for file, file_fields in zip(paths[1:], fields[1:], strict=True):
                yield _trace(str(file), read), file_fields
            continue
        del first
        runs = {tuple(without_rank(file_fields).items()): file_fields for file_fields in fields}
        if len(runs) > 1:
            raise OptionError(f"{name}: holds the ranks of {len(runs)} runs; give a pattern for each run")
        yield _trace(name, read), without_rank(fields[0])


def known_files(name: str, skip: Callable[[bytes], bool] = lambda head: False) -> list[Path] | None:
    """Return the files of a folder or a pattern; of a folder without those of no known format, or to be skipped."""
    files = named_files(name)
    if files is None or not Path(name).is_dir():
        return files
    recognised: list[Path] = []
    others: list[str] = []
    for file in files:
        try:
            with Source(file) as source:
                if not skip(source.head):
                    recognise(source)
                    recognised.append(file)
        except InputError:
            others.append(str(file))
    if others and not recognised:
        raise InputError(name, f"holds no file that is known here ({listing(others, 3)})")
    if others:
        progress.note(f"{name}: passed over, of no known format: {listing(others, 3)}")
    return recognised


def _trace(name: str, read: Read) -> Trace:
    trace = read(name, (Trace,))
    if not isinstance(trace, Trace):
        raise DataError(f"{name} holds {type_in_words(trace)}; the states of each location are needed: give a trace, "
                        f"or model it: perf fit {name}")  # fmt: skip
    return trace


def fields_of(path: Path, pattern: NamePattern | None) -> Mapping[str, Any]:
    """Return what the name of a file says by a pattern."""
    if pattern is None:
        return {}
    texts = pattern.fields_of(path)
    if texts is None:
        raise InputError(str(path), f"the name does not fit --from-name {pattern.text!r}")
    return {name: _number(text) if pattern.types[name] is None else text for name, text in texts.items()}


def _number(text: str) -> float | int | str:
    """Return a field without a type: a number where it is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def parameters_of_run(trace: Trace, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Say what was varied: what the name says, and the number of locations where it counts no processors."""
    numbers = [name for name, value in fields.items() if not isinstance(value, str)]
    counted = guess_roles(numbers, set(numbers)).parameters
    parameters = {("repetition" if name == _REPETITION else name): value for name, value in fields.items()}
    return parameters if counted or "p" in parameters else {"p": len(trace.locations), **parameters}


def symbols_of(runs: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return symbols and columns of what was varied, processors first; of runs at one point all that is known."""
    numbers = [name for name, value in runs[0].items() if not isinstance(value, str) and name not in REPETITIONS]
    varied = [name for name in numbers if len({run[name] for run in runs}) > 1] or numbers
    columns = sorted(varied, key=lambda column: not is_processors(column))
    named = not columns or "p" in columns or not is_processors(columns[0])
    return {(column if named or k else "p"): column for k, column in enumerate(columns)}
