"""Facts about data, for a person who has just been handed a file."""

from __future__ import annotations

from typing import Any

from perfcore.curve import UtilizationCurve
from perfcore.errors import PerfError
from perfcore.measurements import Measurements
from perfcore.series import Series
from perfcore.trace import Trace
from perfcore.units import readable

__all__ = ["describe"]


def describe(data: Any, name: str) -> dict[str, Any]:
    """What data are, how much there is, and which commands apply.

    Parameters
    ----------
    data : Trace, UtilizationCurve, Series or Measurements
    name : str
        How the user names the file; it appears in the suggested commands.

    Examples
    --------
    >>> describe(UtilizationCurve([0, 1000], [2.0]), "x.csv")["duration"]
    '1 ms'
    """
    if isinstance(data, Trace):
        facts = _trace(data, name)
    elif isinstance(data, UtilizationCurve):
        facts = {"kind": "utilization curve", **_curve(data), "next": _phase_commands(name)}
    elif isinstance(data, Series):
        facts = {
            "kind": "time series",
            "samples": len(data.times),
            "columns": list(data.columns),
            "time unit": data.time_unit,
            "next": _phase_commands(name)
            if len(data.columns) == 1
            else [f"perf fit {name} --fitter worley --column '{next(iter(data.columns))}' --plot phases.png"],
        }
    elif isinstance(data, Measurements):
        facts = {
            "kind": "measurements",
            "rows": len(data.table),
            "parameters": list(data.parameters),
            "value": data.value,
            "next": [f"perf read {name} -o table.parquet"],
        }
    else:
        facts = {"kind": type(data).__name__}
    notes = list(getattr(data, "notes", ()))
    return {"file": name, **facts, **({"notes": notes} if notes else {})}


def _curve(curve: UtilizationCurve) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "steps": curve.n_steps,
        "start": readable(curve.start, curve.time_unit),
        "duration": readable(curve.duration, curve.time_unit),
        "mean": round(curve.mean, 6),
        "highest": float(curve.heights.max()),
        "time unit": curve.time_unit,
    }
    if curve.n_locations:
        facts["mean utilization"] = f"{curve.mean / curve.n_locations:.3f} of {curve.n_locations}"
    return facts


def _trace(trace: Trace, name: str) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "kind": "trace",
        "intervals": trace.n_intervals,
        "locations": len(trace.locations),
        "states": list(trace.states),
        "busy": list(trace.busy_states),
    }
    try:
        facts |= _curve(trace.utilization())
    except PerfError as error:
        facts["curve"] = f"none: {error}"
    return facts | {"next": [*_phase_commands(name), f"perf read {name} -o trace.parquet"]}


def _phase_commands(name: str) -> list[str]:
    return [
        f"perf fit {name} --fitter worley --phases auto --plot phases.png",
        f"perf plot {name} -o curve.png",
    ]
