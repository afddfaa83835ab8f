"""Phases that begin and end where markers of a trace do, instead of where the curve changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from perf_traces.windows import occurrences
from perf_worley.describe_phases import PhaseMaker
from perf_worley.search import Found, with_errors
from perfcore import Trace
from perfcore.base.errors import DataError
from perfcore.contracts import Segmentation
from perfcore.data.units import nanoseconds_per

OUTSIDE = "outside"  # what a phase between markers is called
_OBJECTIVE = "as marked"


def marked_stretches(trace: Trace, markers: Sequence[str]) -> tuple[list[int], list[str]]:
    """Stretches of a run by its markers; each lasts until its marker ends or the next one begins."""
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
    """The best function of each stretch that markers make."""
    curve, factor = maker.curve, nanoseconds_per(maker.curve.time_unit)
    edges, labels = marked_stretches(trace, markers)
    breaks = (np.array(edges, dtype=np.int64) - edges[0]) / factor
    breaks[-1] = curve.duration
    phases = with_errors(maker, curve, maker.phases(Segmentation(breaks, None)), _OBJECTIVE)
    named = [replace(phase, marker=label) for phase, label in zip(phases, labels, strict=True)]
    return Found(maker, named, [], None, _OBJECTIVE, {})
