"""What ``perf project`` does, in Python."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from typer import Argument, Option

from perfcore.base.errors import OptionError
from perfcore.hooks.parameters import OptionGroup, OptionRules

if TYPE_CHECKING:
    from perf_project.model import Projection, ProjectionModel
    from perfcore.data.measurements import Measurements
    from perfcore.data.trace import Trace

Named = str | os.PathLike[str]


def project(
    runs: Annotated[
        Named | Trace | Measurements | Sequence[Named | Trace | Measurements],
        Argument(
            metavar="RUN",
            help="Traces of one program at several numbers of ranks, or tables of times by category or call path.",
        ),
    ],
    *,
    at: Annotated[
        str | Sequence[str] | Mapping[str, float] | None,
        Option(
            metavar="p=N,...",
            help="Scales to project to, such as p=16 or p=64..4096*4 (default: four times the largest).",
        ),
    ] = None,
    parameter: Annotated[
        str | None, Option(metavar="COLUMN,...", help="Column of a table with the scale (default: guessed).")
    ] = None,
    value: Annotated[
        str | None, Option(metavar="COLUMN", help="Column of a table with the times (default: guessed).")
    ] = None,
    where: Annotated[
        str | None, Option(metavar="COND,...", help="Rows of a table to use: COLUMN=A|B, COLUMN>3.")
    ] = None,
    scaling: Annotated[
        Literal["auto", "strong", "weak"], Option(help="Whether the problem stays the same or grows with the scale.")
    ] = "auto",
    network: Annotated[
        str | None,
        Option(metavar="Kx|0", help="Network K times as fast, such as 2x; 0 is ideal, with zero transfer time."),
    ] = None,
    compute: Annotated[
        Mapping[str, float] | Sequence[str],
        Option(metavar="[CLASS=]Kx", help="Computation, or one class of it, K times as fast."),
    ] = (),
    balance: Annotated[
        str | Sequence[str],
        Option(metavar="[CLASS]", help="No load imbalance of computing."),
        OptionRules(alone="computing"),
    ] = (),
    from_name: str | None = None,
    reading: Annotated[
        Mapping[str, Any] | None, OptionGroup("perf_traces.options:HowToReadTraces", "reading_of_runs")
    ] = None,
) -> ProjectionModel:
    """Project runs at a few scales to the run at another scale.

    The elapsed time of traces is split into computation by class of burst, load imbalance, serialisation and transfer;
    that of tables into their categories or call paths. Each component has its own scaling model; the elapsed
    time is their sum.

    Parameters
    ----------
    from_name : str, optional
        Pattern of the names of traces; numbers that vary, such as n in ``run_p{p:int}_n{n:int}.prv``, are parameters
        beside p, the number of locations.
    reading : mapping of str to Any, optional
        Options of reading, as of `perfcore.read`.

    Returns
    -------
    ProjectionModel
        A model of the elapsed time; its ``answer`` has components and efficiencies at the targets.

    Raises
    ------
    OptionError
        A target is below 1, or an option is not accepted.
    DataError
        Runs are of different programs, of one scale only, or of different categories.

    Examples
    --------
    As a command::

        perf project p2.prv p4.prv p8.prv --at p=16 --plot projection.png
        perf project p2.prv p4.prv p8.prv --at p=64..4096*4 -o projection.json
        perf predict projection.json --at p=64
        perf project times.csv --parameter nodes --at nodes=32
        perf project run_*.prv --from-name 'run_p{p:int}_n{n:int}.prv' --at p=64,n=2000

    >>> import pandas as pd
    >>> rows = [(p, name, t) for p in (1, 2, 4, 8) for name, t in (("solve", 8 / p), ("exchange", 0.1 * p))]
    >>> model = project(pd.DataFrame(rows, columns=["p", "category", "time_s"]), at="p=16")
    >>> model.answer.at[0].limits.name
    'exchange'
    """
    from perf_project.build import components_of, projected
    from perf_traces.runs import without_sidecars

    is_one = isinstance(runs, (str, os.PathLike)) or not isinstance(runs, Sequence)
    sources: Sequence[Any] = [runs] if is_one else without_sidecars(cast("Sequence[Any]", runs))
    if not sources:
        raise OptionError("there is no run; give traces or tables of several scales")
    table_options = {"parameter": parameter, "value": value, "where": where}
    given = {name: given for name, given in table_options.items() if given}
    components = components_of(sources, given, reading or {}, from_name)
    what_if = {"network": network, "compute": compute, "balance": [balance] if isinstance(balance, str) else balance}
    return projected(components, at, scaling, what_if)


@functools.wraps(project)
def answer(*args: Any, **named: Any) -> Projection:
    """What the command shows: the projection at the targets."""
    result: Projection = project(*args, **named).answer
    return result
