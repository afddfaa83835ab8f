"""``perf compare``: two models, or two versions of a program by models of the same kind, also as a gate."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfcore.base.errors import OptionError
from perfcore.base.ranges import parse_values
from perfcore.cli.output import print_findings, print_json, reporting
from perfcore.cli.parameters import Fitter
from perfcore.cli.reading import HowToRead
from perfcore.cli.signature import OptionsOfSelected

if TYPE_CHECKING:
    from perf_compare.comparison.comparison import Comparison
    from perf_compare.gate.conditions import Gate
    from perf_compare.gate.verdicts import Verdict
    from perfcore.models.model import Model

__all__ = ["command"]

FAILED, UNKNOWN = 1, 3  # exit statuses; 2 is for mistakes, as everywhere


def command(
    first: Annotated[str, typer.Argument(metavar="FIRST", show_default=False)],
    second: Annotated[str, typer.Argument(metavar="SECOND", show_default=False)],
    how: HowToRead,
    places: Annotated[
        list[str] | None,
        typer.Option(
            "--at",
            metavar="NAME=...",
            help="Points: P=16..4096*2, D=1,2,4; for codes and systems names. Once for each variable.",
        ),
    ] = None,
    conditions: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-if",
            metavar="GATE",
            help="Exit with status 1 if the data say so: 'slower than 1.1x at p=1024', 'any of 1% slower than 1.2x at "
            "p=1024', 'NAME slower than 1.1x at p=1024 with confidence 0.9', 'any law worse'. May be repeated.",
        ),
    ] = None,
    fitter: Fitter = "modgen",
    picture: Annotated[
        str | None, typer.Option("--plot", metavar="FILE", help="Draw both models: .png, .svg, .pdf or .html.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    **options: Annotated[Any, OptionsOfSelected("fitters", "fitter")],
) -> int:
    """Compare FIRST and SECOND: models that `perf fit -o` wrote (.json), or data that are fitted with --fitter.

    Says where they cross along the first parameter that varies, their ratio and how sure it is, and for models by
    category or path which of these make the difference.

    Exit status: 0, or with --fail-if that all gates are passed; 1 a gate failed; 2 a mistake; 3 none failed, but
    something could not be fitted or judged.

    \b
    perf compare old.json new.json --at P=16..4096*2 --at D=256
    perf compare old.csv new.csv --fitter modgen --parameter P,D --at P=16..1024*2 --at D=256
    perf compare old.jsonl new.jsonl --fitter scaling --fail-if "slower than 1.1x at p=1024"
    """
    places = places or []
    conditions = conditions or []
    with reporting():
        from perf_compare.comparison.comparison import compare
        from perf_compare.gate.conditions import parse_gate
        from perf_compare.gate.verdicts import judge
        from perfcore.views.picture import check_ending, plot

        # What is wrong with the options is said before long files are read.
        gates = [parse_gate(condition) for condition in conditions]
        if picture is not None:
            check_ending(picture)
        one, other = (_model(path, fitter, options, how) for path in (first, second))
        names = (Path(first).stem, Path(second).stem)
        points, of_gate = _points(one, places, gates)
        found = compare(one, other, points, names if names[0] != names[1] else (first, second))
        verdicts = [judge(gate, found, place) for gate, place in zip(gates, of_gate, strict=True)]
        if picture is not None:
            plot(found, None, picture)
    if as_json:
        print_json("comparison", {**found.to_dict(), "gates": [verdict.to_dict() for verdict in verdicts]})
    else:
        print_findings(found, picture=picture)
        for number, verdict in enumerate(verdicts):
            typer.echo(f"{'' if number else chr(10)}gate {verdict.text}")
    return _status(found, verdicts)


def _status(found: Comparison, verdicts: Sequence[Verdict]) -> int:
    outcomes = {verdict.outcome for verdict in verdicts}
    if "failed" in outcomes:
        return FAILED
    return UNKNOWN if "open" in outcomes or any(found.left_out) else 0


def _model(path: str, fitter: str, options: dict[str, Any], how: HowToRead) -> Model:
    """A model file, or data fitted."""
    import perfcore
    from perfcore.hooks.registry import registry

    if how.reader is None and _is_model(path):
        return perfcore.load(path)
    implementation = registry().load("fitters", fitter)
    return perfcore.fit(how.read_file(path, implementation.takes), fitter=fitter, **options)


def _is_model(path: str) -> bool:
    """Whether a file is to be read as a model: formats of measurements are JSON too."""
    import msgspec

    if not path.lower().endswith(".json"):
        return False
    try:
        content = msgspec.json.decode(Path(path).read_bytes(), type=dict[str, msgspec.Raw])
    except (OSError, UnicodeDecodeError, RecursionError, msgspec.MsgspecError):
        return not Path(path).exists()  # a model that is not there is missed as one
    return {"schema", "model"} <= content.keys()


def _points(model: Model, places: Sequence[str], gates: Sequence[Gate]) -> tuple[dict[str, list[Any]], list[int]]:
    """A column for each variable of all points, of --at and of gates; and the point of each gate.

    Raises
    ------
    UnknownNameError
        A variable, or a name of one, that the model does not have.
    """
    asked = _asked(model, places)
    missing = [name for name in model.variables if name not in asked and name not in model.levels]
    placed = any(gate.at for gate in gates)
    if missing and not placed:
        if not places:
            raise OptionError(f"Missing option '--at': where to compare, such as --at {missing[0]}=1024")
        raise OptionError(f"the models are of {', '.join(model.variables)}; give --at {missing[0]}=...")
    rows = [] if missing else [dict(zip(asked, row, strict=True)) for row in itertools.product(*asked.values())]
    of_gates = [_point_of(gate, model, asked) if gate.at else None for gate in gates]
    added = [row for row in of_gates if row is not None and row not in rows]
    rows += [row for number, row in enumerate(added) if row not in added[:number]]
    if any(row.keys() != rows[0].keys() for row in rows):
        raise OptionError("the points of --at and of --fail-if are of different variables; give each the same")
    if added:  # what tables look at is the last point, which should be the largest scale
        rows = sorted(rows, key=lambda row: tuple(row.values()))
    found = []
    for gate, row in zip(gates, of_gates, strict=True):
        if row is None and gate.word and len(rows) > 1:
            raise OptionError(f"--fail-if {gate.text!r}: there are {len(rows)} points; say 'at NAME=LEVEL,...'")
        found.append(len(rows) - 1 if row is None else rows.index(row))
    return {name: [row[name] for row in rows] for name in rows[0]}, found


def _point_of(gate: Gate, model: Model, asked: dict[str, list[Any]]) -> dict[str, Any]:
    """The point of a gate; a variable that it does not name has the one level of --at."""
    from perfcore.base.errors import OptionError, UnknownNameError

    found: dict[str, Any] = {name: levels[0] for name, levels in asked.items() if len(levels) == 1}
    for name, text in gate.at.items():
        symbol = _symbol(model, name)
        if symbol in model.levels:
            if text not in model.levels[symbol]:
                raise UnknownNameError(symbol, text, model.levels[symbol])
            found[symbol] = text
            continue
        try:
            (found[symbol],) = parse_values(text)
        except (ValueError, ZeroDivisionError):
            raise OptionError(f"--fail-if {gate.text!r}: {name}={text}: one number is expected") from None
    for name in model.variables:
        if name not in found and name not in model.levels:
            raise OptionError(
                f"--fail-if {gate.text!r}: the models are of {', '.join(model.variables)}; name {name} too"
            )
    return {name: found[name] for name in model.variables if name in found}


def _asked(model: Model, places: Sequence[str]) -> dict[str, list[Any]]:
    """Levels of each variable, by --at."""
    wanted: dict[str, list[Any]] = {}
    for place in places:
        name, equals, text = place.partition("=")
        if not equals or not name.strip():
            raise OptionError(f"--at {place!r}: NAME=VALUE,... or NAME=FIRST..LAST*FACTOR is expected")
        symbol = _symbol(model, name.strip())
        if symbol in model.levels:
            wanted.setdefault(symbol, []).extend([text] if text in model.levels[symbol] else text.split(","))
            continue
        try:
            wanted.setdefault(symbol, []).extend(parse_values(text))
        except (ValueError, ZeroDivisionError):
            raise OptionError(
                f"--at {place!r}: VALUE,... or FIRST..LAST:STEP or FIRST..LAST*FACTOR is expected"
            ) from None
    return {name: wanted[name] for name in model.variables if name in wanted}


def _symbol(model: Model, name: str) -> str:
    from perfcore.base.errors import UnknownNameError

    symbols = {**{column: symbol for symbol, column in model.variables.items()}, **{s: s for s in model.variables}}
    if name not in symbols:
        raise UnknownNameError("variable of the model", name, model.variables)
    return symbols[name]
