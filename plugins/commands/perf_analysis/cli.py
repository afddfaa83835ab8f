"""How ``perf overheads`` reads traces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from perf_traces.reading import HowToReadTraces


def _print_categories(requested: bool) -> None:
    if requested:
        from perf_analysis.categories import STANDARD

        typer.echo(STANDARD.read_text(encoding="utf-8"), nl=False)
        raise typer.Exit


@dataclass(frozen=True)
class HowToReadOverheads(HowToReadTraces):
    """How traces are read, and ``--print-categories``."""

    print_categories: Annotated[
        bool,
        typer.Option(
            "--print-categories",
            is_eager=True,
            callback=_print_categories,
            help="Print the standard categories, to start a file of your own from.",
        ),
    ] = False
