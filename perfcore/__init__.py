"""perfcore turns measurements of parallel programs into performance models with stated uncertainty.

The functions `read`, `fit` and `load` and the data types are all that most programs need. Nothing heavy is imported
before one of them is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfcore.base.lazy import lazy_names

__version__ = "0.1.0"

if TYPE_CHECKING:
    from perfcore.base.errors import PerfError
    from perfcore.data.curve import UtilizationCurve
    from perfcore.data.measurements import Measurements
    from perfcore.data.series import Series
    from perfcore.data.trace import Trace
    from perfcore.hooks.specs import hookimpl
    from perfcore.models.fitting import fit, rank
    from perfcore.models.model import Model, load
    from perfcore.models.operators import max_
    from perfcore.reading.recognise import read, write
    from perfcore.views.picture import plot
    from perfcore.views.presenter import Result

__all__ = [
    "Measurements",
    "Model",
    "PerfError",
    "Result",
    "Series",
    "Trace",
    "UtilizationCurve",
    "__version__",
    "fit",
    "hookimpl",
    "load",
    "max_",
    "plot",
    "rank",
    "read",
    "write",
]

_core, _ = lazy_names(
    __name__,
    {
        "Measurements": "perfcore.data.measurements",
        "Model": "perfcore.models.model",
        "PerfError": "perfcore.base.errors",
        "Result": "perfcore.views.presenter",
        "Series": "perfcore.data.series",
        "Trace": "perfcore.data.trace",
        "UtilizationCurve": "perfcore.data.curve",
        "fit": "perfcore.models.fitting",
        "hookimpl": "perfcore.hooks.specs",
        "load": "perfcore.models.model",
        "max_": "perfcore.models.operators",
        "plot": "perfcore.views.picture",
        "rank": "perfcore.models.fitting",
        "read": "perfcore.reading.recognise",
        "write": "perfcore.reading.recognise",
    },
)


def __getattr__(name: str) -> Any:
    """A name of the core, or the function behind a registered command."""
    if name in __all__ or name.startswith("_"):
        return _core(name)
    from perfcore.hooks.registry import registry

    for entry in registry().entries("commands").values():
        if entry.function is not None and entry.function.rpartition(":")[2] == name:
            function = entry.load_function()
            globals()[name] = function
            return function
    raise AttributeError(f"module 'perfcore' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What programs use, the functions of plugins' commands among it."""
    from perfcore.hooks.registry import registry

    functions = (entry.function for entry in registry().entries("commands").values() if entry.function is not None)
    return sorted({*__all__, *(function.rpartition(":")[2] for function in functions)})
