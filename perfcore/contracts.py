"""What an implementation of each hook must be: one door for authors of plugins, who inherit from the class here.

The matching test suites are in `perfcore.testing`; the contract of representations is
`perfcore.stochastic.StochasticValue`, that of models `perfcore.Model`.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from perfcore.hooks.options import NoOptions
from perfcore.models.fitting import Fitter
from perfcore.reading.source import Reader

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from perfcore.data.curve import UtilizationCurve


@dataclass(frozen=True)
class Basis:
    """What a phase may look like."""

    degree: int = 2  # of the polynomial, 0 to 3


@dataclass(frozen=True)
class Segmentation:
    """Phases as a segmenter gives them: where they begin and end.

    Parameters
    ----------
    breaks : (n_phases + 1,) float
        Times counted from the curve's start, in the curve's unit, increasing; first 0, last the duration.
    degrees : (n_phases,) int, optional
        Degree of each phase where the segmenter chose a lower one than that of the basis.
    statistics : mapping
        Figures of the search: ``evaluations``, ``updates``, ``seconds``, ``tolerance``, ...
    """

    breaks: npt.NDArray[np.float64]
    degrees: npt.NDArray[np.int64] | None = None
    statistics: Mapping[str, float] = field(default_factory=dict)


class Segmenter(ABC):
    """Finds the breakpoints of a curve; `objective` says in words what it minimises."""

    Options: ClassVar[type] = NoOptions
    objective: ClassVar[str] = "sum of squared errors"

    def __init__(self, options: Any = None) -> None:
        self.options = self.Options() if options is None else options

    @abstractmethod
    def segment(self, curve: UtilizationCurve, n_phases: int, basis: Basis) -> Segmentation:
        """At most ``n_phases`` phases of a curve whose neighbouring heights differ."""

    def sequence(self, curve: UtilizationCurve, counts: Sequence[int], basis: Basis) -> list[Segmentation]:
        """One segmentation for each number of phases, in increasing order; `SequenceSegmenter` shares work."""
        return [self.segment(curve, n, basis) for n in counts]


class SequenceSegmenter(Segmenter):
    """A segmenter that shares work between numbers of phases: it overrides `sequence` alone."""

    def segment(self, curve: UtilizationCurve, n_phases: int, basis: Basis) -> Segmentation:
        """Phases for one n: a sequence of one."""
        return self.sequence(curve, [n_phases], basis)[0]

    @abstractmethod
    def sequence(self, curve: UtilizationCurve, counts: Sequence[int], basis: Basis) -> list[Segmentation]:
        """One segmentation for each number of phases, in increasing order."""


__all__ = [
    "Basis", "Fitter", "FormulaFunction", "Function", "NoOptions", "Reader", "Segmentation", "Segmenter",
    "SequenceSegmenter",
]  # fmt: skip


class Function(ABC):
    """One function from which models are built, of time or of parameters such as the number of processors.

    `FormulaFunction` is one that its formula computes.

    Attributes
    ----------
    name : str
        What the user types; for characteristic functions the formula itself, ``1/p``.
    formula : str
        As a person reads it.
    variables : tuple of str
        What it is a function of: ``("t",)`` for time since the start in units of the model's time scale, otherwise
        symbols of parameters. ``()`` for the constant.
    """

    name: ClassVar[str]
    formula: ClassVar[str]
    variables: ClassVar[tuple[str, ...]]

    @abstractmethod
    def __call__(self, points: Mapping[str, npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
        """Values at points.

        Parameters
        ----------
        points : mapping of str to (...) float
            At least the `variables`, all of one shape.

        Returns
        -------
        (...) float
            A new array of that shape; may hold NaN or infinity where the function is not defined.
        """


class FormulaFunction(Function):
    """A function that its formula computes: a subclass gives `name`, `formula` and `variables`, and is complete.

    Examples
    --------
    >>> import numpy as np
    >>> class Surface(FormulaFunction):
    ...     name = formula = "p^(-2/3)"
    ...     variables = ("p",)
    >>> Surface()({"p": np.array([1.0, 8.0])})
    array([1.  , 0.25])
    """

    def __call__(self, points: Mapping[str, npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
        """Return values of the formula at points; see `Function`."""
        formulas = importlib.import_module("perf_formulas.formula")  # loaded when a formula is computed
        values: npt.NDArray[np.float64] = formulas.parsed(self.formula).evaluate(points)
        return values
