"""What ``perf compare`` and ``perf validate`` do, in Python."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfcore.base import progress
from perfcore.base.errors import DataError, OptionError
from perfcore.data.kinds import kind_in_words, kind_of
from perfcore.data.measurements import Measurements
from perfcore.hooks.registry import registry
from perfcore.models.fitting import as_told, default_fitter, fit, resolve, types_to_read
from perfcore.models.model import Model, is_model_file, load
from perfcore.reading.recognise import read

if TYPE_CHECKING:
    from perf_gate.compare.comparison.comparison import Comparison
    from perf_gate.compare.verification.verification import Verification
    from perfcore.results import Result


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
    from perf_gate.compare.comparison.two_models import compare_models
    from perf_gate.compare.points import comparison_points

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
    from perf_gate.compare.verification.model_against_data import verify_model

    loaded = model if isinstance(model, Model) else load(model)
    if isinstance(data, (str, os.PathLike)):
        data = read(data, wanted=(Measurements,))
    return verify_model(loaded, data, interval, where)


def names_of(first: str | os.PathLike[str], second: str | os.PathLike[str]) -> tuple[str, str]:
    """What two files are called: without folders and endings where that tells them apart; A and B where nothing
    does.
    """
    short, full_paths = (Path(first).stem, Path(second).stem), (os.fspath(first), os.fspath(second))
    return next((names for names in (short, full_paths) if names[0] != names[1]), ("A", "B"))


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
