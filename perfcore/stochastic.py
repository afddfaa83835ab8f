"""Stochastic values: quantities that are not one number, and their arithmetic.

A quantity may be a point, a normal, a histogram or an interval; each is a registered representation with one contract,
`StochasticValue`. Values of different representations mix: `generality` says which of them performs an operation.
Every operation takes its operands to be independent of each other, unless an option says otherwise. It sees values and
not names: that the x of ``x*x`` is one quantity knows only who sees the whole formula. Write ``x**2``, which is exact.

Source: J. M. Schopf, "A Practical Methodology for Defining Histograms for Predictions and Scheduling", Northwestern
University, NWU-CS-99-2, 1999.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from perfcore.base.errors import DataError
from perfcore.hooks.options import NoOptions, build
from perfcore.hooks.registry import registry

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

__all__ = [
    "StochasticValue",
    "absolute",
    "add",
    "checked_samples",
    "divide",
    "exp",
    "from_dict",
    "log",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "power",
    "sqrt",
    "subtract",
]


class StochasticValue(ABC):
    """A quantity of which more than one value is possible; frozen.

    A representation inherits from this class, is registered by ``register_representations`` under its `name`, and is
    tested by `perfcore.testing.RepresentationSuite`.

    Attributes
    ----------
    name : str
        What the user types, and the key ``representation`` of its JSON.
    generality : int
        In an operation the operand of the highest generality converts the others and performs it. Bundled are point
        0, normal 10, histogram 20 and interval 30: each can hold what those below it say, but for an interval, which
        knows least and therefore comes last. What combines a known distribution with mere bounds is known by its
        bounds alone.
    Options : type
        Options of `from_samples`, a dataclass declared with `perfcore.hooks.options.option`.
    Arithmetic : type
        Options of operations, likewise.
    notes : tuple of str
        What a reader of the result must know, such as the error of a poor approximation. A result has the notes of
        its operands too. They do not count in comparisons.
    """

    name: ClassVar[str]
    generality: ClassVar[int]
    Options: ClassVar[type] = NoOptions
    Arithmetic: ClassVar[type] = NoOptions
    notes: tuple[str, ...]

    __array_ufunc__ = None  # so that numpy's numbers leave `number + value` to this class

    @classmethod
    @abstractmethod
    def from_samples(cls, samples: npt.ArrayLike, options: Any = None) -> Self:
        """Summarise samples.

        Parameters
        ----------
        samples : (n,) float, n >= 1, finite
        options : instance of `Options`, optional

        Raises
        ------
        DataError
            There are no samples, or one is not finite.
        """

    @classmethod
    @abstractmethod
    def convert(cls, value: StochasticValue) -> tuple[Self, str]:
        """Bring another value to this representation.

        Returns
        -------
        converted : instance of this class
        lost : str
            What it no longer says, or what was assumed; empty where nothing is lost.
        """

    @classmethod
    @abstractmethod
    def operate(cls, operation: str, operands: Sequence[StochasticValue], options: Any = None) -> StochasticValue:
        """Perform an operation.

        Parameters
        ----------
        operation : str
            Name of one of this module's functions: ``"add"``.
        operands : sequence of StochasticValue
            As many as the operation takes, none of higher generality.
        options : instance of `Arithmetic`, optional

        Raises
        ------
        DataError
            A divisor can be zero; a root or logarithm is taken of what can be negative; the result is not finite.
        """

    @property
    @abstractmethod
    def mean(self) -> float:
        """Expected value; NaN where the representation has none."""

    @property
    @abstractmethod
    def std(self) -> float:
        """Standard deviation; NaN where the representation has none."""

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value; may be infinite."""

    @abstractmethod
    def cdf(self, x: npt.ArrayLike) -> Floats:
        """Probability of values up to ``x`` (...); NaN where the representation does not know it."""

    @abstractmethod
    def pdf(self, x: npt.ArrayLike) -> Floats:
        """Density at ``x`` (...), per unit of the quantity; NaN where the representation does not know it.

        Single values that have a probability of their own show in `cdf` alone.
        """

    @abstractmethod
    def quantile(self, q: npt.ArrayLike) -> Floats:
        """Smallest value whose `cdf` reaches ``q`` (...), 0 to 1; for 0 and 1 the ends of the support.

        NaN where the representation does not know it, or ``q`` is no probability.
        """

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw ``n`` independent values (n,).

        Raises
        ------
        DataError
            The representation has no distribution to draw from.
        """
        return self.quantile(rng.random(n))

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """What `from_dict` accepts, ready for JSON; without notes."""

    @classmethod
    @abstractmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The value that `to_dict` wrote.

        Raises
        ------
        DataError
            A key is missing, unknown or of another type, or the numbers make no value.
        """

    @classmethod
    def converted(cls, operands: Sequence[StochasticValue]) -> tuple[list[Self], tuple[str, ...]]:
        """Operands in this representation, and notes: theirs, and what conversion lost."""
        found: list[Self] = []
        notes: list[str] = []
        for operand in operands:
            notes += operand.notes
            if isinstance(operand, cls):
                found.append(operand)
                continue
            value, lost = cls.convert(operand)
            found.append(value)
            if lost:
                notes.append(f"{operand!r} taken as {cls.name}: {lost}")
        return found, tuple(dict.fromkeys(notes))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.name, self.support))

    def __add__(self, other: StochasticValue | float) -> StochasticValue:
        return add(self, other)

    def __radd__(self, other: float) -> StochasticValue:
        return add(other, self)

    def __sub__(self, other: StochasticValue | float) -> StochasticValue:
        return subtract(self, other)

    def __rsub__(self, other: float) -> StochasticValue:
        return subtract(other, self)

    def __mul__(self, other: StochasticValue | float) -> StochasticValue:
        return multiply(self, other)

    def __rmul__(self, other: float) -> StochasticValue:
        return multiply(other, self)

    def __truediv__(self, other: StochasticValue | float) -> StochasticValue:
        return divide(self, other)

    def __rtruediv__(self, other: float) -> StochasticValue:
        return divide(other, self)

    def __pow__(self, other: StochasticValue | float) -> StochasticValue:
        return power(self, other)

    def __rpow__(self, other: float) -> StochasticValue:
        return power(other, self)

    def __neg__(self) -> StochasticValue:
        return negative(self)

    def __abs__(self) -> StochasticValue:
        return absolute(self)


Quantity = StochasticValue | float


def add(*values: Quantity, **options: Any) -> StochasticValue:
    """Sum of two or more; ``x + y``.

    Parameters
    ----------
    *values : StochasticValue or float
        At least one of them stochastic.
    **options
        What the representation that performs the operation declares in `StochasticValue.Arithmetic`; likewise for all
        functions here.

    Examples
    --------
    >>> normal = registry().load("representations", "normal")
    >>> add(normal(3.0, 0.3), normal(5.0, 0.4), 2.0)
    Normal(10 ± 0.5)
    >>> add(normal(3.0, 0.3), normal(5.0, 0.4), correlation=1.0)
    Normal(8 ± 0.7)
    """
    return _operate("add", values, options)


def subtract(x: Quantity, y: Quantity, **options: Any) -> StochasticValue:
    """Difference; ``x - y``."""
    return _operate("subtract", (x, y), options)


def multiply(*values: Quantity, **options: Any) -> StochasticValue:
    """Product of two or more; ``x * y``."""
    return _operate("multiply", values, options)


def divide(x: Quantity, y: Quantity, **options: Any) -> StochasticValue:
    """Quotient; ``x / y``."""
    return _operate("divide", (x, y), options)


def power(x: Quantity, y: Quantity, **options: Any) -> StochasticValue:
    """Power; ``x ** y``."""
    return _operate("power", (x, y), options)


def maximum(*values: Quantity, **options: Any) -> StochasticValue:
    """Distribution of the largest of several values."""
    return _operate("maximum", values, options)


def minimum(*values: Quantity, **options: Any) -> StochasticValue:
    """Distribution of the smallest of several values."""
    return _operate("minimum", values, options)


def negative(x: Quantity) -> StochasticValue:
    """``-x``."""
    return _operate("negative", (x,), {})


def absolute(x: Quantity, **options: Any) -> StochasticValue:
    """``abs(x)``."""
    return _operate("absolute", (x,), options)


def exp(x: Quantity, **options: Any) -> StochasticValue:
    """Exponential function."""
    return _operate("exp", (x,), options)


def log(x: Quantity, **options: Any) -> StochasticValue:
    """Natural logarithm."""
    return _operate("log", (x,), options)


def sqrt(x: Quantity, **options: Any) -> StochasticValue:
    """Square root."""
    return _operate("sqrt", (x,), options)


def _operate(operation: str, values: Sequence[Quantity], options: Mapping[str, Any]) -> StochasticValue:
    if not values:
        raise DataError(f"{operation} needs at least one value")
    operands = [value if isinstance(value, StochasticValue) else _point(value) for value in values]
    performer = type(max(operands, key=lambda operand: operand.generality))
    given = build(performer.Arithmetic, options, performer.name) if options else performer.Arithmetic()
    return performer.operate(operation, operands, given)


def _point(value: float) -> StochasticValue:
    point: StochasticValue = registry().load("representations", "point")(value)
    return point


def from_dict(content: Mapping[str, Any]) -> StochasticValue:
    """The value that some representation's ``to_dict`` wrote.

    Raises
    ------
    UnknownNameError
        No representation has the name under the key ``representation``.
    DataError
        There is no such key, or the rest makes no value.

    Examples
    --------
    >>> from_dict({"representation": "interval", "lower": 3.0, "upper": 5.0})
    Interval[3, 5]
    """
    if not isinstance(content, Mapping) or not isinstance(content.get("representation"), str):
        known = ", ".join(registry().entries("representations"))
        raise DataError(f"a stochastic value needs the key 'representation', one of {known}")
    representation: type[StochasticValue] = registry().load("representations", content["representation"])
    return representation.from_dict(content)


def checked_samples(samples: npt.ArrayLike) -> Floats:
    """Samples as a new array (n,).

    Raises
    ------
    DataError
        There are none, one is not finite, or they are not in one row.
    """
    import numpy as np

    try:
        found: Floats = np.array(samples, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("samples must be numbers") from None
    if found.ndim != 1:
        raise DataError(f"samples must be in one row, found {found.ndim} dimensions")
    if not len(found):
        raise DataError("there are no samples; at least one is needed")
    bad = np.flatnonzero(~np.isfinite(found))
    if len(bad):
        raise DataError(f"sample {bad[0] + 1} of {len(found)} is {found[bad[0]]}; finite numbers are expected")
    return found
