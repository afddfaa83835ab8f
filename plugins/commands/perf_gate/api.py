"""What ``perf gate``, ``perf gate record``, ``perf compare`` and ``perf validate`` do, in Python."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from perfcore.base import progress
from perfcore.base.errors import InputError, OptionError
from perfcore.base.files import check_files
from perfcore.hooks.parameters import Argument, Option, OptionGroup, OptionsOfEach, OptionsOfSelected
from perfcore.reading import Read, read_file

if TYPE_CHECKING:
    from perf_gate.comparison import Comparison
    from perf_gate.history import Added, HistoryGate
    from perf_gate.self_test import SelfTest
    from perf_gate.versions import VersionGate
    from perfcore.models.model import Model
    from perfcore.results import Result

Named = str | os.PathLike[str]

_USUAL = 1.05  # times as slow
_HISTORIES = ("asv", "benchmark-action")


def gate(
    first: Annotated[Any, Argument("FIRST")] = None,
    second: Annotated[Any, Argument("SECOND")] = None,
    *,
    slower_than: Annotated[str | float | None, Option(metavar="FACTOR")] = None,
    commit: Annotated[str | None, Option(metavar="COLUMN")] = None,
    since: Annotated[str | None, Option(metavar="COMMIT")] = None,
    version: Annotated[str | Sequence[str] | None, Option(metavar="COLUMN|NAME=COMMAND")] = None,
    base: Annotated[str | None, Option(metavar="NAME")] = None,
    new: Annotated[str | None, Option(metavar="NAME")] = None,
    value: Annotated[str | Iterable[str], Option("--value", "-v", metavar="COLUMN")] = (),
    better: Annotated[str | Iterable[str] | None, Option(metavar="[COLUMN=]larger|smaller")] = None,
    design: Annotated[str | None, Option(metavar="interleaved|blocked|sessions")] = None,
    session_cv: Annotated[str | float | None, Option(metavar="SHARE")] = None,
    errors: Annotated[str, Option(metavar="fwer|fdr")] = "fwer",
    missing: Annotated[str, Option(metavar="list|fail")] = "list",
    inconclusive: Annotated[str | None, Option(metavar="pass|fail")] = None,
    run: Annotated[bool | Mapping[str, str | Sequence[str]], Option("--run")] = False,
    max_rounds: Annotated[int, Option(metavar="N", minimum=1, needs="--run")] = 40,
    budget: Annotated[str | float | None, Option(metavar="DURATION", needs="--run")] = None,
    warmup: Annotated[int, Option(metavar="N", minimum=0, needs="--run")] = 1,
    store: Annotated[Named | None, Option(metavar="FILE", needs="--run")] = None,
    launcher: Annotated[str, Option(metavar="NAME|WORDS", needs="--run")] = "local",
    limit: Annotated[str | float | None, Option(metavar="DURATION", needs="--run")] = None,
    self_test: Annotated[bool, Option("--self-test")] = False,
    summary: Annotated[Named | None, Option(metavar="FILE")] = None,
    junit: Annotated[Named | None, Option(metavar="FILE")] = None,
    names: tuple[str, str] | None = None,
    reader: str | None = None,
    read: Annotated[Read | None, OptionGroup("perfcore.cli.reading:HowToRead", "read_with_format")] = None,
) -> VersionGate | HistoryGate | SelfTest:
    """Judge whether any benchmark of SECOND is slower than in FIRST, or became slower in a history.

    Benchmarks are matched by name. Versions in interleaved rounds are compared round by round:
    `perf experiment run --version` measures so, and ``--run`` does here. Exit status: 0 pass, all not
    slower; 1 fail, one is slower; 3 inconclusive; 2 wrong options or files.

    Parameters
    ----------
    first : str, path, Measurements or pandas.DataFrame
        Runs of the first version, or of both: a file, folder, pattern, or list with commas. Each file is a session, and
        several measure between-session variation. Or data in memory; or a history: a table with a column of commits, a
        folder of results of asv, ``data.js`` of github-action-benchmark. With ``run`` a design of points to measure.
    second : the same, optional
        Runs of the second version.
    slower_than : str or float, optional
        Regression threshold, 1.05x (default) or 5%; of a history any change.
    commit : str, optional
        For a history: column of commits; "commit" of formats that have it.
    since : str, optional
        Changes after this commit of a history are new (default: in the last 12 values).
    version : str or several, optional
        In one file: column of versions. With ``run``: a version and its command, once for each.
    base, new : str, optional
        One of the two versions in the column of versions.
    value : str or several
        Measured value (default: by the format); with --run NAME=REGEX, found in the output. May be repeated.
    better : str or several, optional
        Direction of improvement (default: by unit, larger of rates, smaller of all else). May be repeated.
    design : {"interleaved", "blocked", "sessions"}, optional
        Order of the runs: interleaved, one version after the other, or separate sessions (default: detected from
        rounds, times and dates).
    session_cv : str or float, optional
        Between-session variation, such as 2%: the standard deviation of one version's sessions (default: from several
        old files, otherwise from the run-to-run noise).
    errors : {"fwer", "fdr"}
        Correction for multiple tests at 5%: family-wise error rate or FDR.
    missing : {"list", "fail"}
        Treatment of benchmarks missing from one version.
    inconclusive : {"pass", "fail"}, optional
        Exit status of an inconclusive result (default: 3).
    run : bool, or mapping of str to str or sequence of str
        Measure the versions in turn, until it is decided; FIRST may be a design (.toml). In Python program and
        arguments of both versions by their names.
    max_rounds : int
        With --run: the most rounds.
    budget : str, or float in seconds, optional
        With --run: the most time, such as 10min.
    warmup : int, >= 0
        With --run: warm-up rounds to discard.
    store : path, optional
        With --run: keep the runs, and go on from those it has (.db). By default they are gone in the end.
    launcher : str
        With --run: as of `perf experiment run`.
    limit : str, or float in seconds, optional
        With --run: longest time of one run.
    self_test : bool
        A/A test of one version, in a file or with --run: noise, false-alarm rate, rounds needed.
    summary : path, optional
        Append Markdown for the page of a CI job (.md).
    junit : path, optional
        Write a JUnit report (.xml).
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
    As a command::

        perf gate old.json new.json --slower-than 1.05x
        perf gate 'old_*.json' 'new_*.json' --summary "$GITHUB_STEP_SUMMARY"
        perf gate --run --version old='./old/app in' --version new='./new/app in' --budget 10min
        perf gate history.jsonl --commit commit --plot history.png
        perf gate runs.csv --version build --base main --new branch --slower-than 3%
        perf gate --self-test --run --version app='./app in'

    >>> import pandas as pd, perfcore
    >>> rows = [
    ...     {"version": version, "round": number, "bench": "sort", "time_s": factor * (1.0 + 0.01 * (number % 3))}
    ...     for number in range(10)
    ...     for version, factor in (("old", 1.0), ("new", 1.2))
    ... ]
    >>> verdict = perfcore.gate(pd.DataFrame(rows), slower_than="1.05x")
    >>> verdict.outcome.value, verdict.status
    ('fail', 1)
    >>> perfcore.gate(run={"old": "sleep 0.01", "new": "sleep 0.1"}, warmup=0).outcome.value
    'fail'
    """
    from perf_gate.sides import (
        better_by_column,
        factor_of,
        gate_own_runs,
        names_of,
        one_of,
        opened,
        self_test_of,
        share_of,
        version_column,
        versions_of,
    )
    from perf_gate.versions import DESIGNS
    from perf_statistics.gating import ERRORS, Outcome

    one_of(errors, ERRORS, "--errors")
    one_of(missing, ("list", "fail"), "--missing")
    outcomes = {outcome.value: outcome for outcome in Outcome}
    open_counts_as = outcomes[one_of(inconclusive or Outcome.UNDECIDED, tuple(outcomes), "--inconclusive")]
    if design is not None:
        one_of(design, DESIGNS, "--design")
    threshold = None if slower_than is None else factor_of(slower_than)
    policy: dict[str, Any] = {
        "threshold": _USUAL if threshold is None else threshold,
        "errors": errors,
        "missing_fails": missing == "fail",
        "undecided": open_counts_as,
    }
    values, preferred = [value] if isinstance(value, str) else list(value), better_by_column(better)
    check_files(None, summary, junit)
    version_options = [version] if isinstance(version, str) else list(version or ())
    if run is True:
        if not version_options:
            raise OptionError("--run needs each version with --version NAME=COMMAND")
        run, version_options = versions_of(version_options), []
    if len(version_options) > 1:
        raise OptionError("--version is the column of versions, once; NAME=COMMAND belongs to --run")
    version = next(iter(version_options), None)

    def reported(verdict: VersionGate | HistoryGate | SelfTest) -> VersionGate | HistoryGate | SelfTest:
        if summary is not None or junit is not None:
            from perf_gate.presenters import append_markdown, write_junit

            if summary is not None:
                append_markdown(verdict, summary)
            if junit is not None:
                write_junit(verdict.title, verdict.cases, junit)
        return verdict

    if run:
        from perf_gate.interleaved_rounds import Measuring
        from perf_tables.arguments import parse_duration

        others = {"SECOND": second, "--commit": commit, "--since": since, "--base": base}
        for option, option_value in {**others, "--new": new, "--design": design, "--session-cv": session_cv}.items():
            if option_value is not None:
                raise OptionError(f"{option} does not go with --run, which measures the versions itself, in turn")
        budget_s = None if budget is None else parse_duration(str(budget)) / 1e9
        how = Measuring(run, first, store, values, launcher, limit, warmup, max_rounds, budget_s)
        try:
            return reported(gate_own_runs(how, preferred, policy, self_test=self_test))
        except KeyboardInterrupt:
            if store is not None:
                progress.note(f"all runs that ended are kept in {store}; the same call goes on")
            raise
    if first is None:
        raise OptionError("name the file of the runs, or measure them with --run")
    share = None if session_cv is None else share_of(session_cv)
    if self_test and second is not None:
        first = f"{first},{second}"
    one = opened(first, values, read, preferred, reader)
    if self_test:
        return reported(self_test_of(one, policy["threshold"], version, base))
    if commit is None and second is None and one.reader in _HISTORIES:
        commit = "commit"
    if commit is not None:
        from perf_gate.history import gate_history

        if second is not None:
            raise OptionError("--commit is of one history; leave out the second file")
        smallest = 1.0 if threshold is None else threshold
        return reported(gate_history(one, commit, since=since, threshold=smallest, undecided=open_counts_as))
    if since is not None:
        raise OptionError("--since is of a history; name its column of commits with --commit")
    from perf_gate.versions import gate_versions

    if second is None:
        one, other, default_names = one.split(version_column(one, version), (base, new))
    else:
        if version is not None or base is not None or new is not None:
            raise OptionError("--version, --base and --new choose versions in one file; leave out the second")
        other = opened(second, values, read, preferred, reader)
        default_names = names_of(one.source, other.source)
    return reported(gate_versions(one, other, names or default_names, between=share, design=design, **policy))


def add_to_history(
    history: Annotated[Named, Argument("HISTORY")],
    results: Annotated[Any, Argument("RESULTS")],
    *,
    commit: Annotated[str, Option(metavar="NAME")],
    machine: Annotated[str, Option(metavar="NAME")] = "",
    value: Annotated[str | Iterable[str], Option(metavar="COLUMN")] = (),
    better: Annotated[str | Iterable[str] | None, Option(metavar="[COLUMN=]larger|smaller")] = None,
    read: Annotated[Read | None, OptionGroup("perfcore.cli.reading:HowToRead", "read_with_format")] = None,
) -> Added:
    """Add the medians of RESULTS to HISTORY, all or none, for `perf gate HISTORY --commit commit`.

    Parameters
    ----------
    history : str or path
        History file (.jsonl); created if missing.
    results : str, path, Measurements or pandas.DataFrame
        Runs of one commit: a file, folder or pattern.
    commit : str
        The commit that was measured.
    machine : str
        Machine of the measurement (default: from the file).
    value : str or several
        Measured value (default: by the format).
    better : str or several, optional
        Direction of improvement (default: by unit). May be repeated.
    read : callable, optional
        As of `gate`.

    Returns
    -------
    Added

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
    from perf_gate.history import append_rows, rows_to_add
    from perf_gate.sides import better_by_column, opened

    if not commit.strip():
        raise OptionError("--commit: a name is expected")
    values = [value] if isinstance(value, str) else list(value)
    table = opened(results, values, read, better_by_column(better))
    return append_rows(history, rows_to_add(table, commit, machine))


def compare(
    first: Annotated[Any, Argument("FIRST")],
    second: Annotated[Any, Argument("SECOND")],
    at: Annotated[str | Iterable[str] | Mapping[str, Any], Option(metavar="NAME=...")] = (),
    *,
    fitter: Annotated[str | None, Option(metavar="NAME", completes="fitters")] = None,
    by: Annotated[Literal["operator", "kernel", "shape"] | None, Option()] = None,
    per: Annotated[Literal["step"] | None, Option()] = None,
    names: tuple[str, str] | None = None,
    read: Annotated[Read, OptionGroup("perf_traces.reading:HowToReadTraces", "read_file")] = read_file,
    **options: Annotated[Any, OptionsOfSelected("fitters", "fitter")],
) -> Comparison | Result:
    """Compare FIRST and SECOND: models that `perf fit -o` wrote (.json), or data, which are fitted.

    Reports where they cross along the first parameter that varies, their ratio with its uncertainty, and for models by
    category or path which of these make the difference. Phases of two runs are matched
    in order, without ``--at``. Two GPU traces of PyTorch are compared by operator: which are new, gone or changed, and
    what adds up to the difference of the runs.
    Exit status: 0; 2 a mistake; 3 something could not be fitted. For verdicts use `perf gate`.

    Parameters
    ----------
    first, second : Model, data, str or path
        A model file (.json), or data, which are fitted. Or either in memory. Their data must not depend on each other.
    at : mapping, str, or iterable of str
        Points, such as p=64,128, t=0..100:10 or p=1..1024*2,n=100; names for codes and systems. Repeatable.
        In Python also ``{"p": [64, 256], "n": 100}``: every combination. Crossings are looked for along the first
        variable that varies, and differences are shown at the last point.
    fitter : str, optional
        Fitter for data (default: by their kind).
    by : {"operator", "kernel", "shape"}, optional
        Unit of comparison of GPU traces (default: operators where recorded, else kernels).
    per : {"step"}, optional
        Times of GPU traces for each step that is marked, of runs with different numbers of steps.
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
    from perf_gate.comparison import compare_models, comparison_points
    from perf_gate.sides import model_or_data, names_of, two_models
    from perfcore.hooks.registry import registry
    from perfcore.models.fitting import resolve

    # Wrong options are refused before long files are read.
    if fitter is not None:
        resolve(registry().entry("fitters", fitter), options)
    if isinstance(first, str) and isinstance(second, str):
        names = names or names_of(first, second)
    if fitter is None and not options and not at:
        from perf_gate.gpu_differences import compare_gpu_traces

        difference = compare_gpu_traces(first, second, names or ("A", "B"), by, per)
        if difference is not None:
            return difference
    elif by is not None or per is not None:
        raise OptionError("--by and --per compare GPU traces, without --at and --fitter")
    sides = model_or_data(first, fitter, read), model_or_data(second, fitter, read)
    one, other = two_models(*sides, fitter, options)
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
    model: Annotated[Model | Named, Argument("MODEL")],
    data: Annotated[Any, Argument("DATA")],
    *,
    interval: Annotated[float | None, Option(metavar="X")] = None,
    where: Annotated[str | None, Option(metavar="COND,...")] = None,
    output: Annotated[Named | None, Option("--output", "-o", metavar="FILE")] = None,
    read: Annotated[Read, OptionGroup("perf_traces.reading:HowToReadTraces", "read_file")] = read_file,
    **options: Annotated[Any, OptionsOfEach("models", "validation")],
) -> Result:
    """Compare what MODEL predicts with the measurements DATA: errors, and how often the intervals hold.

    Of a fitted model, columns, units and the selection of rows are those of the fit. Predictions are a list of values
    as `perf stochastic` and `perf predict --interval` print them, or such values one after another, one for each run; a
    single one counts for all. DATA then is a CSV table with a row for each run.

    Parameters
    ----------
    model : Model, str or path
        A file that `perf fit -o` wrote, or predictions (.json). Or a model in memory, of any fitter whose variables are
        columns of the data, or that says itself how it sees them (`perfcore.Model.observed`).
    data : Measurements, pandas.DataFrame, str or path
        A file, - for standard input, a folder, or a quoted pattern. Or data in memory.
    interval : float, 0 to 1, optional
        Coverage of the intervals to check (default: 0.95).
    where : str, optional
        Only rows that meet all conditions (default: those of the fit).
    output : path, optional
        Write the correction of predictions that ``--recalibrate`` finds (.json).
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
    from perfcore.models.model import Model, is_model_file, load
    from perfcore.models.opening import model_file_entry

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
