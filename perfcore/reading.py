"""Files to data: finds the reader, checks its options, and writes data back."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfcore import options as option_tools
from perfcore.errors import InputError, OptionError, PerfError
from perfcore.files import atomic_path
from perfcore.registry import registry
from perfcore.source import Source

if TYPE_CHECKING:
    from perfcore.contracts import Reader
    from perfcore.registry import Entry

__all__ = ["read", "recognise", "write", "writer"]


def recognise(source: Source) -> tuple[str, Reader]:
    """Name and instance of the reader that is surest of a source.

    Raises
    ------
    InputError
        No reader knows it; the message lists the formats, and the readers that could not be asked.
    """
    best: tuple[float, str, Reader] | None = None
    entries = registry().entries("readers")
    problems = []
    # A reader that claims the ending is asked first, so that others are imported only when it declines.
    for name, entry in sorted(entries.items(), key=lambda item: source.suffix not in item[1].suffixes):
        if best is not None and source.suffix not in entry.suffixes:
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
        raise InputError(
            source.name,
            f"not in a format that is known here ({', '.join(entries)}); "
            + "; ".join(["name the format with --reader, or see `perf plugins` for what is installed", *problems]),
        )
    return best[1], best[2]


def read(
    path: str | os.PathLike[str], *, reader: str | None = None, wanted: Sequence[type] = (), **options: Any
) -> Any:
    """Read a file.

    Parameters
    ----------
    path : str or path
        A file, also gzip-compressed, or ``"-"`` for standard input.
    reader : str, optional
        Name of the format; by default it is told from the content.
    wanted : sequence of type
        What the data are for, where a file could be read as several types; a table is one such.
    **options
        Options of the reader (``perf plugins NAME`` lists them).

    Returns
    -------
    Trace, UtilizationCurve, Series or Measurements

    Raises
    ------
    InputError
        The file is missing, empty, damaged or of no known format; with file and line.
    OptionError
        The reader has no such option or refuses its value.

    Examples
    --------
    >>> import perfcore
    >>> perfcore.read("examples/step.csv")
    UtilizationCurve(3 steps, 0.0 to 30.0 us, mean 2.33333)
    """
    with Source(path) as source:
        if reader is None:
            reader, implementation = recognise(source)
        else:
            implementation = registry().load("readers", reader)()
        options = {**implementation.options_for(wanted), **options}
        chosen = option_tools.build(implementation.Options, options, reader)
        try:
            return implementation.read(source, chosen)
        except RecursionError as error:
            raise InputError(source.name, f"nested too deeply: {error}") from error


def writer(path: str | os.PathLike[str]) -> Reader:
    """The reader that writes the format that the ending of ``path`` names.

    Raises
    ------
    OptionError
        None writes this ending.
    """
    suffix = Path(path).suffix.lower()
    entries = registry().entries("readers").values()
    for entry in entries:
        if suffix in entry.suffixes and (implementation := _writing(entry)) is not None:
            return implementation
    endings = [ending for entry in entries if _writing(entry) is not None for ending in entry.suffixes]
    raise OptionError(f"cannot write {os.fspath(path)!r}: the ending must be one of {', '.join(endings)}")


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
    with atomic_path(path) as temporary:
        implementation.write(data, temporary)
