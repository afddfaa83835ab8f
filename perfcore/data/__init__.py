"""The nouns: utilization curves, traces, series, measurements, their units, and what kind of data something is."""

from __future__ import annotations

from typing import Any

from perfcore.base.errors import DataError


def kind_of(data: Any) -> str:
    """Return what kind of data something is; a fitter registers the kinds that it is the default for."""
    kind: str | None = getattr(data, "data_kind", None)
    if kind is None:
        raise DataError(
            f"{type(data).__name__} is no kind of data that is known here; a trace, a utilization curve, a series or "
            "measurements are"
        )
    return kind


def kind_in_words(data: Any) -> str:
    """Return the kind of data for a message; of values that are no times their name."""
    from perfcore.data.units import is_time

    kind = kind_of(data)
    return str(data.roles.value) if kind == "timings" and data.roles.value and not is_time(data.roles.unit) else kind


def type_in_words(data: Any) -> str:
    """Return what something is, in a user's words; of what is no data the name of its type."""
    return str(getattr(data, "in_words", f"a {type(data).__name__}"))
