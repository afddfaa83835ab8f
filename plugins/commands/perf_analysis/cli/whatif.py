"""``perf whatif``: a run once more, with something different."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from perfcore.base.errors import OptionError
from perfcore.cli.output import print_findings, print_json, print_plainly, reporting
from perfcore.cli.parameters import Json, Picture, TableFormat, names_of
from perfcore.cli.reading import HowToRead


def command(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="Of a run with messages: Paraver or OTF2.")],
    how: HowToRead,
    network: Annotated[
        str | None,
        typer.Option(
            "--network",
            metavar="0|xK|LATENCY,BANDWIDTH",
            help="Takes no time; is K times as fast; or has these, such as 2us,10GB/s.",
        ),
    ] = None,
    faster: Annotated[
        list[str] | None,
        typer.Option("--faster", metavar="CLASS=K", help="A class of states, or a state, K times as fast."),
    ] = None,
    balance: Annotated[
        list[str] | None,
        typer.Option(
            "--balance", metavar="CLASS", help="Each rank takes the mean, occurrence by occurrence: an upper bound."
        ),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option("--noise", metavar="SHARE", help="Stretches between calls vary by so much, such as 5%."),
    ] = None,
    representation: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="NAME",
            help="What the runtime with noise becomes in --output (default: as in `perf stochastic summarize`).",
            autocompletion=names_of("representations"),
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the runtime with noise, in seconds, as a value."),
    ] = None,
    picture: Picture = None,
    as_json: Json = False,
    table_format: TableFormat = None,
) -> None:
    """Say how long the run of TRACE takes if something is different, and what its critical path is then.

    All options together are one question; without any the usual ones are asked, each by itself. Messages keep their
    order, so runs on other numbers of processors, and other schedules, can't be asked for.

    \b
    perf whatif trace.prv
    perf whatif trace.prv --network 0 --faster computing=2
    perf whatif trace.prv --noise 5% -o runtime.json
    """
    with reporting():
        import msgspec

        from perf_analysis.whatif import whatif
        from perf_views.picture import check_files, plot
        from perfcore.base.files import write_bytes

        if as_json and table_format is not None:
            raise OptionError("--json and --table do not go together")
        if representation is not None and output is None:
            raise OptionError("--as belongs to --output FILE")
        if output is not None and noise is None:
            raise OptionError("--output FILE belongs to --noise SHARE, whose runtimes are a value")
        check_files(picture, output)
        result = whatif(
            trace,
            network=network,
            faster=_factors(faster or ()),
            balance=balance or (),
            noise=_share(noise),
            representation=representation,
            read=how.read_file,
        )
        if output is not None and (value := result.answers[0].value) is not None:
            write_bytes(output, msgspec.json.format(msgspec.json.encode(value.to_dict()), indent=1) + b"\n")
        if picture is not None:
            plot(result, None, picture)
    if as_json:
        print_json("whatif", result.to_dict())
    elif table_format is not None:
        print_plainly(table_format, result.plain_tables() if table_format == "csv" else result.tables())
    else:
        print_findings(result, value=output, picture=picture)


def _factors(words: Sequence[str]) -> dict[str, float]:
    """``CLASS=K`` words."""
    factors: dict[str, float] = {}
    for word in words:
        name, equals, times = word.rpartition("=")
        try:
            factors[name] = float(times)
        except ValueError:
            equals = ""
        if not equals or not name:
            raise OptionError(f"--faster {word}: CLASS=K is expected, such as computing=2")
    return factors


def _share(text: str | None) -> float:
    """``5%`` or ``0.05``."""
    if text is None:
        return 0.0
    plain = text.strip()
    try:
        return float(plain[:-1]) / 100 if plain.endswith("%") else float(plain)
    except ValueError:
        raise OptionError(f"--noise {text}: a share is expected, such as 5%") from None
