"""The runs that a user names: files, folders and patterns, each with what was varied in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from perf_traces.ranks import is_one_run, without_rank
from perfcore.base import progress
from perfcore.base.errors import DataError, InputError, OptionError, listing
from perfcore.data.roles import guess_roles, is_processors
from perfcore.data.trace import Trace
from perfcore.reading.many_files import NamePattern, named_files
from perfcore.reading.recognise import recognise
from perfcore.reading.source import Source

_REPETITION = "r"  # a field that fitters know by its whole name as what tells runs of one point apart

# Fields of a name that tell runs of the same point apart; they are columns and no parameters.
REPETITIONS = frozenset({"rep", "repeat", "repetition", "run", "trial"})

Named = str | os.PathLike[str]
Read = Callable[[str, Sequence[type]], Any]


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
        paths = _files(name)
        if paths is None:
            yield _trace(name, read), _fields(Path(name), pattern)
            continue
        fields = [_fields(file, pattern) for file in paths]
        first = _trace(str(paths[0]), read)
        if not is_one_run(first, paths, fields, together):
            yield first, fields[0]
            for file, file_fields in zip(paths[1:], fields[1:], strict=True):
                yield _trace(str(file), read), file_fields
            continue
        del first
        runs = {tuple(without_rank(file_fields).items()): file_fields for file_fields in fields}
        if len(runs) > 1:
            raise OptionError(f"{name}: holds the ranks of {len(runs)} runs; give each run by a pattern of its own")
        yield _trace(name, read), without_rank(fields[0])


def _files(name: str) -> list[Path] | None:
    """The files that a folder or a pattern names, without those of no known format in a folder."""
    files = named_files(name)
    if files is None or not Path(name).is_dir():
        return files
    recognised, others = [], []
    for file in files:
        try:
            with Source(file) as source:
                recognise(source)
            recognised.append(file)
        except InputError:
            others.append(str(file))
    if not recognised:
        raise InputError(name, f"holds no file that is known here ({listing(others, 3)})")
    if others:
        progress.note(f"{name}: passed over, of no known format: {listing(others, 3)}")
    return recognised


def _trace(name: str, read: Read) -> Trace:
    trace = read(name, (Trace,))
    if not isinstance(trace, Trace):
        raise DataError(f"{name} holds {type(trace).__name__}; the states of each location are needed: give a trace")
    return trace


def _fields(path: Path, pattern: NamePattern | None) -> Mapping[str, Any]:
    if pattern is None:
        return {}
    texts = pattern.fields_of(path)
    if texts is None:
        raise InputError(str(path), f"the name does not fit --from-name {pattern.text!r}")
    return {name: _number(text) if pattern.types[name] is None else text for name, text in texts.items()}


def _number(text: str) -> float | int | str:
    """A field without a type: a number where it is one."""
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
    """Symbols of what was varied, processors first, and their columns; of runs at one point all that is known."""
    numbers = [name for name, value in runs[0].items() if not isinstance(value, str) and name not in REPETITIONS]
    varied = [name for name in numbers if len({run[name] for run in runs}) > 1] or numbers
    columns = sorted(varied, key=lambda column: not is_processors(column))
    named = "p" in columns or not is_processors(columns[0])
    return {(column if named or k else "p"): column for k, column in enumerate(columns)}
