"""Files to data: finds the reader, checks its options, reads one file or many, and writes data back."""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfcore.base import progress
from perfcore.base.errors import InputError, OptionError, PerfError, listing
from perfcore.base.files import MODEL_SCHEMA, atomic_path, refuse_other_kind
from perfcore.hooks import options as option_tools
from perfcore.hooks.registry import registry
from perfcore.reading.source import Source

if TYPE_CHECKING:
    from perfcore.hooks.registry import Entry
    from perfcore.reading.source import Reader


UNSURE = 0.2  # of a reader that takes what no other does
_MODEL_BEGINS = 64  # bytes, in which a model file says what it is


@dataclass(frozen=True)
class Reading:
    """Data, and how they were read."""

    data: Any
    reader: str  # name of the format
    files: int  # number of files that were read
    unused: frozenset[str] = frozenset()  # options that its format does not have


def recognise(source: Source) -> tuple[str, Reader]:
    """Name and instance of the reader that is surest of a source."""
    best: tuple[float, str, Reader] | None = None
    entries, problems = registry().entries("readers"), list[str]()
    # Readers that claim the ending are asked first, and of all only those whose signature the file has are imported;
    # the others if none of them is sure.
    may_be = [name for name, entry in entries.items() if may_read(entry, source)]
    order = sorted(may_be, key=lambda name: source.suffix not in entries[name].suffixes)
    for name in [*order, *(name for name in entries if name not in may_be)]:
        entry = entries[name]
        is_claimed = source.suffix in entry.suffixes and name in may_be
        if best is not None and best[0] > UNSURE and not is_claimed:
            break
        try:
            reader: Reader = entry.load()()
        except PerfError as error:  # one that lacks its library must not keep the others from reading
            problems.append(str(error))
            continue
        sureness = reader.sniff(source)
        if sureness > 0 and (best is None or sureness > best[0]):
            best = (sureness, name, reader)
    if best is None:
        if f'"{MODEL_SCHEMA[:-1]}'.encode() in source.head[:_MODEL_BEGINS]:  # whichever version
            problem = "is a model, no data; `perf predict`, `perf compare` and `perf explore` read it"
            raise InputError(source.name, problem)
        advice = f"not in any of the {len(entries)} known formats; `perf info --formats` lists them, --reader names one"
        raise InputError(source.name, "; ".join([advice, *problems]))
    return best[1], best[2]


def may_read(entry: Entry, source: Source) -> bool:
    """Return whether a file has the signature of a format; of one without a signature any file may be."""
    return not entry.signature or re.search(entry.signature.encode("latin-1"), source.head) is not None


def read(
    path: str | os.PathLike[str],
    *,
    reader: str | None = None,
    wanted: Sequence[type] = (),
    from_name: str | None = None,
    **options: Any,
) -> Any:
    """Read a file, or many files as one data set.

    Parameters
    ----------
    path : str or path
        A file, also compressed with gzip, bzip2, xz or zstd, or ``"-"`` for standard input. Or many files of
        measurements in one format: a folder, in which files of no known format are passed over, or a pattern such as
        ``"runs/*.out"``.
    reader : str, optional
        Name of the format; by default it is detected from the content.
    wanted : sequence of type
        What the data are for, where a file could be read as several types; a table is one such.
    from_name : str, optional
        What the names of the files say, as ``"run_p{p:int}_n{n}.out"``; see `perfcore.reading.many_files.NamePattern`.
    **options
        Options of the reader (``perf plugins NAME`` lists them), and of what joins data of this type.

    Returns
    -------
    Trace, UtilizationCurve, Series or Measurements
        What several files, or names that say something, make together.

    Raises
    ------
    InputError
        A file is missing, empty, damaged or of no known format; with file and line. Files of several formats.
    DataError
        Files that measure different things.
    OptionError
        The reader has no such option or refuses its value, or ``from_name`` is no such pattern.

    Examples
    --------
    >>> import perfcore
    >>> perfcore.read("examples/step.csv")
    UtilizationCurve(3 steps, 0.0 to 30.0 us, mean 2.33333)
    """
    return read_named(path, reader=reader, wanted=wanted, from_name=from_name, **options).data


def read_named(
    path: str | os.PathLike[str],
    *,
    reader: str | None = None,
    wanted: Sequence[type] = (),
    from_name: str | None = None,
    **options: Any,
) -> Reading:
    """Read as `read` does, and name the format; arguments and errors are those of `read`."""
    from perfcore.reading.many_files import NamePattern, join, named_files

    pattern = None if from_name is None else NamePattern(from_name)
    name = os.fsdecode(path)
    files = named_files(name)
    if files is not None:
        files, reader = _of_one_format(files, name, reader)
    names: list[str] = []
    with progress.bar("reading", len(files or ())) if files else contextlib.nullcontext(lambda _: None) as advance:

        def read(file: Path) -> Reading:
            names.append((reading := read_one(path if files is None else file, **how)).reader)
            advance(1)
            return reading

        how: Any = {"reader": reader, "wanted": wanted, "options": options}
        data = join(files or [Path(name)], read, name, pattern, how)
    return Reading(data, names[0], len(files or names))


def read_one(
    path: str | os.PathLike[str], reader: str | None, wanted: Sequence[type], options: Mapping[str, Any]
) -> Reading:
    """Read a file by the named reader, or by the one that is surest; options of all data only if it has them too."""
    with Source(path) as source:
        if reader is None:
            reader, implementation = recognise(source)
        else:
            implementation = registry().load("readers", reader)()
        unused = options.keys() - {item.name for item in option_tools.describe(implementation.Options)}
        if unused:
            from perfcore.reading.many_files import shared_options

            unused = unused.intersection(item.name for item in shared_options())
        values = {**implementation.options_for(wanted), **{key: options[key] for key in options if key not in unused}}
        chosen = option_tools.build(implementation.Options, values, reader)
        try:
            return Reading(implementation.read(source, chosen), reader, 1, frozenset(unused))
        except RecursionError as error:
            raise InputError(source.name, f"nested too deeply: {error}") from error


def _of_one_format(files: Sequence[Path], name: str, reader: str | None) -> tuple[list[Path], str]:
    formats: dict[Path, str] = {}
    passed: list[Path] = []
    for file in files:
        try:
            with Source(file) as source:
                formats[file] = recognise(source)[0] if reader is None else _claimed(source, reader)
        except InputError:
            if not Path(name).is_dir():
                raise
            passed.append(file)
    if not formats:
        raise InputError(name, f"holds no file that is known here ({listing(map(str, passed), 3)})")
    counts = Counter(formats.values())
    if len(counts) > 1:
        kinds = ", ".join(
            f"{count} of {kind} such as {next(str(file) for file, one in formats.items() if one == kind)}"
            for kind, count in counts.most_common()
        )
        raise InputError(name, f"directory contains several formats: {kinds}; select one with --reader or a pattern")
    if passed:
        progress.note(f"{name}: passed over, of no known format: {listing(map(str, passed), 3)}")
    return list(formats), next(iter(counts))


def _claimed(source: Source, reader: str) -> str:
    """The reader, if the file may be of its format."""
    implementation: Reader = registry().load("readers", reader)()
    if not implementation.sniff(source) > 0:
        raise InputError(source.name, f"is not in the format {reader!r}")
    return reader


def writer(path: str | os.PathLike[str]) -> Reader:
    """The reader that writes the format that the ending of ``path`` names."""
    suffix = Path(path).suffix.lower()
    entries = registry().entries("readers").values()
    for entry in entries:
        if suffix in entry.suffixes and (implementation := _writing(entry)) is not None:
            return implementation
    endings = [ending for entry in entries if _writing(entry) is not None for ending in entry.suffixes]
    raise OptionError(f"cannot write {os.fspath(path)!r}: the ending must be one of {listing(endings)}")


def _writing(entry: Entry) -> Reader | None:
    try:
        reader: Reader = entry.load()()
    except PerfError:  # one that lacks its library must not keep the others from writing
        return None
    return reader if reader.writes else None


def write(data: Any, path: str | os.PathLike[str]) -> None:
    """Write data in the format that the ending of ``path`` names, whole or not at all.

    Raises
    ------
    OptionError
        No reader writes this ending.
    """
    implementation = writer(path)
    refuse_other_kind(path, "trace")
    with atomic_path(path) as temporary:
        implementation.write(data, temporary)
    if lost := [name for name in _beside_intervals(data) if name not in implementation.keeps]:
        progress.note(f"{os.fspath(path)} has no {listing(lost, 5)} of {data.source}: its format has no place for them")


def _beside_intervals(data: Any) -> list[str]:
    """Return what a trace has beside its intervals: markers, messages, counters."""
    facts: Mapping[str, Any] = getattr(data, "facts", {})
    messages, counters = facts.get("messages"), facts.get("counters")
    kept = ["markers"] if len(getattr(data, "markers", ())) else []
    kept += ["messages"] if messages is not None and len(messages().messages) else []
    return [*kept, *(["counters"] if counters is not None and counters.names else [])]
