"""``perf schedule``: the allocation to choose, or how to divide work, by a structural model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perf_structural.cli._evaluation import report
from perfcore.base.errors import OptionError
from perfcore.cli.output import reporting
from perfcore.cli.signature import OptionsOf

if TYPE_CHECKING:
    from perf_structural import Decomposition, Statistic, StructuralModel

__all__ = ["command"]


def command(
    model: Annotated[str, typer.Argument(metavar="MODEL", show_default=False)],
    candidates: Annotated[list[str] | None, typer.Argument(metavar="CANDIDATES")] = None,
    by: Annotated[str, typer.Option("--by", help="What is to be small: mean, upper or quantile:Q.")] = "mean",
    tuning: Annotated[
        float | None, typer.Option("--tuning", metavar="TF", help="Add TF standard deviations to the mean.")
    ] = None,
    total: Annotated[
        int | None, typer.Option("--divide", min=0, metavar="UNITS", help="Divide this much work instead.")
    ] = None,
    unit_time: Annotated[
        str | None,
        typer.Option(
            "--unit-time", metavar="NAME", help="Replicated component: each machine's time for one unit of work."
        ),
    ] = None,
    fixed_time: Annotated[
        str | None,
        typer.Option("--fixed-time", metavar="NAME", help="Replicated component: each machine's time besides."),
    ] = None,
    picture: Annotated[
        str | None, typer.Option("--plot", metavar="FILE", help="Draw the distributions: .png, .svg, .pdf or .html.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    **options: Annotated[Any, OptionsOf("perf_structural.options:EvaluationOptions", "evaluation")],
) -> None:
    """Choose among allocations by MODEL, a TOML file of a structural model.

    The candidates are [[candidate]] tables in the model's file or in files of their own, or files with [inputs].

    \b
    perf schedule sor.toml --by quantile:0.95
    perf schedule sor.toml two.toml four.toml --tuning 1.5 --plot candidates.png
    perf schedule sor.toml --divide 1000 --unit-time row --fixed-time exchange
    """
    candidates = candidates or []
    with reporting():
        from perf_structural import (
            StructuralModel,
            choose,
            parse_statistic,
            plot_distributions,
            predict_candidates,
        )
        from perfcore.views.picture import check_ending

        statistic = parse_statistic(by, tuning)
        if picture is not None:
            check_ending(picture)
        if total is None and (unit_time is not None or fixed_time is not None):
            raise OptionError("--unit-time and --fixed-time belong to --divide UNITS")
        loaded = StructuralModel.read(model)
        given = {name: value for name, value in options.items() if value is not None}
        subject = (
            choose(predict_candidates(loaded, _all_candidates(loaded, candidates), **given), statistic)
            if total is None
            else _divided(loaded, total, statistic, unit_time, fixed_time, given)
        )
        if picture is not None:
            plot_distributions(subject, picture)
    report(subject, as_json, picture)


def _all_candidates(model: StructuralModel, paths: Sequence[str]) -> dict[str, Any]:
    from perf_structural import read_candidates

    found = dict(model.candidates)
    for path in paths:
        for name, inputs in read_candidates(path).items():
            if name in found:
                raise OptionError(f"{path}: there is a candidate {name!r} already")
            found[name] = inputs
    return found


def _divided(
    model: StructuralModel,
    total: int,
    statistic: Statistic,
    unit_time: str | None,
    fixed_time: str | None,
    options: dict[str, Any],
) -> Decomposition:
    from perf_structural import balance

    if unit_time is None:
        raise OptionError("--divide needs --unit-time NAME, the component with each machine's time for one unit")
    times = model.predict_each(unit_time, **options)
    fixed = None if fixed_time is None else model.predict_each(fixed_time, **options)
    if fixed is not None and fixed[0].unit != times[0].unit:
        raise OptionError(
            f"--unit-time is in {times[0].unit or 'no unit'} and --fixed-time in {fixed[0].unit or 'no unit'}"
        )
    return balance(
        [time.value for time in times],
        total,
        statistic,
        None if fixed is None else [time.value for time in fixed],
        times[0].unit,
    )
