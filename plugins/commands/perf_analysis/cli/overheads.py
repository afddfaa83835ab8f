"""``perf overheads``: where the cycles of a trace go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import typer

from perf_traces.reading import HowToReadTraces
from perfcore.base.errors import OptionError
from perfcore.cli.output import print_findings, print_json, reporting
from perfcore.cli.parameters import Json, Picture


def _print_categories(requested: bool) -> None:
    if requested:
        from perf_analysis.categories import STANDARD

        typer.echo(STANDARD.read_text(encoding="utf-8"), nl=False)
        raise typer.Exit


def command(
    traces: Annotated[
        list[str], typer.Argument(metavar="TRACES", help="One for each run: files, folders, or quoted patterns.")
    ],
    how: HowToReadTraces,
    phases: Annotated[
        str | None,
        typer.Option(
            "--phases",
            metavar="N|A..B|auto|MODEL",
            help="Also for each of N phases, found as `perf fit` finds them, or for those of a model that it wrote.",
        ),
    ] = None,
    degree: Annotated[
        str, typer.Option("--degree", metavar="D", help="Of the polynomials that model a phase that is found.")
    ] = "auto",
    by: Annotated[
        Literal["category", "location", "phase", "marker", "burst"] | None,
        typer.Option(
            "--by",
            help="Table to print beside the categories; several traces are compared without it, and by burst, which is "
            "computing between two calls.",
        ),
    ] = None,
    categories: Annotated[
        str | None, typer.Option("--categories", metavar="FILE.toml", help="Own categories and predicates.")
    ] = None,
    classes: Annotated[
        list[str] | None,
        typer.Option(
            "--class",
            metavar="CLASS=STATE,...",
            help="States of a class, such as --class waiting='Wait*,Lock'; goes before the file.",
        ),
    ] = None,
    ready: Annotated[
        str | None, typer.Option("--ready", metavar="SERIES", help="File with the amount of ready work over time.")
    ] = None,
    ready_column: Annotated[
        str | None, typer.Option("--ready-column", metavar="NAME", help="Its column, where it has several.")
    ] = None,
    pop: Annotated[
        Literal["strict", "bsc"],
        typer.Option(
            "--pop", help="Serialisation and transfer by what the trace shows, or as BSC's tools define them."
        ),
    ] = "strict",
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="p=N,...",
            help="Efficiencies of several traces at other numbers of locations, with 95 % bounds.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write times by category to this .csv, one row for each."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--label",
            metavar="KEY=VALUE,...",
            help="Column of the output, one value or one for each trace (default: p, the locations).",
        ),
    ] = None,
    picture: Picture = None,
    as_json: Json = False,
    print_categories: Annotated[
        bool,
        typer.Option(
            "--print-categories",
            is_eager=True,
            callback=_print_categories,
            help="Print the standard categories, to start an own file from.",
        ),
    ] = False,
) -> None:
    """Say where the cycles of TRACES go: computation, load imbalance, and kinds of loss.

    Every nanosecond of every location is in exactly one category; where that is not so, the states and times are said.
    Without --ready, an idle location counts as load imbalance while two or more others compute, as insufficient
    parallelism otherwise.

    \b
    perf overheads trace.prv --phases 4 --plot lost.png
    perf overheads trace.prv --phases model.json
    perf overheads p2.prv p4.prv p8.prv --by burst --at p=4096
    perf overheads p2.prv p4.prv p8.prv -o lost.csv
    perf fit lost.csv --fitter modgen
    perf overheads p4.prv p8.prv --phases 3 -o phases.csv
    perf fit phases.csv --fitter modgen --where phase=2
    """
    with reporting():
        from perf_analysis.efficiencies import DEFINITIONS
        from perf_analysis.overheads import overheads
        from perf_views.picture import check_files, plot

        check_files(picture, output)
        if output is None and settings:
            raise OptionError("--label belongs to --output FILE.csv")
        if output is not None and not output.lower().endswith(".csv"):
            raise OptionError(f"--output {output}: the ending must be .csv")
        runs = overheads(
            traces,
            phases=phases,
            degree=degree,
            by=by,
            categories=categories,
            classes=_lists(classes or (), "--class"),
            ready=ready,
            ready_column=ready_column,
            pop=pop,
            at=at,
            settings={name: _numbers(name, words) for name, words in _lists(settings or (), "--label").items()},
            read=how.read_file,
        )
        if output is not None:
            _write(runs.to_frame(), output)
        if picture is not None:
            plot(runs, None, picture)
    if as_json:
        print_json("overheads", runs.to_dict())
        return
    print_findings(runs)
    if not runs.is_comparison:
        typer.echo()
        for line in DEFINITIONS:
            typer.echo(line)
    for label, written in (("table", output), ("picture", picture)):
        if written is not None:
            typer.echo(f"{label}: {typer.format_filename(written)}")
    if output is not None and phases is not None:
        typer.echo(
            f"next: one phase at a time, perf fit {typer.format_filename(output)} --fitter modgen --where phase=1"
        )


def _lists(pairs: Sequence[str], option: str) -> dict[str, list[str]]:
    """``KEY=A,B`` words, several of one key joined."""
    lists: dict[str, list[str]] = {}
    for pair in pairs:
        key, equals, values = pair.partition("=")
        words = [word.strip() for word in values.split(",") if word.strip()]
        if not equals or not key or not words:
            raise OptionError(f"{option} {pair!r}: NAME=VALUE,... is expected")
        lists.setdefault(key, []).extend(words)
    return lists


def _numbers(name: str, words: Sequence[str]) -> list[float]:
    try:
        return [int(word) if word.lstrip("-").isdecimal() else float(word) for word in words]
    except ValueError:
        raise OptionError(f"--label {name}={','.join(words)}: numbers are expected") from None


def _write(table: Any, path: str) -> None:
    from perfcore.base.files import atomic_path

    with atomic_path(path) as temporary:
        table.to_csv(temporary, index=False)
