"""What ``perf gate`` does, in Python."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf_gate.arguments import factor_of, one_of, share_of
from perfcore.base.errors import OptionError

if TYPE_CHECKING:
    from perf_gate.history.adding import Added
    from perf_gate.history.gate import HistoryGate
    from perf_gate.reading.long_table import LongTable
    from perf_gate.versions.gate import VersionGate

__all__ = ["add_to_history", "gate"]

_VERSIONS = ("version", "build", "revision", "branch", "variant")  # what columns that tell versions apart are called
_USUAL = 1.05  # times as slow
_HISTORIES = ("asv", "benchmark-action")


def gate(
    first: Any,
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
    better: str | None = None,
    layout: str | None = None,
    between: str | float | None = None,
    errors: str = "fwer",
    missing: str = "list",
    undecided: str = "undecided",
    names: tuple[str, str] | None = None,
    reader: str | None = None,
) -> VersionGate | HistoryGate:
    """Judge whether any benchmark of a second version is slower than in the first, or became slower in a history.

    Parameters
    ----------
    first : str, path, Measurements, pandas.DataFrame
        Runs of the first version, or of both: a file, a folder or pattern of files (each a session; as many of both
        versions are rounds), or what is in memory. Or a history: a table with a column of commits, a folder of results
        of asv, ``data.js`` of github-action-benchmark.
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
        Columns that were measured; by default what the format says.
    better : {"smaller", "larger"}, optional
        Which values are better; by default larger of rates, smaller of all else.
    layout : {"turn", "blocks", "sessions"}, optional
        How runs lie in time: versions in turn, one after the other, or in sessions that nobody can compare. By default
        what rounds, times and files show.
    between : str or float, optional
        Standard deviation between sessions of the same version, as a share: ``"2%"``.
    errors : {"fwer", "fdr"}
        Keep at 5 % the chance of any false alarm, or the share of alarms that are false.
    missing : {"list", "fail"}
        What benchmarks do that only one version has.
    undecided : {"undecided", "pass", "fail"}
        What undecided counts as in `VersionGate.status`.
    names : pair of str, optional
        What the versions are called.
    reader : str, optional
        Format of the files.

    Returns
    -------
    VersionGate or HistoryGate

    Raises
    ------
    OptionError
        An option with a value that it does not take, a version that isn't there.
    DataError, InputError
        No benchmark in common, other units, values that are no positive numbers.

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
    """
    from perf_gate.reading.long_table import BETTER
    from perf_gate.versions.gate import gate_versions
    from perf_gate.versions.layouts import LAYOUTS
    from perf_gating.judging import Outcome
    from perf_gating.multiple_tests import ERRORS

    share = share_of(between)
    threshold = None if slower_than is None else factor_of(slower_than)
    one_of(errors, ERRORS, "--errors")
    one_of(missing, ("list", "fail"), "--missing")
    policies = {"undecided": Outcome.UNDECIDED, "pass": Outcome.PASSED, "fail": Outcome.FAILED}
    one_of(undecided, tuple(policies), "--undecided")
    for given, choices, option in ((better, BETTER, "--better"), (layout, LAYOUTS, "--layout")):
        if given is not None:
            one_of(given, choices, option)
    values = [value] if isinstance(value, str) else list(value)
    one = opened(first, values, reader)
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
            better=better,
            undecided=policies[undecided],
        )
    if since is not None or machine is not None:
        raise OptionError("--since and --machine are of a history; name its column of commits with --commit")
    if second is None:
        one, other, found = one.split(_version_column(one, version), (base, new))
    else:
        if version is not None or base is not None or new is not None:
            raise OptionError("--version, --base and --new choose versions in one file; leave out the second")
        other = opened(second, values, reader)
        found = _names_of(one.source, other.source)
    return gate_versions(
        one,
        other,
        names or found,
        threshold=_USUAL if threshold is None else threshold,
        errors=errors,
        between=share,
        layout=layout,
        better=better,
        missing_fails=missing == "fail",
        undecided=policies[undecided],
    )


def add_to_history(
    history: str | os.PathLike[str],
    results: Any,
    *,
    commit: str,
    machine: str = "",
    value: str | Iterable[str] = (),
    better: str | None = None,
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
    better : {"smaller", "larger"}, optional

    Returns
    -------
    Added

    Raises
    ------
    InputError, DataError
        A file that is no history, a benchmark in another unit than so far, values that are no positive numbers.
    """
    from perf_gate.history.adding import append_rows, rows_to_add
    from perf_gate.reading.long_table import BETTER

    if not commit.strip():
        raise OptionError("--commit: a name is expected")
    if better is not None:
        one_of(better, BETTER, "--better")
    values = [value] if isinstance(value, str) else list(value)
    return append_rows(history, rows_to_add(opened(results, values), commit, machine, better))


def opened(side: Any, values: Iterable[str] = (), reader: str | None = None) -> LongTable:
    """Runs in whatever form as a long table."""
    import pandas as pd

    from perf_gate.reading.long_table import LongTable, long_table
    from perf_gate.reading.sets import read_set
    from perfcore.data.measurements import Measurements
    from perfcore.reading.recognise import Reading, read_named

    if isinstance(side, LongTable):
        return side
    if isinstance(side, (str, os.PathLike)):
        return read_set(side, lambda path: read_named(path, reader=reader, wanted=(Measurements,)), list(values))
    data = Measurements(side) if isinstance(side, pd.DataFrame) else side
    return long_table(Reading(data, "", 1), list(values))


def _version_column(table: LongTable, told: str | None) -> str:
    """The column that tells versions apart.

    Raises
    ------
    OptionError
        It is not known.
    """
    if told is not None:
        return told
    for column in table.labels.columns:
        if str(column).strip().lower() in _VERSIONS:
            return str(column)
    if table.reader == "hyperfine" and table.labels["command"].nunique() == 2:
        return "command"
    raise OptionError(
        f"{table.source}: what is it to be compared with? Name a second file, or the column that tells versions apart "
        "with --version COLUMN, or for a history the column of commits with --commit"
    )


def _names_of(first: str, second: str) -> tuple[str, str]:
    """What two files are called: without folders and endings where that tells them apart."""
    for names in ((Path(first).stem, Path(second).stem), (first, second)):
        if names[0] != names[1]:
            return names
    return "A", "B"
