"""What an implementation of each hook must be. Whoever writes one inherits from the class here.

The matching test suites are in `perfcore.testing`.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from perfcore.base.errors import OptionError
from perfcore.formulas.formula import Formula
from perfcore.hooks.options import NoOptions

if TYPE_CHECKING:
    import os

    import numpy as np
    import numpy.typing as npt

    from perfcore.data.curve import UtilizationCurve
    from perfcore.models.model import Model
    from perfcore.models.ranking import Ranking
    from perfcore.reading.source import Source

__all__ = [
    "Basis",
    "Fitter",
    "Function",
    "NoOptions",
    "Reader",
    "Segmentation",
    "Segmenter",
    "SequenceSegmenter",
]


class Reader(ABC):
    """Turns one format into data.

    A reader that can also write sets `writes` and overrides `write`. One whose format is several files names the
    endings of those that are read with the one the user names in `parts`: beside ``hello.sts``, in a folder or a
    pattern, ``hello.0.log`` and what lies in ``hello/`` are then no data of their own.
    """

    Options: ClassVar[type] = NoOptions
    writes: ClassVar[bool] = False
    parts: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def options_for(cls, wanted: Sequence[type]) -> Mapping[str, Any]:
        """Options with which it reads one of the types wanted, where a file could be read as several."""
        return {}

    @abstractmethod
    def sniff(self, source: Source) -> float:
        """How sure it is that this is its format, 0 to 1, from ``source.head`` and ``source.suffix`` alone."""

    @abstractmethod
    def read(self, source: Source, options: Any) -> Any:
        """Read the whole input: a `Trace`, `UtilizationCurve`, `Series` or `Measurements`.

        Raises
        ------
        InputError
            With file, line and cure, whatever the bytes are.
        """

    def write(self, data: Any, path: str | os.PathLike[str]) -> None:
        """Write ``data`` to ``path`` (already made atomic by the caller)."""
        raise NotImplementedError


@dataclass(frozen=True)
class Basis:
    """What a phase may look like.

    Parameters
    ----------
    degree : int
        Degree of the polynomial, 0 to 3; ignored with ``functions``.
    mixed : bool
        Choose constant, linear or quadratic for each phase (Worley, section 5.1).
    functions : sequence of callables
        Instead of polynomials: each takes times (n,) counted from the curve's start and gives values (n,). The
        constant is always part of the model.
    names : sequence of str
        Names of ``functions``.
    """

    degree: int = 2
    mixed: bool = False
    functions: tuple[Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]], ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Segmentation:
    """Phases as a segmenter gives them: where they begin and end.

    Parameters
    ----------
    breaks : (n_phases + 1,) float
        Times counted from the curve's start, in the curve's unit, increasing; first 0, last the duration.
    degrees : (n_phases,) int, optional
        Degree of each phase where the segmenter chose it (mixed basis).
    statistics : mapping
        Figures of the search: ``evaluations``, ``updates``, ``seconds``, ``tolerance``, ...
    """

    breaks: npt.NDArray[np.float64]
    degrees: npt.NDArray[np.int64] | None = None
    statistics: Mapping[str, float] = field(default_factory=dict)


class Segmenter(ABC):
    """Finds the breakpoints of a curve.

    `objective` says in words what it minimises; `supports_mixed` and `supports_functions` say which bases it takes
    besides polynomials of one degree.
    """

    Options: ClassVar[type] = NoOptions
    objective: ClassVar[str] = "sum of squared errors"
    supports_mixed: ClassVar[bool] = False
    supports_functions: ClassVar[bool] = False

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


class Function:
    """One function from which models are built, of time or of parameters such as the number of processors.

    A subclass names itself and gives its formula; one that no formula can express overrides `__call__`.

    Attributes
    ----------
    name : str
        What the user types; for characteristic functions the formula itself, ``1/p``.
    formula : str
        As `perfcore.formulas.formula.Formula` reads it.
    variables : tuple of str
        What it is a function of: ``("t",)`` for time since the start in units of the model's time scale, otherwise
        symbols of parameters. ``()`` for the constant.
    """

    name: ClassVar[str]
    formula: ClassVar[str]
    variables: ClassVar[tuple[str, ...]]

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
        return _parsed(self.formula).evaluate(points)


_parsed = functools.lru_cache(Formula)


class Fitter(ABC):
    """Turns data into a model.

    `takes` are the types of data that it fits; a file that could be read as several is read as one of them.
    """

    Options: ClassVar[type] = NoOptions
    model_type: ClassVar[type[Model]]
    takes: ClassVar[tuple[type, ...]] = ()

    @abstractmethod
    def fit(self, data: Any, options: Any, **parts: Any) -> Any:
        """Fit, and return the `Model`.

        Parameters
        ----------
        data : Trace, UtilizationCurve, Series or Measurements
        options : instance of `Options`
        **parts
            For each option declared with ``selects=KIND`` the selected implementation, constructed with the options
            that it declares itself.
        """

    def rank(self, data: Any, options: Any, **parts: Any) -> Ranking:
        """Compare the models that the fitter can make; arguments as for `fit`.

        Raises
        ------
        OptionError
            It makes one model only.
        """
        raise OptionError(f"{type(self).__name__} makes one model and has none to rank; use `perf fit`")
