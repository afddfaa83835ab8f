"""``perf compare``: two models, or two versions of a program by models of the same kind, also as a gate."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from perf_traces.reading import HowToReadTraces
from perfcore.cli.output import print_findings, print_json, reporting
from perfcore.cli.parameters import At, FitterOfKind, Json, Picture
from perfcore.cli.signature import OptionsOfSelected

__all__ = ["command"]

_STATUS = {"passed": 0, "failed": 1, "open": 3}  # 2 is for mistakes, as everywhere


def command(
    first: Annotated[str, typer.Argument(metavar="FIRST", help="A model file (.json), or data, which are fitted.")],
    second: Annotated[str, typer.Argument(metavar="SECOND", help="Likewise.")],
    how: HowToReadTraces,
    at: At = None,
    conditions: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-if",
            metavar="GATE",
            help="Exit with status 1 if the data say so: 'slower than 1.1x at p=1024', 'any of 1% slower than 1.2x at "
            "p=1024', 'NAME slower than 1.1x at p=1024 with confidence 0.9', 'any law worse'. May be repeated.",
        ),
    ] = None,
    fitter: FitterOfKind = None,
    picture: Picture = None,
    as_json: Json = False,
    **options: Annotated[Any, OptionsOfSelected("fitters", "fitter")],
) -> int:
    """Compare FIRST and SECOND: models that `perf fit -o` wrote (.json), or data, which are fitted.

    Says where they cross along the first parameter that varies, their ratio and how sure it is, and for models by
    category or path which of these make the difference. Phases of two runs are matched in order, without --at.

    Exit status: 0, or with --fail-if that all gates are passed; 1 a gate failed; 2 a mistake; 3 none failed, but
    something could not be fitted or judged.

    \b
    perf compare old.json new.json --at P=16..4096*2 --at D=256
    perf compare old.csv new.csv --fitter modgen --parameter P,D --at P=16..1024*2,D=256
    perf compare old.jsonl new.jsonl --fitter scaling --fail-if "slower than 1.1x at p=1024"
    """
    with reporting():
        from perf_gate.compare.api import compare, names_of
        from perf_gate.compare.comparison.comparison import Comparison
        from perf_gate.compare.gate.conditions import parse_gate
        from perf_views.pictures.picture import plot
        from perfcore.hooks.registry import registry
        from perfcore.models.fitting import resolve, types_to_read
        from perfcore.models.model import is_model_file

        # What is wrong with the options is said before long files are read.
        gates = [parse_gate(condition) for condition in conditions or ()]
        from perf_views.pictures.picture import check_files

        check_files(picture)
        if fitter is not None:
            resolve(registry().entry("fitters", fitter), options)
        names = names_of(first, second)
        one, other = (
            path if how.reader is None and is_model_file(path) else how.read_file(path, types_to_read(fitter))
            for path in (first, second)
        )
        comparison: Any = compare(one, other, at=at or (), fitter=fitter, fail_if=gates, names=names, **options)
        if picture is not None:
            plot(comparison, None, picture)
    if as_json:
        content: Any = comparison
        print_json("comparison", content.to_dict())
    elif not isinstance(comparison, Comparison):
        print_findings(comparison, picture=picture)
    else:
        print_findings(replace(comparison, verdicts=()), picture=picture)
        for number, verdict in enumerate(comparison.verdicts):  # at the end, where whoever reads a log looks
            typer.echo(f"{'' if number else chr(10)}gate {verdict.text}")
    return _STATUS[comparison.outcome] if isinstance(comparison, Comparison) else 0
