"""``perf compare``: two models, or two programs by models of the same kind."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfcore.cli._dynamic import FitterCommand, fitter_option
from perfcore.cli._output import print_findings, print_json, reporting
from perfcore.cli._reading import read_file, reader_options
from perfcore.ranges import parse_values

if TYPE_CHECKING:
    from perfcore.model import Model

__all__ = ["command"]


@click.command(cls=FitterCommand)
@click.argument("first", type=click.Path())
@click.argument("second", type=click.Path())
@click.option(
    "--at", "places", multiple=True, required=True, metavar="NAME=...",
    help="Points: P=16..4096*2, D=1,2,4; for codes and systems names. Once for each variable.",
)  # fmt: skip
@fitter_option("modgen")
@click.option("--plot", "picture", type=click.Path(), help="Draw both models: .png, .svg, .pdf or .html.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@reader_options
def command(
    first: str,
    second: str,
    places: Sequence[str],
    fitter: str,
    picture: str | None,
    as_json: bool,
    reader: str | None,
    read_pairs: tuple[str, ...],
    **options: Any,
) -> None:
    """Compare FIRST and SECOND: models that `perf fit -o` wrote (.json), or data that are fitted with --fitter.

    Says where they cross along the first parameter that varies, their ratio, and for models by category which category
    makes the difference.

    \b
    perf compare old.json new.json --at P=16..4096*2 --at D=256
    perf compare old.csv new.csv --fitter modgen --parameter P,D --at P=16..1024*2 --at D=256
    """
    with reporting():
        from perfcore.comparison import compare
        from perfcore.picture import check_ending, plot

        if picture is not None:
            check_ending(picture)
        given = {name: value for name, value in options.items() if value is not None}
        one, other = (_model(path, fitter, given, reader, read_pairs) for path in (first, second))
        names = (Path(first).stem, Path(second).stem)
        found = compare(one, other, _points(one, places), names if names[0] != names[1] else (first, second))
        if picture is not None:
            plot(found, None, picture)
    if as_json:
        print_json(found.to_dict())
        return
    print_findings(found, picture=picture)


def _model(path: str, fitter: str, options: dict[str, Any], reader: str | None, pairs: Sequence[str]) -> Model:
    """A model file, or data fitted."""
    import perfcore
    from perfcore.registry import registry

    if path.lower().endswith(".json") and reader is None:
        return perfcore.load(path)
    implementation = registry().load("fitters", fitter)
    return perfcore.fit(read_file(path, reader, pairs, implementation.takes), fitter=fitter, **options)


def _points(model: Model, places: Sequence[str]) -> dict[str, list[Any]]:
    """Every combination of what was asked for, as one column for each variable.

    Raises
    ------
    UnknownNameError
        A variable, or a name of one, that the model does not have.
    """
    from perfcore.errors import UnknownNameError

    symbols = {**{column: symbol for symbol, column in model.variables.items()}, **{s: s for s in model.variables}}
    wanted: dict[str, list[Any]] = {}
    for place in places:
        name, equals, text = place.partition("=")
        if not equals or not name.strip():
            raise click.UsageError(f"--at {place!r}: NAME=VALUE,... or NAME=FIRST..LAST*FACTOR is expected")
        if name.strip() not in symbols:
            raise UnknownNameError("variable of the model", name.strip(), model.variables)
        symbol = symbols[name.strip()]
        if symbol in model.levels:
            wanted.setdefault(symbol, []).extend([text] if text in model.levels[symbol] else text.split(","))
            continue
        try:
            wanted.setdefault(symbol, []).extend(parse_values(text))
        except (ValueError, ZeroDivisionError):
            raise click.UsageError(
                f"--at {place!r}: VALUE,... or FIRST..LAST:STEP or FIRST..LAST*FACTOR is expected"
            ) from None
    missing = [name for name in model.variables if name not in wanted and name not in model.levels]
    if missing:
        raise click.UsageError(f"the models are of {', '.join(model.variables)}; give --at {missing[0]}=...")
    combinations = list(itertools.product(*wanted.values()))
    return {name: [row[k] for row in combinations] for k, name in enumerate(wanted)}
