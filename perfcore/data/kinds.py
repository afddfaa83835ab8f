"""What kind of data a file holds, in the words by which fitters say what they are the default for."""

from __future__ import annotations

from typing import Any

from perfcore.base.errors import DataError
from perfcore.data.curve import UtilizationCurve
from perfcore.data.measurements import Measurements
from perfcore.data.series import Series
from perfcore.data.trace import Trace
from perfcore.data.units import is_time

_SEVERAL = 2
DATA = {Trace: "a trace", UtilizationCurve: "a utilization curve", Series: "a series", Measurements: "measurements"}


def kind_of(data: Any) -> str:
    """Tell what kind of data something is; a fitter registers the kinds that it is the default for."""
    if isinstance(data, Trace):
        return "trace"
    if isinstance(data, UtilizationCurve):
        return "curve"
    if isinstance(data, Series):
        return "series"
    if not isinstance(data, Measurements):
        raise DataError(
            f"{type(data).__name__} is no kind of data that is known here; a trace, a utilization curve, a series or "
            "measurements are"
        )
    if data.roles.category:
        return "categories"
    return "codes x systems" if _joins_codes_and_systems(data) else "timings"


def kind_in_words(data: Any) -> str:
    """The kind of data with what it is over, for a message."""
    kind = kind_of(data)
    columns = data.roles.parameters.values() if isinstance(data, Measurements) else ()
    if kind == "timings" and data.roles.value and not is_time(data.roles.unit):
        kind = data.roles.value
    return f"{kind} over {', '.join(columns)}" if columns else kind


def type_in_words(data: Any) -> str:
    """What something is, in a user's words; of what is no data the name of its type."""
    return next((words for kind, words in DATA.items() if isinstance(data, kind)), f"a {type(data).__name__}")


def _joins_codes_and_systems(data: Measurements) -> bool:
    roles, table = data.roles, data.table
    if not (roles.code and roles.system):
        return False
    if roles.value is not None:
        table = table[table[roles.value].notna()]
    pairs = table[[*roles.code, *roles.system]].dropna().drop_duplicates()
    # A name is made of several columns where several were given.
    code, system = (pairs.groupby(list(columns)).ngroup() for columns in (roles.code, roles.system))
    return bool(
        (code.value_counts() >= _SEVERAL).sum() >= _SEVERAL and (system.value_counts() >= _SEVERAL).sum() >= _SEVERAL
    )
