"""What ``perf iterations`` does, in Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfcore.base.errors import DataError, OptionError
from perfcore.hooks.parameters import OptionGroup, OptionRules, names_of

if TYPE_CHECKING:
    from perf_worley.iterations import Iterations
    from perfcore.data.curve import UtilizationCurve
    from perfcore.data.series import Series
    from perfcore.data.trace import Trace


def iterations(
    data: Annotated[
        str | os.PathLike[str] | Trace | UtilizationCurve | Series,
        typer.Argument(metavar="DATA", help="A file, - for standard input, a folder, or a quoted pattern."),
    ],
    *,
    busy: Annotated[
        str | tuple[str, ...] | None, typer.Option(metavar="STATE,...", help="Traces: states that count as computing.")
    ] = None,
    column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Series of several columns: the one to look at.")
    ] = None,
    marker: Annotated[
        str | None, typer.Option(metavar="NAME", help="Traces: marker that spans one iteration (see `perf info`).")
    ] = None,
    representation: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="NAME",
            autocompletion=names_of("representations"),
            help="Representation of durations in --output and `Iterations.save` (default: as in `perf "
            "stochastic summarize`).",
        ),
        OptionRules(needs="--output FILE"),
    ] = None,
    read: Annotated[
        Callable[[str, Sequence[type]], Any] | None, OptionGroup("perf_traces.options:HowToReadTraces", "read_file")
    ] = None,
) -> Iterations:
    """Find the iterations of DATA, a trace or a utilization curve: how many, how long, which one differs and why.

    Numbered markers (step#1, step#2) delimit them. Without any, sections of similar utilization and main states are
    found: 4 to 4,000, of 0.7 to 1.4 times their usual duration.

    Parameters
    ----------
    read : callable, optional
        Reads a file; takes a path and the wanted types.

    Raises
    ------
    PerfError
        The data have no course over time, or no marker of the name.

    Examples
    --------
    As a command::

        perf iterations trace.prv
        perf iterations trace.json --marker ProfilerStep
        perf iterations trace.prv --as normal -o iteration.json
        perf stochastic eval "100*x" --with x=iteration.json

    >>> from perfcore import UtilizationCurve
    >>> edges = [10.0 * k + part for k in range(9) for part in (0.0, 7.0)] + [90.0]
    >>> found = iterations(UtilizationCurve(edges, [4, 1] * 9, "ms"))
    >>> found.count, round(found.period, 1)
    (9, 10.0)
    """
    from perf_worley.iterations import iterations_of
    from perfcore.data import type_in_words
    from perfcore.data.curve import UtilizationCurve
    from perfcore.data.series import Series
    from perfcore.data.trace import Trace
    from perfcore.reading.recognise import read as read_data

    if isinstance(data, (str, os.PathLike)):
        types = (Trace, UtilizationCurve, Series)
        data = read(os.fspath(data), types) if read else read_data(data, wanted=types)
    if isinstance(data, Series):
        data = data.curve(column)
    if isinstance(data, Trace):
        if isinstance(busy, str):
            busy = tuple(word.strip() for word in busy.split(",") if word.strip())
        found = iterations_of(data.utilization(busy).counted_from_start(), data, marker=marker, busy=busy)
    elif marker is not None:
        raise OptionError("--marker belongs to traces; these data have no markers")
    elif isinstance(data, UtilizationCurve):
        found = iterations_of(data.counted_from_start())
    else:
        raise DataError(f"a trace, a utilization curve or a series has iterations, not {type_in_words(data)}")
    return replace(found, representation=representation)
