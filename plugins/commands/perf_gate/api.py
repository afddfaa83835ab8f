"""What ``perf gate``, ``perf gate record``, ``perf compare`` and ``perf validate`` do, in Python."""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from perf_tables.arguments import parse_share
from perfcore.base.errors import DataError, InputError, OptionError, UnknownNameError
from perfcore.hooks.parameters import OptionGroup, OptionsOfEach, OptionsOfSelected, names_of
from perfcore.hooks.registry import registry
from perfcore.reading import Read, read_file

if TYPE_CHECKING:
    from perf_gate.benchmark_runs import LongTable
    from perf_gate.comparison import Comparison
    from perf_gate.history import Added, HistoryGate
    from perf_gate.self_test import SelfTest
    from perf_gate.versions import InterimAnalysis, VersionGate
    from perfcore.models.model import Model
    from perfcore.report import Result

Named = str | os.PathLike[str]

_USUAL = 1.05  # times as slow
_NUMBER = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(?P<unit>x|%)?")


def gate(
    first: Any,
    second: Any = None,
    *,
    slower_than: str | float = _USUAL,
    version: str | None = None,
    base: str | None = None,
    new: str | None = None,
    value: str | Iterable[str] = (),
    better: str | Iterable[str] | None = None,
    design: str | None = None,
    session_cv: str | float | None = None,
    errors: str = "fwer",
    missing: str = "list",
    inconclusive: str = "inconclusive",
    strict: bool = False,
    read: Read | None = None,
) -> VersionGate:
    """Judge whether any benchmark of a version is slower than in another.

    Benchmarks are matched by name. Versions in interleaved rounds are compared round by round.

    Parameters
    ----------
    first, second : str, path, Measurements, pandas.DataFrame or sequence of float
        Runs of either version: a file, folder, pattern, or list with commas, each file of which is a session; or data
        in memory, also a list of numbers. Without `second`, `first` holds both in a column `version`, or two commands
        of hyperfine.
    slower_than : str or float
        Regression threshold, 1.05x or 5%.
    version, base, new : str, optional
        Column of versions, and the two of them that are compared.
    value, better, design, session_cv, errors, missing, inconclusive, strict
        As the options of ``perf gate``.
    read : callable, optional
        Reads files: takes a path and the wanted types.

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
    ('fail', 1)
    >>> perfcore.gate([1.01, 1.0, 1.02, 0.99, 1.0], [1.31, 1.3, 1.33, 1.29, 1.3]).outcome.value
    'fail'
    """
    from perf_gate.benchmark_files import names_of, opened
    from perf_gate.versions import DESIGNS, gate_versions

    policy = _policy(slower_than, errors, missing, inconclusive, strict)
    if design is not None:
        _one_of(design, DESIGNS, "--design")
    share = None if session_cv is None else parse_share(session_cv, "--session-cv", most=10.0)
    one = opened(first, value, read, better)
    if second is None:
        one, other, names = one.split(_version_column(one, version), (base, new))
    else:
        if version is not None or base is not None or new is not None:
            raise OptionError("--version, --base and --new choose versions in one file; leave out the second")
        other = opened(second, value, read, better)
        are_files = isinstance(first, (str, os.PathLike)) or isinstance(second, (str, os.PathLike))
        names = names_of(one.source, other.source) if are_files else ("old", "new")
    return gate_versions(one, other, names, between=share, design=design, **policy)


def gate_history(
    history: Any,
    commit: str | None = None,
    *,
    since: str | None = None,
    slower_than: str | float | None = None,
    value: str | Iterable[str] = (),
    better: str | Iterable[str] | None = None,
    missing: str = "list",
    inconclusive: str = "inconclusive",
    parallel: str | None = None,
    read: Read | None = None,
) -> HistoryGate:
    """Judge whether any benchmark, or all together, became slower in the newest commits of a history.

    Parameters
    ----------
    history : str, path, Measurements or pandas.DataFrame
        A table with a column of commits, a folder of results of asv, ``data.js`` of github-action-benchmark.
    commit : str, optional
        Column of commits (default: commit, sha, revision, version or date).
    since : str, optional
        Changes after this commit are new (default: in the last 12 commits).
    slower_than : str or float, optional
        Smallest change that fails, such as 5% (default: any).
    value, better, missing, inconclusive
        As the options of ``perf gate``; with ``missing="fail"`` a benchmark that ended fails.
    parallel : str, optional
        Workers that look for steps: ``"local:4"`` or ``"dask://HOST:PORT"``.
    read : callable, optional
        As of `gate`.

    Raises
    ------
    OptionError
        No column of commits, or one that isn't there.
    DataError
        Commits that have no order.
    """
    from perf_gate.benchmark_files import opened
    from perf_gate.history import gate_series

    policy = _policy(slower_than or _USUAL, "fwer", missing, inconclusive, False)
    table = opened(history, value, read, better)
    column = commit or table.column_of("commit")
    if column is None:
        raise OptionError(f"{table.source}: no column of commits; name it with --commit")
    threshold = 1.0 if slower_than is None else policy["threshold"]
    chosen = {name: policy[name] for name in ("missing_fails", "undecided")}
    return gate_series(table, column, since=since, threshold=threshold, parallel=parallel, **chosen)


def gate_run(
    versions: Mapping[str, str | Sequence[str]],
    points: Any = None,
    *,
    slower_than: str | float = _USUAL,
    value: str | Iterable[str] = (),
    better: str | Iterable[str] | None = None,
    errors: str = "fwer",
    missing: str = "list",
    inconclusive: str = "inconclusive",
    strict: bool = False,
    max_rounds: int = 40,
    budget: str | float | None = None,
    warmup: int = 1,
    store: Named | None = None,
    launcher: str = "local",
    limit: str | float | None = None,
) -> VersionGate:
    """Measure two versions in turn until it is decided whether one is slower, or the rounds or the budget end.

    Parameters
    ----------
    versions : mapping of str to str or sequence of str
        Program and arguments of both versions by their names.
    points : str or path, optional
        A design of points to measure (.toml).
    slower_than, value, better, errors, missing, inconclusive, strict
        As of `gate`; ``value`` is NAME=REGEX, found in the output.
    max_rounds, budget, warmup, store, launcher, limit
        As the options of ``perf gate --run``.

    Examples
    --------
    >>> import perfcore
    >>> perfcore.gate_run({"old": "sleep 0.01", "new": "sleep 0.1"}, warmup=0).outcome.value
    'fail'
    """
    from perf_gate.benchmark_runs import with_better
    from perf_gate.interleaved_rounds import Measuring, measured_until_decided
    from perf_gate.versions import gate_versions

    policy = _policy(slower_than, errors, missing, inconclusive, strict)
    how = Measuring(versions, points, value, max_rounds, budget, warmup, store, launcher, limit)

    def judge(table: LongTable, plan: Sequence[InterimAnalysis]) -> VersionGate:
        one, other, names = with_better(table, better).split("version", list(versions))
        return gate_versions(one, other, names, plan=plan, **policy)

    return measured_until_decided(how, judge)


def gate_self_test(
    runs: Any = None,
    versions: Mapping[str, str | Sequence[str]] | None = None,
    *,
    slower_than: str | float = _USUAL,
    version: str | None = None,
    base: str | None = None,
    value: str | Iterable[str] = (),
    better: str | Iterable[str] | None = None,
    max_rounds: int = 40,
    budget: str | float | None = None,
    warmup: int = 1,
    store: Named | None = None,
    launcher: str = "local",
    limit: str | float | None = None,
    read: Read | None = None,
) -> SelfTest:
    """Compare one version with itself: noise, share of false alarms, rounds that a limit needs.

    Parameters
    ----------
    runs : str, path, Measurements or pandas.DataFrame, optional
        Runs of one version; with `versions` a design of points to measure.
    versions : mapping of str to str or sequence of str, optional
        The one version to measure.
    slower_than, version, base, value, better, max_rounds, budget, warmup, store, launcher, limit, read
        As of `gate` and `gate_run`.
    """
    from perf_gate.benchmark_files import opened
    from perf_gate.benchmark_runs import with_better
    from perf_gate.interleaved_rounds import Measuring, measured
    from perf_gate.self_test import self_test

    if versions is None:
        table = opened(runs, value, read, better)
        column = _version_column(table, version) if base is not None else version or table.column_of("version")
        table = table if column is None else table.only(column, base)
    else:
        how = Measuring(versions, runs, value, max_rounds, budget, warmup, store, launcher, limit)
        table = with_better(measured(how), better)
    return self_test(table, _factor_of(slower_than))


def _factor_of(factor: str | float) -> float:
    """Return how many times as slow is too slow: ``"1.05x"``, ``"5%"``."""
    text = str(factor).strip()
    match = _NUMBER.fullmatch(text)
    number = math.nan if match is None else float(match["number"])
    if match is not None and match["unit"] == "%":
        number = 1.0 + number / 100.0
    if not 1.0 < number < math.inf:
        raise OptionError(f"--slower-than {text}: above 1 is expected, such as 1.05x or 5%")
    return number


def _one_of(word: str, choices: Sequence[str], option: str) -> str:
    """Return one of the words that an option takes."""
    if word not in choices:
        raise UnknownNameError(option, word, choices)
    return word


def _version_column(table: LongTable, column: str | None) -> str:
    """Return the column that identifies the version."""
    chosen = column or table.column_of("version")
    if chosen is not None:
        return chosen
    if table.reader == "hyperfine" and table.labels["command"].nunique() == 2:
        return "command"
    raise OptionError(
        f"{table.source}: nothing to compare with. Name a second file, or the column of versions "
        "with --version COLUMN, or for a history the column of commits with --commit"
    )


def _policy(slower_than: str | float, errors: str, missing: str, inconclusive: str, strict: bool) -> dict[str, Any]:
    from perf_statistics.gating import ERRORS, Outcome

    outcomes = {outcome.value: outcome for outcome in Outcome}
    return {
        "threshold": _factor_of(slower_than),
        "errors": _one_of(errors, ERRORS, "--errors"),
        "missing_fails": _one_of(missing, ("list", "fail"), "--missing") == "fail",
        "undecided": outcomes[_one_of(inconclusive, tuple(outcomes), "--inconclusive")],
        "is_strict": strict,
    }


def add_to_history(
    history: Annotated[Named, Argument(metavar="HISTORY", help="History file (.jsonl); created if missing.")],
    results: Annotated[Any, Argument(metavar="RESULTS", help="Runs of one commit: a file, folder or pattern.")],
    *,
    commit: Annotated[str, Option(metavar="NAME", help="The commit that was measured.")],
    machine: Annotated[str, Option(metavar="NAME", help="Machine of the measurement (default: from the file).")] = "",
    value: Annotated[
        str | Iterable[str], Option(metavar="COLUMN", help="Measured value (default: by the format).")
    ] = (),
    better: Annotated[
        str | Iterable[str] | None,
        Option(metavar="[COLUMN=]larger|smaller", help="Direction of improvement (default: by unit)."),
    ] = None,
    read: Annotated[Read | None, OptionGroup("perfcore.cli.reading:HowToRead", "read_with_format")] = None,
) -> Added:
    """Add the medians of RESULTS to HISTORY, all or none, for `perf gate HISTORY --commit commit`.

    Parameters
    ----------
    read : callable, optional
        As of `gate`.

    Raises
    ------
    InputError, DataError
        A file that is no history, a benchmark in another unit than so far, values that are no positive numbers.

    Examples
    --------
    As a command::

        perf gate record history.jsonl bench.json --commit "$GITHUB_SHA"
        perf gate history.jsonl --commit commit
    """
    from perf_gate.benchmark_files import opened
    from perf_gate.history import append_rows, rows_to_add

    if not commit.strip():
        raise OptionError("--commit: a name is expected")
    return append_rows(history, rows_to_add(opened(results, value, read, better), commit, machine))


def compare(
    first: Annotated[Any, Argument(metavar="FIRST", help="A model file (.json), or data, which are fitted.")],
    second: Annotated[Any, Argument(metavar="SECOND", help="A model file (.json), or data, which are fitted.")],
    at: Annotated[
        str | Iterable[str] | Mapping[str, Any],
        Option(
            metavar="NAME=...",
            help="Points, such as p=64,128, t=0..100:10 or p=1..1024*2,n=100; names for codes and systems.",
        ),
    ] = (),
    *,
    fitter: Annotated[
        str | None,
        Option(metavar="NAME", autocompletion=names_of("fitters"), help="Fitter for data (default: by their kind)."),
    ] = None,
    by: Annotated[
        Literal["operator", "kernel", "shape"] | None,
        Option(help="Unit of comparison of GPU traces (default: operators where recorded, else kernels)."),
    ] = None,
    names: tuple[str, str] | None = None,
    read: Annotated[Read, OptionGroup("perf_traces.options:HowToReadTraces", "read_file")] = read_file,
    **options: Annotated[Any, OptionsOfSelected("fitters", "fitter")],
) -> Comparison | Result:
    """Compare FIRST and SECOND: models that `perf fit -o` wrote (.json), or data, which are fitted.

    Reports their ratio with its uncertainty, and for models by category or path which of these make the difference.
    Phases of two runs are matched in order, without ``--at``. Two GPU traces of PyTorch are compared by operator: which
    are new, gone or changed, and what adds up to the difference of the runs.
    Exit status: 0; 2 a mistake; 3 something could not be fitted. For verdicts use `perf gate`.

    Parameters
    ----------
    first, second : Model, data, str or path
        Or either in memory. Their data must not depend on each other.
    at : mapping, str, or iterable of str
        Repeatable. In Python also ``{"p": [64, 256], "n": 100}``: every combination. Differences are shown at the
        last point.
    by : {"operator", "kernel", "shape"}, optional
    names : pair of str, optional
        What the two are called; by default as their files.
    read : callable, optional
        Reads files; takes a path and the wanted types.
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
    As a command::

        perf compare old.json new.json --at P=16..4096*2 --at D=256
        perf compare old.csv new.csv --fitter modgen --parameter P,D --at P=16..1024*2,D=256
        perf compare old.json.gz new.json.gz --by kernel

    >>> import pandas as pd, perfcore
    >>> p = [1, 2, 4, 8, 16]
    >>> old, new = (pd.DataFrame({"p": p, "time_s": [8 / n + rest for n in p]}) for rest in (1, 2))
    >>> comparison = perfcore.compare(old, new, at="p=1,8", fitter="individual", functions="1/p,1")
    >>> comparison.ratio.round(3).tolist()
    [1.111, 1.5]
    """
    from perf_gate.benchmark_files import names_of
    from perf_gate.comparison import compare_models, comparison_points, model_or_data, two_models
    from perfcore.models.fitting import resolve

    # Wrong options are refused before long files are read.
    if fitter is not None:
        resolve(registry().entry("fitters", fitter), options)
    if isinstance(first, str) and isinstance(second, str):
        names = names or names_of(first, second)
    if fitter is None and not options and not at:
        from perf_gate.gpu_differences import compare_gpu_traces

        difference = compare_gpu_traces(first, second, names or ("A", "B"), by)
        if difference is not None:
            return difference
    elif by is not None:
        raise OptionError("--by compares GPU traces, without --at and --fitter")
    sides = model_or_data(first, fitter, read), model_or_data(second, fitter, read)
    try:
        one, other = two_models(*sides, fitter, options)
    except DataError as error:  # of runs at one point
        problem, mark, _ = str(error).partition("1 distinct point")
        if not mark or not isinstance(first, str) or not isinstance(second, str):
            raise
        gate = f"perf gate {shlex.quote(first)} {shlex.quote(second)}"
        raise DataError(f"{problem}{mark}, of which no model can be made; to compare the runs: {gate}") from None
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


def validate(
    model: Annotated[
        Model | Named, Argument(metavar="MODEL", help="A file that `perf fit -o` wrote, or predictions (.json).")
    ],
    data: Annotated[Any, Argument(metavar="DATA", help="A file, - for standard input, a folder, or a quoted pattern.")],
    *,
    interval: Annotated[
        float | None, Option(metavar="X", help="Coverage of the intervals to check (default: 0.95).")
    ] = None,
    where: Annotated[
        str | None, Option(metavar="COND,...", help="Only rows that meet all conditions (default: those of the fit).")
    ] = None,
    output: Annotated[
        Named | None,
        Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the correction of predictions that --recalibrate finds (.json).",
        ),
    ] = None,
    read: Annotated[Read, OptionGroup("perf_traces.options:HowToReadTraces", "read_file")] = read_file,
    **options: Annotated[Any, OptionsOfEach("models", "validation")],
) -> Result:
    """Compare what MODEL predicts with the measurements DATA: errors, and how often the intervals hold.

    Of a fitted model, columns, units and the selection of rows are those of the fit. Predictions are a list of values
    as `perf stochastic` and `perf predict --interval` print them, or such values one after another, one for each run; a
    single one counts for all. DATA then is a CSV table with a row for each run.

    Parameters
    ----------
    model : Model, str or path
        Or a model in memory, of any fitter whose variables are columns of the data, or that says itself how it sees
        them (`perfcore.Model.observed`).
    interval : float, 0 to 1, optional
    read : callable, optional
        Reads files; takes a path and the wanted types.
    **options
        Of predictions.

    Returns
    -------
    Verification
        Of a fitted model; for predictions a judgement or a recalibration.

    Raises
    ------
    OptionError
        The coverage or a condition is none.
    DataError
        The data are no measurements, lack a column, are in another unit, or there is nothing to compare.

    Examples
    --------
    As a command::

        perf fit profile.csv --fitter modgen --holdout 20% -o model.json
        perf validate model.json profile.csv --plot validated.png
        perf validate predictions.json runs.csv --column time_s --plot validated.png
        perf validate predictions.json runs.csv --recalibrate -o correction.json

    >>> import pandas as pd, perfcore
    >>> runs = pd.DataFrame({"p": [1, 2, 4, 8], "time_s": [9.0, 5.0, 3.0, 2.0]})
    >>> model = perfcore.fit(runs, fitter="individual", functions="1/p,1")
    >>> later = pd.DataFrame({"p": [16, 32], "time_s": [3.0, 2.5]})
    >>> perfcore.validate(model, later).errors.round(3).tolist()
    [-0.5, -0.5]
    """
    from perf_gate.verification import verify_model
    from perfcore.data.measurements import Measurements
    from perfcore.models.model import Model, is_model_file, load, model_file_entry

    if not isinstance(model, Model) and (entry := model_file_entry(model)) is not None:
        if "validation" not in entry.default_for:
            raise OptionError(f"{model} is not validated as it is: `perf predict` gives its predictions")
        if interval is not None or where is not None:
            raise OptionError(f"--interval and --where are for fitted models; {model} holds predictions")
        target = None if output is None else os.fspath(output)
        result: Result = entry.load().read(model).validate(data, target, **options)
        return result
    if not isinstance(model, Model) and not is_model_file(model):
        what = "is neither a model that `perf fit -o` wrote nor predictions in JSON"
        raise InputError(model, what if Path(model).exists() else "there is no such file")
    if given := [name for name, value in options.items() if value] + (["output"] if output else []):
        raise OptionError(f"--{given[0]} is for predictions; {model} is a fitted model")
    loaded = model if isinstance(model, Model) else load(model)
    if isinstance(data, (str, os.PathLike)):
        data = read(os.fspath(data), (Measurements,))
    return verify_model(loaded, data, 0.95 if interval is None else interval, where)
