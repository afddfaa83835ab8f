"""Load logs: the load of a machine at increasing times, as text.

The first line is ``# loadlog 1``; further lines that begin with ``#`` are comments. Every other
line has two numbers: seconds since 1970, and the load::

    # loadlog 1
    1718000000 0.25
    1718000010 3.5
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator

from perfcore import UtilizationCurve
from perfcore.base.errors import InputError
from perfcore.contracts import Reader
from perfcore.reading.source import Source
from perfcore_ruptures.options import LoadLogOptions

__all__ = ["LoadLogReader"]

_MAGIC = b"# loadlog "
_VERSION = b"1"


class LoadLogReader(Reader):
    """Reads load logs; a sample is valid until the next one."""

    Options = LoadLogOptions

    def sniff(self, source: Source) -> float:
        """Whether the first line begins as that of a load log."""
        return 1.0 if source.head.startswith(_MAGIC) else 0.0

    def read(self, source: Source, options: LoadLogOptions) -> UtilizationCurve:
        """Read the whole log.

        Parameters
        ----------
        source : Source
            Where the bytes come from.
        options : LoadLogOptions
            When the last sample ends.

        Returns
        -------
        UtilizationCurve
            Times in seconds since 1970.

        Raises
        ------
        InputError
            Another version, a line that is not a sample, times that do not increase, or too few
            samples.
        """
        times, loads = array("d"), array("d")
        for time, load in _samples(source):
            times.append(time)
            loads.append(load)
        if not times:
            raise InputError(source.name, "the log has no samples, only comments")
        if len(times) == 1 and options.last_s is None:
            raise InputError(source.name, "one sample has no duration; say it with --last-s")
        end = None if options.last_s is None else times[-1] + options.last_s
        return UtilizationCurve.from_samples(times, loads, "s", end=end, source=source.name)


def _samples(source: Source) -> Iterator[tuple[float, float]]:
    """Time and load of each line, checked; only one line is in memory."""
    previous = -math.inf
    with source.open() as lines:
        for number, line in enumerate(lines, start=1):
            if number == 1:
                _check_version(source, line)
            if line.startswith(b"#") or not line.strip():
                continue
            sample = _parse(line)
            if sample is None:
                shown = line.strip()[:40].decode(errors="replace")
                problem = f"expected two numbers, `epoch_seconds load`, but found {shown!r}"
                raise InputError(source.name, problem, line=number)
            time, load = sample
            if not previous < time < math.inf:
                problem = f"time {time!r} follows {previous!r}; times must increase and be finite"
                raise InputError(source.name, problem, line=number)
            if not 0.0 <= load < math.inf:
                problem = f"load {load!r}; loads must be finite and not negative"
                raise InputError(source.name, problem, line=number)
            previous = time
            yield time, load


def _check_version(source: Source, line: bytes) -> None:
    version = line.removeprefix(_MAGIC).strip()
    if not line.startswith(_MAGIC) or version != _VERSION:
        shown = line.strip()[:40].decode(errors="replace")
        problem = f"the first line is {shown!r}, expected '# loadlog 1'"
        raise InputError(source.name, problem, line=1)


def _parse(line: bytes) -> tuple[float, float] | None:
    try:
        time, load = line.split()
        return float(time), float(load)
    except ValueError:  # not two fields, or not numbers
        return None
