"""``perf predict``: a model's values at given points, or the distribution that a structural model predicts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from perfcore.base.errors import InputError, OptionError, PerfError
from perfcore.cli.output import print_findings, print_json, print_plainly, reporting
from perfcore.cli.parameters import At, Json, TableFormat
from perfcore.hooks.parameters import OptionsOfEach

_USUAL = 0.95  # coverage of intervals where none is named


def command(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A file that `perf fit -o` wrote, or a structural model (.toml).")
    ],
    at: At = None,
    interval: Annotated[
        float | None, typer.Option("--interval", metavar="X", help="Coverage of the intervals (default: 0.95).")
    ] = None,
    picture: Annotated[
        str | None, typer.Option("--plot", metavar="FILE", help="Draw a distribution: .png, .svg, .pdf or .html.")
    ] = None,
    as_json: Json = False,
    table_format: TableFormat = None,
    **options: Annotated[Any, OptionsOfEach("openers", "predicts")],
) -> None:
    """Predict with MODEL: a file that `perf fit -o` wrote, or a structural model (.toml).

    A fitted model takes --at (default: the target of the fit), --interval and --quantile; variables that are left out
    and have names, such as code and system, take all of them. A structural model takes the other options.

    \b
    perf predict model.json --at t=0..10000:500 --interval 0.95 --json
    perf predict model.json --at p=64..4096*2 --at code=SP --at system=T3D
    perf predict sor.toml --with iterations=200 --plot sor.png
    """
    if as_json and table_format is not None:
        raise OptionError("--json and --table do not go together")
    from perf_views.contents import opener_of

    opened = opener_of(model)
    if opened is not None and opened[1].predicts:
        if at or interval is not None:
            raise OptionError(f"--at and --interval are for fitted models; {model} takes --with NAME=QUANTITY")
        _predict_special(model, *opened, options, picture, as_json, table_format)
        return
    levels = options.pop("quantile", None)
    if options or picture is not None:
        used = f"--{next(iter(options), 'plot').rstrip('_')}"
        raise OptionError(f"{used} is for structural models (.toml); {model} takes --at, --interval and --quantile")
    if not Path(model).exists():
        raise InputError(model, "there is no such file")
    _predict_fitted(model, at or [], interval, _levels(levels), as_json, table_format)


def _predict_special(
    path: str,
    name: str,
    opener: Any,
    options: dict[str, Any],
    picture: str | None,
    as_json: bool,
    table_format: str | None,
) -> None:
    with reporting():
        from perf_views.picture import plot
        from perfcore.base.files import check_files
        from perfcore.hooks.options import build

        check_files(picture)
        prediction = opener.predict(path, build(opener.Options, options, name))
        if picture is not None:
            plot(prediction, None, picture)
    if table_format is not None:
        print_plainly(table_format, prediction.tables())
    elif as_json:
        print_json("prediction", prediction.to_dict())
    else:
        print_findings(prediction, picture=picture)


def _levels(text: Any) -> list[float]:
    try:
        return [float(level) for level in str(text).split(",")] if text is not None else []
    except ValueError:
        raise OptionError(f"--quantile {text}: numbers between 0 and 1 are expected, such as 0.05,0.95") from None


def _predict_fitted(
    model: str, places: Sequence[str], interval: float | None, levels: Sequence[float], as_json: bool,
    table_format: str | None,
) -> None:  # fmt: skip
    with reporting():
        from perf_basics.api import predict

        try:
            predictions = predict(model, places, _USUAL if interval is None else interval, levels)
        except PerfError:
            if interval is not None or levels:
                raise
            predictions = predict(model, places)  # models of this kind, or of these data, have no intervals
    if as_json:
        print_json("predictions", predictions.to_dict())
    elif table_format is not None:
        print_plainly(table_format, predictions.tables())
    else:
        print_findings(predictions)
