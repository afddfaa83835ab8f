"""``perf plot``: a picture of a model or of data."""

from __future__ import annotations

from typing import Annotated

import typer

from perf_traces.reading import HowToReadTraces
from perfcore.base.errors import OptionError
from perfcore.cli.output import reporting
from perfcore.cli.parameters import Overwrite

__all__ = ["command"]


def command(
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="A model file (.json), or data.")],
    how: HowToReadTraces,
    data: Annotated[str | None, typer.Argument(metavar="DATA", help="Drawn below a model.", show_default=False)] = None,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Picture to write.")] = "plot.png",
    overwrite: Overwrite = False,
) -> None:
    """Draw SUBJECT, a model file (.json) or data; DATA are drawn below a model.

    \b
    perf plot model.json trace.prv -o phases.svg
    perf plot trace.prv -o utilization.png
    """
    with reporting():
        import perfcore
        from perf_pictures.picture import check_files
        from perfcore.base.files import refuse_existing
        from perfcore.models.model import is_model_file

        check_files(output)
        refuse_existing(output, overwrite)
        if how.reader is None and is_model_file(subject):
            model = perfcore.load(subject)
            measured = None if data is None else how.read_file(data)
            perfcore.plot(model, measured, output)
        elif data is not None:
            raise OptionError("the first of two files must be a model, made by `perf fit -o model.json`")
        else:
            perfcore.plot(None, how.read_file(subject), output)
    typer.echo(f"picture: {typer.format_filename(output)}")
