"""``perf merge``: summaries of parts to that of the run."""

from __future__ import annotations

from typing import Annotated

import typer

from perfcore.cli.output import reporting
from perfcore.cli.parameters import Json, Overwrite


def command(
    parts: Annotated[list[str], typer.Argument(metavar="PARTS", help="Summaries of parts of one run, in any order.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Summary to write.")],
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Join what is there; the summary says what is missing.")
    ] = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Join PARTS, which `perf summarize` made of one run, to its summary.

    Parts that are missing, doubled, of other files or made with other options are named, and nothing is written.

    \b
    perf merge part-* -o run.summary
    perf plot run.summary -o run.png
    """
    with reporting():
        from perf_analysis.cli.printing import print_summary
        from perf_analysis.summarize import merge

        summarized_trace = merge(parts, output, allow_missing=allow_missing, overwrite=overwrite)
    print_summary(summarized_trace, output, as_json)
