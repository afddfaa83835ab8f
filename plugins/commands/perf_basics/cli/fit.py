"""``perf fit``: data to a model."""

from __future__ import annotations

from collections.abc import Mapping
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

        # Wrong options are refused before a long file is read.
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
            parts, own = _parts(measured, options)
            if len(parts) > 1 and (output is not None or picture is not None):
                sets = " and ".join(", ".join(part.roles.parameters.values()) for part in parts)
                code = ",".join(parts[0].roles.code)
                raise OptionError(
                    f"-o, --plot: there are models over {sets}; choose a benchmark with --where {code}=..."
                )
            models = [perfcore.fit(part, fitter=fitter, executor=executor, **own) for part in parts]
        if output is not None:
            models[0].save(output)
        if picture is not None:
            perfcore.plot(models[0], measured, picture)
    if as_json:
        facts = [_facts(model) for model in models]
        print_json("model", facts[0] if len(facts) == 1 else {"models": facts})
    for number, model in enumerate([] if as_json else models):
        if table_format is not None:
            print_plainly(table_format, model.plain_tables() if table_format == "csv" else model.tables())
        else:
            typer.echo("", nl=number > 0)
            print_findings(model, model=output, picture=picture)
    unfitted = [path for model in models for path in model.unfitted]
    if not unfitted:
        return 0
    if as_json or table_format is not None:
        count = len(unfitted)
        typer.echo(f"perf: warning: {count} path{'s' * (count > 1)} of the data could not be fitted", err=True)
    return _SOME_UNFITTED


def _parts(data: Any, options: Mapping[str, Any]) -> tuple[list[Any], Mapping[str, Any]]:
    """The data, or benchmarks with parameters of their own, and the options for each."""
    from perf_tables.suites import parts_of
    from perfcore.base import progress
    from perfcore.data.measurements import Measurements
    from perfcore.models.fitting import coerce

    chosen = coerce(data, options)
    if not isinstance(chosen, Measurements) or chosen.roles.category or not chosen.roles.parameters:
        return [data], options
    parts = parts_of(chosen, notes := list[str]())
    for note in notes:
        progress.note(f"{data.source}: {note}")
    return ([data], options) if parts in ([chosen], []) else (parts, {**options, "parameter": None})


def _facts(model: Any) -> dict[str, Any]:
    import msgspec

    parameters = [msgspec.structs.asdict(parameter) for parameter in model.parameters]
    details = {"details": facts} if (facts := model.details()) else {}
    return {**model.to_dict(), "statistics": model.statistics, "parameters": parameters, **details}
