"""Operators on models: sums, multiples, products, fractions, and the largest of several."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import perfcore
from perfcore.base.errors import OptionError
from perfcore.formulas.formula import Formula
from perfcore.models.composed import ComposedModel, digest
from perfcore.models.model import COMPOSED, Model, Origin

__all__ = ["add", "divide", "max_", "multiply"]


def max_(*parts: Model | float) -> ComposedModel:
    """The largest of models, and of numbers in their unit: the parts of a program that run side by side.

    Parameters
    ----------
    *parts : Model or float
        At least one model; numbers are finite and not negative.

    Raises
    ------
    OptionError
        There is no model, a number is negative, or the models do not compose; see `ComposedModel`.

    Examples
    --------
    >>> import pandas as pd
    >>> def fitted(times, function):
    ...     runs = pd.DataFrame({"p": [1, 2, 4, 8], "time_s": times})
    ...     return perfcore.fit(runs, fitter="individual", functions=function)
    >>> solver, output = fitted([8, 4, 2, 1], "1/p"), fitted([2, 2, 2, 2], "1")
    >>> side_by_side = max_(solver, output)
    >>> side_by_side.expression, side_by_side.unit
    ('max(m1, m2)', 's')
    >>> side_by_side.predict([1, 16]).round(6)
    array([8., 2.])
    """
    return _composed(parts, _largest)


def add(*parts: Model | float) -> ComposedModel:
    """Sum of models, and of numbers in their unit; ``a + b``."""
    kept: list[Model | float] = [part for part in parts if part != 0]  # what `sum` begins with
    return _composed(kept, " + ".join)


def multiply(model: Model, other: Model | float) -> ComposedModel:
    """Product of two models, or multiple of one; ``a * b``."""
    parts: list[Model | float] = [model, other] if isinstance(other, Model) else [other, model]
    return _composed(parts, lambda texts: "*".join(f"({text})" for text in texts))


def divide(model: Model, number: float) -> ComposedModel:
    """Fraction of a model; ``a / 2``."""
    return _composed([model, number], lambda texts: f"({texts[0]})/{texts[1]}")


def _largest(texts: Sequence[str]) -> str:
    # A tree, since formulas nest 32 deep.
    if len(texts) == 1:
        return texts[0]
    half = (len(texts) + 1) // 2
    return f"max({_largest(texts[:half])}, {_largest(texts[half:])})"


def _composed(parts: Sequence[Model | float], write: Callable[[Sequence[str]], str]) -> ComposedModel:
    """Composed model of parts, each component once however often it occurs."""
    components: list[Model] = []
    texts = []
    for part in parts:
        if not isinstance(part, Model):
            texts.append(_number(part))
        elif isinstance(part, ComposedModel):
            names = {name: Formula(_name(model, components)) for name, model in part.components.items()}
            texts.append(str(Formula(part.expression).substituted(names)))
        else:
            texts.append(_name(part, components))
    if not components:
        raise OptionError("there is no model to compose; give at least one")
    expression = str(Formula(write(texts)))
    named = {f"m{number}": model for number, model in enumerate(components, 1)}
    sources = dict.fromkeys(Path(model.origin.source).name for model in components)
    fingerprints = dict.fromkeys(model.origin.fingerprint for model in components)
    origin = Origin(
        fitter=COMPOSED,
        options={"expression": expression},
        source=", ".join(sources),
        fingerprint=f"blake2b:{digest(list(fingerprints))}" if len(fingerprints) > 1 else next(iter(fingerprints)),
        version=perfcore.__version__,
    )
    return ComposedModel(origin, expression, named)


def _name(model: Model, components: list[Model]) -> str:
    if model not in components:
        components.append(model)
    return f"m{components.index(model) + 1}"


def _number(number: float) -> str:
    value = float(number)
    if not 0.0 <= value < math.inf:
        raise OptionError(
            f"models are composed with numbers that are finite and not negative, not {value:g}: times and counts have "
            "no negative values"
        )
    return repr(value)
