"""``perf gate record``: add to a history of benchmarks."""

from __future__ import annotations

from typing import Annotated

import typer

from perfcore.cli.output import print_findings, print_json, reporting
from perfcore.cli.parameters import Json
from perfcore.cli.reading import HowToRead


def command(
    history: Annotated[str, typer.Argument(metavar="HISTORY", help="The file (.jsonl); made where it is not there.")],
    results: Annotated[str, typer.Argument(metavar="RESULTS", help="Runs of one commit: a file, folder or pattern.")],
    how: HowToRead,
    commit: Annotated[str, typer.Option("--commit", metavar="NAME", help="The commit that was measured.")],
    machine: Annotated[str, typer.Option("--machine", metavar="NAME", help="Where (default: as the file says).")] = "",
    value: Annotated[
        list[str] | None,
        typer.Option("--value", metavar="COLUMN", help="What was measured (default: as the format says)."),
    ] = None,
    better: Annotated[
        list[str] | None,
        typer.Option(
            "--better",
            metavar="[COLUMN=]larger|smaller",
            help="Which values are better (default: by unit). May be repeated.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Add the medians of RESULTS to HISTORY, all or none, for `perf gate HISTORY --commit commit`.

    \b
    perf gate record history.jsonl bench.json --commit "$GITHUB_SHA"
    perf gate history.jsonl --commit commit
    """
    with reporting():
        from perf_gate.api import add_to_history

        added = add_to_history(
            history,
            results,
            commit=commit,
            machine=machine,
            value=value or (),
            better=better or (),
            read=how.read_with_format,
        )
    if as_json:
        print_json("history", vars(added))
    else:
        print_findings(added)
