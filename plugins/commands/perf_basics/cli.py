"""Commands about one noun: look at data, convert and draw them, fit, rank and predict, and what is installed."""

from __future__ import annotations

import contextlib
import inspect
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perf_traces.options import HowToReadTraces
from perfcore.base.errors import (
    InputError,
    MissingDependencyError,
    OptionError,
    PerfError,
    PluginError,
    UnknownNameError,
)
from perfcore.base.files import REPLACES, check_files, refuse_existing, replacements
from perfcore.cli.output import (
    VERBOSE,
    Json,
    Output,
    Picture,
    TableFormat,
    print_json,
    print_result,
    print_table,
    reported,
    reporting,
)
from perfcore.cli.reading import HowToRead
from perfcore.hooks.options import OptionField, describe
from perfcore.hooks.parameters import OptionsOfEach, OptionsOfSelected, names_of
from perfcore.hooks.registry import Entry, registry
from perfcore.tables import Column, Table

if TYPE_CHECKING:
    from perf_basics.api import Facts, Listing
    from perfcore.models.model import Model
    from perfcore.report import Result

_DATA = typer.Argument(metavar="DATA", help="A file, - for standard input, a folder, or a quoted pattern.")
Data = Annotated[str, _DATA]
FitterOfKind = Annotated[
    str | None,
    typer.Option(
        "--fitter", metavar="NAME", help="Model type (default: from the data).", autocompletion=names_of("fitters")
    ),
]
At = Annotated[
    list[str] | None,
    typer.Option(
        "--at",
        metavar="NAME=...",
        help="Points, such as p=64,128, t=0..100:10 or p=1..1024*2,n=100; names for codes and systems. Repeatable.",
    ),
]
On = Annotated[
    str | None,
    typer.Option(
        "--parallel", metavar="WHERE", help="Parallel fit, where the fitter supports it: local:N or dask://HOST:PORT."
    ),
]

_SOME_UNFITTED = 3
_USUAL = 0.95  # coverage of intervals where none is named
_METAVARS = {bool: "flag", int: "N", float: "NUMBER", str: "TEXT"}
_CHECK = "check"
_LINES, _COLUMNS, _WIDEST_VALUE = 25, 100, 20


def info(
    data: Annotated[str | None, _DATA] = None,
    *,
    how: HowToReadTraces,
    formats: Annotated[
        bool, typer.Option("--formats", help="List the formats that can be read, each with an example.")
    ] = False,
) -> Facts | Listing:
    """Show what DATA contains and which commands apply.

    DATA is a file, - for standard input, a folder, or a pattern in quotes; many files are one data set. Its format is
    detected from its content.

    \b
    perf info runs.csv
    perf info 'runs/*.out' --from-name 'run_p{p:int}_n{n}.out'
    perf info --formats
    """
    from perf_basics import api

    if formats and data is not None:
        raise OptionError(f"--formats lists what can be read; leave out {data}")
    if data is None and not formats:
        raise OptionError("name a file, a folder or a pattern; --formats lists what can be read")
    if data is None:
        return api.formats()
    from perf_basics.describe import describe
    from perfcore.base import progress

    with progress.collected() as notes:
        reading = how.read_with_format(data)
    count = "" if reading.files == 1 else f"; {reading.files} files"
    file = typer.format_filename(data)
    named = {"file": file, "format": f"{reading.reader}: {registry().entry('readers', reading.reader).help}{count}"}
    return api.Facts(named | describe(reading.data, file, how.flags, notes))


def convert(
    data: Data,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="File to write; its ending is the format.")
    ],
    how: HowToReadTraces,
    curve: Annotated[
        bool, typer.Option("--curve", help="Write a trace's utilization curve instead of its intervals.")
    ] = False,
) -> None:
    """Read DATA and write it in another format.

    \b
    perf convert trace.prv -o trace.parquet
    perf convert trace.prv -o trace.json --from 10% --to 20%    for ui.perfetto.dev
    perf convert trace.prv --curve -o curve.csv
    """
    with reporting():
        import perfcore
        from perfcore.reading.recognise import writer

        writer(output)  # refuse a wrong ending or folder before a long file is read
        check_files(None, output)
        content = how.read_file(data)
        if curve:
            if not isinstance(content, perfcore.Trace):
                raise OptionError("--curve belongs to traces; these data have no states")
            content = content.utilization()
        perfcore.write(content, output)
    typer.echo(f"{typer.format_filename(output)}: {content!r}")


def plot(
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="A model file (.json), or data.")],
    how: HowToReadTraces,
    data: Annotated[str | None, typer.Argument(metavar="DATA", help="Drawn below a model.", show_default=False)] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Picture to write (default: plot.png).")
    ] = None,
    panels: Annotated[
        str, typer.Option("--panels", metavar="NAME,...", help="Parts of the picture, such as curves,residuals.")
    ] = "",
    size: Annotated[
        str | None, typer.Option("--size", metavar="WIDTH", help="Width or size, such as 3.4in, 86mm or 3.4x2.5in.")
    ] = None,
    font: Annotated[
        float | None, typer.Option("--font", min=1.0, metavar="POINTS", help="Size of all text in the picture.")
    ] = None,
) -> None:
    """Draw SUBJECT, a model file (.json) or data; DATA are drawn below a model.

    \b
    perf plot model.json trace.prv -o phases.svg
    perf plot trace.prv -o utilization.png
    perf plot model.json --panels curves --size 3.4in --font 8 -o plot.pdf
    """
    with contextlib.ExitStack() as ends, reporting():
        import perfcore
        from perfcore.models.model import is_model_file

        path = output or "plot.png"
        check_files(path)
        if not output:
            refuse_existing(path, REPLACES.get())
        ends.enter_context(replacements(*([] if output else [path])))
        look: dict[str, Any] = {"panels": [name for name in panels.split(",") if name], "size": size, "font": font}
        if how.reader is None and is_model_file(subject):
            model = perfcore.load(subject)
            measured = None if data is None else how.read_file(data)
            perfcore.plot(model, measured, path, **look)
        elif data is not None:
            raise OptionError("the first of two files must be a model, made by `perf fit -o model.json`")
        else:
            perfcore.plot(None, how.read_file(subject), path, **look)
    typer.echo(f"picture: {typer.format_filename(path)}")


def _executor_of(where: str | None) -> contextlib.AbstractContextManager[Any]:
    """Open what ``--parallel`` names; None for this process."""
    if where is None:
        return contextlib.nullcontext()
    from perf_tables.executors import executor_of

    return executor_of(where)


def _check_executor(fitter: str) -> None:
    """Refuse a fitter that does all of its work in one process, before a long file is read."""
    from perfcore.models.fitting import NO_PARTS

    if not registry().load("fitters", fitter).takes_executor:
        raise OptionError(NO_PARTS.format(fitter))


def fit(
    files: Annotated[
        list[str], typer.Argument(metavar="DATA", help="Files, - for standard input, folders, or quoted patterns.")
    ],
    how: HowToReadTraces,
    fitter: FitterOfKind = None,
    output: Output = None,
    picture: Picture = None,
    as_json: Json = False,
    table_format: TableFormat = None,
    on: On = None,
    **options: Annotated[Any, OptionsOfSelected("fitters", "fitter")],
) -> int:
    """Fit a model to DATA: files, folders or patterns, of which several are one data set, or - for standard input.

    \b
    perf fit runs.csv --at p=128 --plot scaling.png
    perf fit runs.jsonl --fitter scaling --at p=4096 --table csv > laws.csv
    perf fit trace.prv --phases 9
    perf fit trace.prv --fitter worley --phases 1..20 --degree 1 --refine -o model.json --plot phases.png
    perf fit runs.csv --fitter strohmaier --intervals bootstrap --loss huber --parallel local:2

    The exit status is 3 where paths of the data could not be fitted, for example with too few points: the others
    are, and the model is written.
    """
    if as_json and table_format is not None:
        raise OptionError("--json and --table are mutually exclusive")
    data = ",".join(files)  # several are one data set
    with reporting():
        import perfcore
        from perfcore.models.fitting import resolve, types_to_read

        # Wrong options are refused before a long file is read.
        if fitter is not None:
            resolve(registry().entry("fitters", fitter), options)
        check_files(picture, output)
        if output is not None and output.lower().endswith(".parquet"):
            return _fit_series(files, output, fitter, options, on, as_json, table_format)
        if on is not None and fitter is not None:
            _check_executor(fitter)
        with _executor_of(on) as executor:
            measured = how.read_file(data, types_to_read(fitter, options))
            parts, own = _parts(measured, options)
            if len(parts) > 1 and (output is not None or picture is not None):
                sets = " and ".join(", ".join(part.roles.parameters.values()) for part in parts)
                code = ",".join(parts[0].roles.code)
                raise OptionError(
                    f"-o, --plot: there are models over {sets}; choose a benchmark with --where {code}=..."
                )
            models = [perfcore.fit(part, fitter=fitter, executor=executor, **own) for part in parts]
            drawn = None if picture is None else measured
            del measured, parts  # whose memory the report has use for
        if output is not None:
            models[0].save(output)
        if picture is not None:
            perfcore.plot(models[0], drawn, picture)
    if as_json:
        facts = [_model_facts(model) for model in models]
        print_json("model", facts[0] if len(facts) == 1 else {"models": facts})
    for number, model in enumerate([] if as_json else models):
        typer.echo("", nl=number > 0 and table_format is None)
        print_result(model, False, table_format, model=output, picture=picture)
    unfitted = [path for model in models for path in model.unfitted]
    if not unfitted:
        return 0
    if as_json or table_format is not None:
        count = len(unfitted)
        typer.echo(f"perf: warning: {count} path{'s' * (count > 1)} of the data could not be fitted", err=True)
    return _SOME_UNFITTED


def _fit_series(
    files: Sequence[str], output: str, fitter: str | None, options: Mapping[str, Any], on: On,
    as_json: bool, table_format: TableFormat,
) -> int:  # fmt: skip
    """Fit the series of a table that may not fit into memory; the status is 3 if some were not fitted."""
    from perfcore.models.fitting import resolve

    if len(files) > 1:
        raise OptionError(f"-o {output}: give one file of all series, {len(files)} were given")
    usual = (entry for entry in registry().entries("fitters").values() if "timings" in entry.default_for)
    entry = next(usual) if fitter is None else registry().entry("fitters", fitter)
    fitter_class = entry.load()
    if not hasattr(fitter_class, "fit_series"):
        raise OptionError(f"-o {output}: models of this fitter are JSON files; --table csv writes a table of them")
    result = fitter_class().fit_series(files[0], output, resolve(entry, options)[0], on)
    print_result(result, as_json, table_format)
    return _SOME_UNFITTED if result.n_unfitted else 0


def _parts(data: Any, options: Mapping[str, Any]) -> tuple[list[Any], Mapping[str, Any]]:
    """The data, or benchmarks with parameters of their own, and the options for each."""
    from perf_tables.meanings import parts_of
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


def _model_facts(model: Model) -> dict[str, Any]:
    import msgspec

    parameters = [msgspec.structs.asdict(parameter) for parameter in model.parameters]
    details = {"details": facts} if (facts := model.details()) else {}
    return {**reported(model), **model.to_dict(), "statistics": model.statistics, "parameters": parameters, **details}


def rank(
    data: Data,
    how: HowToRead,
    fitter: FitterOfKind = None,
    top: Annotated[int | None, typer.Option("--top", min=1, metavar="N", help="Show the best N models.")] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="ORDER", help="Order of many series: predicted (default) or growth.")
    ] = None,
    on: On = None,
    **options: Annotated[Any, OptionsOfSelected("fitters", "fitter")],
) -> Result:
    """Rank the models of DATA, best first: every combination of functions that the fitter can make.

    Of a file of many series (`perf fit -o models.parquet`) it ranks the series, by prediction or growth.

    \b
    perf rank runs.csv --terms 2
    perf rank runs.csv --terms 2 --where "code=SP,system=T3D"
    perf rank runs.csv --fitter strohmaier --terms 2 --top 5
    perf rank runs.csv --fitter strohmaier --terms 3 --parallel local:8
    perf rank models.parquet --by growth --top 20
    """
    import perfcore
    from perfcore.models.fitting import resolve, types_to_read
    from perfcore.models.model import model_file_entry

    if model_file_entry(data, is_fitted=True) is not None:
        return perfcore.rank(data, by=by, at=options.get("at"), top=top)
    if by is not None:
        raise OptionError(f"--by is for files of many series (perf fit -o models.parquet); {data} is none")
    if fitter is not None:
        resolve(registry().entry("fitters", fitter), options)
        if on is not None:
            _check_executor(fitter)
    with _executor_of(on) as executor:
        measured = how.read_file(data, types_to_read(fitter, ranking=True))
        ranking = perfcore.rank(measured, fitter=fitter, executor=executor, **options)
    return replace(ranking, candidates=ranking.candidates[:top])


def predict(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A file that `perf fit -o` wrote, or a structural model (.toml).")
    ],
    at: At = None,
    interval: Annotated[
        float | None, typer.Option("--interval", metavar="X", help="Coverage of the intervals (default: 0.95).")
    ] = None,
    **options: Annotated[Any, OptionsOfEach("models", "prediction")],
) -> Result:
    """Predict with MODEL: a file that `perf fit -o` wrote, or a structural model (.toml).

    A fitted model takes --at (default: the target of the fit), --interval and --quantile; variables that are left out
    and have names, such as code and system, take all of them. A structural model takes the other options.

    \b
    perf predict model.json --at t=0..10000:500 --interval 0.95 --json
    perf predict model.json --at p=64..4096*2 --at code=SP --at system=T3D
    perf predict sor.toml --with iterations=200 --plot sor.png
    """
    from perfcore.models.model import model_file_entry

    entry = model_file_entry(model)
    is_special = entry is not None and "prediction" in entry.default_for
    if is_special and (at or interval is not None):
        raise OptionError(f"--at and --interval are for fitted models; {model} takes --with NAME=QUANTITY")
    levels = [] if is_special else _levels(options.pop("quantile", None))
    if not is_special and options:
        used = f"--{next(iter(options))}".replace("--inputs", "--with")
        raise OptionError(f"{used} is for structural models (.toml); {model} takes --at, --interval and --quantile")
    if not Path(model).exists():
        raise InputError(model, "there is no such file")
    if entry is not None and is_special:
        prediction: Result = entry.load().read(model).predict(**options)
        return prediction
    from perf_basics import api

    try:
        return api.predict(model, at or [], _USUAL if interval is None else interval, levels)
    except PerfError:
        if interval is not None or levels:
            raise
        return api.predict(model, at or [])  # models of this kind, or of these data, have no intervals


def _levels(text: Any) -> list[float]:
    try:
        return [float(level) for level in str(text).split(",")] if text is not None else []
    except ValueError:
        raise OptionError(f"--quantile {text}: numbers between 0 and 1 are expected, such as 0.05,0.95") from None


def _names(incomplete: str) -> list[str]:
    names = [_CHECK, *(name for kind in registry().kinds for name in registry().entries(kind))]
    return [name for name in names if name.startswith(incomplete)]


def plugins(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", autocompletion=_names, help="One implementation, or `check`.", show_default=False
        ),
    ] = None,
    checked: Annotated[
        str | None,
        typer.Argument(metavar="PLUGIN", help="After `check`: a plugin or distribution.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """List what is installed; with NAME the options of one; with `check` import everything and report.

    `check` with the name of a plugin or of its distribution looks at that alone, and fails also where an optional
    library is missing; it is meant for the continuous integration of the plugin.

    \b
    perf plugins
    perf plugins worley
    perf plugins check
    perf plugins check my-package
    """
    if checked is not None and name != _CHECK:
        raise OptionError(f"{checked!r}: one name is expected, or `check` and the name of a plugin")
    with reporting():
        entries = [entry for kind in registry().kinds for entry in registry().entries(kind).values()]
        if name is None:
            from perf_basics import api

            print_result(api.plugins(), as_json, None)
        elif name == _CHECK:
            _check(entries, checked)
        else:
            matching = [entry for entry in entries if entry.name == name]
            if not matching:
                raise UnknownNameError("plugin", name, [*(entry.name for entry in entries), _CHECK])
            for entry in matching:
                _one(entry, as_json)


def plugins_new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What users will type, such as power-law.")],
    kind: Annotated[
        str,
        typer.Option("--kind", metavar="KIND", help="fitter, segmenter, function, representation, reader or command."),
    ] = "fitter",
    folder: Annotated[str, typer.Option("--folder", metavar="FOLDER", help="Parent folder of the package.")] = ".",
) -> None:
    """Write the package of a new plugin: an example that works, its entry point, and a test of its contract.

    \b
    perf plugins new power-law --kind fitter
    pip install -e perfcore-power-law
    perf plugins check perfcore-power-law
    """
    from perf_basics.scaffold import new

    files = new(name, kind, folder)
    root = files[0].parent
    for file in files:
        typer.echo(typer.format_filename(file))
    typer.echo(f"Next: pip install -e {shlex.quote(str(root))}, then perf plugins check perfcore-{name}")


def _check(entries: list[Entry], plugin: str | None) -> None:
    """Import targets and options of all, or of one plugin; a missing optional library is a problem of that one only."""
    chosen = [each for each in registry().plugins if plugin in (None, each.name, each.distribution)]
    if not chosen:
        plugin_names = {name for each in registry().plugins for name in (each.name, each.distribution)}
        raise UnknownNameError("plugin to check", str(plugin), plugin_names)
    names = {each.name for each in chosen}
    problems = [f"plugin {e.name} of {e.distribution} is skipped: {e.problem}" for e in chosen if e.problem]
    selected = [entry for entry in entries if entry.plugin in names]
    missing = []
    for entry in selected:
        try:
            entry.load()
            describe(entry.load_options())
        except MissingDependencyError as error:
            missing.append(str(error))
        except (PerfError, TypeError) as error:
            problems.append(
                f"{entry.kind[:-1]} {entry.name!r}: {error}" if isinstance(error, TypeError) else str(error)
            )
    if plugin is not None:
        problems += missing
        if not problems:
            from perf_basics.scaffold import failures

            problems = [*failures(selected)]
    if problems:
        raise PluginError("; ".join(problems))
    for line in missing:
        typer.echo(f"left out: {line}")
    usable = "all can be imported" if not missing else "all others can be imported"
    usable += " and keep their contracts" if plugin is not None else ""
    typer.echo(f"{len(chosen)} plugins, {len(selected)} implementations: {usable}")


def _one(entry: Entry, as_json: bool) -> None:
    kind = registry().entries("kinds").get(entry.kind)
    rows = getattr(kind.load(), "rows", None) if kind is not None else None
    if rows is not None:
        _rows(entry, rows(entry), as_json)
        return
    fields = describe(entry.load_options())
    if as_json:
        options = [{"name": f.name, "default": f.default, "choices": f.choices, "help": f.help} for f in fields]
        about = {"type": entry.kind[:-1], "name": entry.name, "from": entry.distribution}
        print_json("plugin", {**about, "options": options})
        return
    lines = textwrap.wrap(f"{entry.kind[:-1]} {entry.name} ({entry.distribution}): {entry.help}", _COLUMNS)
    summary = inspect.cleandoc(entry.load().__doc__ or "").split("\nExamples\n")[0]
    for paragraph in summary.rstrip().split("\n\n")[1:]:  # the first one is as the help
        if VERBOSE.get() or not paragraph.startswith("Source"):
            wrapped = textwrap.wrap(paragraph, _COLUMNS, break_long_words=False)
            lines += ["", *(paragraph.splitlines() if "\n " in paragraph else wrapped)]
    if fields:
        lines.append("")
    described = [_option_lines(f, max(len(field.name) for field in fields)) for f in fields]
    for number, option in enumerate(described):
        if not VERBOSE.get() and len(lines) + len(option) + (number + 1 < len(described)) > _LINES:
            left_out = len(described) - number
            lines.append(f"... {left_out} more option{'s' * (left_out > 1)} (--all)")
            break
        lines += option
    typer.echo("\n".join(lines))


def _option_lines(field: OptionField, name_width: int) -> list[str]:
    choices, text = "|".join(field.choices or ()), field.help
    if len(choices) > _WIDEST_VALUE:
        choices, text = "WORD", f"{text}; {choices}"
    if field.default_text and field.default_text not in ("auto", "False") and "default" not in text:
        text += f" (default: {field.default_text})"
    value = choices or field.metavar or _METAVARS.get(field.type, "")
    head = f"{field.name:{name_width}}  {value:{_WIDEST_VALUE}}  "
    return textwrap.wrap(text, _COLUMNS, initial_indent=head, subsequent_indent=" " * len(head))


def _rows(entry: Entry, rows: list[dict[str, str]], as_json: bool) -> None:
    """What one thing of a plugin's own kind holds; JSON names the rows by the last word of the kind."""
    if as_json:
        rows_key = entry.kind.rpartition("_")[2]
        print_json("plugin", {"type": entry.kind[:-1], "name": entry.name, "from": entry.distribution, rows_key: rows})
        return
    typer.echo(f"{entry.kind[:-1]} {entry.name} ({entry.distribution}): {entry.help}")
    typer.echo()
    print_table(Table([Column(name, name) for name in (rows[0] if rows else ())], rows))
