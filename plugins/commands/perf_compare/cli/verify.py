"""``perf verify``: a model against measurements."""

from __future__ import annotations

import click

from perfcore.cli._output import print_findings, print_json, reporting
from perfcore.cli._reading import read_file, reader_options

__all__ = ["command"]


@click.command()
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path(allow_dash=True))
@click.option("--interval", type=float, default=0.95, show_default=True, help="Coverage of the bounds to check.")
@click.option("--where", metavar="COND,...", help="Only rows that meet all conditions (default: those of the fit).")
@click.option("--plot", "picture", type=click.Path(), help="Draw predicted over measured: .png, .svg, .pdf or .html.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@reader_options
def command(
    model: str,
    data: str,
    interval: float,
    where: str | None,
    picture: str | None,
    as_json: bool,
    reader: str | None,
    read_pairs: tuple[str, ...],
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
        found = verify(loaded, read_file(data, reader, read_pairs, (Measurements,)), interval, where)
        if picture is not None:
            plot(found, None, picture)
    if as_json:
        print_json(found.to_dict())
        return
    print_findings(found, picture=picture)
