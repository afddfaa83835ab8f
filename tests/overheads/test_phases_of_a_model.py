"""Phases of overheads: those of a model of the trace, which is checked, or as `perf fit` finds them."""

import numpy as np
import pytest

import perfcore
from perf_analysis.stretches import phase_edges
from perf_traces.windows import part_of
from perfcore import Trace
from perfcore.base.errors import DataError

EXAMPLE = "examples/cholesky/cholesky_trace.csv.gz"


def steps(source="steps", more=0, **facts):
    """Two locations, then one."""
    return Trace([0, 1], [0, 0], [0, 0], [100 + more, 60], ["a", "b"], ["run"], time_unit="ns", source=source, **facts)


def test_a_fitted_model_gives_the_phases_that_are_found_without_it(tmp_path):
    trace = perfcore.read(EXAMPLE)
    model = perfcore.fit(trace, fitter="phases")
    model.save(tmp_path / "model.json")
    expected = phase_edges(trace, "auto")
    assert len(expected) > 3
    for phases in (model, tmp_path / "model.json", str(tmp_path / "model.json")):
        assert phase_edges(trace, phases) == expected
    profile = perfcore.overheads(trace, phases=model)[0]
    assert profile.edges_ns.tolist() == expected
    np.testing.assert_array_equal(profile.cycles_ns.sum(axis=2), perfcore.overheads(trace)[0].cycles_ns.sum(axis=2))


def test_a_model_of_a_part_belongs_to_that_part():
    trace = steps()
    part = part_of(trace, since=20)
    model = perfcore.fit(part, fitter="phases", phases=2, degree=0)
    assert phase_edges(part, model) == [20, 60, 100]
    with pytest.raises(DataError, match=r"steps: goes from 0 ns to 100 ns, and the phases of the model, .* from 20 ns"):
        phase_edges(trace, model)


def test_a_model_of_other_data_is_refused():
    model = perfcore.fit(steps(), fitter="phases", phases=2, degree=0)
    assert phase_edges(steps("moved"), model) == [0, 60, 100]  # the same data under another name
    with pytest.raises(DataError, match="steps2: goes from 0 ns to 101 ns, and the phases of the model, which is of s"):
        perfcore.overheads(steps("steps2", more=1), phases=model)
    other = Trace([0], [0], [0], [100], ["a"], ["solve"], time_unit="ns", source="other")
    with pytest.raises(DataError, match="other: the phases are those of a model of other data, steps"):
        phase_edges(other, model)
