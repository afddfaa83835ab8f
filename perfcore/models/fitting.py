"""Data to a model: finds the fitter, checks its options, and constructs the parts that they select."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from perfcore.base.errors import DataError, OptionError, PerfError, UnknownNameError
from perfcore.data.curve import UtilizationCurve
from perfcore.data.measurements import Measurements
from perfcore.data.series import Series
from perfcore.data.trace import Trace
from perfcore.hooks import options as option_tools
from perfcore.hooks.contracts import Fitter
from perfcore.hooks.registry import registry
from perfcore.reading.recognise import read

if TYPE_CHECKING:
    from perfcore.models.model import Model
    from perfcore.models.ranking import Ranking

__all__ = ["fit", "option_fields", "rank", "resolve"]


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
    implementation = registry().load("fitters", name)
    chosen, parts = resolve(implementation, options, name)
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


def option_fields(implementation: Any, given: Mapping[str, Any]) -> dict[str, list[option_tools.OptionField]]:
    """Options by who takes them: the fitter under ``""``, then each selected part under its name."""
    own = option_tools.describe(implementation.Options)
    groups = {"": list(own)}
    for field in own:
        name = given.get(field.name, field.default)
        if field.selects is not None and name in registry().entries(field.selects):
            part = registry().load(field.selects, name)
            groups[name] = list(option_tools.describe(part.Options))
    return groups


def resolve(implementation: Any, given: Mapping[str, Any], owner: str) -> tuple[Any, dict[str, Any]]:
    """The fitter's options, and the parts that they select, each constructed with its own options."""
    own = {field.name: field for field in option_tools.describe(implementation.Options)}
    chosen = option_tools.build(
        implementation.Options, {name: value for name, value in given.items() if name in own}, owner
    )
    rest = {name: value for name, value in given.items() if name not in own}
    parts, known = {}, set(own)
    for field in own.values():
        if field.selects is None:
            continue
        name = getattr(chosen, field.name)
        part = registry().load(field.selects, name)
        names = {f.name for f in option_tools.describe(part.Options)}
        known |= names
        mine = {key: rest.pop(key) for key in list(rest) if key in names}
        parts[field.name] = part(option_tools.build(part.Options, mine, name))
    for name in rest:
        raise UnknownNameError(f"option of {owner}", name, known)
    return chosen, parts
