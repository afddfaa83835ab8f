"""Phases of a trace as whole nanoseconds, so that overheads are known for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import perfcore
from perfcore.base.errors import DataError
from perfcore.data.trace import Trace
from perfcore.data.units import nanoseconds_per

__all__ = ["model_edges", "phase_edges"]


def phase_edges(
    trace: Trace, phases: str | int, *, degree: str = "auto", busy: Sequence[str] | None = None
) -> list[int]:
    """Where Worley's phases of the utilization curve begin and end.

    Parameters
    ----------
    trace : Trace
    phases : str or int
        A number, a range such as ``"1..20"``, or ``"auto"``.
    degree : str
        Degree of the polynomials that model a phase.
    busy : sequence of str, optional
        States that count as computing; by default those of the trace.

    Returns
    -------
    list of int
        Edges in nanoseconds on the clock of the trace, one more than phases.

    Raises
    ------
    OptionError
        The fitter `worley` refuses an option.
    DataError
        The fitter gave no phases.

    Examples
    --------
    >>> trace = Trace([0, 1], [0, 0], [0, 4000], [9000, 9000], ["a", "b"], ["run"])
    >>> phase_edges(trace, 2, degree="0")
    [0, 4000, 9000]
    """
    curve = trace.utilization(busy)
    return model_edges(perfcore.fit(curve, fitter="worley", phases=phases, degree=degree))


def model_edges(model: Any) -> list[int]:
    """Where the phases of a model begin and end.

    Parameters
    ----------
    model : Model
        With ``phases``, each of which has a ``start`` and an ``end`` in the model's ``time_unit``.

    Returns
    -------
    list of int
        Edges in nanoseconds, one more than phases.

    Raises
    ------
    DataError
        The model has no phases.
    """
    phases = getattr(model, "phases", None)
    if not phases:
        raise DataError(f"{model.origin.source}: the model of {model.origin.fitter} has no phases")
    factor = nanoseconds_per(model.time_unit)
    return [round(phases[0].start * factor), *(round(phase.end * factor) for phase in phases)]
