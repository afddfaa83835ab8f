"""Phases that begin and end where markers do: whole nanoseconds, means that are exact, and what cannot be."""

import numpy as np
import pytest

import perfcore
from perf_analysis.stretches import phase_edges
from perfcore import Trace, UtilizationCurve
from perfcore.base.errors import DataError, OptionError, UnknownNameError

MARKS = [("forward", 100, 340), ("backward", 340, 700), ("forward", 800, 1_050), ("backward", 1_050, 1_400)]


def random_trace(seed, **facts):
    rng = np.random.default_rng(seed)
    bounds = np.sort(rng.integers(0, 1_500, (4, 100)), axis=1).reshape(-1, 2)
    return Trace(np.repeat(np.arange(4), 50), rng.integers(0, 2, 200), *bounds.T, list("abcd"), ["run", "MPI_Wait"],
                 span_ns=(0, 1_500), **facts)  # fmt: skip


@pytest.mark.parametrize("unit", ["ns", "us"])
def test_phases_are_those_of_the_markers(unit):
    trace = random_trace(0, markers=MARKS, time_unit=unit)
    model = perfcore.fit(trace, fitter="phases", phases_from=["forward", "backward"])
    assert [phase.marker for phase in model.phases] == [
        "outside", "forward", "backward", "outside", "forward", "backward", "outside",
    ]  # fmt: skip
    edges = [0, 100, 340, 700, 800, 1_050, 1_400, 1_500]
    assert phase_edges(trace, model) == edges
    busy = trace.state == 0
    for phase, start, end in zip(model.phases, edges[:-1], edges[1:], strict=True):
        inside = np.clip(trace.end_ns[busy], start, end) - np.clip(trace.start_ns[busy], start, end)
        assert phase.coefficients == pytest.approx((inside.sum() / (end - start),))
        assert phase.activity.computing_ns == inside.sum()
    assert model.to_frame()["marker"].tolist()[1:3] == ["forward", "backward"]
    assert "breakpoints: where markers begin and end (forward, backward)" in model.summary()
    assert not [line for line in model.summary() if line.startswith("number of phases")]
    assert model.tables()[0][1][:2] == ["phase", "marker"]


@pytest.mark.parametrize(
    ("marks", "edges", "labels"),
    [
        ([("a", 0, 100)], [0, 100], ["a"]),
        ([("a", -20, 50)], [0, 50, 100], ["a", "outside"]),
        ([("a", 10, 60), ("b", 50, 90)], [0, 10, 50, 90, 100], ["outside", "a", "b", "outside"]),
        ([("a", 10, 90), ("b", 20, 30)], [0, 10, 20, 30, 100], ["outside", "a", "b", "outside"]),
        ([("a", 10, 20), ("a", 20, 20), ("b", 20, 100)], [0, 10, 20, 100], ["outside", "a", "b"]),
    ],
)
def test_stretches_fill_the_run(marks, edges, labels):
    trace = Trace([0], [0], [0], [100], ["cpu"], ["run"], markers=marks, time_unit="ns")
    model = perfcore.fit(trace, fitter="phases", phases_from=sorted({name for name, _, _ in marks}))
    assert [*(phase.start for phase in model.phases), model.end] == edges
    assert [phase.marker for phase in model.phases] == labels


def test_what_cannot_be():
    trace = random_trace(0, markers=[*MARKS, ("late", 2_000, 3_000)])
    with pytest.raises(UnknownNameError, match="did you mean 'forward'"):
        perfcore.fit(trace, fitter="phases", phases_from="foward")
    with pytest.raises(DataError, match="none of the markers 'late' lies within the run"):
        perfcore.fit(trace, fitter="phases", phases_from="late")
    with pytest.raises(OptionError, match="leave out --phases"):
        perfcore.fit(trace, fitter="phases", phases_from="forward", phases=3)
    with pytest.raises(OptionError, match="--phases-from belongs to traces"):
        perfcore.fit(UtilizationCurve([0, 1], [1]), fitter="phases", phases_from="forward")
