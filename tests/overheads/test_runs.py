"""Profiles of one and of several runs as a result: data frame, text, pictures, plain data."""

import json

import numpy as np
import pytest
from matplotlib.figure import Figure

import perfcore
from perf_analysis.efficiencies import Efficiencies, efficiencies
from perf_analysis.overheads import OverheadRuns
from perfcore import Series, Trace
from perfcore.base.errors import DataError, OptionError
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


def test_short_in_a_notebook_and_plain_for_programs():
    runs = perfcore.overheads([ONE, TWO])
    assert len(repr(runs).splitlines()) <= 10
    assert len(repr(runs[0]).splitlines()) <= 10
    assert "<table>" in runs._repr_html_()
    content = json.loads(json.dumps(runs.to_dict()))
    assert [profile["elapsed_ns"] for profile in content["profiles"]] == [100, 60]


def test_a_comparison_draws_all_of_each_run():
    figure = Figure(layout="constrained")
    perfcore.overheads([ONE, TWO]).draw(figure)
    axes, _ = figure.axes
    ends = {}
    for bar in axes.patches:
        row = bar.get_y() + bar.get_height() / 2
        ends[row] = max(ends.get(row, 0.0), bar.get_x() + bar.get_width())
    assert list(ends.values()) == pytest.approx([100.0, 100.0])


def test_mistakes():
    for options, message in (
        ({"by": "phase"}, "--by phase needs --phases N"),
        ({"ready_column": "x"}, "--ready-column belongs to --ready SERIES"),
    ):
        with pytest.raises(OptionError, match=message):
            perfcore.overheads(ONE, **options)
    with pytest.raises(OptionError, match="--ready belongs to one trace"):
        perfcore.overheads([ONE, TWO], ready=Series([0.0], {"ready": [1.0]}, "ns"))
    with pytest.raises(OptionError, match="there is no trace"):
        perfcore.overheads([])
    with pytest.raises(DataError, match=r"step\.csv holds UtilizationCurve"):
        perfcore.overheads("examples/step.csv")


def test_efficiencies_by_themselves():
    """Two stretches; load balance 70/80 and 1, communication 80/100 and 100/100."""
    both = efficiencies(np.array([[60, 100], [80, 100]]), [100, 100])
    assert isinstance(both, Efficiencies)
    assert both.load_balance.tolist() == [0.875, 1.0]
    assert both.parallel.tolist() == pytest.approx([0.7, 1.0])
    assert both.transfer is None
