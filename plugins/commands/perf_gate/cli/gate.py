"""``perf gate``: is a version slower?"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from perfcore.base.errors import OptionError
from perfcore.cli.output import print_findings, print_json, print_plainly, reporting
from perfcore.cli.parameters import Json, Picture, TableFormat
from perfcore.cli.reading import HowToRead

# Options that do not go on to the function as they are.
_NAMED = ("how", "since_commit", "version", "value", "better", "run", "picture", "summary", "junit", "table", "as_json")


def command(
    first: Annotated[
        str | None,
        typer.Argument(
            metavar="FIRST", help="Runs of the first version, or of both: a file, folder, pattern, or list with commas."
        ),
    ] = None,
    second: Annotated[str | None, typer.Argument(metavar="SECOND", help="Runs of the second version.")] = None,
    *,
    how: HowToRead,
    slower_than: Annotated[
        str | None,
        typer.Option(
            "--slower-than",
            metavar="FACTOR",
            help="What is too slow: 1.05x, the default, or 5%; of a history any change.",
        ),
    ] = None,
    commit: Annotated[
        str | None, typer.Option("--commit", metavar="COLUMN", help="Of a history: the column of commits.")
    ] = None,
    since_commit: Annotated[
        str | None,
        typer.Option("--since", metavar="COMMIT", help="Changes after it are new (default: in the last 12 values)."),
    ] = None,
    machine: Annotated[
        str | None, typer.Option("--machine", metavar="COLUMN", help="Of a history: the column of machines.")
    ] = None,
    version: Annotated[
        list[str] | None,
        typer.Option(
            "--version",
            metavar="COLUMN|NAME=COMMAND",
            help="In one file: the column of versions. With --run: a version and its command; repeat it.",
        ),
    ] = None,
    base: Annotated[str | None, typer.Option("--base", metavar="NAME", help="The first version in it.")] = None,
    new: Annotated[str | None, typer.Option("--new", metavar="NAME", help="The second version in it.")] = None,
    value: Annotated[
        list[str] | None,
        typer.Option(
            "--value",
            "-v",
            metavar="COLUMN",
            help="What was measured (default: as the format says); with --run NAME=REGEX, found in the output. May be "
            "repeated.",
        ),
    ] = None,
    better: Annotated[
        list[str] | None,
        typer.Option(
            "--better",
            metavar="[COLUMN=]larger|smaller",
            help="Which values are better (default: by unit). May be repeated.",
        ),
    ] = None,
    layout: Annotated[
        str | None,
        typer.Option(
            "--layout",
            metavar="turn|blocks|sessions",
            help="How runs lie in time: in turn, one version after the other, or in sessions (default: as rounds, "
            "times and files show).",
        ),
    ] = None,
    session_cv: Annotated[
        str | None,
        typer.Option("--session-cv", metavar="SHARE", help="How much sessions of one version differ, such as 2%."),
    ] = None,
    errors: Annotated[
        str,
        typer.Option("--errors", metavar="fwer|fdr", help="Keep at 5% the chance of any false alarm, or their share."),
    ] = "fwer",
    missing: Annotated[
        str, typer.Option("--missing", metavar="list|fail", help="What benchmarks do that one version lacks.")
    ] = "list",
    undecided: Annotated[
        str, typer.Option("--undecided", metavar="pass|fail", help="Exit status of undecided as that of these.")
    ] = "undecided",
    run: Annotated[
        bool,
        typer.Option("--run", help="Measure the versions in turn, until it is decided; FIRST may be a design (.toml)."),
    ] = False,
    max_rounds: Annotated[
        int, typer.Option("--max-rounds", min=1, metavar="N", help="With --run: the most rounds.")
    ] = 40,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="DURATION", help="With --run: the most time, such as 10min.")
    ] = None,
    warmup: Annotated[
        int, typer.Option("--warmup", min=0, metavar="N", help="With --run: rounds before the first that are not kept.")
    ] = 1,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="FILE", help="With --run: keep the runs, and go on from those it has (.db)."),
    ] = None,
    launcher: Annotated[
        str, typer.Option("--launcher", metavar="NAME|WORDS", help="With --run: as of `perf experiment run`.")
    ] = "local",
    limit: Annotated[
        str | None, typer.Option("--limit", metavar="DURATION", help="With --run: longest time of one run.")
    ] = None,
    self_test: Annotated[
        bool,
        typer.Option(
            "--self-test",
            help="Look at one version alone, in a file or with --run: noise, false alarms, rounds that are needed.",
        ),
    ] = False,
    picture: Picture = None,
    summary: Annotated[
        str | None, typer.Option("--summary", metavar="FILE", help="Append Markdown for the page of a CI job (.md).")
    ] = None,
    junit: Annotated[str | None, typer.Option("--junit", metavar="FILE", help="Write a JUnit report (.xml).")] = None,
    table: TableFormat = None,
    as_json: Json = False,
) -> int:
    """Judge whether any benchmark of SECOND is slower than in FIRST, or became slower in a history.

    Benchmarks are matched by name. Versions that were measured in turn are compared round by round:
    `perf experiment run --version` measures so, and --run does here. Exit status: 0 passed, all surely not slower;
    1 failed, one is surely slower; 3 undecided; 2 a mistake.

    \b
    perf gate old.json new.json --slower-than 1.05x
    perf gate 'old_*.json' 'new_*.json' --summary "$GITHUB_STEP_SUMMARY"
    perf gate --run --version old='./old/app in' --version new='./new/app in' --budget 10min
    perf gate history.jsonl --commit commit --plot history.png
    perf gate runs.csv --version build --base main --new branch --slower-than 3%
    perf gate --self-test --run --version app='./app in'
    """
    given: dict[str, Any] = {name: each for name, each in locals().items() if name not in _NAMED}
    with reporting():
        from perf_gate.api import gate, versions_of
        from perf_views.picture import check_files, plot

        check_files(picture, summary, junit)
        version_options = version or []
        if run and not version_options:
            raise OptionError("--run needs each version with --version NAME=COMMAND")
        if not run and len(version_options) > 1:
            raise OptionError("--version is the column of versions, once; NAME=COMMAND belongs to --run")
        for option_value, option in ((budget, "--budget"), (store, "--store"), (limit, "--limit")):
            if option_value is not None and not run:
                raise OptionError(f"{option} belongs to --run")
        try:
            verdict = gate(
                **given,
                since=since_commit,
                version=None if run or not version_options else version_options[0],
                value=value or (),
                better=better or (),
                run=versions_of(version_options) if run else None,
                read=how.read_with_format,
            )
        except KeyboardInterrupt:
            if store is not None:
                typer.echo(f"perf: all runs that ended are kept in {store}; the same call goes on", err=True)
            raise
        if picture is not None:
            plot(verdict, None, picture)
        if summary is not None or junit is not None:
            from perf_gate.presenters import append_markdown, write_junit

            if summary is not None:
                append_markdown(verdict, summary)
            if junit is not None:
                write_junit(verdict.title, verdict.cases, junit)
    if as_json:
        print_json("gate", verdict.to_dict())
    elif table is not None:
        print_plainly(table, verdict.plain_tables())
    else:
        print_findings(verdict, picture=picture)
    return verdict.status
