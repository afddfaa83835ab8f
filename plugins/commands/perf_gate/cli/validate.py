"""``perf validate``: predictions beside measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from perf_traces.reading import HowToReadTraces
from perfcore.base.errors import InputError, OptionError
from perfcore.cli.output import print_findings, print_json, reporting
from perfcore.cli.parameters import Data, Json, Output, Picture
from perfcore.cli.signature import OptionsOfEach


def command(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A file that `perf fit -o` wrote, or predictions (.json).")
    ],
    data: Data,
    how: HowToReadTraces,
    interval: Annotated[
        float | None, typer.Option("--interval", metavar="X", help="Coverage of the bounds to check (default: 0.95).")
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            "--where", metavar="COND,...", help="Only rows that meet all conditions (default: those of the fit)."
        ),
    ] = None,
    output: Output = None,
    picture: Picture = None,
    as_json: Json = False,
    **options: Annotated[Any, OptionsOfEach("openers", "Validation")],
) -> None:
    """Compare what MODEL predicts with the measurements DATA: errors, and how often the bounds hold.

    Of a fitted model, columns, units and the selection of rows are those of the fit. Predictions are a list of values
    as `perf stochastic` and `perf predict --interval` print them, or such values one after another, one for each run; a
    single one counts for all. DATA then is a CSV table with a row for each run.

    \b
    perf fit profile.csv --fitter modgen --holdout 20% -o model.json
    perf validate model.json profile.csv --plot validated.png
    perf validate predictions.json runs.csv --column time_s --plot validated.png
    perf validate predictions.json runs.csv --recalibrate -o correction.json
    """
    with reporting():
        import perfcore
        from perf_gate.api import verify
        from perf_views.contents import opener_of
        from perf_views.picture import check_files, plot
        from perfcore.hooks.options import build
        from perfcore.models.model import is_model_file

        check_files(picture, output)
        opened = opener_of(model)
        result: Any
        if opened is None:
            if not is_model_file(model):
                raise _unknown(model)
            if given := [name for name, value in options.items() if value] + (["output"] if output else []):
                raise OptionError(f"--{given[0]} is for predictions; {model} is a fitted model")
            loaded = perfcore.load(model)
            read = how.read_file(data, (perfcore.Measurements,))
            result = verify(loaded, read, 0.95 if interval is None else interval, where)
        else:
            name, opener = opened
            if opener.Validation is None:
                raise OptionError(f"{model} is not validated as it is: `perf predict` gives its predictions")
            if interval is not None or where is not None:
                raise OptionError(f"--interval and --where are for fitted models; {model} holds predictions")
            result = opener.validate(model, data, build(opener.Validation, options, name), output)
        if picture is not None:
            plot(result, None, picture)
    if as_json:
        print_json(type(result).__name__.lower(), result.to_dict())
    else:
        print_findings(result, picture=picture, recalibration=output)


def _unknown(path: str) -> InputError:
    """What is wrong with a file that holds neither a model nor predictions."""
    if not Path(path).exists():
        return InputError(path, "there is no such file")
    return InputError(path, "is neither a model that `perf fit -o` wrote nor predictions in JSON")
