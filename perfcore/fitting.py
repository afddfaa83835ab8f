"""Data to a model: finds the fitter, checks its options, and constructs the parts that they select."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from perfcore import options as option_tools
from perfcore.errors import UnknownNameError
from perfcore.reading import read
from perfcore.registry import registry

if TYPE_CHECKING:
    from perfcore.model import Model

__all__ = ["fit", "option_fields", "resolve"]


def fit(data: Any, fitter: str = "worley", **options: Any) -> Model:
    """Fit a model.

    Parameters
    ----------
    data : Trace, UtilizationCurve, Series, Measurements, str or path
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
    implementation = registry().load("fitters", fitter)
    chosen, parts = resolve(implementation, options, fitter)
    if isinstance(data, (str, os.PathLike)):
        data = read(data)
    model: Model = implementation().fit(data, chosen, **parts)
    return model


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
