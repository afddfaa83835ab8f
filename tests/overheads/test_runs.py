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


def test_the_data_frame_sums_to_the_run_exactly():
    frame = perfcore.overheads([ONE, TWO], settings={"n": [512, 1024]}).to_frame()
    assert frame.groupby("n")["all_locations_ns"].sum().to_dict() == {512: 100, 1024: 2 * 60}
    lock = frame[(frame["p"] == 2) & (frame["category"] == "synchronization loss")]
    assert lock["time_s"].tolist() == [10e-9 / 2]
    assert len(perfcore.overheads(TWO)[0].to_frame()) == len(frame) // 2


def test_a_table_that_is_asked_for_comes_of_each_run():
    titles = [title for title, _, _ in perfcore.overheads([ONE, TWO], by="location").tables()]
    assert [title.partition(":")[0] for title in titles] == ["one"] * 3 + ["two"] * 3
    assert [line.split()[0] for line in perfcore.overheads([ONE, TWO], by="location").summary()[:2]] == ["one:", "two:"]
    (_, _, rows) = perfcore.overheads(TWO, by="location").tables()[1]
    assert rows == [["a", "83.33%", "16.67%"], ["b", "100.00%", "0.00%"]]  # 50 and 60 of 60


def test_phases_are_told_of_each_run():
    steps = Trace([0, 1], [0, 0], [0, 0], [100, 60], ["a", "b"], ["run"], source="steps")
    runs = perfcore.overheads(steps, phases=2, degree=0)
    assert runs.by == "phase"
    assert runs[0].edges_ns.tolist() == [0, 60, 100]
    assert runs.to_frame().groupby("phase")["all_locations_ns"].sum().to_dict() == {1: 120, 2: 80}
