"""``perf predict``: a model's values at given points, or the distribution that a structural model predicts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from perf_structural.cli._evaluation import evaluation_options, given_quantities, report, with_option
from perfcore.base.ranges import parse_values
from perfcore.cli._output import print_json, print_plainly, print_table, reporting, table_option

if TYPE_CHECKING:
    from perfcore.models.model import Model

__all__ = ["command"]


@click.command()
@click.argument("model", type=click.Path())
@click.option(
    "--at",
    "places",
    multiple=True,
    metavar="NAME=...",
    help="Points: t=1,2,3, t=0..100:10 or p=1..1024*2; for codes and systems names. Once for each variable.",
)
@click.option("--interval", type=float, help="Coverage of bounds to print, such as 0.95.")
@with_option
@evaluation_options
@click.option("--plot", "picture", type=click.Path(), help="Draw the distribution: .png, .svg, .pdf or .html.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@table_option()
def command(
    model: str,
    places: Sequence[str],
    interval: float | None,
    words: Sequence[str],
    picture: str | None,
    as_json: bool,
    table_format: str | None,
    **options: str | int | None,
) -> None:
    """Predict with MODEL: a file that `perf fit -o` wrote, or a structural model (.toml).

    A fitted model takes --at and --interval; variables that are left out and have names, such as code and system, take
    all of them. A structural model takes the other options.

    \b
    perf predict model.json --at t=0..10000:500 --interval 0.95 --json
    perf predict model.json --at p=64..4096*2 --at code=SP --at system=T3D
    perf predict sor.toml --with iterations=200 --plot sor.png
    """
    if as_json and table_format is not None:
        raise click.UsageError("--json and --table do not go together")
    chosen = {name: value for name, value in options.items() if value is not None}
    if model.lower().endswith(".toml"):
        if places or interval is not None:
            raise click.UsageError(f"--at and --interval are for fitted models; {model} takes --with NAME=QUANTITY")
        _predict_structural(model, words, chosen, picture, as_json, table_format)
        return
    if words or chosen or picture is not None:
        used = next(iter(chosen), "plot" if picture is not None else "with")
        raise click.UsageError(f"--{used} is for structural models (.toml); {model} takes --at and --interval")
    if not places:
        raise click.UsageError("Missing option '--at'")
    _predict_fitted(model, places, interval, as_json, table_format)


def _predict_structural(
    path: str,
    words: Sequence[str],
    options: dict[str, Any],
    picture: str | None,
    as_json: bool,
    table_format: str | None,
) -> None:
    with reporting():
        from perf_structural import StructuralModel, plot_distributions
        from perfcore.views.picture import check_ending

        if picture is not None:
            check_ending(picture)
        prediction = StructuralModel.read(path).with_inputs(given_quantities(words)).predict(**options)
        if picture is not None:
            plot_distributions(prediction, picture)
    if table_format is not None:
        print_plainly(table_format, prediction.tables())
        return
    report(prediction, as_json, picture)


def _predict_fitted(
    model: str, places: Sequence[str], interval: float | None, as_json: bool, table_format: str | None
) -> None:
    with reporting():
        import perfcore

        loaded = perfcore.load(model)
        columns = _grid(loaded, [_named(place) for place in places])
        single = len(loaded.variables) == 1
        points: Any = next(iter(columns.values())) if single else columns
        values = loaded.predict(points, interval=interval)
        remarks = loaded.remarks(points)
    names = ["value"] if interval is None else ["value", "lower", "upper"]
    rows = values.reshape(len(values), -1).tolist()
    cells = list(zip(*columns.values(), strict=True))
    if as_json:
        print_json(
            [
                {
                    **dict(zip(columns, cell, strict=True)),
                    **dict(zip(names, row, strict=True)),
                    **({"remark": remarks[number]} if remarks else {}),
                }
                for number, (cell, row) in enumerate(zip(cells, rows, strict=True))
            ]
        )
        return
    header = [*columns, *names, *(["remark"] if any(remarks) else [])]
    lines = [
        [
            *(part if isinstance(part, str) else f"{part:g}" for part in cell),
            *(f"{value:.6g}" for value in row),
            *([remarks[number]] if any(remarks) else []),
        ]
        for number, (cell, row) in enumerate(zip(cells, rows, strict=True))
    ]
    if table_format is not None:
        print_plainly(table_format, [("", header, lines)])
        return
    print_table(header, lines)


def _named(place: str) -> tuple[str, str]:
    name, equals, text = place.partition("=")
    if not equals or not name.strip():
        raise click.UsageError(
            f"--at {place!r}: NAME=VALUE,VALUE,... or NAME=FIRST..LAST:STEP is expected, such as t=0..100:10"
        )
    return name.strip(), text.strip()


def _grid(model: Model, places: Sequence[tuple[str, str]]) -> dict[str, list[Any]]:
    """Every combination of what was asked for, as one column for each variable."""
    from perfcore.base.errors import UnknownNameError

    wanted: dict[str, list[Any]] = {}
    symbols = {column: symbol for symbol, column in model.variables.items()}
    for name, text in places:
        symbol = name if name in model.variables else symbols.get(name)
        if symbol is None:
            raise UnknownNameError("variable of the model", name, model.variables)
        if symbol in model.levels:
            wanted.setdefault(symbol, []).extend(_names(model, symbol, text))
            continue
        try:
            wanted.setdefault(symbol, []).extend(parse_values(text))
        except (ValueError, ZeroDivisionError):
            raise click.UsageError(
                f"--at {name}={text!r}: VALUE,VALUE,... or FIRST..LAST:STEP or FIRST..LAST*FACTOR is expected, such as "
                f"{name}=1..1024*2"
            ) from None
    for name in model.variables:
        if name not in wanted:
            if name not in model.levels:
                raise click.UsageError(f"the model is one of {', '.join(model.variables)}; give --at {name}=...")
            wanted[name] = list(model.levels[name])
    combinations = list(itertools.product(*(wanted[name] for name in model.variables)))
    return {name: [row[k] for row in combinations] for k, name in enumerate(model.variables)}


def _names(model: Model, symbol: str, text: str) -> list[str]:
    """One name, which may contain commas, or several with commas."""
    from perfcore.base.errors import UnknownNameError

    known = model.levels[symbol]
    names = [text] if text in known else [part.strip() for part in text.split(",")]
    for name in names:
        if name not in known:
            raise UnknownNameError(symbol, name, known)
    return names
