"""``perf gate``: is a version slower?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from perfcore.cli.output import print_findings, print_json, print_plainly, reporting
from perfcore.cli.parameters import Json, Picture, TableFormat
from perfcore.cli.reading import HowToRead

if TYPE_CHECKING:
    from perf_gate.reading.long_table import LongTable

__all__ = ["command"]


def command(
    first: Annotated[
        str, typer.Argument(metavar="FIRST", help="Runs of the first version, or of both: a file, folder or pattern.")
    ],
    how: HowToRead,
    second: Annotated[str | None, typer.Argument(metavar="[SECOND]", help="Runs of the second version.")] = None,
    slower_than: Annotated[
        str | None,
        typer.Option(
            "--slower-than",
            metavar="FACTOR",
            help="What is too slow: 1.05x, the default, or 5%; of a history any change.",
        ),
    ] = None,
    commit: Annotated[
        str | None, typer.Option("--commit", metavar="COLUMN", help="Of a history: the column of commits.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="COMMIT", help="Changes after it are new (default: in the last 12 values)."),
    ] = None,
    machine: Annotated[
        str | None, typer.Option("--machine", metavar="COLUMN", help="Of a history: the column of machines.")
    ] = None,
    version: Annotated[
        str | None,
        typer.Option("--version", metavar="COLUMN", help="In one file: the column of versions."),
    ] = None,
    base: Annotated[str | None, typer.Option("--base", metavar="NAME", help="The first version in it.")] = None,
    new: Annotated[str | None, typer.Option("--new", metavar="NAME", help="The second version in it.")] = None,
    value: Annotated[
        list[str] | None,
        typer.Option(
            "--value", metavar="COLUMN", help="What was measured (default: as the format says). May be repeated."
        ),
    ] = None,
    better: Annotated[
        str | None,
        typer.Option("--better", metavar="larger|smaller", help="Which values are better (default: by unit)."),
    ] = None,
    layout: Annotated[
        str | None,
        typer.Option(
            "--layout",
            metavar="turn|blocks|sessions",
            help="How runs lie in time: in turn, one version after the other, or in sessions (default: as rounds, "
            "times and files show).",
        ),
    ] = None,
    between: Annotated[
        str | None,
        typer.Option("--between", metavar="SHARE", help="How much sessions of one version differ, such as 2%."),
    ] = None,
    errors: Annotated[
        str,
        typer.Option("--errors", metavar="fwer|fdr", help="Keep at 5% the chance of any false alarm, or their share."),
    ] = "fwer",
    missing: Annotated[
        str, typer.Option("--missing", metavar="list|fail", help="What benchmarks do that one version lacks.")
    ] = "list",
    undecided: Annotated[
        str, typer.Option("--undecided", metavar="pass|fail", help="Exit status of undecided as that of these.")
    ] = "undecided",
    picture: Picture = None,
    summary: Annotated[
        str | None, typer.Option("--summary", metavar="FILE", help="Append Markdown for the page of a CI job (.md).")
    ] = None,
    junit: Annotated[str | None, typer.Option("--junit", metavar="FILE", help="Write a JUnit report (.xml).")] = None,
    table: TableFormat = None,
    as_json: Json = False,
) -> int:
    """Judge whether any benchmark of SECOND is slower than in FIRST, or became slower in a history.

    Benchmarks are matched by name. Versions that were measured in turn are compared round by round; say `perf run` or
    your script to measure so. Exit status: 0 passed, all surely not slower; 1 failed, one is surely slower; 3
    undecided; 2 a mistake.

    \b
    perf gate old.json new.json --slower-than 1.05x
    perf gate 'old_*.json' 'new_*.json' --summary "$GITHUB_STEP_SUMMARY"
    perf gate history.jsonl --commit commit --plot history.png
    perf gate runs.csv --version build --base main --new branch --slower-than 3%
    """
    with reporting():
        from perf_gate.api import gate
        from perf_gate.reading.sets import read_set
        from perf_pictures.picture import check_files, plot
        from perfcore.data.measurements import Measurements

        check_files(picture, summary, junit)

        def opened(path: str) -> LongTable:
            return read_set(path, lambda one: how.read_with_format(one, (Measurements,)), value or ())

        verdict = gate(
            opened(first),
            None if second is None else opened(second),
            slower_than=slower_than,
            commit=commit,
            since=since,
            machine=machine,
            version=version,
            base=base,
            new=new,
            better=better,
            layout=layout,
            between=between,
            errors=errors,
            missing=missing,
            undecided=undecided,
        )
        if picture is not None:
            plot(verdict, None, picture)
        if summary is not None or junit is not None:
            from perf_gate.presenters.reports import append_markdown, write_junit

            if summary is not None:
                append_markdown(verdict, summary)
            if junit is not None:
                write_junit(verdict.title, verdict.cases, junit)
    if as_json:
        print_json("gate", verdict.to_dict())
    elif table is not None:
        print_plainly(table, verdict.plain_tables())
    else:
        print_findings(verdict, picture=picture)
    return verdict.status
