"""Files to data: finds the reader, checks its options, and writes data back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfcore import options as option_tools
from perfcore.errors import InputError, OptionError
from perfcore.files import atomic_path
from perfcore.registry import registry
from perfcore.source import Source

if TYPE_CHECKING:
    from perfcore.contracts import Reader

__all__ = ["read", "recognise", "write"]


def recognise(source: Source) -> tuple[str, Reader]:
    """Name and instance of the reader that is surest of a source.

    Raises
    ------
    InputError
        No reader knows it; the message lists the formats.
    """
    best: tuple[float, str, Reader] | None = None
    entries = registry().entries("readers")
    # A reader that claims the ending is asked first, so that others are imported only when it declines.
    for name, entry in sorted(entries.items(), key=lambda item: source.suffix not in item[1].suffixes):
        if best is not None and source.suffix not in entry.suffixes:
            break
        reader: Reader = entry.load()()
        sureness = reader.sniff(source)
        if sureness > 0 and (best is None or sureness > best[0]):
            best = (sureness, name, reader)
    if best is None:
        raise InputError(
            source.name,
            f"not in a format that is known here ({', '.join(entries)}); "
            "name the format with --reader, or see `perf plugins` for what is installed",
        )
    return best[1], best[2]


def read(path: str | os.PathLike[str], *, reader: str | None = None, **options: Any) -> Any:
    """Read a file.

    Parameters
    ----------
    path : str or path
        A file, also gzip-compressed, or ``"-"`` for standard input.
    reader : str, optional
        Name of the format; by default it is told from the content.
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
        chosen = option_tools.build(implementation.Options, options, reader)
        try:
            return implementation.read(source, chosen)
        except RecursionError as error:
            raise InputError(source.name, f"nested too deeply: {error}") from error


def write(data: Any, path: str | os.PathLike[str]) -> None:
    """Write data in the format that the ending of ``path`` names, whole or not at all.

    Raises
    ------
    OptionError
        No reader writes this ending.
    """
    suffix = Path(path).suffix.lower()
    endings: list[str] = []
    for entry in registry().entries("readers").values():
        implementation: Reader = entry.load()()
        if not implementation.writes:
            continue
        if suffix in entry.suffixes:
            with atomic_path(path) as temporary:
                implementation.write(data, temporary)
            return
        endings += entry.suffixes
    raise OptionError(f"cannot write {os.fspath(path)!r}: the ending must be one of {', '.join(endings)}")
