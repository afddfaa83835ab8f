"""Scales in which models of codes on systems are fitted: named transformations that can be chained and undone.

Source: E. Strohmaier, "Statistical Performance Modeling: Case Study of the NPB 2.1 Results", section 3: times over four
orders of magnitude become comparable when they are multiplied by the number of processors, divided by the operation
count of the code, and multiplied by the peak performance of the system (equation 4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from perfcore.base.errors import DataError, listing
from perfcore.data.roles import shown_names

Floats = npt.NDArray[np.float64]


class TimesParameter(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="times parameter"):
    """Times a parameter: ``t * p`` of a code that scales perfectly is the same for every p."""

    symbol: str

    @property
    def text(self) -> str:
        """As it follows the t in the scale's formula."""
        return f"* {self.symbol}"

    def factor(self, points: Mapping[str, Floats], code: Sequence[str], system: Sequence[str]) -> Floats:
        """What a value is multiplied by (n,)."""
        return np.asarray(points[self.symbol], dtype=np.float64)


class OverCode(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="over code"):
    """Over a quantity of the code, such as its operation count W_c."""

    name: str
    quantities: dict[str, float]

    @property
    def text(self) -> str:
        """As it follows the t in the scale's formula."""
        return f"/ {self.name}"

    def factor(self, points: Mapping[str, Floats], code: Sequence[str], system: Sequence[str]) -> Floats:
        """What a value is multiplied by (n,)."""
        return 1.0 / _looked_up(self.quantities, code, self.name, "code")


class TimesSystem(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="times system"):
    """Times a quantity of the system, such as its peak performance r_peak."""

    name: str
    quantities: dict[str, float]

    @property
    def text(self) -> str:
        """As it follows the t in the scale's formula."""
        return f"* {self.name}"

    def factor(self, points: Mapping[str, Floats], code: Sequence[str], system: Sequence[str]) -> Floats:
        """What a value is multiplied by (n,)."""
        return _looked_up(self.quantities, system, self.name, "system")


Step = TimesParameter | OverCode | TimesSystem


class Preparation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Steps in sequence. Each multiplies, so the whole is one factor for each value, and division undoes it."""

    steps: tuple[Step, ...] = ()

    def __add__(self, other: Preparation) -> Preparation:
        """These steps, then the other's."""
        return Preparation(self.steps + other.steps)

    @property
    def formula(self) -> str:
        """The transformation as the paper writes it."""
        return " ".join(["t' = t", *(step.text for step in self.steps)])

    def line(self, columns: Mapping[str, str]) -> str:
        """In which scale a model was fitted, with parameters as texts call those of these columns, by symbol."""
        if not self.steps:
            return "fitted as measured"
        names = shown_names(columns)
        steps = (
            TimesParameter(names[step.symbol]) if isinstance(step, TimesParameter) else step for step in self.steps
        )
        return f"fitted in the scale {Preparation(tuple(steps)).formula}"

    @property
    def of_parameters(self) -> Preparation:
        """The steps that depend on parameters; the others are constant for each code on each system."""
        return Preparation(tuple(step for step in self.steps if isinstance(step, TimesParameter)))

    def factor(self, points: Mapping[str, Floats], code: Sequence[str], system: Sequence[str]) -> Floats:
        """What a value in the user's unit is multiplied by (n,), positive."""
        result = np.ones(len(code))
        for step in self.steps:
            result = result * step.factor(points, code, system)
        return result

    def apply(self, values: Floats, points: Mapping[str, Floats], code: Sequence[str], system: Sequence[str]) -> Floats:
        """Values in the user's unit as values of the scale (n,)."""
        return values * self.factor(points, code, system)

    def undo(self, values: Floats, points: Mapping[str, Floats], code: Sequence[str], system: Sequence[str]) -> Floats:
        """Values of the scale as values in the user's unit (n,)."""
        return values / self.factor(points, code, system)


def _looked_up(quantities: Mapping[str, float], names: Sequence[str], quantity: str, role: str) -> Floats:
    unknown = [name for name in dict.fromkeys(names) if name not in quantities]
    if unknown:
        raise DataError(
            f"{quantity} is not known for {role} {listing(unknown, 5)}; it is for {listing(sorted(quantities), 8)}; "
            "add it, or leave such rows out with --where"
        )
    table, positions = np.unique(np.asarray(names, dtype=np.str_), return_inverse=True)
    return np.array([quantities[str(name)] for name in table])[positions]
