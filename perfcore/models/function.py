"""One function from which models are built: the contract of the hook `register_functions`."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["FormulaFunction", "Function"]


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
