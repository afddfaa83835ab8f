"""Iterations beside phases: what a phase model keeps of them, and what its table says of each phase."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from perf_worley.choice.curve_models import curve_models
from perf_worley.describe_phases import PhaseMaker
from perf_worley.iterations.iterations import Iterations, iterations_of
from perf_worley.iterations.presenter import in_a_line
from perf_worley.phase import Phase, Repetition
from perf_worley.uncertainty.phase_errors import phase_errors
from perfcore.contracts import Segmentation
from perfcore.data.curve import UtilizationCurve
from perfcore.data.trace import Trace
from perfcore.data.units import readable

# Of a curve they do not depend on the options, with which a page fits it again and again.
_known: weakref.WeakKeyDictionary[UtilizationCurve, Repetition | None] = weakref.WeakKeyDictionary()

_FEWEST = 2  # iterations of a phase that are said
_NEARLY_ALL = 0.8  # of the time of the iterations


def repetition(
    curve: UtilizationCurve, trace: Trace | None, busy: Sequence[str] | None, idle: Sequence[str] | None
) -> Repetition | None:
    """The iterations of a run, for its model; None where there are none."""
    if curve not in _known:
        _known[curve] = _repetition(iterations_of(curve, trace, busy=busy, idle=idle))
    return _known[curve]


def _repetition(iterations: Iterations) -> Repetition | None:
    if iterations.period is None:
        return None
    return Repetition(
        count=iterations.count,
        period=iterations.period,
        spread=iterations.spread or 0.0,
        start=float(iterations.starts[0]),
        end=float(iterations.ends[-1]),
        text=in_a_line(
            iterations.count, iterations.period, iterations.spread, iterations.time_unit, iterations.unusual
        ),
    )


def as_one_phase(maker: PhaseMaker, phases: Sequence[Phase], iterations: Repetition) -> list[Phase]:
    """The phases, but one constant phase for the iterations where the phases in them are only parts of iterations."""
    curve, half = maker.curve, 0.5 * iterations.period
    start, end = iterations.start, iterations.end
    breaks = [phase.start for phase in phases[1:]]
    inside = [place for place in breaks if start + half < place < end - half]
    if len(inside) < 0.5 * iterations.count:
        return list(phases)
    edges = [place for place in breaks if not start - half <= place <= end + half]
    edges += [place for place in (start, end) if half < place - curve.start < curve.duration - half]
    edges = [float(curve.start), *sorted(edges), float(curve.end)]
    degrees = []
    for begin, stop in itertools.pairwise(edges):
        middle = 0.5 * (begin + stop)
        degree = next(phase.degree for phase in reversed(phases) if phase.start <= middle)
        degrees.append(0 if start <= middle <= end else degree)
    places = np.array(edges) - edges[0]
    merged = maker.within_processors(maker.phases(Segmentation(places, np.array(degrees))))
    errors = phase_errors(maker.polynomials, curve_models(curve).cells, places, degrees, curve.n_locations)
    if errors is None:
        return merged
    return [
        replace(phase, standard_errors=each.coefficients, level_error=each.level)
        for phase, each in zip(merged, errors, strict=True)
    ]


def period_text(phase: Phase, iterations: Repetition, unit: str) -> str:
    """How many iterations have their middle in a phase, and how long they are; empty where fewer than two do."""
    length = (iterations.end - iterations.start) / iterations.count  # with what lies between two of them
    inside = min(phase.end, iterations.end) - max(phase.start, iterations.start)
    is_long_enough = phase.end - phase.start > length * (iterations.count - 0.5)
    if is_long_enough and inside >= _NEARLY_ALL * (iterations.end - iterations.start):
        number = iterations.count  # where an iteration begins is known to a part of it only
    else:
        middles = iterations.start + length * (np.arange(iterations.count) + 0.5)
        number = int(np.sum((middles >= phase.start) & (middles < phase.end)))
    return f"{number} x {readable(float(f'{iterations.period:.4g}'), unit)}" if number >= _FEWEST else ""
