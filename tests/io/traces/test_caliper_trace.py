"""Caliper's event traces."""

import pytest
from trace_samples import CALIPER_TRACE

import perfcore
from perfcore.base.errors import InputError


def test_the_innermost_region_counts(write):
    trace = perfcore.read(write(CALIPER_TRACE))
    assert trace.locations == ("rank 0", "rank 1")
    assert trace.busy_states == ("main",)
    curve = trace.utilization()
    assert curve.edges.tolist() == [1, 1.5, 2, 2.75, 4]
    assert curve.heights.tolist() == [1, 2, 1, 2]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("data=main=1500=1", "data=main=later=1", r":11: time 'later' is not a finite number"),
        ("data=MPI_Barrier=2000=0", "data=MPI_Barrier=20=0", r":12: the time goes back from 1000 to 20 ns"),
        ("attr=23=26=27,data=main=1500=1", "attr=24=26=27,data=main=1500=1", ":11: region 'main' ends, and none was"),
        ("attr=24=26=27,data=main=4000=0", "attr=99=26=27,data=main=4000=0", ":14: no record of Caliper: KeyError"),
        ("id=20,attr=10,data=276,parent=3", "id=20,attr=10,data=276,parent=20", ":2: node 20 is its own parent"),
    ],
)
def test_damage_is_said_with_its_line(write, old, new, problem):
    assert old in CALIPER_TRACE
    with pytest.raises(InputError, match=problem):
        perfcore.read(write(CALIPER_TRACE.replace(old, new)), reader="caliper-trace")
