"""What ``perf gate`` does, in Python."""

from __future__ import annotations

import functools
import itertools
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf_gate.arguments import better_by_column, factor_of, one_of, seconds_of, share_of
from perf_gate.reading.long_table import LongTable, long_table, with_better
from perf_gate.reading.sets import read_set
from perfcore.base.errors import OptionError
from perfcore.data.measurements import Measurements

if TYPE_CHECKING:
    from perf_gate.history.adding import Added
    from perf_gate.history.gate import HistoryGate
    from perf_gate.running.rounds import Measuring
    from perf_gate.self_test.self_test import SelfTest
    from perf_gate.versions.gate import VersionGate
    from perf_gate.versions.sequential import Look
    from perfcore.reading.recognise import Reading

ReadFile = Callable[[str, Sequence[type]], "Reading"]


def named_reader(reader: str | None) -> ReadFile:
    """What reads files by the name of a format, or tells the format."""
    from perfcore.reading.recognise import read_named

    return lambda path, types: read_named(path, reader=reader, wanted=types)


def opened(
    side: Any,
    values: Sequence[str] = (),
    read: ReadFile | None = None,
    better: Mapping[str, str] | None = None,
) -> LongTable:
    """Runs of a version, or of several, as a long table."""
    import pandas as pd

    from perfcore.reading.recognise import Reading

    if isinstance(side, (str, os.PathLike)):
        read_file = read or named_reader(None)
        table = read_set(side, lambda path: read_file(path, (Measurements,)), values)
    else:
        data = Measurements(side) if isinstance(side, pd.DataFrame) else side
        table = long_table(Reading(data, "", 1), values)
    return with_better(table, better or {})


def version_column(table: LongTable, column: str | None) -> str:
    """The column that tells versions apart."""
    chosen = column or table.column_of_versions()
    if chosen is not None:
        return chosen
    if table.reader == "hyperfine" and table.labels["command"].nunique() == 2:
        return "command"
    raise OptionError(
        f"{table.source}: what is it to be compared with? Name a second file, or the column that tells versions apart "
        "with --version COLUMN, or for a history the column of commits with --commit"
    )


def names_of(first: str, second: str) -> tuple[str, str]:
    """What two files, folders or patterns are called: without folders and endings where that tells them apart."""
    for names in ((_short(first), _short(second)), (first, second)):
        if names[0] != names[1]:
            return names
    return "A", "B"


def _short(name: str) -> str:
    """The last part of a path that says something: of a pattern or list what all its files have."""
    paths = [Path(part.strip()) for part in name.split(",")]
    letters = itertools.takewhile(lambda each: len(set(each)) == 1, zip(*(path.stem for path in paths), strict=False))
    for part in ("".join(each[0] for each in letters), *reversed(paths[0].parent.parts)):
        if words := re.split(r"[*?]|\[[^]]*\]", part)[0].rstrip("_-. "):
            return words
    return name


_USUAL = 1.05  # times as slow
_HISTORIES = ("asv", "benchmark-action")


def gate(
    first: Any = None,
    second: Any = None,
    *,
    slower_than: str | float | None = None,
    commit: str | None = None,
    since: str | None = None,
    machine: str | None = None,
    version: str | None = None,
    base: str | None = None,
    new: str | None = None,
    value: str | Iterable[str] = (),
    better: str | Iterable[str] | None = None,
    layout: str | None = None,
    session_cv: str | float | None = None,
    errors: str = "fwer",
    missing: str = "list",
    undecided: str = "undecided",
    run: Mapping[str, str | Sequence[str]] | None = None,
    max_rounds: int = 40,
    budget: str | float | None = None,
    warmup: int = 1,
    store: str | os.PathLike[str] | None = None,
    launcher: str = "local",
    limit: str | float | None = None,
    self_test: bool = False,
    names: tuple[str, str] | None = None,
    reader: str | None = None,
    read: ReadFile | None = None,
) -> VersionGate | HistoryGate | SelfTest:
    """Judge whether any benchmark of a second version is slower than in the first, or became slower in a history.

    Parameters
    ----------
    first : str, path, Measurements or pandas.DataFrame
        Runs of the first version, or of both: a file, a folder or pattern of files (each a session; as many of both
        versions are rounds), or what is in memory. Or a history: a table with a column of commits, a folder of results
        of asv, ``data.js`` of github-action-benchmark. With ``run`` a design of the points to measure.
    second : the same, optional
        Runs of the second version.
    slower_than : str or float, optional
        How many times as slow is too slow: ``1.05``, the default, ``"1.05x"`` or ``"5%"``; of a history any change.
    commit : str, optional
        Of a history, the column that names the commits; ``"commit"`` of formats that have it.
    since : str, optional
        Of a history, the commit after which changes are new; by default those within the last 12 values are.
    machine : str, optional
        Of a history, the column that names machines, whose levels differ.
    version, base, new : str, optional
        Where one file has both: the column that tells them apart, and the two versions in it.
    value : str or several
        Columns that were measured; by default what the format says. With ``run``: ``NAME=REGEX``, what to find in the
        output instead of the wall time.
    better : str or several, optional
        Which values are better: ``"smaller"``, ``"larger"``, or of one column ``"NAME=larger"``; by default larger of
        rates, smaller of all else.
    layout : {"turn", "blocks", "sessions"}, optional
        How runs lie in time: versions in turn, one after the other, or in sessions that nobody can compare. By default
        what rounds, times and files show.
    session_cv : str or float, optional
        Standard deviation between sessions of the same version, as a share: ``"2%"``.
    errors : {"fwer", "fdr"}
        Keep at 5 % the chance of any false alarm, or the share of alarms that are false.
    missing : {"list", "fail"}
        What benchmarks do that only one version has.
    undecided : {"undecided", "pass", "fail"}
        What undecided counts as in `VersionGate.status`.
    run : mapping of str to str or sequence of str, optional
        Program and arguments of both versions, which are measured in turn until it is decided (`perfcore.run`).
    max_rounds : int
        With ``run``, the most rounds.
    budget : str, or float in seconds, optional
        With ``run``, the most time: ``"10min"``.
    warmup : int, >= 0
        With ``run``, rounds before the first that are not kept.
    store : path, optional
        With ``run``, where runs are kept; runs that it has already count. By default they are gone in the end.
    launcher, limit : str, optional
        With ``run``, as of `perfcore.run`.
    self_test : bool
        Look at one version alone, in a file or of ``run``: noise, how often it would be called slower than itself, how
        many rounds the limit needs.
    names : pair of str, optional
        What the versions are called.
    reader : str, optional
        Format of the files.
    read : callable, optional
        Reads files: takes a path and the wanted types, and gives a `perfcore.reading.recognise.Reading`.

    Returns
    -------
    VersionGate, HistoryGate or SelfTest

    Raises
    ------
    OptionError
        An option with a value that it does not take, a version that isn't there.
    DataError, InputError
        No benchmark in common, other units, values that are no positive numbers, a run that failed.

    Examples
    --------
    >>> import pandas as pd, perfcore
    >>> rows = [
    ...     {"version": version, "round": number, "bench": "sort", "time_s": factor * (1.0 + 0.01 * (number % 3))}
    ...     for number in range(10)
    ...     for version, factor in (("old", 1.0), ("new", 1.2))
    ... ]
    >>> verdict = perfcore.gate(pd.DataFrame(rows), slower_than="1.05x")
    >>> verdict.outcome.value, verdict.status
    ('failed', 1)
    >>> perfcore.gate(run={"old": "sleep 0.01", "new": "sleep 0.1"}, warmup=0).outcome.value
    'failed'
    """
    from perf_gate.versions.layouts import LAYOUTS
    from perf_statistics.gating import ERRORS, Outcome

    one_of(errors, ERRORS, "--errors")
    one_of(missing, ("list", "fail"), "--missing")
    policies = {"undecided": Outcome.UNDECIDED, "pass": Outcome.PASSED, "fail": Outcome.FAILED}
    one_of(undecided, tuple(policies), "--undecided")
    if layout is not None:
        one_of(layout, LAYOUTS, "--layout")
    threshold = None if slower_than is None else factor_of(slower_than)
    policy: dict[str, Any] = {
        "threshold": _USUAL if threshold is None else threshold,
        "errors": errors,
        "missing_fails": missing == "fail",
        "undecided": policies[undecided],
    }
    values, preferred = [value] if isinstance(value, str) else list(value), better_by_column(better)
    if run is not None:
        from perf_gate.running.rounds import Measuring

        others = {"SECOND": second, "--commit": commit, "--since": since, "--machine": machine, "--base": base}
        others |= {"--new": new, "--layout": layout, "--session-cv": session_cv}
        for option, option_value in others.items():
            if option_value is not None:
                raise OptionError(f"{option} does not go with --run, which measures the versions itself, in turn")
        how = Measuring(
            run,
            first,
            store,
            values,
            launcher,
            limit,
            warmup,
            max_rounds,
            None if budget is None else seconds_of(budget),
        )
        return _of_own_runs(how, preferred, policy, self_test=self_test)
    if first is None:
        raise OptionError("name the file of the runs, or measure them with --run")
    share = share_of(session_cv)
    open_it = functools.partial(opened, values=values, read=read or named_reader(reader), better=preferred)
    one = open_it(first)
    if self_test:
        if second is not None:
            raise OptionError("--self-test is of the runs of one version in one table; leave out the second file")
        return _self_test(one, policy["threshold"], version, base)
    if commit is None and one.reader in _HISTORIES:
        commit = "commit"
    if commit is not None:
        from perf_gate.history.gate import gate_history

        if second is not None:
            raise OptionError("--commit is of one history; leave out the second file")
        return gate_history(
            one,
            commit,
            since=since,
            threshold=1.0 if threshold is None else threshold,
            machine=machine,
            undecided=policies[undecided],
        )
    if since is not None or machine is not None:
        raise OptionError("--since and --machine are of a history; name its column of commits with --commit")
    from perf_gate.versions.gate import gate_versions

    if second is None:
        one, other, default_names = one.split(version_column(one, version), (base, new))
    else:
        if version is not None or base is not None or new is not None:
            raise OptionError("--version, --base and --new choose versions in one file; leave out the second")
        other = open_it(second)
        default_names = names_of(one.source, other.source)
    return gate_versions(one, other, names or default_names, between=share, layout=layout, **policy)


def _of_own_runs(
    how: Measuring, better: Mapping[str, str], policy: Mapping[str, Any], *, self_test: bool
) -> VersionGate | SelfTest:
    """Versions that are measured here."""
    from perf_gate.reading.long_table import with_better
    from perf_gate.running.rounds import measured, measured_until_decided
    from perf_gate.versions.gate import gate_versions

    if self_test:
        return _self_test(with_better(measured(how), better), policy["threshold"], None, None)

    def judge(table: LongTable, plan: Sequence[Look]) -> VersionGate:
        one, other, names = with_better(table, better).split("version", list(how.versions))
        return gate_versions(one, other, names, plan=plan, **policy)

    return measured_until_decided(how, judge)


def _self_test(table: LongTable, limit: float, version: str | None, base: str | None) -> SelfTest:
    """One version of a table: the one that is named, or the first."""
    from perf_gate.self_test.self_test import self_test

    column = version_column(table, version) if base is not None else version or table.column_of_versions()
    return self_test(table if column is None else table.only(column, base), limit)


def add_to_history(
    history: str | os.PathLike[str],
    results: Any,
    *,
    commit: str,
    machine: str = "",
    value: str | Iterable[str] = (),
    better: str | Iterable[str] | None = None,
    read: ReadFile | None = None,
) -> Added:
    """Add what was measured of a commit to the file of a history.

    Parameters
    ----------
    history : str or path
        A file of JSON lines, made where it is not there.
    results : str, path, Measurements or pandas.DataFrame
        Runs of one commit; the median of each benchmark is kept.
    commit, machine : str
    value : str or several
        Columns that were measured.
    better, read : optional
        As of `gate`.

    Returns
    -------
    Added

    Raises
    ------
    InputError, DataError
        A file that is no history, a benchmark in another unit than so far, values that are no positive numbers.
    """
    from perf_gate.history.adding import append_rows, rows_to_add

    if not commit.strip():
        raise OptionError("--commit: a name is expected")
    values = [value] if isinstance(value, str) else list(value)
    table = opened(results, values, read, better=better_by_column(better))
    return append_rows(history, rows_to_add(table, commit, machine))
