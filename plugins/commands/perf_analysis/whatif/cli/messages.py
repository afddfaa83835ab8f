"""``perf messages``: who sends how much to whom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from perf_traces.reading import HowToReadTraces, next_step, options_of_runs
from perfcore.base.errors import OptionError
from perfcore.cli.output import print_findings, print_json, print_plainly, reporting
from perfcore.cli.parameters import Json, Picture, TableFormat
from perfcore.results import Result

__all__ = ["command"]


def command(
    traces: Annotated[
        list[str], typer.Argument(metavar="TRACES", help="Of a run with messages; or of several, which make one table.")
    ],
    how: HowToReadTraces,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the table, a row for each operation of each run."),
    ] = None,
    picture: Picture = None,
    as_json: Json = False,
    table_format: TableFormat = None,
) -> None:
    """Say who sends how much to whom in a trace, and in messages of which sizes; of several how much grows how.

    Of several traces, and with -o, messages and bytes are told by operation: of collectives their number, and the most
    that one member sends or receives. The table has a column of what was varied: what --from-name says, or else p, the
    number of locations.

    \b
    perf messages trace.prv --plot matrix.png
    perf messages trace.prv --table csv > pairs.csv
    perf messages runs/*.prv -o traffic.csv
    perf fit traffic.csv --fitter scaling --value messages
    """
    with reporting():
        from perf_analysis.whatif.api import messages, messages_of_runs
        from perf_views.pictures.picture import check_files, plot
        from perfcore.reading.many_files import named_files
        from perfcore.reading.recognise import write, writer

        if as_json and table_format is not None:
            raise OptionError("--json and --table do not go together")
        check_files(picture, output)
        if output is not None:
            writer(output)
        result: Result
        may_be_one = output is None and how.from_name is None and len(traces) == 1
        if may_be_one and named_files(traces[0]) is None:
            result = messages(traces[0], read=how.read_file)
        else:
            reading, files = options_of_runs(how)
            read = _Kept(reading.read_file)
            runs = messages_of_runs(traces, from_name=how.from_name, files=files, read=read)
            if output is not None:
                write(runs.measurements, output)
            # A folder may be that of one run.
            result = messages(traces[0], read=read) if may_be_one and len(runs.runs) == 1 else runs
        if picture is not None:
            plot(result, None, picture)
    if as_json:
        print_json("messages", result.to_dict())
    elif table_format is not None:
        print_plainly(table_format, result.plain_tables() if table_format == "csv" else result.tables())
    else:
        print_findings(result, table=output, picture=picture)
        if output is not None and len(runs.runs) > 1:
            typer.echo(next_step(output, [run.parameters for run in runs.runs], runs.parameters))


class _Kept:
    """Reads files, and the one that was read last not again: the ranks of a run are many.

    Parameters
    ----------
    read : callable
        Takes a path and the wanted types.
    """

    def __init__(self, read: Callable[[str, Sequence[type]], Any]) -> None:
        self._read = read
        self._last: dict[str, Any] = {}

    def __call__(self, name: str, types: Sequence[type]) -> Any:
        if name not in self._last:
            self._last.clear()  # before the next one is there, too
            self._last[name] = self._read(name, types)
        return self._last[name]
