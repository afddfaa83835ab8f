"""Parameters that commands share, as typer reads them: ``as_json: Json = False``."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from perfcore.hooks.parameters import names_of

__all__ = ["At", "Data", "FitterOfKind", "Json", "Output", "Overwrite", "Picture", "TableFormat", "names_of"]


Data = Annotated[
    str, typer.Argument(metavar="DATA", help="A file, - for standard input, a folder, or a quoted pattern.")
]
FitterOfKind = Annotated[
    str | None,
    typer.Option(
        "--fitter", metavar="NAME", help="Model type (default: from the data).", autocompletion=names_of("fitters")
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Output = Annotated[str | None, typer.Option("--output", "-o", metavar="FILE", help="File to write.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a file that can't be made again.")]
Picture = Annotated[
    str | None, typer.Option("--plot", metavar="FILE", help="Draw a picture: .png, .svg, .pdf or .html.")
]
TableFormat = Annotated[
    Literal["csv", "spreadsheet", "latex"] | None,
    typer.Option("--table", metavar="FORMAT", help="Print the tables alone: csv, spreadsheet (no formulas) or latex."),
]
At = Annotated[
    list[str] | None,
    typer.Option(
        "--at",
        metavar="NAME=...",
        help="Points, such as p=64,128, t=0..100:10 or p=1..1024*2,n=100; names for codes and systems. Repeatable.",
    ),
]
