"""The command ``perf gate``: it chooses between two versions, a history, versions to be measured, and a self-test."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from perf_gate.api import gate, gate_history, gate_run, gate_self_test
from perf_tables.arguments import parse_named
from perfcore.base.errors import OptionError
from perfcore.base.files import check_files
from perfcore.hooks.parameters import OptionGroup, OptionRules
from perfcore.reading import Read

if TYPE_CHECKING:
    from perf_gate.history import HistoryGate
    from perf_gate.self_test import SelfTest
    from perf_gate.versions import VersionGate

Named = str | os.PathLike[str]

_USUAL = 1.05  # times as slow
_FEWEST_COMMITS = 3  # values of a column of versions or dates, from which on it is a history


def gate_command(
    first: Annotated[
        Any,
        Argument(
            metavar="FIRST", help="Runs of the first version, or of both: a file, folder, pattern, or list with commas."
        ),
    ] = None,
    second: Annotated[Any, Argument(metavar="SECOND", help="Runs of the second version.")] = None,
    *,
    slower_than: Annotated[
        str | float | None,
        Option(metavar="FACTOR", help="Regression threshold, 1.05x (default) or 5%; of a history any change."),
    ] = None,
    commit: Annotated[
        str | None,
        Option(
            metavar="COLUMN",
            help="For a history: column of commits (default: commit, sha, revision, version or date, of "
            "three or more).",
        ),
    ] = None,
    since: Annotated[
        str | None,
        Option(
            metavar="COMMIT", help="Changes after this commit of a history are new (default: in the last 12 commits)."
        ),
    ] = None,
    version: Annotated[
        str | Sequence[str] | None, Option(metavar="COLUMN|NAME=COMMAND", help="In one file: column of versions.")
    ] = None,
    base: Annotated[
        str | None, Option(metavar="NAME", help="One of the two versions in the column of versions.")
    ] = None,
    new: Annotated[
        str | None, Option(metavar="NAME", help="One of the two versions in the column of versions.")
    ] = None,
    value: Annotated[
        str | Iterable[str],
        Option(
            metavar="COLUMN",
            help="Measured value (default: by the format); with --run NAME=REGEX, found in the output.",
        ),
    ] = (),
    better: Annotated[
        str | Iterable[str] | None,
        Option(
            metavar="[COLUMN=]larger|smaller",
            help="Direction of improvement (default: by unit, larger of rates, smaller of all else).",
        ),
    ] = None,
    design: Annotated[
        str | None,
        Option(
            metavar="interleaved|blocked|sessions",
            help="Order of the runs: interleaved, one version after the other, or separate sessions "
            "(default: detected from rounds, times and dates).",
        ),
    ] = None,
    session_cv: Annotated[
        str | float | None,
        Option(
            metavar="SHARE",
            help="Between-session variation, such as 2%: the standard deviation of one version's sessions "
            "(default: from several old files, otherwise from the run-to-run noise).",
        ),
    ] = None,
    errors: Annotated[
        str, Option(metavar="fwer|fdr", help="Correction for multiple tests at 5%: family-wise error rate or FDR.")
    ] = "fwer",
    missing: Annotated[
        str,
        Option(metavar="list|fail", help="Treatment of benchmarks missing from one version, or ended in a history."),
    ] = "list",
    inconclusive: Annotated[
        str | None, Option(metavar="pass|fail", help="Exit status of an inconclusive result (default: 3).")
    ] = None,
    strict: Annotated[
        bool, Option("--strict", help="Pass only if all benchmarks are below the limit with 95% confidence.")
    ] = False,
    parallel: Annotated[
        str | None,
        Option(metavar="WHERE", help="For a history of many benchmarks: local:N processes, or dask://HOST:PORT."),
    ] = None,
    run: Annotated[
        bool, Option("--run", help="Measure the versions in turn, until it is decided; FIRST may be a design (.toml).")
    ] = False,
    max_rounds: Annotated[
        int, Option(metavar="N", min=1, help="With --run: the most rounds."), OptionRules(needs="--run")
    ] = 40,
    budget: Annotated[
        str | float | None,
        Option(metavar="DURATION", help="With --run: the most time, such as 10min."),
        OptionRules(needs="--run"),
    ] = None,
    warmup: Annotated[
        int, Option(metavar="N", min=0, help="With --run: warm-up rounds to discard."), OptionRules(needs="--run")
    ] = 1,
    store: Annotated[
        Named | None,
        Option(metavar="FILE", help="With --run: keep the runs, and go on from those it has (.db)."),
        OptionRules(needs="--run"),
    ] = None,
    launcher: Annotated[
        str, Option(metavar="NAME|WORDS", help="With --run: as of `perf experiment run`."), OptionRules(needs="--run")
    ] = "local",
    limit: Annotated[
        str | float | None,
        Option(metavar="DURATION", help="With --run: longest time of one run."),
        OptionRules(needs="--run"),
    ] = None,
    self_test: Annotated[
        bool,
        Option(
            "--self-test",
            help="A/A test of one version, in a file or with --run: noise, false-alarm rate, rounds needed.",
        ),
    ] = False,
    summary: Annotated[
        Named | None, Option(metavar="FILE", help="Append Markdown for the page of a CI job (.md).")
    ] = None,
    junit: Annotated[Named | None, Option(metavar="FILE", help="Write a JUnit report (.xml).")] = None,
    read: Annotated[Read | None, OptionGroup("perfcore.cli.reading:HowToRead", "read_with_format")] = None,
) -> VersionGate | HistoryGate | SelfTest:
    """Judge whether any benchmark of SECOND is slower than in FIRST, or became slower in a history.

    Benchmarks are matched by name. Versions in interleaved rounds are compared round by round:
    `perf experiment run --version` measures so, and ``--run`` does here. Exit status: 0 pass, no slowdown
    found; 1 fail, one is slower; 3 inconclusive, one is possibly slower; 2 wrong options or files.

    Parameters
    ----------
    first : str, path, Measurements or pandas.DataFrame
        Each file is a session, and several measure between-session variation. Or data in memory; or a history: a table
        with a column of commits, a folder of results of asv, ``data.js`` of github-action-benchmark. With ``run`` a
        design of points to measure.
    version : str or several, optional
        With ``run``: a version and its command, once for each.
    budget : str, or float in seconds, optional
    store : path, optional
        By default they are gone in the end.
    limit : str, or float in seconds, optional
    read : callable, optional
        Reads files: takes a path and the wanted types, and gives a `perfcore.reading.recognise.Reading`.

    Examples
    --------
    As a command::

        perf gate old.json new.json --slower-than 1.05x
        perf gate 'old_*.json' 'new_*.json' --summary "$GITHUB_STEP_SUMMARY"
        perf gate --run --version old='./old/app in' --version new='./new/app in' --budget 10min
        perf gate history.jsonl --plot history.png
        perf gate runs.csv --version build --base main --new branch --slower-than 3%
        perf gate --self-test --run --version app='./app in'
    """
    check_files(None, summary, junit)
    texts = [version] if isinstance(version, str) else list(version or ())
    column = next(iter(texts), None)
    shared: dict[str, Any] = {"value": value, "better": better}
    limited = {**shared, "slower_than": slower_than or _USUAL}
    policy: dict[str, Any] = {"missing": missing, "inconclusive": inconclusive or "inconclusive"}
    sides: dict[str, Any] = {"version": column, "base": base, "new": new, "design": design, "session_cv": session_cv}
    of_versions = {**policy, "errors": errors, "strict": strict}
    measuring: dict[str, Any] = {"max_rounds": max_rounds, "budget": budget, "warmup": warmup, "store": store}
    measuring |= {"launcher": launcher, "limit": limit}
    of_history = {"--commit": commit, "--since": since, "--parallel": parallel}
    verdict: VersionGate | HistoryGate | SelfTest
    if run:
        others = {f"--{name.replace('_', '-')}": given for name, given in sides.items() if name != "version"}
        why = "does not go with --run, which measures the versions itself, in turn"
        _refuse({"SECOND": second, **of_history, **others}, why)
        if not texts:
            raise OptionError("--run needs each version with --version NAME=COMMAND")
        versions = parse_named(texts, "--version", "with --run NAME=COMMAND, such as old='./old/app input',")
        if self_test:
            verdict = gate_self_test(first, versions, **limited, **measuring)
        else:
            verdict = gate_run(versions, first, **limited, **of_versions, **measuring)
    elif first is None:
        raise OptionError("name the file of the runs, or measure them with --run")
    elif len(texts) > 1:
        raise OptionError("--version is the column of versions, once; NAME=COMMAND belongs to --run")
    elif self_test:
        runs = first if second is None else f"{first},{second}"
        verdict = gate_self_test(runs, **limited, version=column, base=base, read=read)
    elif second is not None:
        _refuse(of_history, "is of a history; leave out the second file")
        verdict = gate(first, second, **limited, **of_versions, **sides, read=read)
    else:
        from perf_gate.benchmark_files import opened

        table = opened(first, value, read, better)
        if commit is None and version is None and base is None and new is None:
            commit = table.column_of("commit", _FEWEST_COMMITS)
        if commit is not None:
            chosen: dict[str, Any] = {"since": since, "slower_than": slower_than, "parallel": parallel}
            verdict = gate_history(table, commit, **chosen, **policy)
        else:
            _refuse(of_history, "is of a history; name its column of commits with --commit")
            verdict = gate(table, slower_than=limited["slower_than"], **of_versions, **sides)
    from perf_gate.answers import append_markdown, write_junit

    if summary is not None:
        append_markdown(verdict, summary)
    if junit is not None:
        write_junit(verdict.title, verdict.cases, junit)
    return verdict


def _refuse(options: dict[str, Any], why: str) -> None:
    for option, given in options.items():
        if given is not None:
            raise OptionError(f"{option} {why}")
