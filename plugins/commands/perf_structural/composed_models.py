"""Models made of models by operators and by `perfcore.max_`, and the file they are kept in."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import msgspec
import numpy as np

import perfcore
from perf_formulas.formula import Formula
from perf_formulas.parser import Node, Number, Operation, Variable, variables, written
from perfcore.base import grouped
from perfcore.base.arrays import Floats
from perfcore.base.errors import ModelFileError, OptionError, PerfError, UnknownNameError, listing
from perfcore.models.model import Model, Origin, Parameter, Points, model_of
from perfcore.models.points import by_symbol, check_coverage, of_one_length
from perfcore.report import Column, Note, Report, Table

_DRAWS = 1 << 16
_SEED = 0
_NUMBERS_AT_ONCE = 1 << 22  # in the draws of one model at a block of points, 32 MB
# Normal scores at which a model is asked for its bounds, which takes most of the time; few draws lie above 4. Lines
# through four times as many places are as good as the cubic.
_SCORES = np.arange(1, 17) / 4.0
_STEP = 1.0 / 16.0
_OPERATIONS = ("+", "*", "/", "max")


def check_variables(models: Mapping[str, Model]) -> None:
    """Refuse models whose variables of one symbol are not the same."""
    first: dict[str, tuple[str, Model]] = {}
    for name, model in models.items():
        for symbol in model.variables:
            owner_name, owner = first.setdefault(symbol, (name, model))
            columns = [repr(each.variables[symbol]) for each in (owner, model)]
            units = [f"in {each.variable_units[symbol]}" for each in (owner, model) if symbol in each.variable_units]
            sorts = ["a name" if symbol in each.levels else "a number" for each in (owner, model)]
            for meanings, cure in ((columns, "; fit one of them with another symbol"), (units, ""), (sorts, "")):
                if len(set(meanings)) > 1:
                    raise OptionError(
                        f"{symbol} is {meanings[0]} in {owner_name} ({owner.title}) and {meanings[1]} in {name} "
                        f"({model.title}){cure}"
                    )
    for symbol, levels in shared_levels(models).items():
        if not levels:
            having = [f"{name}: {listing(m.levels[symbol], 6)}" for name, m in models.items() if symbol in m.levels]
            raise OptionError(f"the models have no {symbol} in common ({'; '.join(having)})")


def shared_levels(models: Mapping[str, Model]) -> dict[str, tuple[str, ...]]:
    """Return levels of each variable of names that every model knows that has the variable."""
    shared: dict[str, tuple[str, ...]] = {}
    for model in models.values():
        for symbol, levels in model.levels.items():
            shared[symbol] = tuple(level for level in shared.get(symbol, levels) if level in levels)
    return shared


def points_of_each(points: Points, models: Mapping[str, Model]) -> dict[str, Any]:
    """Return points as a user gives them, for each model with its own variables."""
    named = {symbol for model in models.values() for symbol in model.levels}
    numbers = {s: column for model in models.values() for s, column in model.variables.items() if s not in named}
    columns = of_one_length(by_symbol(points, numbers, named))
    where: dict[str, Any] = {}
    for name, model in models.items():
        own = {symbol: columns[symbol] for symbol in model.variables if symbol in columns}
        for symbol in model.levels.keys() & own.keys():
            for level in np.unique(own[symbol].astype(np.str_)).tolist():
                if level not in model.levels[symbol]:
                    raise UnknownNameError(f"{symbol} of {name} ({model.title})", level, model.levels[symbol])
        # A model of a single number takes it as it is.
        where[name] = next(iter(own.values())) if len(model.variables) == 1 and own else own
    return where


# Bounds of a function of independent predictions, by quasi-random draws.
#
# A model's bounds at several coverages are quantiles of what it leaves open. Between them its distribution is taken
# from a monotone cubic over the normal score, which is exact for normal distributions. The unit cube of as many
# dimensions as there are models is filled with scrambled Sobol points, each of which gives one value of every model and
# so one of the function.
#
# Source: A. B. Owen, "Randomly permuted (t,m,s)-nets and (t,s)-sequences", Monte Carlo and Quasi-Monte Carlo Methods in
# Scientific Computing, 1995.

# Bounds of 50 to 99 % of sums of normals then err by at most 0.9 % of their distance from the value for 2 to 5 models
# and by 1.3 % for 20, the largest of 20 random sums each; as many pseudo-random draws err by up to 2.3 %. Products,
# maxima and sums of lognormals and of Student's t agree with 10^6 random draws to 0.7 %, and to 1.4 % for Cauchy's.


def bounds_of_function(
    function: Callable[[Sequence[Floats]], Floats], models: Sequence[Model], points: Sequence[Any], interval: float
) -> Floats:
    """Return bounds of a function of models that are independent of one another."""
    from scipy.special import ndtri
    from scipy.stats import qmc

    uniform = qmc.Sobol(len(models), scramble=True, seed=_SEED).random(_DRAWS)
    scores = ndtri(np.clip(uniform, 2.0**-31, 1.0 - 2.0**-31))  # scrambled points can be 0
    knots = [_quantiles(model, where) for model, where in zip(models, points, strict=True)]
    sides = [0.5 - 0.5 * interval, 0.5 + 0.5 * interval]
    bounds = np.empty((len(knots[0]), 2))
    length = max(1, _NUMBERS_AT_ONCE // _DRAWS)
    for begin in range(0, len(bounds), length):
        block = slice(begin, begin + length)
        drawn = [_interpolated(model_knots[block], scores[:, k]) for k, model_knots in enumerate(knots)]
        with np.errstate(all="ignore"):
            bounds[block] = np.quantile(function(drawn), sides, axis=1).T
    return bounds


def _quantiles(model: Model, points: Any) -> Floats:
    """Return quantiles of a model at the scores -4, -3.9375, ... 4 (T, 129)."""
    from scipy.interpolate import PchipInterpolator
    from scipy.special import ndtr

    predicted = [model.predict_array(points, interval=float(2.0 * ndtr(score) - 1.0)) for score in _SCORES]
    below = [each[:, 1] for each in reversed(predicted)]
    score_quantiles = np.column_stack([*below, predicted[0][:, 0], *(each[:, 2] for each in predicted)])
    has_bounds = np.isfinite(score_quantiles).all(axis=1)
    quantiles = np.full((len(score_quantiles), round(2.0 * _SCORES[-1] / _STEP) + 1), np.nan)
    if has_bounds.any():
        cubic = PchipInterpolator(np.concatenate([-_SCORES[::-1], [0.0], _SCORES]), score_quantiles[has_bounds], axis=1)
        quantiles[has_bounds] = cubic(np.linspace(-_SCORES[-1], _SCORES[-1], quantiles.shape[1]))
    return quantiles


def _interpolated(quantiles: Floats, scores: Floats) -> Floats:
    """Return values (T, N) at normal scores (N,) on lines through quantiles (T, 129)."""
    position = (scores + _SCORES[-1]) / _STEP
    left = np.clip(np.floor(position).astype(np.int64), 0, quantiles.shape[1] - 2)
    share = position - left
    values: Floats = np.take(quantiles, left, axis=1)
    values += share * np.take(np.diff(quantiles, axis=1), left, axis=1)
    return values


def check_expression(formula: Formula, names: Sequence[str]) -> None:
    """Refuse an expression that no operators make."""
    if set(formula.names) != set(names):
        raise OptionError(
            f"the expression {formula} is of {', '.join(formula.names) or 'no component'}; the components are "
            f"{', '.join(names) or 'none'}"
        )
    nodes = [formula.tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, Operation):
            symbol, operands = node.rule.symbol, node.operands
            if symbol not in _OPERATIONS:
                raise OptionError(f"models are composed by {', '.join(_OPERATIONS)}, not by {symbol!r}")
            if symbol == "/" and not (isinstance(operands[1], Number) and operands[1].value > 0.0):
                raise OptionError("models are divided by positive numbers only")
            nodes += operands


def is_linear(node: Node) -> bool:
    """Return whether no component is multiplied by a component."""
    if not isinstance(node, Operation):
        return True
    is_product = node.rule.symbol == "*" and all(any(variables(operand)) for operand in node.operands)
    return not is_product and all(map(is_linear, node.operands))


def unit_of(node: Node, units: Mapping[str, str | None]) -> str | None:
    """Return the unit of an expression: the common one of a sum or maximum, the product of those of factors."""
    if isinstance(node, Variable):
        return units[node.name] or None
    if not isinstance(node, Operation):
        return None
    parts = [(operand, unit_of(operand, units)) for operand in node.operands if any(variables(operand))]
    operands = [(operand, unit) for operand, unit in parts if unit is not None]
    if node.rule.symbol in ("*", "/"):
        # Of an unknown factor the product is unknown; the order of factors does not matter.
        product = "*".join(sorted("*".join(unit for _, unit in operands).split("*")))
        return product if len(operands) == len(parts) else None
    for operand, unit in operands[1:]:
        if unit != operands[0][1]:
            raise OptionError(
                f"{written(operands[0][0])} is in {operands[0][1]} and {written(operand)} in {unit}: parts of a sum or "
                "maximum must have one unit"
            )
    return operands[0][1] if operands else None


class _Content(msgspec.Struct, forbid_unknown_fields=True):
    """The field ``model`` of a file."""

    expression: str
    components: dict[str, dict[str, Any]]


class ComposedModel(Model, frozen=True, forbid_unknown_fields=True, dict=True):
    """An expression in models, predicted with its uncertainty; made by operators and by `perfcore.max_`.

    What the components leave open is taken to be independent from one component to the other. A component that occurs
    twice is one quantity: the bounds of ``a + a`` are those of ``2 * a``.
    """

    expression: str  # of components, by ``+``, ``*``, ``max`` and numbers that are not negative, and ``/`` by a number
    components: dict[str, Model]  # the fitted models, each once: ``m1``, ``m2``, ...

    kind: ClassVar[str] = "composed"

    def __post_init__(self) -> None:
        """Refuse what cannot be composed, and what a file edited by hand may hold."""
        for name, model in self.components.items():
            if isinstance(model, ComposedModel):
                raise OptionError(f"{name} is composed itself; write out its expression, {model.expression}")
        check_expression(self._formula, tuple(self.components))
        check_variables(self.components)
        try:
            _ = self.unit
        except OptionError as error:
            raise OptionError(f"{error} ({', '.join(self.component_titles)})") from None

    @classmethod
    def compose(cls, operation: str, left: Model, right: Model | float) -> ComposedModel:
        """Return what an operator makes of a model and another, or a number in its unit."""
        if operation == "add":
            return _composed([part for part in (left, right) if part != 0], " + ".join)  # 0 is what `sum` begins with
        if operation == "divide":
            return _composed([left, right], lambda texts: f"({texts[0]})/{texts[1]}")
        factors: list[Model | float] = [left, right] if isinstance(right, Model) else [right, left]
        return _composed(factors, lambda texts: "*".join(f"({text})" for text in texts))

    @functools.cached_property
    def _formula(self) -> Formula:
        return Formula(self.expression)

    @functools.cached_property
    def unit(self) -> str | None:
        """Unit of the values; of a product those of the factors, ``"s*s"``; None where one is not known."""
        return unit_of(self._formula.tree, {name: model.unit for name, model in self.components.items()})

    @property
    def variables(self) -> Mapping[str, str]:
        return {symbol: column for model in self.components.values() for symbol, column in model.variables.items()}

    @property
    def variable_units(self) -> Mapping[str, str]:
        return {symbol: unit for model in self.components.values() for symbol, unit in model.variable_units.items()}

    @functools.cached_property
    def levels(self) -> Mapping[str, tuple[str, ...]]:
        """Names that every component knows that has the variable."""
        return shared_levels(self.components)

    @functools.cached_property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        """Where all components were measured, or where there is no such range, any."""
        of_symbol = grouped(pair for model in self.components.values() for pair in model.ranges.items())
        ranges = {}
        for symbol, several in of_symbol.items():
            lows, highs = zip(*several, strict=True)
            ranges[symbol] = (max(lows), min(highs)) if max(lows) < min(highs) else (min(lows), max(highs))
        return ranges

    def predict_array(self, points: Points, interval: float | None = None) -> Floats:
        if interval is not None:
            check_coverage(interval)
        where = points_of_each(points, self.components)
        if interval is None:
            return self._formula.evaluate({name: m.predict(where[name]) for name, m in self.components.items()})
        if len(self.components) == 1:
            ((name, model),) = self.components.items()
            predicted = model.predict_array(where[name], interval=interval)
            # Nothing falls where its parts rise, so the bounds go where the quantiles do; a square falls below 0.
            if is_linear(self._formula.tree) or not (predicted[:, 1] < 0.0).any():
                return self._formula.evaluate({name: predicted})
        # Ordered by what the components are: a + b and b + a draw the same numbers.
        names = sorted(self.components, key=lambda name: digest(self.components[name].to_dict()))
        values = self._formula.evaluate({name: self.components[name].predict(where[name]) for name in names})

        def evaluated(drawn: Sequence[Floats]) -> Floats:
            return self._formula.evaluate(dict(zip(names, drawn, strict=True)))

        parts = [self.components[name] for name in names], [where[name] for name in names]
        bounds = bounds_of_function(evaluated, *parts, interval)
        return np.column_stack([values, np.minimum(bounds[:, 0], values), np.maximum(bounds[:, 1], values)])

    def remarks(self, points: Points) -> list[str]:
        """Return what the components remark, and which are taken as independent."""
        where = points_of_each(points, self.components)
        count = max(len(next(iter(p.values())) if isinstance(p, Mapping) else p) for p in where.values())
        remarks = {name: model.remarks(where[name]) or [""] * count for name, model in self.components.items()}
        several = [f"{' and '.join(self.components)} taken as independent"] * (len(self.components) > 1)
        return [
            "; ".join([*(f"{name}: {texts[place]}" for name, texts in remarks.items() if texts[place]), *several])
            for place in range(count)
        ]

    @property
    def unfitted(self) -> Mapping[str, str]:
        return {f"{name}: {part}": why for name, m in self.components.items() for part, why in m.unfitted.items()}

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(
            msgspec.structs.replace(parameter, name=f"{name}: {parameter.name}")
            for name, model in self.components.items()
            for parameter in model.parameters
        )

    @property
    def statistics(self) -> dict[str, float | int | str | None]:
        figures = {f"{name}_{key}": value for name, m in self.components.items() for key, value in m.statistics.items()}
        return {"n_components": len(self.components), **figures}

    @property
    def formula(self) -> str:
        """The expression, and the formula of each component."""
        lines = [self.expression]
        for name, model in self.components.items():
            first, *others = model.formula.split("\n")
            lines += [f"{name}:", *(f"  {line}" for line in (first, *others))] if others else [f"{name} = {first}"]
        return "\n".join(lines)

    def report(self, data: Any = None) -> Report:
        """Return the prediction of the whole, the components, and what their intervals assume."""
        of_data = grouped((model.origin.fingerprint, name) for name, model in self.components.items())
        several = len(self.components) > 1
        notes = [Note("Assumed", f"{', '.join(self.components)} are independent")] if several else []
        notes += [
            Note("Uncertain", f"{' and '.join(names)} were fitted to the same data: with correlated errors the "
                 "intervals are too narrow")
            for names in of_data.values()
            if len(names) > 1
        ]  # fmt: skip
        columns = [
            Column("name", 0),
            Column("kind", lambda row: row[1].kind),
            Column("fitter", lambda row: row[1].origin.fitter),
            Column("data", lambda row: row[1].origin.source),
            Column("unit", lambda row: row[1].unit),
        ]
        unit = f" [{self.unit}]" if self.unit else ""
        composed = f"{self.expression}{unit}, composed of {len(self.components)} models"
        report = super().report(data)
        is_predicted = any(each.name == "prediction" for each in report.figures)
        return replace(
            report,
            title=f"{self.expression} of {self.origin.source}",
            answer=report.answer if is_predicted else composed,
            tables=[Table(columns, list(self.components.items()), "Components"), *report.tables[:-1]],
            notes=notes,
            details=[*([composed] if is_predicted else []), *self.component_titles],
        )

    @property
    def component_titles(self) -> list[str]:
        """What each component is, in one line."""
        return [f"{name}: {model.title}" for name, model in self.components.items()]

    def _content(self) -> dict[str, Any]:
        content = super()._content()
        content["model"]["components"] = {name: model.to_dict() for name, model in self.components.items()}
        return content

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        origin = {name: content[name] for name in Origin.__struct_fields__ if name in content}
        written = msgspec.convert(content["model"], type=_Content)
        components = {}
        for name, component in written.components.items():
            try:
                components[name] = model_of(component)
            except ModelFileError as error:
                raise msgspec.ValidationError(f"components.{name}: {error}") from None
        try:
            return cls(msgspec.convert(origin, type=Origin), written.expression, components)
        except PerfError as error:
            raise msgspec.ValidationError(str(error)) from None


def max_(*parts: Model | float) -> ComposedModel:
    """Return the largest of models, and of numbers in their unit: the parts of a program that run side by side.

    Parameters
    ----------
    *parts : Model or float
        At least one model; numbers are finite and not negative.

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


def digest(content: Any) -> str:
    """Short text that identifies contents of JSON."""
    return hashlib.blake2b(msgspec.json.encode(content), digest_size=16).hexdigest()


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
            if not 0.0 <= part < math.inf:
                raise OptionError(
                    f"models are composed with numbers that are finite and not negative, not {part:g}: times and "
                    "counts have no negative values"
                )
            texts.append(repr(float(part)))
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
        fitter=ComposedModel.kind,
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
