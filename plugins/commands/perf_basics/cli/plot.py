"""``perf plot``: a picture of a model or of data."""

from __future__ import annotations

import contextlib
from typing import Annotated, Any

import typer

from perf_traces.reading import HowToReadTraces
from perfcore.base.errors import OptionError
from perfcore.cli.command import say
from perfcore.cli.output import reporting


def command(
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="A model file (.json), or data.")],
    how: HowToReadTraces,
    data: Annotated[str | None, typer.Argument(metavar="DATA", help="Drawn below a model.", show_default=False)] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Picture to write (default: plot.png).")
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--format", metavar="FORMAT", help="png, svg, pdf or html; writes plot.FORMAT.")
    ] = None,
    panels: Annotated[
        str, typer.Option("--panels", metavar="NAME,...", help="Parts of the picture, such as curves,residuals.")
    ] = "",
    size: Annotated[
        str | None, typer.Option("--size", metavar="WIDTH", help="Such as 3.4in, 86mm or 3.4x2.5in.")
    ] = None,
    font: Annotated[
        float | None, typer.Option("--font", min=1.0, metavar="POINTS", help="Size of all text in the picture.")
    ] = None,
) -> None:
    """Draw SUBJECT, a model file (.json) or data; DATA are drawn below a model.

    \b
    perf plot model.json trace.prv -o phases.svg
    perf plot trace.prv -o utilization.png
    perf plot model.json --panels curves --size 3.4in --font 8 --format pdf
    """
    with contextlib.ExitStack() as ends, reporting():
        import perfcore
        from perfcore.base.files import check_files, replacements
        from perfcore.models.model import is_model_file

        path = _path(output, kind)
        check_files(path)
        ends.enter_context(replacements([] if output else [path], say))
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


def _path(output: str | None, kind: str | None) -> str:
    """The picture's file; a format that its name does not end with is refused."""
    if kind is None:
        return output or "plot.png"
    ending = f".{kind.removeprefix('.').lower()}"
    if output is not None and not output.lower().endswith(ending):
        raise OptionError(f"--format {kind} and -o {output!r} are of two kinds; leave one of them out")
    return output or f"plot{ending}"
