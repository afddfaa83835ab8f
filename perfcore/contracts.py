"""What an implementation of each hook must be: one door for authors of plugins, who inherit from the class here.

The matching test suites are in `perfcore.testing`; the contract of representations is
`perfcore.stochastic.StochasticValue`, that of models `perfcore.Model`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from perfcore.hooks.options import NoOptions
from perfcore.models.fitter import Fitter
from perfcore.models.function import FormulaFunction, Function
from perfcore.reading.reader import Reader

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from perfcore.data.curve import UtilizationCurve


@dataclass(frozen=True)
class Basis:
    """What a phase may look like.

    Parameters
    ----------
    degree : int
        Degree of the polynomial, 0 to 3.
    """

    degree: int = 2


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
