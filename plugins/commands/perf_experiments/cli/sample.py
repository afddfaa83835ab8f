"""``perf sample``: measures this machine for a while."""

from __future__ import annotations

import click

from perfcore.cli._output import reporting

__all__ = ["command"]


@click.command()
@click.argument("what", type=click.Choice(["cpu", "network"]))
@click.option("--for", "duration", default="5min", show_default=True, metavar="DURATION", help="For how long.")
@click.option("--every", "interval", default="1s", show_default=True, metavar="DURATION", help="How often.")
@click.option("--output", "-o", type=click.Path(), required=True, help="File to write; its ending is the format.")
def command(what: str, duration: str, interval: str, output: str) -> None:
    """Sample WHAT of this machine: cpu (shares of busy time) or network (bytes per second).

    Ctrl-C ends it early; what was measured until then is written. It needs psutil: pip install 'perfcore[sample]'.

    \b
    perf sample cpu --for 60s --every 1s -o cpu.csv
    perf value cpu.csv --column "cpu all busy" --window 5min
    """
    with reporting():
        import perfcore
        from perf_experiments.sampling import sample_system
        from perfcore.data.durations import parse_duration
        from perfcore.reading.recognise import writer

        writer(output)  # a wrong ending is said before, not after, an hour of sampling
        series = sample_system(what, parse_duration(duration), parse_duration(interval))
        perfcore.write(series, output)
    for note in series.notes:
        click.echo(f"perf: {note}", err=True)
    click.echo(f"{click.format_filename(output)}: {len(series.times)} samples of {', '.join(series.columns)}")
