"""``perf next``: which runs would help most."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfcore.base.errors import OptionError
from perfcore.cli.output import print_json, print_table, reporting

if TYPE_CHECKING:
    from perf_experiments import Design
    from perf_experiments.advice.next_points import Advice
    from perf_experiments.advice.replications import Needed
    from perf_experiments.design.factors import Point

__all__ = ["command"]


def command(
    source: Annotated[str, typer.Argument(metavar="SOURCE", show_default=False)],
    targets: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            "-t",
            metavar="NAME=LEVEL",
            help="Where the model's prediction matters: p=1024. Once for each variable.",
        ),
    ] = None,
    candidates: Annotated[
        list[str] | None,
        typer.Option(
            "--candidates",
            "-c",
            metavar="NAME=...|DESIGN",
            help="Points that can be measured: levels as for `perf design`, once for each variable, or a design "
            "(.toml). Default: all combinations of the measured levels.",
        ),
    ] = None,
    constraints: Annotated[
        list[str] | None, typer.Option("--constraint", metavar="FORMULA", help="What every candidate meets.")
    ] = None,
    count: Annotated[
        int | None, typer.Option("--points", min=1, help="How many to choose, each after those before [4].")
    ] = None,
    per_second: Annotated[bool, typer.Option("--per-second", help="Choose by gain for a second of runs.")] = False,
    precision: Annotated[
        str | None,
        typer.Option("--precision", metavar="SHARE", help="For a store: what is asked of each point's mean [2%]."),
    ] = None,
    most: Annotated[
        int | None, typer.Option("--most", min=1, help="For a store: runs of one point at most [30].")
    ] = None,
    value: Annotated[
        str | None,
        typer.Option(
            "--value", metavar="NAME", help="For a store: what is to be precise (default: the first reported)."
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Design to write (.toml), which `perf run` takes."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Say which runs to make next, from a MODEL that `perf fit -o` wrote, or a STORE of `perf run`.

    From a model: the points that lower the variance of its prediction at the target most, with what they cost. From a
    store: the points whose runs spread so much that more replications are needed.

    \b
    perf next model.json --target p=1024 --candidates p=1..256*2 --points 4 -o more.toml
    perf next design.db --precision 2% -o more.toml
    perf run more.toml --store design.db
    """
    targets = targets or []
    candidates = candidates or []
    constraints = constraints or []
    options: dict[str, Any] = {
        "targets": targets,
        "candidates": candidates,
        "constraints": constraints,
        "count": count,
        "per_second": per_second,
        "precision": precision,
        "most": most,
        "value": value,
    }
    with reporting():
        from perf_experiments.runs.store import is_store

        given = {name for name, value in options.items() if value not in (None, [], False)}
        if is_store(_head(source)):
            _refuse(given & {"targets", "candidates", "constraints", "count", "per_second"}, "a model")
            design = _from_store(source, options, output, as_json)
        else:
            _refuse(given & {"precision", "most", "value"}, "a store of runs")
            design = _from_model(source, options, as_json)
        if output is not None and design is not None:
            from perf_experiments import write_design

            write_design(design, output)
            if not as_json:
                typer.echo(f"{typer.format_filename(output)}: {len(design.chosen())} points; `perf run` takes it")


def _head(path: str) -> bytes:
    """The first bytes of a file; none where it cannot be read, which is said by whoever reads it."""
    try:
        with Path(path).open("rb") as stream:
            return bytes(stream.read(100))
    except OSError:
        return b""


def _refuse(names: set[str], belongs_to: str) -> None:
    shown = {"targets": "target", "constraints": "constraint", "count": "points", "per_second": "per-second"}
    if names:
        name = min(names)
        raise OptionError(f"--{shown.get(name, name)} is for {belongs_to}")


def _from_model(source: str, options: dict[str, Any], as_json: bool) -> Design:
    import perfcore
    from perf_experiments.advice.next_points import next_points

    if not options["targets"]:
        raise OptionError("Missing option '--target': where the prediction matters, such as --target p=1024")
    model = perfcore.load(source)
    advice = next_points(
        model,
        _target(options["targets"]),
        _candidates(options["candidates"], options["constraints"]),
        options["count"] or 4,
        per_second=options["per_second"],
    )
    if as_json:
        print_json("advice", _advice_facts(advice))
    else:
        _print_advice(advice)
    runs: dict[tuple[Any, ...], tuple[Point, int]] = {}
    for choice in advice.choices:
        runs[tuple(choice.point.items())] = choice.point, choice.in_all
    return _design(list(runs.values()))


def _target(texts: Sequence[str]) -> dict[str, Any]:
    from perf_experiments.design.factors import parse_factor
    from perfcore.base.errors import OptionError

    found = {}
    for text in texts:
        name, levels = parse_factor(text)
        if len(levels) > 1:
            raise OptionError(f"--target {text!r}: one level is expected")
        found[name] = levels[0]
    return found


def _candidates(texts: Sequence[str], constraints: Sequence[str]) -> list[Point] | None:
    """Points of a design or of levels; None for those that the model knows."""
    from perf_experiments import make_design, read_design
    from perf_experiments.design.constraints import meeting
    from perf_experiments.design.factors import parse_factor

    files = [text for text in texts if text.lower().endswith(".toml")]
    if files and len(texts) > 1:
        raise OptionError("--candidates: one design, or levels of each variable, are expected")
    if files:
        return meeting(read_design(files[0]).chosen(), constraints)[0]
    if texts:
        return make_design(dict(map(parse_factor, texts)), constraints=constraints).chosen()
    if constraints:
        raise OptionError("--constraint needs --candidates")
    return None


def _print_advice(advice: Advice) -> None:
    from perf_experiments.advice.costs import duration_text
    from perf_experiments.design.factors import level_text, point_text

    unit = f" {advice.unit}" if advice.unit else ""
    typer.echo(
        f"{point_text(advice.target)}: {advice.value:.4g}{unit} predicted, standard error {advice.error:.3g}; a "
        f"measurement there varies by {advice.noise:.3g}"
    )
    names = list(advice.choices[0].point)
    rows = []
    for number, choice in enumerate(advice.choices, 1):
        gain = "-" if choice.gain_per_s is None else f"{choice.gain_per_s:.3%}"
        cost = "-" if choice.cost_s is None else duration_text(choice.cost_s)
        levels = [level_text(choice.point[name]) for name in names]
        rows.append(
            [str(number), *levels, str(choice.repetitions), f"{choice.error:.3g}", f"{choice.gain:.1%}", cost, gain]
        )
    print_table(["", *names, "runs", "error after", "variance falls by", "cost", "per s"], rows)
    if not advice.rivals:
        typer.echo("if the model is right; no other that fits about as well is known, to compare with")
        return
    typer.echo("if the model is right; others fit about as well and say at the target")
    for rival in advice.rivals:
        typer.echo(
            f"  {rival.value:.4g}{unit}: {rival.name} ({rival.figure}); farthest apart at {point_text(rival.point)}, "
            f"{rival.distance:.2g} standard deviations of a measurement"
        )


def _advice_facts(advice: Advice) -> dict[str, Any]:
    return {
        **vars(advice),
        "choices": [{**vars(choice), "gain_per_s": choice.gain_per_s} for choice in advice.choices],
        "rivals": [vars(rival) for rival in advice.rivals],
    }


def _from_store(source: str, options: dict[str, Any], output: str | None, as_json: bool) -> Design | None:
    from perf_experiments import Store
    from perf_experiments.advice.replications import needed_replications
    from perf_experiments.cli.run import share

    precision = share(options["precision"] or "2%", "--precision")
    with Store.read(source) as store:
        points = needed_replications(store.runs(), precision, options["most"] or 30, options["value"])
    wanting = [point for point in points if point.more]
    if as_json:
        print_json("replications", [{**vars(point), "more": point.more} for point in points])
    else:
        _print_needed(points, wanting, precision)
    if not wanting:
        if output is not None and not as_json:
            typer.echo(f"no design is written: all {len(points)} points are precise enough")
        return None
    return _design([(point.point, point.replications + point.more) for point in wanting])


def _print_needed(points: Sequence[Needed], wanting: Sequence[Needed], precision: float) -> None:
    from perf_experiments.advice.costs import duration_text
    from perf_experiments.design.factors import level_text

    names = list(points[0].point)
    rows = [
        [
            *(level_text(each.point[name]) for name in names),
            *(str(each.runs), f"{each.spread:.1%}", f"{each.precision:.1%}", str(each.needed)),
        ]
        for each in points
    ]
    print_table([*names, "runs", "spread", "known to", "needed"], rows)
    more = sum(each.more for each in wanting)
    seconds = sum(each.more * each.seconds for each in wanting)
    about = f", about {duration_text(seconds)}" if more else ""
    typer.echo(f"{more} more runs of {len(wanting)} points for {100.0 * precision:.3g} % of each mean (95 %){about}")


def _design(wanted: Sequence[tuple[Point, int]]) -> Design:
    """Exactly these points, each with the number of its replications."""
    from perf_experiments import Design

    levels: dict[str, list[Any]] = {}
    for point, _ in wanted:
        for name, level in point.items():
            if level not in levels.setdefault(name, []):
                levels[name].append(level)
    points = [{**point, "replications": count} for point, count in wanted]
    return Design(factors=levels, kind="points", points=points, replications=min(count for _, count in wanted))
