"""What ``perf gate``, ``perf gate record``, ``perf compare`` and ``perf validate`` do, in Python."""

from __future__ import annotations

import functools
import itertools
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf_gate.benchmark_files import read_set
from perf_gate.benchmark_runs import BETTER, LongTable, long_table, with_better
from perf_tables.arguments import parse_duration
from perfcore.base import progress
from perfcore.base.errors import DataError, OptionError, UnknownNameError
from perfcore.data.kinds import kind_in_words, kind_of
from perfcore.data.measurements import Measurements
from perfcore.hooks.registry import registry
from perfcore.models.fitting import as_told, default_fitter, fit, resolve, types_to_read
from perfcore.models.model import Model, is_model_file, load
from perfcore.reading.recognise import read

if TYPE_CHECKING:
    from perf_gate.comparison import Comparison
    from perf_gate.history import Added, HistoryGate
    from perf_gate.interim_analyses import InterimAnalysis
    from perf_gate.interleaved_rounds import Measuring
    from perf_gate.self_test import SelfTest
    from perf_gate.verification import Verification
    from perf_gate.versions import VersionGate
    from perfcore.reading.recognise import Reading
    from perfcore.results import Result


ReadFile = Callable[[str, Sequence[type]], "Reading"]

_NUMBER = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(?P<unit>x|%)?")


def factor_of(factor: str | float) -> float:
    """How many times as slow is too slow: ``"1.05x"``, ``"5%"``."""
    text = str(factor).strip()
    match = _NUMBER.fullmatch(text)
    number = math.nan if match is None else float(match["number"])
    if match is not None and match["unit"] == "%":
        number = 1.0 + number / 100.0
    if not 1.0 < number < math.inf:
        raise OptionError(f"--slower-than {text}: above 1 is expected, such as 1.05x or 5%")
    return number


def share_of(share: str | float) -> float:
    """How much sessions differ: ``"2%"``, 0.02."""
    text = str(share).strip()
    match = _NUMBER.fullmatch(text)
    number = math.nan if match is None or match["unit"] == "x" else float(match["number"])
    number /= 100.0 if text.endswith("%") else 1.0
    if not 0.0 <= number < 10.0:
        raise OptionError(f"--session-cv {text}: a share is expected, such as 2%")
    return number


def one_of(word: str, choices: Sequence[str], option: str) -> str:
    """One of the words that an option takes."""
    if word not in choices:
        raise UnknownNameError(option, word, choices)
    return word


def better_by_column(better: str | Iterable[str] | None) -> dict[str, str]:
    """Which values are better, by column; of all others under the empty name."""
    directions = {}
    for text in [better] if isinstance(better, str) else better or ():
        column, _, word = text.rpartition("=")
        directions[column.strip()] = one_of(word.strip(), BETTER, "--better")
    return directions


def versions_of(texts: Sequence[str]) -> dict[str, str]:
    """Versions and their commands: ``old=./old/app input``."""
    commands: dict[str, str] = {}
    for text in texts:
        name, equals, command = (part.strip() for part in text.partition("="))
        if not equals or not name or not command:
            raise OptionError(f"--version {text!r}: with --run NAME=COMMAND is expected, such as old='./old/app input'")
        if name in commands:
            raise OptionError(f"--version {name}: the name stands there twice")
        commands[name] = command
    return commands


def named_reader(reader: str | None) -> ReadFile:
    """What reads files by the name of a format, or tells the format."""
    from perfcore.reading.recognise import read_named

    return lambda path, types: read_named(path, reader=reader, wanted=types)


def opened(
    side: Any, values: Sequence[str] = (), read: ReadFile | None = None, better: Mapping[str, str] | None = None
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


def names_of(first: str | os.PathLike[str], second: str | os.PathLike[str]) -> tuple[str, str]:
    """What two files, folders or patterns are called: without folders and endings where that tells them apart."""
    first, second = os.fspath(first), os.fspath(second)
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
    from perf_gate.versions import LAYOUTS
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
        from perf_gate.interleaved_rounds import Measuring

        others = {"SECOND": second, "--commit": commit, "--since": since, "--machine": machine, "--base": base}
        for option, option_value in {**others, "--new": new, "--layout": layout, "--session-cv": session_cv}.items():
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
            None if budget is None else parse_duration(str(budget)) / 1e9,
        )
        return _of_own_runs(how, preferred, policy, self_test=self_test)
    if first is None:
        raise OptionError("name the file of the runs, or measure them with --run")
    share = None if session_cv is None else share_of(session_cv)
    open_it = functools.partial(opened, values=values, read=read or named_reader(reader), better=preferred)
    one = open_it(first)
    if self_test:
        if second is not None:
            raise OptionError("--self-test is of the runs of one version in one table; leave out the second file")
        return _self_test(one, policy["threshold"], version, base)
    if commit is None and one.reader in _HISTORIES:
        commit = "commit"
    if commit is not None:
        from perf_gate.history import gate_history

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
    from perf_gate.versions import gate_versions

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
    from perf_gate.interleaved_rounds import measured, measured_until_decided
    from perf_gate.versions import gate_versions

    if self_test:
        return _self_test(with_better(measured(how), better), policy["threshold"], None, None)

    def judge(table: LongTable, plan: Sequence[InterimAnalysis]) -> VersionGate:
        one, other, names = with_better(table, better).split("version", list(how.versions))
        return gate_versions(one, other, names, plan=plan, **policy)

    return measured_until_decided(how, judge)


def _self_test(table: LongTable, limit: float, version: str | None, base: str | None) -> SelfTest:
    """One version of a table: the one that is named, or the first."""
    from perf_gate.self_test import self_test

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
    from perf_gate.history import append_rows, rows_to_add

    if not commit.strip():
        raise OptionError("--commit: a name is expected")
    values = [value] if isinstance(value, str) else list(value)
    table = opened(results, values, read, better=better_by_column(better))
    return append_rows(history, rows_to_add(table, commit, machine))


def compare(
    first: Any,
    second: Any,
    at: str | Iterable[str] | Mapping[str, Any] = (),
    *,
    fitter: str | None = None,
    names: tuple[str, str] | None = None,
    **options: Any,
) -> Comparison | Result:
    """Compare two models, or two versions of a program by models of the same kind.

    Parameters
    ----------
    first, second : Model, data, str or path
        Models, data that are fitted first, or the file of one of these. Their data must not depend on each other.
    at : mapping, str, or iterable of str
        Points, every combination: ``{"p": [64, 256], "n": 100}`` or ``"p=64..256*2,n=100"``
        (`perf_tables.arguments.levels_at`). Crossings are looked for along the first variable that varies, and what
        differs is told at the last point.
    fitter : str, optional
        What fits data; by default what is registered for their kind.
    names : pair of str, optional
        What the two are called; by default as their files.
    **options
        Of the fitter.

    Returns
    -------
    Comparison
        Or another result for models that compare themselves (`perfcore.Model.compared_with`), such as phases.

    Raises
    ------
    OptionError
        A point or option is none, or the models are of different variables.
    DataError
        Two data sets of different kinds without a fitter, different units, or no value at a point.

    Examples
    --------
    >>> import pandas as pd, perfcore
    >>> p = [1, 2, 4, 8, 16]
    >>> old, new = (pd.DataFrame({"p": p, "time_s": [8 / n + rest for n in p]}) for rest in (1, 2))
    >>> comparison = perfcore.compare(old, new, at="p=1,8", fitter="individual", functions="1/p,1")
    >>> comparison.ratio.round(3).tolist()
    [1.111, 1.5]
    """
    from perf_gate.comparison import compare_models, comparison_points

    # What is wrong with the options is said before long files are read.
    if fitter is not None:
        resolve(registry().entry("fitters", fitter), options)
    sides = _opened(first, fitter), _opened(second, fitter)
    one, other = _models(*sides, fitter, options)
    files = [
        side if isinstance(side, (str, os.PathLike)) else model.origin.source
        for side, model in ((first, one), (second, other))
    ]
    names = names or names_of(*files)
    if (specific := one.compared_with(other, names)) is not None:
        if at:
            raise OptionError(f"--at: models of the kind {one.kind!r} are compared part by part, not at points")
        return specific
    return compare_models(one, other, comparison_points(one, at), names)


def verify(
    model: Model | str | os.PathLike[str], data: Any, interval: float = 0.95, where: str | None = None
) -> Verification:
    """Compare what a model predicts with measurements, apart for those that it was fitted to where it knows them.

    Parameters
    ----------
    model : Model, str or path
        Of any fitter whose variables are columns of the data, or that says itself how it sees them
        (`perfcore.Model.observed`).
    data : Measurements, pandas.DataFrame, str or path
    interval : float, 0 to 1
        Coverage of the bounds that are checked.
    where : str, optional
        Conditions on the rows, instead of those of the fit.

    Returns
    -------
    Verification

    Raises
    ------
    OptionError
        The coverage or a condition is none.
    DataError
        The data are no measurements, lack a column, are in another unit, or there is nothing to compare.

    Examples
    --------
    >>> import pandas as pd, perfcore
    >>> runs = pd.DataFrame({"p": [1, 2, 4, 8], "time_s": [9.0, 5.0, 3.0, 2.0]})
    >>> model = perfcore.fit(runs, fitter="individual", functions="1/p,1")
    >>> later = pd.DataFrame({"p": [16, 32], "time_s": [3.0, 2.5]})
    >>> perfcore.verify(model, later).errors.round(3).tolist()
    [-0.5, -0.5]
    """
    from perf_gate.verification import verify_model

    loaded = model if isinstance(model, Model) else load(model)
    if isinstance(data, (str, os.PathLike)):
        data = read(data, wanted=(Measurements,))
    return verify_model(loaded, data, interval, where)


def _opened(side: Any, fitter: str | None) -> Any:
    """A model or data."""
    if not isinstance(side, (str, os.PathLike)):
        return side
    return load(side) if is_model_file(side) else read(side, wanted=types_to_read(fitter))


def _models(first: Any, second: Any, fitter: str | None, options: Mapping[str, Any]) -> tuple[Model, Model]:
    """Both sides as models; data are fitted."""
    unfitted = [side for side in (first, second) if not isinstance(side, Model)]
    if fitter is None and unfitted:
        datasets = [as_told(side, options) for side in unfitted]
        if len({kind_of(data) for data in datasets}) > 1:
            kinds = " and ".join(f"{data.source} ({kind_in_words(data)})" for data in datasets)
            raise DataError(f"{kinds} are data of different kinds; name what fits both with --fitter")
        fitter, note = default_fitter(unfitted[0], options)
        progress.note(note)
    one, other = (side if isinstance(side, Model) else fit(side, fitter=fitter, **options) for side in (first, second))
    return one, other
