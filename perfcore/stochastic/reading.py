"""Stochastic values from what a file, a user or a program says, without naming a representation in code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from perfcore.base.errors import DataError
from perfcore.hooks.registry import registry
from perfcore.stochastic.defaults import default_representation
from perfcore.stochastic.value import StochasticValue, as_value

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


def representation_named(name: str) -> type[StochasticValue]:
    """The representation that is registered under a name."""
    representation: type[StochasticValue] = registry().load("representations", name)
    return representation


def from_dict(content: object) -> StochasticValue:
    """The value that some representation's ``to_dict`` wrote."""
    if not isinstance(content, Mapping) or not isinstance(content.get("representation"), str):
        names = ", ".join(registry().entries("representations"))
        raise DataError(f"a stochastic value needs the key 'representation', one of {names}")
    return representation_named(content["representation"]).from_dict(content)


def from_text(text: str) -> StochasticValue:
    """The value that a user types: a number, or the name of a representation, a colon and what that one reads."""
    name, colon, words = (part.strip() for part in text.partition(":"))
    if colon:
        return representation_named(name).from_words(words)
    try:
        number = float(text)
    except ValueError:
        forms = ", ".join(f"{name}:..." for name in registry().entries("representations"))
        raise DataError(f"{text!r} is neither a number nor one of {forms}") from None
    return as_value(number)


def of_moments(mean: float, std: float) -> StochasticValue:
    """A value of which no more than mean and standard deviation are known, as the representation for that says it."""
    value: StochasticValue = default_representation("moments")(mean, std)
    return value


def of_bounds(lower: float, upper: float) -> StochasticValue:
    """A value of which no more than bounds are known, as the representation for that says it."""
    value: StochasticValue = default_representation("bounds")(lower, upper)
    return value


def checked_samples(samples: npt.ArrayLike) -> Floats:
    """Samples as a new array (n,)."""
    import numpy as np

    try:
        values: Floats = np.array(samples, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("samples must be numbers") from None
    if values.ndim != 1:
        raise DataError(f"samples must be in one row, found {values.ndim} dimensions")
    if not len(values):
        raise DataError("there are no samples; at least one is needed")
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise DataError(f"sample {bad[0] + 1} of {len(values)} is {values[bad[0]]}; finite numbers are expected")
    return values
