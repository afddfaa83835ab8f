"""``perf fit``: data to a model."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from perf_traces.reading import HowToReadTraces
from perfcore.base.errors import OptionError
from perfcore.cli.output import print_findings, print_json, print_plainly, reporting
from perfcore.cli.parameters import Data, FitterOfKind, Json, Output, Picture, TableFormat
from perfcore.hooks.parameters import OptionsOfSelected
from perfcore.hooks.registry import registry

On = Annotated[
    str | None,
    typer.Option(
        "--parallel",
        metavar="WHERE",
        help="What does parts of the work, where the fitter has such: local:N processes, or dask://HOST:PORT.",
    ),
]


def check_executor(fitter: str) -> None:
    """Refuse a fitter that does all of its work in one process, before a long file is read.

    Raises
    ------
    UnknownNameError
        No such fitter.
    OptionError
    """
    from perfcore.models.fitting import NO_PARTS

    if not registry().load("fitters", fitter).takes_executor:
        raise OptionError(NO_PARTS.format(fitter))


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
    **options: Annotated[Any, OptionsOfSelected("fitters", "fitter")],
) -> int:
    """Fit a model to DATA, a file or - for standard input.

    \b
    perf fit trace.prv --phases 9
    perf fit trace.prv --fitter worley --phases 1..20 --degree 1 --refine -o model.json --plot phases.png
    perf fit runs.jsonl --fitter scaling --at p=4096 --table csv > laws.csv
    perf fit runs.csv --fitter strohmaier --intervals bootstrap --loss huber --parallel local:2

    The exit status is 3 where paths of the data could not be fitted, for example with too few points: the others
    are, and the model is written.
    """
    if as_json and table_format is not None:
        raise OptionError("--json and --table do not go together")
    with reporting():
        import perfcore
        from perfcore.base.executors import executor_of
        from perfcore.hooks.registry import registry
        from perfcore.models.fitting import resolve, types_to_read

        # What is wrong with the options is said before a long file is read.
        if fitter is not None:
            resolve(registry().entry("fitters", fitter), options)
        from perfcore.base.files import check_files

        check_files(picture, output)
        if output is not None and output.lower().endswith(".parquet"):
            raise OptionError(f"-o {output}: models are JSON files; --table csv writes a table of them")
        if on is not None and fitter is not None:
            check_executor(fitter)
        with executor_of(on) as executor:
            measured = how.read_file(data, types_to_read(fitter, options))
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
