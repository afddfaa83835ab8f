"""Phases of a trace as whole nanoseconds, so that overheads are known for each."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeGuard

import perfcore
from perf_traces.joined_trace import run_of
from perf_traces.windows import model_edges
from perfcore.base.errors import DataError, OptionError
from perfcore.data.trace import Trace
from perfcore.data.units import readable
from perfcore.models.model import Model

_AUTO = "auto"


def phase_edges(
    trace: Trace,
    phases: str | os.PathLike[str] | int | Model,
    *,
    degree: str = _AUTO,
    busy: Sequence[str] | None = None,
) -> list[int]:
    """Where the phases of a trace begin and end: those of a model of it, or as the fitter `worley` finds them.

    Parameters
    ----------
    trace : Trace
    phases : Model, str, path or int
        A model of this trace, or its file; or a number, a range such as ``"1..20"``, or ``"auto"``, with which the
        trace is fitted as `perfcore.fit` does.
    degree : str
        Degree of the polynomials that model a phase, where they are fitted.
    busy : sequence of str, optional
        States that count as computing, where they are fitted; by default those of the trace.

    Returns
    -------
    list of int
        Edges in nanoseconds on the clock of the trace, one more than phases.

    Raises
    ------
    OptionError
        The fitter `worley` refuses an option, or a degree is given beside a model.
    DataError
        The model has no phases, or is one of other data.
    ModelFileError
        The file is none of a model.

    Examples
    --------
    >>> trace = Trace([0, 1], [0, 0], [0, 4000], [9000, 9000], ["a", "b"], ["run"])
    >>> phase_edges(trace, 2, degree="0")
    [0, 4000, 9000]
    >>> phase_edges(trace, perfcore.fit(trace, fitter="worley", phases=2, degree=0))
    [0, 4000, 9000]
    """
    if isinstance(phases, Model) or _names_file(phases):
        if degree != _AUTO:
            raise OptionError("--degree is of phases that are fitted, and --phases names a model, which has its own")
        model = phases if isinstance(phases, Model) else perfcore.load(phases)
        edges = model_edges(model)
        _check_belongs(trace, model, edges)
        return edges
    # States that are those of the trace anyway need not be named: iterations are then those that `perf fit` sees.
    named = None if busy is None or set(busy) == set(trace.busy_states) else tuple(busy)
    return model_edges(perfcore.fit(trace, fitter="worley", phases=phases, degree=degree, busy=named))


def _names_file(phases: str | os.PathLike[str] | int) -> TypeGuard[str | os.PathLike[str]]:
    if isinstance(phases, os.PathLike):
        return True
    return isinstance(phases, str) and (phases.lower().endswith(".json") or Path(phases).is_file())


def _check_belongs(trace: Trace, model: Any, edges: Sequence[int]) -> None:
    """Refuse a model of another run, or of another part of it."""
    origin, (start, end) = model.origin, run_of(trace)
    rounding = math.floor(2.0 * math.ulp(max(abs(edges[0]), abs(edges[-1]))))  # of times that the model has as floats
    if max(abs(edges[0] - start), abs(edges[-1] - end)) > rounding:
        model_runs, trace_runs = (
            f"{readable(first, 'ns')} to {readable(last, 'ns')}"
            for first, last in ((edges[0], edges[-1]), (start, end))
        )
        raise DataError(
            f"{trace.source}: goes from {trace_runs}, and the phases of the model, which is of {origin.source}, from "
            f"{model_runs}; fit this trace, or read the same part of it (--from, --to)"
        )
    if Path(origin.source).name == Path(trace.source).name:
        return
    chosen = {name: origin.options.get(name) for name in ("busy", "idle")}
    try:
        same = trace.utilization(chosen["busy"], idle=chosen["idle"]).fingerprint == origin.fingerprint
    except OptionError:  # states that this trace does not have
        same = False
    if not same:
        raise DataError(
            f"{trace.source}: the phases are those of a model of other data, {origin.source}; fit this trace"
        )
