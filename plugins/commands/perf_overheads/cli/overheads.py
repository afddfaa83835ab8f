"""``perf overheads``: where the cycles of a trace go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from perfcore.base.errors import OptionError
from perfcore.cli.output import print_json, print_table, reporting
from perfcore.cli.reading import HowToRead

if TYPE_CHECKING:
    from perf_overheads import OverheadProfile

__all__ = ["command"]


def _print_categories(asked: bool) -> None:
    if asked:
        from perf_overheads.category_set import STANDARD

        typer.echo(STANDARD.read_text(encoding="utf-8"), nl=False)
        raise typer.Exit


def command(
    traces: Annotated[list[str], typer.Argument(metavar="TRACES")],
    how: HowToRead,
    phases: Annotated[
        str | None,
        typer.Option(
            "--phases", metavar="N|A..B|auto", help="Also for each of N phases, found as `perf fit` finds them."
        ),
    ] = None,
    degree: Annotated[str, typer.Option("--degree", help="Of the polynomials that model a phase.")] = "mixed",
    by: Annotated[
        Literal["category", "location", "phase"] | None,
        typer.Option("--by", help="Table to print beside the categories; several traces are compared without it."),
    ] = None,
    categories: Annotated[
        str | None, typer.Option("--categories", metavar="FILE.toml", help="Own categories and predicates.")
    ] = None,
    class_pairs: Annotated[
        list[str] | None,
        typer.Option(
            "--class",
            metavar="CLASS=STATE,...",
            help="States of a class, such as --class waiting='Wait*,Lock'; goes before the file.",
        ),
    ] = None,
    ready: Annotated[
        str | None, typer.Option("--ready", metavar="SERIES", help="File with the amount of ready work over time.")
    ] = None,
    ready_column: Annotated[
        str | None, typer.Option("--ready-column", metavar="NAME", help="Its column, where it has several.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write times by category to this .csv, one row for each."),
    ] = None,
    set_pairs: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE,...",
            help="Column of the output, one value or one for each trace (default: p, the locations).",
        ),
    ] = None,
    picture: Annotated[
        str | None, typer.Option("--plot", metavar="FILE", help="Draw a single trace: .png, .svg, .pdf or .html.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    print_categories: Annotated[
        bool,
        typer.Option(
            "--print-categories",
            is_eager=True,
            callback=_print_categories,
            help="Print the standard categories, to start an own file from.",
        ),
    ] = False,
) -> None:
    """Say where the cycles of TRACES go: computation, load imbalance, and kinds of loss.

    Every nanosecond of every location is in exactly one category; where that is not so, the states and times are said.
    Without --ready, an idle location counts as load imbalance while two or more others compute, as insufficient
    parallelism otherwise.

    \b
    perf overheads trace.prv --phases 4 --plot lost.png
    perf overheads p2.prv p4.prv p8.prv -o lost.csv
    perf fit lost.csv --fitter modgen
    perf overheads p4.prv p8.prv --phases 3 -o phases.csv
    perf fit phases.csv --fitter modgen --where phase=2
    """
    class_pairs = class_pairs or []
    set_pairs = set_pairs or []
    with reporting():
        from perf_overheads import profile_overheads, read_categories, stacked
        from perfcore.views.picture import check_ending, plot

        if picture is not None:
            check_ending(picture)
            if len(traces) > 1:
                raise OptionError("--plot draws one trace; give one, or leave it out")
        if by == "phase" and phases is None:
            raise OptionError("--by phase needs --phases N")
        if ready is not None and len(traces) > 1:
            raise OptionError("--ready belongs to one trace; profile the others each with its own")
        if ready is None and ready_column is not None:
            raise OptionError("--ready-column belongs to --ready SERIES")
        if output is None and set_pairs:
            raise OptionError("--set belongs to --output FILE.csv")
        if output is not None and not output.lower().endswith(".csv"):
            raise OptionError(f"--output {output}: the ending must be .csv")
        settings = {name: _numbers(name, words) for name, words in _lists(set_pairs, "--set").items()}
        rules = read_categories(categories)
        classes = _lists(class_pairs, "--class")
        amount = None if ready is None else _read_ready(ready)
        profiles = []
        for path in traces:
            trace = _read_trace(path, how)
            edges = None if phases is None else _edges(trace, phases, degree, rules, classes)
            profiles.append(
                profile_overheads(
                    trace, rules, classes=classes, ready=amount, ready_column=ready_column, phase_edges_ns=edges
                )
            )
        if output is not None:
            _write(stacked(profiles, settings), output)
        if picture is not None:
            plot(profiles[0], None, picture)
    if as_json:
        print_json("overheads", {"profiles": [profile.to_dict() for profile in profiles]})
        return
    if len(profiles) > 1 and by is None and phases is None:
        _show_comparison(profiles)
    else:
        _show(profiles, by or ("category" if phases is None else "phase"))
    for what, written in (("table", output), ("picture", picture)):
        if written is not None:
            typer.echo(f"{what}: {typer.format_filename(written)}")
    if output is not None and phases is not None:
        typer.echo(
            f"next: one phase at a time, perf fit {typer.format_filename(output)} --fitter modgen --where phase=1"
        )


def _show_comparison(profiles: Sequence[OverheadProfile]) -> None:
    """Several runs in one table, and once what must be known about them."""
    from perf_overheads import common_notes, comparison

    title, header, rows = comparison(profiles)
    typer.echo(title)
    print_table(header, rows)
    for note in common_notes(profiles):
        typer.echo(note)


def _show(profiles: Sequence[OverheadProfile], by: str) -> None:
    from perf_overheads import DEFINITIONS

    for at, profile in enumerate(profiles):
        if at:
            typer.echo()
        for line in profile.summary():
            typer.echo(line)
        for title, header, rows in profile.tables(by):
            typer.echo(f"\n{title}")
            print_table(header, rows)
    typer.echo()
    for line in DEFINITIONS:
        typer.echo(line)


def _read_trace(path: str, how: HowToRead) -> Any:
    from perfcore.base.errors import DataError
    from perfcore.data.trace import Trace

    trace = how.read_file(path, (Trace,))
    if not isinstance(trace, Trace):
        raise DataError(f"{path} holds {type(trace).__name__}; the states of each location are needed: give a trace")
    return trace


def _read_ready(path: str) -> Any:
    from perfcore.base.errors import DataError
    from perfcore.data.curve import UtilizationCurve
    from perfcore.data.series import Series

    data = HowToRead().read_file(path, (Series,))
    if not isinstance(data, (Series, UtilizationCurve)):
        raise DataError(f"{path} was read as {type(data).__name__}; for a series call its columns time_us and ready")
    return data


def _edges(trace: Any, phases: str, degree: str, rules: Any, classes: dict[str, list[str]]) -> list[int]:
    """Phases of the curve of the states that the categories take as computing."""
    from perf_overheads.phases import phase_edges
    from perf_overheads.pop_efficiencies import COMPUTING
    from perf_overheads.state_classes import classify

    if COMPUTING not in rules.classes:
        return phase_edges(trace, phases, degree=degree)
    computing = classify(trace, rules, classes).states_of(COMPUTING)
    return phase_edges(trace, phases, degree=degree, busy=[state for state in computing if state in trace.states])


def _lists(pairs: Sequence[str], what: str) -> dict[str, list[str]]:
    """``KEY=A,B`` words, several of one key joined."""
    found: dict[str, list[str]] = {}
    for pair in pairs:
        key, equals, values = pair.partition("=")
        words = [word.strip() for word in values.split(",") if word.strip()]
        if not equals or not key or not words:
            raise OptionError(f"{what} {pair!r}: NAME=VALUE,... is expected")
        found.setdefault(key, []).extend(words)
    return found


def _numbers(name: str, words: Sequence[str]) -> list[float]:
    try:
        return [int(word) if word.lstrip("-").isdecimal() else float(word) for word in words]
    except ValueError:
        raise OptionError(f"--set {name}={','.join(words)}: numbers are expected") from None


def _write(table: Any, path: str) -> None:
    from perfcore.base.files import atomic_path

    with atomic_path(path) as temporary:
        table.to_csv(temporary, index=False)
