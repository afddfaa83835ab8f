"""Profiles of one and of several runs as a result: data frame, text, pictures, plain data."""

import perfcore
from perf_analysis.overheads import OverheadRuns
from perfcore import Trace
from perfcore.results import Result

# One location that runs for 100 ns, and two of which one waits at a lock for the last 10 of 60.
ONE = Trace([0], [0], [0], [100], ["a"], ["run"], source="one")
TWO = Trace([0, 0, 1], [0, 1, 0], [0, 50, 0], [50, 60, 60], ["a", "b"], ["run", "lock"], source="two")


def test_one_call_for_one_run_and_for_several():
    one, both = perfcore.overheads(TWO), perfcore.overheads([ONE, TWO])
    assert isinstance(one, OverheadRuns)
    assert isinstance(one, Result)
    assert [profile.source for profile in both] == ["one", "two"]
    assert len(one) == 1
    assert one.title == one[0].title == "Where the cycles go: two"
    assert one.summary() == one[0].summary()
    assert one.tables() == one[0].tables()
    (title, _, rows), _ = both.tables()
    assert title == "Share of each run's cycles"
    assert [row[0] for row in rows] == ["one", "two"]
