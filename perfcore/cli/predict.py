"""``perf predict``: a model's values at given points."""

from __future__ import annotations

import click

from perfcore.cli._output import print_json, print_table, reporting

__all__ = ["command"]

_MOST_POINTS = 10_000_000


def parse_points(text: str) -> tuple[str, list[float]]:
    """``NAME=1,2,3`` or ``NAME=FIRST..LAST:STEP`` as a name and values.

    Examples
    --------
    >>> parse_points("t=0..10:5")
    ('t', [0.0, 5.0, 10.0])
    >>> parse_points("p=1,64")
    ('p', [1.0, 64.0])
    """
    name, equals, values = text.partition("=")
    found: list[float] = []
    try:
        if not equals or not name:
            raise ValueError
        for part in values.split(","):
            span, colon, step_text = part.partition(":")
            first_text, dots, last_text = span.partition("..")
            if not dots and not colon:
                found.append(float(part))
                continue
            first, last, step = float(first_text), float(last_text), float(step_text)
            count = (last - first) / step
            if not 0 <= count < _MOST_POINTS:
                raise ValueError
            found += [first + k * step for k in range(int(count + 1e-9) + 1)]
        if not all(abs(value) < float("inf") for value in found):
            raise ValueError
    except (ValueError, ZeroDivisionError):
        raise click.UsageError(
            f"--at {text!r}: NAME=VALUE,VALUE,... or NAME=FIRST..LAST:STEP is expected, such as t=0..100:10"
        ) from None
    return name.strip(), found


@click.command()
@click.argument("model", type=click.Path())
@click.option(
    "--at",
    required=True,
    metavar="t=...",
    help="Points: t=1,2,3 or t=0..100:10, in the model's unit.",
)
@click.option("--interval", type=float, help="Coverage of bounds to print, such as 0.95.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def command(model: str, at: str, interval: float | None, as_json: bool) -> None:
    """Predict with MODEL, a file that `perf fit -o` wrote.

    \b
    perf predict model.json --at t=0,1500
    perf predict model.json --at t=0..10000:500 --interval 0.95 --json
    """
    name, points = parse_points(at)
    with reporting():
        import perfcore
        from perfcore.errors import UnknownNameError

        loaded = perfcore.load(model)
        if name != loaded.variable:
            raise UnknownNameError("variable of the model", name, [loaded.variable])
        values = loaded.predict(points, interval=interval)
    columns = ["value"] if interval is None else ["value", "lower", "upper"]
    rows = values.reshape(len(points), -1).tolist()
    if as_json:
        print_json(
            [{name: point, **dict(zip(columns, row, strict=True))} for point, row in zip(points, rows, strict=True)]
        )
        return
    print_table(
        [name, *columns],
        [[f"{point:g}", *(f"{value:.6g}" for value in row)] for point, row in zip(points, rows, strict=True)],
    )
