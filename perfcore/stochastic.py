"""Stochastic values: quantities that are not one number, and their arithmetic.

A quantity may be a number, a distribution or mere bounds; each is a registered representation with one contract,
`StochasticValue`. Values of different representations mix: `generality` says which of them performs an operation.
Every operation takes its operands to be independent of each other, unless an option says otherwise. It sees values and
not names: that the x of ``x*x`` is one quantity knows only who sees the whole formula. Write ``x**2``, which is exact.

Source: J. M. Schopf, "A Practical Methodology for Defining Histograms for Predictions and Scheduling", Northwestern
University, NWU-CS-99-2, 1999.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import msgspec
import numpy as np
import numpy.typing as npt

from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, PluginError
from perfcore.base.files import write_json
from perfcore.hooks.options import NoOptions, build
from perfcore.hooks.registry import registry

__all__ = [
    "Quantity", "StochasticValue", "absolute", "add", "as_value", "checked_samples", "default_name",
    "default_representation", "divide", "exp", "from_dict", "from_text", "log", "maximum", "minimum", "multiply",
    "negative", "of_bounds", "of_moments", "perform", "performer_of", "power", "representation_named", "sqrt",
    "subtract",
]  # fmt: skip

Function = Callable[[Floats], npt.ArrayLike]
Operator = Callable[["StochasticValue", Any], "StochasticValue"]
Operation = Callable[..., "StochasticValue"]

_CONVERTED_LEVELS = 1000  # by which a value of another representation is summarised
_SCALARS = {"float": float, "int": int, "str": str}  # types of fields; others are rows of numbers
_BETWEEN_NUMBERS, _BETWEEN_ROWS = ",", "/"
_PANELS, _NODES = 50, 20  # of Gauss-Legendre: a kink in one panel costs little
_NODES_OF_SCORE = 200  # on each side of the actual value
_STEP = 1e-5  # of the middle half's width: between the errors of rounding and of curvature
# Purposes for which a representation is taken if none is named; the registry knows which.
PURPOSES = {
    "number": "one number, its first field",
    "moments": "a mean and a standard deviation, its first two fields",
    "bounds": "two bounds, its first two fields",
    "samples": "representation of samples",
    "distributions": "it can hold any distribution, and performs what other representations leave to it",
}


def default_name(purpose: str) -> str:
    """Return the name of the representation registered with ``default_for=(purpose,)``, without importing it."""
    entries = [each for each in registry().entries("representations").values() if purpose in each.default_for]
    # A third party may add such a representation; it replaces the bundled one only where a user names it.
    entries.sort(key=lambda each: each.distribution != "perfcore")
    if not entries:
        raise PluginError(f"no representation is registered for {purpose} ({PURPOSES[purpose]}); see perf plugins")
    return entries[0].name


def default_representation(purpose: str) -> Any:
    """Return the class of the representation of `default_name`."""
    return registry().load("representations", default_name(purpose))


@functools.cache
def _fields(cls: type) -> Mapping[str, tuple[Any, bool]]:
    """Return for each field its type, None for a row of numbers, and whether it may be left out."""
    if not dataclasses.is_dataclass(cls):
        raise TypeError(f"{cls.__name__} must be a frozen dataclass, so that its fields can be read and written")
    return {
        item.name: (
            _SCALARS.get(item.type if isinstance(item.type, str) else getattr(item.type, "__name__", "")),
            item.default is not dataclasses.MISSING or item.default_factory is not dataclasses.MISSING,
        )
        for item in dataclasses.fields(cls)
        if not item.kw_only
    }


@functools.cache
def _layout(cls: type) -> type:
    """Return what the fields are checked against: all are needed but rows for which the class has a default."""
    fields = [
        (name, list[float] | None, None) if kind is None and is_optional else (name, kind or list[float])
        for name, (kind, is_optional) in _fields(cls).items()
    ]
    return msgspec.defstruct(cls.__name__, fields, forbid_unknown_fields=True, kw_only=True)


def _between(cls: type) -> str:
    """Return what stands between fields in text."""
    return _BETWEEN_NUMBERS if all(kind is not None for kind, _ in _fields(cls).values()) else _BETWEEN_ROWS


def _operators(operation: str) -> tuple[Operator, Operator]:
    """Return an operator, and that with a number before it."""

    def forward(x: StochasticValue, y: Quantity) -> StochasticValue:
        if x is y and x.support[0] < x.support[1]:
            warnings.warn(
                f"{operation}: {x!r} on both sides is taken as two independent quantities; perf.evaluate knows of one",
                stacklevel=2,
            )
        return perform(operation, (x, y), {})

    def backward(x: StochasticValue, y: float) -> StochasticValue:
        return perform(operation, (y, x), {})

    return forward, backward


@functools.cache
def _levels_and_weights(panels: int = _PANELS, count: int = _NODES) -> tuple[Floats, Floats]:
    """Levels (n,) strictly between 0 and 1, and weights (n,): means of functions of quantiles."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    u = ((0.5 * (nodes + 1.0) + np.arange(panels)[:, None]) / panels).ravel()
    # A step from 0 to 1 so smooth that nodes crowd at both ends, where quantiles may be infinite; and its slope.
    levels, slope = u**3 * (10.0 - 15.0 * u + 6.0 * u**2), 30.0 * u**2 * (1.0 - u) ** 2
    return levels, np.tile(0.5 * weights, panels) / panels * slope


def _flipped(bits: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the bits of floats as whole numbers in the order of the floats, or floats of such numbers."""
    return np.asarray(bits ^ ((bits >> 63) & np.iinfo(np.int64).max))


def _least_float(reached: Callable[[Floats], npt.NDArray[np.bool_]], low: Floats, high: Floats) -> Floats:
    """Return the smallest float from ``low`` to ``high`` at which a condition holds that holds at ``high``."""
    order = [_flipped(np.asarray(ends + 0.0).view(np.int64)) for ends in (low, high)]  # -0.0 becomes 0.0
    below, above = order[0] - 1, order[1]
    for _ in range(65):  # halves what 64 bits can tell apart, so that no bracket is needed that suits the scale
        middle = (below >> 1) + (above >> 1) + (below & above & 1)
        middle = np.where(middle <= below, above, middle)
        is_reached = reached(_flipped(middle).view(np.float64))
        below, above = np.where(is_reached, below, np.minimum(middle, above - 1)), np.where(is_reached, middle, above)
    return _flipped(above).view(np.float64)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class StochasticValue(ABC):
    """A quantity of which more than one value is possible; frozen.

    A representation is a frozen dataclass that inherits from this class, is registered by
    ``register_representations`` under its `name`, and is tested by `perfcore.testing.RepresentationSuite`. Its fields
    are numbers, or rows of numbers. It must have `name`, `generality`, `from_samples`, and `quantile` or else `cdf` and
    `support`. All else follows from these by quadrature or bisection, and is overridden where there is a closed form.

    Parameters
    ----------
    notes : tuple of str
        What a reader of the result must know, such as the error of a poor approximation. A result has the notes of
        its operands too. They do not count in comparisons.

    Attributes
    ----------
    name : str
        What the user types, and the key ``representation`` of its JSON.
    generality : int
        In an operation the operand of the highest generality converts the others and performs it, or leaves it to the
        representation that can hold any distribution (`operate`).
    Options : type
        Options of `from_samples`, a dataclass declared with `perfcore.hooks.options.option`.
    Arithmetic : type, optional
        Options of operations. None: those of the representation that can hold any distribution, since some
        operations are left to it.
    """

    name: ClassVar[str]
    generality: ClassVar[int]
    Options: ClassVar[type] = NoOptions
    Arithmetic: ClassVar[type | None] = None

    __array_ufunc__: ClassVar[None] = None  # so that numpy's numbers leave `number + value` to this class

    notes: tuple[str, ...] = dataclasses.field(default=(), kw_only=True, compare=False, repr=False)

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        base = StochasticValue
        if cls.quantile is base.quantile and (cls.cdf is base.cdf or cls.support is base.support):
            raise TypeError(f"{cls.__name__} needs quantile, or else cdf and support: the rest follows from these")

    # What samples and other values become.

    @classmethod
    @abstractmethod
    def from_samples(cls, samples: npt.ArrayLike, options: Any = None) -> Self:
        """Summarise samples; `checked_samples` checks them.

        Parameters
        ----------
        samples : (n,) float, n >= 1, finite
        options : instance of `Options`, optional

        Raises
        ------
        DataError
            There are no samples, one is not finite, or the representation cannot hold such values.
        """

    @classmethod
    def from_draws(cls, draws: npt.ArrayLike, detail: int) -> Self:
        """Summarise many draws of a computed distribution as closely as it can be done.

        Parameters
        ----------
        draws : (n,) float
        detail : int
            How many numbers the result may be made of, for representations that have a choice; by default it counts
            for nothing, and this is `from_samples`.
        """
        return cls.from_samples(draws)

    @classmethod
    def convert(cls, value: StochasticValue) -> tuple[Self, str]:
        """Bring another value to this representation: by default what `from_samples` makes of its quantiles.

        Returns
        -------
        converted : instance of this class
        lost : str
            What it no longer says, or what was assumed; empty where nothing is lost.

        Raises
        ------
        DataError
            The representation cannot hold such values.
        """
        if isinstance(value, cls):
            return value, ""
        low, high = value.support
        if low == high:
            return cls.from_samples([low]), ""
        levels = (np.arange(_CONVERTED_LEVELS) + 0.5) / _CONVERTED_LEVELS
        if not value.has_distribution:
            assumed = f"assumed that all values from {low:.6g} to {high:.6g} are equally likely"
            return cls.from_samples(low + (high - low) * levels), assumed
        places = value.quantile(levels)
        converted = cls.from_samples(places)
        error = float(np.abs(converted.cdf(places) - value.cdf(places)).max())
        return converted, f"the shape: probabilities differ by up to {error:.2g}"

    @classmethod
    def converted(cls, operands: Sequence[StochasticValue]) -> tuple[list[Self], tuple[str, ...]]:
        """Operands in this representation, and notes: theirs, and what conversion lost."""
        values: list[Self] = []
        notes: list[str] = []
        for operand in operands:
            notes += operand.notes
            if isinstance(operand, cls):
                values.append(operand)
                continue
            value, lost = cls.convert(operand)
            values.append(value)
            if lost:
                notes.append(f"{operand!r} taken as {cls.name}: {lost}")
        return values, tuple(dict.fromkeys(notes))

    # Arithmetic.

    @classmethod
    def operate(cls, operation: str, operands: Sequence[StochasticValue], options: Any = None) -> StochasticValue:
        """Perform an operation; by default it is left to the representation that can hold any distribution.

        A representation overrides this for the operations under which it is closed, and calls ``super().operate``
        with the same arguments for all others.

        Parameters
        ----------
        operation : str
            Name of one of this package's functions: ``"add"``.
        operands : sequence of StochasticValue
            As many as the operation takes, none of higher generality; numbers have become values without spread.
        options : optional
            Instance of `Arithmetic`.

        Returns
        -------
        StochasticValue
            Of any representation. Where it is not exact, a note says so.

        Raises
        ------
        DataError
            A divisor can be zero; a root or logarithm is taken of what can be negative; the result is not finite.
        """
        general: type[StochasticValue] = default_representation("distributions")
        if issubclass(cls, general):
            raise PluginError(f"{cls.name}, to which others leave their arithmetic, has no rule for {operation!r}")
        return general.operate(operation, operands, options if isinstance(options, general.arithmetic()) else None)

    @classmethod
    def arithmetic(cls) -> type:
        """Options of operations: `Arithmetic`, or those of the representation that operations are left to."""
        if cls.Arithmetic is not None:
            return cls.Arithmetic
        general: type[StochasticValue] = default_representation("distributions")
        return NoOptions if issubclass(cls, general) else general.arithmetic()

    # What a value knows.

    @property
    def has_distribution(self) -> bool:
        """Whether it says how probable values between its bounds are; bounds alone do not."""
        return not math.isnan(float(self.quantile(0.5)))

    @property
    def cdf_error(self) -> float:
        """Bound of how far `cdf` is off where this approximates what an operation gave; 0 of what does not."""
        return 0.0

    @property
    def mean(self) -> float:
        """Expected value, by default by quadrature; NaN where the representation has none."""
        levels, weights = _levels_and_weights()
        return float(weights @ self.quantile(levels))

    @property
    def std(self) -> float:
        """Standard deviation, by default by quadrature; NaN where the representation has none."""
        levels, weights = _levels_and_weights()
        values = self.quantile(levels)
        return math.sqrt(float(weights @ (values - float(weights @ values)) ** 2))

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value, by default the quantiles 0 and 1; may be infinite."""
        return float(self.quantile(0.0)), float(self.quantile(1.0))

    def cdf(self, x: npt.ArrayLike) -> Floats:
        """Probability of values up to ``x`` (...), by default by bisection; NaN where it is not known."""
        places = np.asarray(x, dtype=np.float64)
        above = _least_float(
            lambda q: ~(np.asarray(self.quantile(np.minimum(q, 1.0))) <= places) | (q > 1.0),
            np.zeros(places.shape),
            np.full(places.shape, np.nextafter(1.0, 2.0)),
        )
        levels = np.nextafter(above, -1.0)  # beyond the last level that is small enough
        return np.where(np.isnan(places), np.nan, np.maximum(levels, 0.0))

    def pdf(self, x: npt.ArrayLike) -> Floats:
        """Density at ``x`` (...), per unit of the quantity, by default the slope of `cdf`; NaN where it is not known.

        Single values that have a probability of their own show in `cdf` alone.
        """
        places = np.asarray(x, dtype=np.float64)
        width = _STEP * float(np.diff(self.quantile([0.25, 0.75]))[0])
        if width == 0.0:
            return np.zeros(places.shape)
        low, high = places - width, places + width
        return np.maximum((np.asarray(self.cdf(high)) - np.asarray(self.cdf(low))) / (high - low), 0.0)

    def quantile(self, q: npt.ArrayLike) -> Floats:
        """Smallest value whose `cdf` reaches ``q`` (...), 0 to 1; for 0 and 1 the ends of the support.

        By default by bisection. NaN where the representation does not know it, or ``q`` is no probability.
        """
        levels = np.asarray(q, dtype=np.float64)
        low, high = (np.full(levels.shape, end, dtype=np.float64) for end in self.support)
        inside = np.where((levels > 0.0) & (levels < 1.0), levels, 0.5)
        places = _least_float(lambda x: np.asarray(self.cdf(x)) >= inside, low, high)
        places = np.where(levels == 0.0, low, np.where(levels == 1.0, high, places))
        return np.where((levels >= 0.0) & (levels <= 1.0), places, np.nan)

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw ``n`` independent values (n,).

        Raises
        ------
        DataError
            The representation has no distribution to draw from.
        """
        if not self.has_distribution:
            raise DataError(
                f"{self!r} has no distribution to draw from; one that says all values are equally likely has"
            )
        return self.quantile(rng.random(n))

    def central_interval(self, coverage: float) -> tuple[float, float]:
        """Bounds that hold a share ``coverage`` (0 to 1) of all values, as many below as above; NaN if unknown."""
        low, high = self.quantile([0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage])
        return float(low), float(high)

    @property
    def binned(self) -> tuple[Floats, Floats] | None:
        """Edges (m + 1,) and probabilities (m,) of what is made of bins; None, the default, of what is not."""
        return None

    # How good it was as a prediction of what then happened.

    def place_of(self, actual: float) -> float:
        """Probability of values up to the actual one (probability integral transform); NaN without a distribution.

        NaN of one number too: it is right or wrong, and its place says nothing.
        """
        low, high = self.support
        return float(self.cdf(actual)) if low < high and self.has_distribution else math.nan

    def crps(self, actual: float) -> float:
        """Continuous ranked probability score, in the unit of the quantity: less is better, 0 is best.

        By default by quadrature over the quantiles; without spread the absolute error, without a distribution NaN. The
        score is twice the integral of the quantile loss over all levels (T. Gneiting and A. E. Raftery, "Strictly
        Proper Scoring Rules, Prediction, and Estimation", 2007, section 4.2, and Laio and Tamea, 2007), by
        Gauss-Legendre nodes on both sides of the actual value's own level, where the loss bends.
        """
        low, high = self.support
        if low == high:
            return abs(actual - low)
        if not self.has_distribution:
            return math.nan
        level = float(self.cdf(actual))
        step, weights = _levels_and_weights(1, _NODES_OF_SCORE)
        lower, upper = level * step, 1.0 - (1.0 - level) * step
        # A level that was rounded to 0 or 1 may have an infinite quantile, but no weight.
        lower = np.maximum(lower, np.finfo(np.float64).tiny)
        upper = np.minimum(upper, np.nextafter(1.0, 0.0))
        below = level * np.sum(weights * lower * (actual - np.asarray(self.quantile(lower))))
        above = (1.0 - level) * np.sum(weights * (1.0 - upper) * (np.asarray(self.quantile(upper)) - actual))
        return 2.0 * float(below + above)

    # Forms in files and on the command line.

    def to_dict(self) -> dict[str, Any]:
        """What `from_dict` accepts, ready for JSON; without notes. By default the fields by name."""
        fields = {name: getattr(self, name) for name in _fields(type(self))}
        plain = {
            name: value if isinstance(value, (float, int, str)) else [float(number) for number in value]
            for name, value in fields.items()
        }
        return {"representation": self.name, **plain}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The value that `to_dict` wrote; ``representation`` may be left out.

        Raises
        ------
        DataError
            A key is missing, unknown or of another type, or the numbers make no value.
        """
        fields = {key: value for key, value in content.items() if key not in ("representation", "digest")}
        try:
            read = msgspec.structs.asdict(msgspec.convert(fields, _layout(cls)))
        except msgspec.ValidationError as error:
            raise DataError(f"{cls.name}: {error}") from None
        for name, value in read.items():
            for number in value if isinstance(value, list) else [value]:
                if isinstance(number, float) and not math.isfinite(number):
                    raise DataError(f"{cls.name}: {name}: {number} is not finite; finite numbers are expected")
        return cls(**{name: value for name, value in read.items() if value is not None})

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Write it as JSON, which formulas and structural models take; gives what the command line says of it."""
        write_json(path, self.to_dict())
        return [f"value: {os.fspath(path)}"]

    @classmethod
    def from_values(cls, values: Sequence[Any]) -> Self:
        """A value from its fields in order: ``normal = [10, 2]`` of a model file.

        Raises
        ------
        DataError
            There are too few or too many, one is of another type, or the numbers make no value.
        """
        fields = _fields(cls)
        required = sum(kind is not None or not is_optional for kind, is_optional in fields.values())
        if not required <= len(values) <= len(fields):
            expected = _between(cls).join(map(str.upper, fields))
            raise DataError(f"{cls.name}: {expected} is expected, {len(values)} of these are given")
        return cls.from_dict(dict(zip(fields, values, strict=False)))

    def to_text(self) -> str:
        """What `perfcore.stochastic.from_text` reads again: ``NAME:`` and the fields in order."""
        fields = _fields(type(self)).items()
        rows = [getattr(self, name) if kind is None else [getattr(self, name)] for name, (kind, _) in fields]
        texts = [
            ",".join(repr(float(x)).removesuffix(".0") if isinstance(x, float) else str(x) for x in row) for row in rows
        ]
        return f"{self.name}:{_between(type(self)).join(texts)}"

    @classmethod
    def from_words(cls, words: str) -> Self:
        """A value from what a user types behind ``NAME:``; by default the fields in order, with commas.

        Where a field is a row of numbers, ``/`` stands between fields: ``2,4,7/0.6,0.4``.

        Raises
        ------
        DataError
            As of `from_values`.
        """
        fields, row = list(_fields(cls).items()), list[Any]()
        for place, text in enumerate(words.split(_between(cls))):
            name, (kind, _) = fields[min(place, len(fields) - 1)]  # of too many the last one, which is then refused
            items = list[Any]()
            for word in map(str.strip, text.split(_BETWEEN_NUMBERS)):
                try:
                    items.append((kind or float)(word))
                except ValueError:
                    raise DataError(f"{cls.name}: {name.upper()}: {word!r} is no number") from None
            row.append(items[0] if kind is not None and len(items) == 1 else items)
        return cls.from_values(row)

    # What makes it a number among numbers.

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.name, self.support))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value}" for name, value in self.to_dict().items() if name != "representation")
        return f"{type(self).__name__}({fields})"

    __add__, __radd__ = _operators("add")
    __sub__, __rsub__ = _operators("subtract")
    __mul__, __rmul__ = _operators("multiply")
    __truediv__, __rtruediv__ = _operators("divide")
    __pow__, __rpow__ = _operators("power")

    def __neg__(self) -> StochasticValue:
        return perform("negative", (self,), {})

    def __abs__(self) -> StochasticValue:
        return perform("absolute", (self,), {})


Quantity = StochasticValue | float


def as_value(quantity: Quantity) -> StochasticValue:
    """A stochastic value; of a number one without spread.

    Examples
    --------
    >>> as_value(3.0).support
    (3.0, 3.0)
    """
    if isinstance(quantity, StochasticValue):
        return quantity
    number: StochasticValue = default_representation("number")(quantity)
    return number


def performer_of(operands: Sequence[StochasticValue]) -> type[StochasticValue]:
    """The representation that performs an operation: the highest generality; of equals the last by name."""
    return type(max(operands, key=lambda operand: (operand.generality, operand.name)))


def perform(operation: str, values: Sequence[Quantity], options: Mapping[str, Any]) -> StochasticValue:
    """An operation on values of any representations, done by that of the highest generality."""
    if not values:
        raise DataError(f"{operation} needs at least one value")
    operands = [as_value(value) for value in values]
    performer = performer_of(operands)
    arithmetic = performer.arithmetic()
    return performer.operate(
        operation, operands, build(arithmetic, options, performer.name) if options else arithmetic()
    )


def _operation(name: str, summary: str, count: int = 0) -> Operation:
    """Return the public function of an operation on ``count`` values; 0 for one or more."""

    def function(*values: Quantity, **options: Any) -> StochasticValue:
        if count and len(values) != count:
            raise TypeError(f"{name}() takes {count} values, {len(values)} are given")
        return perform(name, values, options)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = summary
    return function


add = _operation("add", "Return the sum of two or more; ``x + y``.")
subtract = _operation("subtract", "Return the difference; ``x - y``.", 2)
multiply = _operation("multiply", "Return the product of two or more; ``x * y``.")
divide = _operation("divide", "Return the quotient; ``x / y``.", 2)
power = _operation("power", "Return the power; ``x ** y``.", 2)
maximum = _operation("maximum", "Return the distribution of the largest of several values.")
minimum = _operation("minimum", "Return the distribution of the smallest of several values.")
negative = _operation("negative", "Return ``-x``.", 1)
absolute = _operation("absolute", "Return ``abs(x)``.", 1)
exp = _operation("exp", "Return the exponential function.", 1)
log = _operation("log", "Return the natural logarithm.", 1)
sqrt = _operation("sqrt", "Return the square root.", 1)


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
