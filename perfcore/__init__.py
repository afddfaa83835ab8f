"""perfcore turns measurements of parallel programs into performance models with stated uncertainty.

The functions `read`, `fit` and `load` and the data types are all that most programs need. Nothing heavy is imported
before one of them is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    "max_",
    "plot",
    "rank",
    "read",
    "write",
]

__getattr__, _names = lazy_names(
    __name__,
    {
        "Measurements": "perfcore.data.measurements",
        "Model": "perfcore.models.model",
        "PerfError": "perfcore.base.errors",
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


def __dir__() -> list[str]:
    return sorted(__all__)
