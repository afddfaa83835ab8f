"""perfcore turns measurements of parallel programs into performance models with stated uncertainty.

The functions `read`, `fit` and `load` and the data types are all that most programs need. Nothing heavy is imported
before one of them is used.
"""

from __future__ import annotations

from perfcore.base import lazy_names

__version__ = "0.2.0"

TYPE_CHECKING = False  # to type checkers it is true; typing takes most of the time of this import
if TYPE_CHECKING:
    from typing import Any

    from perfcore.base.errors import PerfError as PerfError
    from perfcore.data.curve import UtilizationCurve as UtilizationCurve
    from perfcore.data.measurements import Measurements as Measurements
    from perfcore.data.series import Series as Series
    from perfcore.data.trace import Trace as Trace
    from perfcore.hooks.registry import Entry
    from perfcore.hooks.specs import hookimpl as hookimpl
    from perfcore.models.fitting import fit as fit
    from perfcore.models.fitting import rank as rank
    from perfcore.models.model import Model as Model
    from perfcore.models.model import load as load
    from perfcore.reading.recognise import read as read
    from perfcore.reading.recognise import write as write
    from perfcore.report import Result as Result

_HOMES = {
    "Measurements": "perfcore.data.measurements",
    "Model": "perfcore.models.model",
    "PerfError": "perfcore.base.errors",
    "Result": "perfcore.report",
    "Series": "perfcore.data.series",
    "Trace": "perfcore.data.trace",
    "UtilizationCurve": "perfcore.data.curve",
    "fit": "perfcore.models.fitting",
    "hookimpl": "perfcore.hooks.specs",
    "load": "perfcore.models.model",
    "rank": "perfcore.models.fitting",
    "read": "perfcore.reading.recognise",
    "write": "perfcore.reading.recognise",
}
__all__ = ["__version__", *_HOMES]  # noqa: PLE0604 (names are texts)
_core, _ = lazy_names(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    """A name of the core, or the function that a plugin registered."""
    if name in __all__ or name.startswith("_"):
        return _core(name)
    for function, entry in _functions().items():
        if function == name:
            globals()[name] = entry.load_function(name)
            return globals()[name]
    raise AttributeError(f"module 'perfcore' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What programs use, the functions of plugins among it."""
    return sorted({*__all__, *_functions()})


def _functions() -> dict[str, Entry]:
    """Public functions of plugins by name: those behind commands, and those that make models and other results."""
    from perfcore.hooks.registry import registry

    entries = (entry for kind in ("commands", "models") for entry in registry().entries(kind).values())
    return {name: entry for entry in entries for name in entry.functions}
