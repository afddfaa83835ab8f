"""``perf verify``: a model against measurements."""

from __future__ import annotations

from typing import Annotated

import typer

from perf_traces.reading import HowToReadTraces
from perfcore.cli.output import print_findings, print_json, reporting
from perfcore.cli.parameters import Data, Json, Picture


def command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A file that `perf fit -o` wrote.")],
    data: Data,
    how: HowToReadTraces,
    interval: Annotated[float, typer.Option("--interval", metavar="X", help="Coverage of the bounds to check.")] = 0.95,
    where: Annotated[
        str | None,
        typer.Option(
            "--where", metavar="COND,...", help="Only rows that meet all conditions (default: those of the fit)."
        ),
    ] = None,
    picture: Picture = None,
    as_json: Json = False,
) -> None:
    """Verify MODEL with the measurements DATA: errors at points that it was not fitted to.

    Columns, units and the selection of rows are those of the fit.

    \b
    perf fit profile.csv --fitter modgen --set-aside 20% -o model.json
    perf verify model.json profile.csv --plot verified.png
    """
    with reporting():
        import perfcore
        from perf_gate.api import verify
        from perf_views.pictures.picture import check_files, plot

        check_files(picture)
        loaded = perfcore.load(model)
        verification = verify(loaded, how.read_file(data, (perfcore.Measurements,)), interval, where)
        if picture is not None:
            plot(verification, None, picture)
    if as_json:
        print_json("verification", verification.to_dict())
    else:
        print_findings(verification, picture=picture)
