"""``perf fit``: data to a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import typer

from perf_basics.cli.on import On, check_executor
from perf_traces.reading import HowToReadTraces
from perfcore.base.errors import OptionError
from perfcore.cli.output import print_findings, print_json, print_plainly, reporting
from perfcore.cli.parameters import Data, FitterOfKind, Json, Output, Picture, TableFormat
from perfcore.cli.reading import key_values
from perfcore.cli.signature import OptionsOfSelected

_SOME_UNFITTED = 3


def command(
    data: Data,
    how: HowToReadTraces,
    fitter: FitterOfKind = None,
    output: Output = None,
    picture: Picture = None,
    as_json: Json = False,
    table_format: TableFormat = None,
    on: On = None,
    growing: Annotated[
        bool,
        typer.Option("--follow", help="Read DATA as it is written, and say when a phase has ended; text tables only."),
    ] = False,
    idle_timeout: Annotated[
        float, typer.Option("--idle-timeout", metavar="S", help="With --follow: end after S seconds without a line.")
    ] = 10.0,
    **options: Annotated[Any, OptionsOfSelected("fitters", "fitter")],
) -> int:
    """Fit a model to DATA, a file or - for standard input.

    \b
    perf fit trace.prv --phases 9
    perf fit trace.prv --fitter worley --phases 1..20 --degree 1 --refine -o model.json --plot phases.png
    perf fit runs.jsonl --fitter scaling --at p=4096 --table csv > laws.csv
    perf fit profile.parquet --fitter scaling -o laws.parquet --parallel local:2
    perf fit runs.csv --fitter strohmaier --intervals bootstrap --loss huber --parallel local:2
    perf fit states.csv --follow --idle-timeout 60

    Scaling laws of very many paths become a table where the file to write ends in .parquet: in parts, with bounded
    memory, the largest share first.

    The exit status is 3 where paths of the data could not be fitted, for example with too few points: the others
    are, and the model is written.
    """
    if as_json and table_format is not None:
        raise OptionError("--json and --table do not go together")
    with reporting():
        import perfcore
        from perf_statistics.executors.executors import executor_of
        from perfcore.hooks.registry import registry
        from perfcore.models.fitting import resolve, types_to_read

        # What is wrong with the options is said before a long file is read.
        if fitter is not None:
            resolve(registry().entry("fitters", fitter), options)
        from perf_views.pictures.picture import check_files

        check_files(picture, output)
        if output is not None and output.lower().endswith(".parquet"):
            if picture is not None or as_json or table_format is not None or growing:
                raise OptionError(f"-o {output}: a table of laws goes without --plot, --json, --table and --follow")
            raise typer.Exit(_fit_many(data, output, fitter, how, on, options))
        if on is not None and fitter == "scaling":
            raise OptionError("--parallel with --fitter scaling is for laws of many paths: -o FILE.parquet")
        if on is not None and fitter is not None:
            check_executor(fitter)
        if growing:
            from perf_basics.following import follow

            if on is not None:
                raise OptionError("--follow reads line after line in this process; leave --parallel out")
            if how.from_name is not None:
                raise OptionError("--follow reads one file; --from-name belongs to many")

            def read_lines(path: str, settings: Mapping[str, str]) -> Any:
                pairs = [*(how.read_pairs or ()), *(f"{name}={value}" for name, value in settings.items())]
                return replace(how, read_pairs=pairs).read_file(path)

            model, measured = follow(data, read_lines, fitter, options, idle_timeout)
        else:
            with executor_of(on) as executor:
                measured = how.read_file(data, types_to_read(fitter))
                model = perfcore.fit(measured, fitter=fitter, executor=executor, **options)
        if output is not None:
            model.save(output)
        if picture is not None:
            perfcore.plot(model, measured, picture)
    if as_json:
        import msgspec

        parameters = [msgspec.structs.asdict(parameter) for parameter in model.parameters]
        details = {"details": facts} if (facts := model.details()) else {}
        print_json("model", {**model.to_dict(), "statistics": model.statistics, "parameters": parameters, **details})
    elif table_format is not None:
        print_plainly(table_format, model.plain_tables() if table_format == "csv" else model.tables())
    else:
        print_findings(model, model=output, picture=picture)
    if not model.unfitted:
        return 0
    if as_json or table_format is not None:
        count = len(model.unfitted)
        typer.echo(f"perf: warning: {count} path{'s' * (count > 1)} of the data could not be fitted", err=True)
    return _SOME_UNFITTED


def _fit_many(
    data: str, output: str, fitter: str | None, how: HowToReadTraces, on: str | None, options: Mapping[str, Any]
) -> int:
    """Fit laws of very many paths to a table, and print its first rows; the exit status."""
    from perf_basics.cli.printed_laws import PrintedLaws
    from perf_basics.many_paths import fit_many_paths
    from perf_statistics.executors.executors import executor_of

    if fitter != "scaling":
        raise OptionError(f"-o {output}: a table holds laws of paths, by --fitter scaling; models are JSON files")
    reading = {"reader": how.reader, "from_name": how.from_name, **key_values(how.read_pairs or (), "--read")}
    with executor_of(on) as executor:
        table = fit_many_paths(data, output, executor=executor, how=reading, **options)
    print_findings(PrintedLaws(table), table=output)
    return _SOME_UNFITTED if table.facts["unfitted"] else 0
