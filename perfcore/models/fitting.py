"""Data to a model: finds the fitter, checks its options, and constructs the parts that they select."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from perfcore.base.errors import DataError, OptionError, PerfError
from perfcore.data.curve import UtilizationCurve
from perfcore.data.measurements import Measurements
from perfcore.data.series import Series
from perfcore.data.trace import Trace
from perfcore.hooks.chosen_options import build_options
from perfcore.hooks.registry import Entry, registry
from perfcore.models.fitter import Fitter
from perfcore.reading.recognise import read

if TYPE_CHECKING:
    from perfcore.models.model import Model
    from perfcore.models.ranking import Ranking

__all__ = ["fit", "rank", "resolve"]


def fit(data: Any, fitter: str = "worley", **options: Any) -> Model:
    """Fit a model.

    Parameters
    ----------
    data : Trace, UtilizationCurve, Series, Measurements, pandas.DataFrame, str or path
        A path is read first.
    fitter : str
        Name of the fitter (``perf plugins`` lists them).
    **options
        Options of the fitter and of the parts that they select (``perf plugins NAME`` lists them).

    Returns
    -------
    Model

    Raises
    ------
    UnknownNameError
        No such fitter or option; the nearest name is suggested.
    OptionError
        A value is not accepted.

    Examples
    --------
    >>> import perfcore
    >>> curve = perfcore.UtilizationCurve([0, 4, 10], [2, 8])
    >>> model = perfcore.fit(curve, fitter="worley", phases=2, degree=0)
    >>> [(phase.start, phase.end) for phase in model.phases], model.epsilon
    ([(0.0, 4.0), (4.0, 10.0)], 0.0)
    """
    implementation, data, chosen, parts = _prepared(data, fitter, options)
    model: Model = implementation.fit(data, chosen, **parts)
    return model


def rank(data: Any, fitter: str = "individual", **options: Any) -> Ranking:
    """Compare the models that a fitter can make.

    Parameters and errors are those of `fit`.

    Returns
    -------
    Ranking

    Examples
    --------
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"p": [1, 2, 4, 8, 16], "time_s": [8.2, 4.4, 2.4, 1.45, 0.93]})
    >>> rank(runs, terms=2).candidates[0].functions
    ('1/p', '1')
    """
    if registry().load("fitters", fitter).rank is Fitter.rank:
        raise OptionError(f"{fitter} makes one model and has none to rank; use `perf fit --fitter {fitter}`")
    implementation, data, chosen, parts = _prepared(data, fitter, options)
    ranking: Ranking = implementation.rank(data, chosen, **parts)
    return ranking


def _prepared(data: Any, name: str, options: Mapping[str, Any]) -> tuple[Any, Any, Any, dict[str, Any]]:
    """An instance of the fitter, the data, read where they are a path, its options and the parts that they select."""
    entry = registry().entry("fitters", name)
    chosen, parts = resolve(entry, options)
    implementation = entry.load()
    if isinstance(data, (str, os.PathLike)):
        data = read(data, wanted=implementation.takes)
    _check_type(data, name, implementation)
    return implementation(), data, chosen, parts


def _check_type(data: Any, name: str, implementation: Any) -> None:
    """Refuse data of a known type that the fitter does not take, and name the fitters that do.

    Raises
    ------
    DataError
    """
    if not isinstance(data, (Measurements, Series, Trace, UtilizationCurve)):
        return  # the fitter knows what else it takes, such as a table of pandas
    if not implementation.takes or isinstance(data, implementation.takes):
        return
    others = []
    for other, entry in registry().entries("fitters").items():
        try:
            taking = entry.load().takes
        except PerfError:  # one that lacks its library must not hide the others
            continue
        if isinstance(data, taking):
            others.append(other)
    hint = f"; use --fitter {' or '.join(others)}" if others else ""
    raise DataError(f"{data.source} holds {type(data).__name__}, which {name} does not fit{hint}")


def resolve(entry: Entry, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The fitter's options, and the parts that they select, each constructed with its own options.

    Raises
    ------
    UnknownNameError, OptionError, MissingDependencyError, PluginError
        As of `perfcore.hooks.chosen_options.build_options`.
    """
    chosen, parts = build_options(entry, given)
    return chosen, {name: part.load()(options) for name, (part, options) in parts.items()}
