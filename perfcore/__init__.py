"""perfcore turns measurements of parallel programs into performance models with stated uncertainty.

The functions `read`, `fit` and `load` and the data types are all that most programs need. Nothing heavy is imported
before one of them is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from perfcore.curve import UtilizationCurve
    from perfcore.errors import PerfError
    from perfcore.fitting import fit, rank
    from perfcore.hookspecs import hookimpl
    from perfcore.measurements import Measurements
    from perfcore.model import Model, load
    from perfcore.picture import plot
    from perfcore.reading import read, write
    from perfcore.series import Series
    from perfcore.trace import Trace

_HOMES = {
    "Measurements": "measurements",
    "Model": "model",
    "PerfError": "errors",
    "Series": "series",
    "Trace": "trace",
    "UtilizationCurve": "curve",
    "fit": "fitting",
    "hookimpl": "hookspecs",
    "load": "model",
    "plot": "picture",
    "rank": "fitting",
    "read": "reading",
    "write": "reading",
}

__all__ = [
    "Measurements",
    "Model",
    "PerfError",
    "Series",
    "Trace",
    "UtilizationCurve",
    "__version__",
    "fit",
    "hookimpl",
    "load",
    "plot",
    "rank",
    "read",
    "write",
]


def __getattr__(name: str) -> Any:
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'perfcore' has no attribute {name!r}") from None
    value = getattr(importlib.import_module(f"perfcore.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
