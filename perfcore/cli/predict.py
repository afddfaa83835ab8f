"""``perf predict``: a model's values at given points."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from perfcore.cli._output import print_json, print_table, reporting

if TYPE_CHECKING:
    from perfcore.model import Model

__all__ = ["command", "parse_values"]

_MOST_POINTS = 10_000_000


def parse_values(text: str) -> list[float]:
    """``1,2,3``, ``FIRST..LAST:STEP`` or ``FIRST..LAST*FACTOR`` as numbers.

    Examples
    --------
    >>> parse_values("0..10:5"), parse_values("1..64*4"), parse_values("1,64")
    ([0.0, 5.0, 10.0], [1.0, 4.0, 16.0, 64.0], [1.0, 64.0])
    """
    found: list[float] = []
    for part in text.split(","):
        first_text, dots, rest = part.partition("..")
        if not dots:
            found.append(float(part))
            continue
        by = "*" if "*" in rest else ":"
        last_text, _, step_text = rest.partition(by)
        first, last, step = float(first_text), float(last_text), float(step_text)
        if by == ":":
            count = (last - first) / step
            if not 0 <= count < _MOST_POINTS:
                raise ValueError
            found += [first + k * step for k in range(int(count + 1e-9) + 1)]
        else:
            if not (0 < first <= last < float("inf") and step > 1.0):
                raise ValueError
            while first <= last * (1 + 1e-9):
                found.append(first)
                first *= step
    if not all(abs(value) < float("inf") for value in found):
        raise ValueError
    return found


@click.command()
@click.argument("model", type=click.Path())
@click.option(
    "--at",
    "places",
    required=True,
    multiple=True,
    metavar="NAME=...",
    help="Points: t=1,2,3, t=0..100:10 or p=1..1024*2; for codes and systems names. Once for each variable.",
)
@click.option("--interval", type=float, help="Coverage of bounds to print, such as 0.95.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def command(model: str, places: Sequence[str], interval: float | None, as_json: bool) -> None:
    """Predict with MODEL, a file that `perf fit -o` wrote.

    Variables that are left out and have names, such as code and system, take all of them.

    \b
    perf predict model.json --at t=0..10000:500 --interval 0.95 --json
    perf predict model.json --at p=64..4096*2 --at code=SP --at system=T3D
    """
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
    print_table(
        [*columns, *names, *(["remark"] if any(remarks) else [])],
        [
            [
                *(part if isinstance(part, str) else f"{part:g}" for part in cell),
                *(f"{value:.6g}" for value in row),
                *([remarks[number]] if any(remarks) else []),
            ]
            for number, (cell, row) in enumerate(zip(cells, rows, strict=True))
        ],
    )


def _named(place: str) -> tuple[str, str]:
    name, equals, text = place.partition("=")
    if not equals or not name.strip():
        raise click.UsageError(
            f"--at {place!r}: NAME=VALUE,VALUE,... or NAME=FIRST..LAST:STEP is expected, such as t=0..100:10"
        )
    return name.strip(), text.strip()


def _grid(model: Model, places: Sequence[tuple[str, str]]) -> dict[str, list[Any]]:
    """Every combination of what was asked for, as one column for each variable."""
    from perfcore.errors import UnknownNameError

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
    from perfcore.errors import UnknownNameError

    known = model.levels[symbol]
    names = [text] if text in known else [part.strip() for part in text.split(",")]
    for name in names:
        if name not in known:
            raise UnknownNameError(symbol, name, known)
    return names
