"""``perf verify``: a model against measurements."""

from __future__ import annotations

from typing import Annotated

import typer

from perfcore.cli.output import print_findings, print_json, reporting
from perfcore.cli.reading import HowToRead

__all__ = ["command"]


def command(
    model: Annotated[str, typer.Argument(metavar="MODEL", show_default=False)],
    data: Annotated[str, typer.Argument(metavar="DATA", show_default=False)],
    how: HowToRead,
    interval: Annotated[float, typer.Option("--interval", help="Coverage of the bounds to check.")] = 0.95,
    where: Annotated[
        str | None,
        typer.Option(
            "--where", metavar="COND,...", help="Only rows that meet all conditions (default: those of the fit)."
        ),
    ] = None,
    picture: Annotated[
        str | None,
        typer.Option("--plot", metavar="FILE", help="Draw predicted over measured: .png, .svg, .pdf or .html."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Verify MODEL, a file that `perf fit -o` wrote, with DATA: errors at points that it was not fitted to.

    Columns, units and the selection of rows are those of the fit.

    \b
    perf fit profile.csv --fitter modgen --set-aside 20% -o model.json
    perf verify model.json profile.csv --plot verified.png
    """
    with reporting():
        import perfcore
        from perf_compare.verification.verification import verify
        from perfcore.data.measurements import Measurements
        from perfcore.views.picture import check_ending, plot

        if picture is not None:
            check_ending(picture)
        loaded = perfcore.load(model)
        found = verify(loaded, how.read_file(data, (Measurements,)), interval, where)
        if picture is not None:
            plot(found, None, picture)
    if as_json:
        print_json("verification", found.to_dict())
        return
    print_findings(found, picture=picture)
