"""Phases that begin and end where markers of a trace do, instead of where the curve changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from perf_traces.markers import occurrences
from perf_worley.describe_phases import PhaseMaker
from perf_worley.search import Found, with_errors
from perfcore import Trace
from perfcore.base.errors import DataError
from perfcore.contracts import Segmentation
from perfcore.data.units import nanoseconds_per

__all__ = ["OUTSIDE", "by_markers", "marked_stretches"]

OUTSIDE = "outside"  # what a phase between markers is called
_OBJECTIVE = "as marked"


def marked_stretches(trace: Trace, markers: Sequence[str]) -> tuple[list[int], list[str]]:
    """Stretches of a run by its markers; each lasts until its marker ends or the next one begins.

    Parameters
    ----------
    trace : Trace
    markers : sequence of str
        As for `perf_traces.markers.occurrences`.

    Returns
    -------
    edges : list of int
        In nanoseconds, from the start of the run to its end; one more than labels.
    labels : list of str
        The marker of each, or ``"outside"`` of all.

    Raises
    ------
    UnknownNameError
        There is no such marker.
    DataError
        None of them lies within the run.

    Examples
    --------
    >>> marks = [("step#1", 10, 40), ("step#2", 40, 60), ("io", 50, 70)]
    >>> trace = Trace([0], [0], [0], [100], ["cpu"], ["run"], markers=marks)
    >>> marked_stretches(trace, ["step", "io"])
    ([0, 10, 40, 50, 70, 100], ['outside', 'step#1', 'step#2', 'io', 'outside'])
    """
    first, last = trace.span_ns
    spans = []
    for name in dict.fromkeys(markers):
        marks = occurrences(trace, name)
        starts, ends = np.clip(marks.starts, first, last).tolist(), np.clip(marks.ends, first, last).tolist()
        spans += [each for each in zip(starts, ends, marks.labels, strict=True) if each[1] > each[0]]
    if not spans:
        raise DataError(f"{trace.source}: none of the markers {', '.join(map(repr, markers))} lies within the run")
    edges, labels = [first], []
    spans.sort()
    following = [start for start, _, _ in spans[1:]] + [last]
    for (start, end, label), limit in zip(spans, following, strict=True):
        for edge, name in ((start, OUTSIDE), (min(end, limit), label)):
            if edge > edges[-1]:
                edges.append(edge)
                labels.append(name)
    if last > edges[-1]:
        edges.append(last)
        labels.append(OUTSIDE)
    return edges, labels


def by_markers(trace: Trace, maker: PhaseMaker, markers: Sequence[str]) -> Found:
    """The best function of each stretch that markers make.

    Parameters
    ----------
    trace : Trace
    maker : PhaseMaker
        Of its curve.
    markers : sequence of str
    """
    curve, factor = maker.curve, nanoseconds_per(maker.curve.time_unit)
    edges, labels = marked_stretches(trace, markers)
    breaks = (np.array(edges, dtype=np.int64) - edges[0]) / factor
    breaks[-1] = curve.duration
    phases = with_errors(maker, curve, maker.phases(Segmentation(breaks, None)), _OBJECTIVE)
    named = [replace(phase, marker=label) for phase, label in zip(phases, labels, strict=True)]
    return Found(maker, named, [], None, _OBJECTIVE, {})
