"""Where the phases of a model of a trace begin and end, as whole nanoseconds."""

from __future__ import annotations

from typing import Any

from perfcore.base.errors import DataError
from perfcore.data.units import nanoseconds_per


def model_edges(model: Any, name: str = "") -> list[int]:
    """Where the phases of a model begin and end."""
    phases = getattr(model, "phases", None)
    if not phases:
        raise DataError(
            f"{name or model.origin.source}: the model of {model.origin.fitter} has no phases; `perf fit TRACE "
            "--fitter worley -o model.json` makes one"
        )
    factor = nanoseconds_per(model.time_unit)
    return [round(phases[0].start * factor), *(round(phase.end * factor) for phase in phases)]
