"""What is made of cycles: efficiencies, tables, plain data, pictures, and tables of several runs."""

import numpy as np
import pytest

import perfcore
from perf_analysis.attribution import profile_overheads
from perf_analysis.efficiencies import efficiencies
from perf_analysis.overheads import stacked
from perf_analysis.stretches import phase_edges
from perfcore import Trace
from perfcore.base.errors import DataError


@pytest.fixture
def profile():
    """Two locations for 100 ns; the first computes 60 and sends 10, the second computes 80 and sends 20."""
    trace = Trace(
        [0, 0, 0, 1, 1],
        [0, 1, 2, 0, 1],
        [0, 60, 70, 0, 80],
        [60, 70, 100, 80, 100],
        ["rank 0", "rank 1"],
        ["Running", "Immediate Send", "Waiting a message"],
        source="run.prv",
    )
    return profile_overheads(trace, phase_edges_ns=[0, 50, 100])


def test_efficiencies_by_their_definitions(profile):
    """POP: load balance 70/80; communication 80/100; states alone don't tell serialisation."""
    found = profile.efficiencies()
    assert found.load_balance == pytest.approx([70 / 80])
    assert found.communication == pytest.approx([80 / 100])
    assert found.parallel == pytest.approx([70 / 100])
    assert found.serialisation is None
    assert found.transfer is None


def test_efficiencies_of_phases(profile):
    found = profile.efficiencies(by_phase=True)
    assert found.load_balance == pytest.approx([1.0, 20 / 30])
    assert found.communication == pytest.approx([1.0, 30 / 50])


def test_efficiencies_stay_within_their_bounds():
    """Also where computation and transfers fill the time of every location."""
    rng = np.random.default_rng(4)
    elapsed = 1000
    computing = rng.integers(1, elapsed, (7, 50))
    ideal = rng.integers(computing.max(axis=0), elapsed + 1)
    found = efficiencies(computing, np.full(50, elapsed), computing.max(axis=0) / ideal)
    for values in (found.load_balance, found.communication, found.serialisation, found.transfer, found.parallel):
        assert ((values > 0) & (values <= 1)).all()
    assert found.parallel == pytest.approx(computing.mean(axis=0) / elapsed)
    assert found.transfer == pytest.approx(ideal / elapsed)


def test_efficiencies_where_they_are_not_defined():
    idle = np.zeros((2, 1), dtype=np.int64)
    assert np.isnan(efficiencies(idle, [5]).load_balance).all()
    with pytest.raises(DataError, match="has no duration"):
        efficiencies(idle, [0])


def test_runs_stack_into_measurements(profile):
    one = profile_overheads(Trace([0], [0], [0], [400], ["0"], ["run"], source="one.prv"))
    table = stacked([one, profile], {"n": [512]})
    whole = table.groupby("p")["all_locations_ns"].sum()
    assert whole.to_dict() == {1: 400, 2: 200}
    # The mean over locations sums to the elapsed time.
    assert table.groupby("p")["time_s"].sum().to_dict() == pytest.approx({1: 400e-9, 2: 100e-9})
    assert (table["n"] == 512).all()
    assert table.columns.tolist() == ["p", "n", "phase", "category", "time_s", "all_locations_ns"]
    assert "phase" not in stacked([one])
    data = perfcore.Measurements(table, ["p", "n", "phase"])
    assert (data.roles.value, data.roles.unit) == ("time_s", "s")


def test_phases_of_a_trace_are_whole_nanoseconds():
    """Levels 1, 2 and 1 change at 10.001 and 20.002 us."""
    trace = Trace([0, 1], [0, 0], [0, 10_001], [30_000, 20_002], ["a", "b"], ["run"], time_unit="us")
    assert phase_edges(trace, 3, degree="0") == [0, 10_001, 20_002, 30_000]
    # By the states that are asked for: `b` alone.
    trace = Trace([0, 1], [0, 1], [0, 10_001], [30_000, 20_002], ["a", "b"], ["run", "spin"], time_unit="us")
    edges = phase_edges(trace, 2, degree="0", busy=["run", "spin"])
    assert edges[0] == 0
    assert edges[-1] == 30_000
