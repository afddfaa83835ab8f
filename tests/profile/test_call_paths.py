"""Call paths of a trace with calls within calls: times by hand, and the icicle that shows them."""

import json

import pytest

import perfcore

# Microseconds: a(10..40) calls b(20..30), a(50..70) and c(80..90), all within main(0..100), on two threads of two.
CALLS = [("main", 0, 100), ("a", 10, 40), ("b", 20, 30), ("a", 50, 70), ("c", 80, 90)]
TIMES = {"main": 200, "main → a": 100, "main → a → b": 20, "main → c": 20}


def write(file, calls):
    """The calls of both threads in Chrome's format."""
    events = [
        {"ph": "X", "name": name, "ts": start, "dur": end - start, "pid": 0, "tid": thread}
        for thread in (1, 2)
        for name, start, end in calls
    ]
    file.write_text(json.dumps({"traceEvents": events}))


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    file = tmp_path_factory.mktemp("calls") / "nested.json"
    write(file, CALLS)
    return perfcore.profile(file, by="function").report()


def test_boxes_are_as_wide_as_the_time_of_their_call_path(report):
    (plot,) = (plot for plot in report.plots if plot.name == "paths")
    boxes = plot.marks[0]
    widths = {name: end - start for name, start, end in zip(boxes.names, boxes.starts, boxes.ends, strict=True)}
    assert widths == pytest.approx({name: time / 200 for name, time in TIMES.items()})
    depth = dict(zip(boxes.names, boxes.bottoms.tolist(), strict=True))
    assert depth == {name: name.count("→") for name in TIMES}


def test_callees_lie_within_their_callers_side_by_side(report):
    boxes = next(plot for plot in report.plots if plot.name == "paths").marks[0]
    place = dict(zip(boxes.names, zip(boxes.starts, boxes.ends, strict=True), strict=True))
    for name, (start, end) in place.items():
        caller = name.rpartition(" → ")[0]
        assert not caller or (place[caller][0] <= start and end <= place[caller][1] + 1e-12)
    assert place["main → a"][1] == pytest.approx(place["main → c"][0])


def test_two_runs_differ_by_call_path(tmp_path):
    """In the second run b takes 30 us longer in each of two threads, and c does not occur."""
    slower = [("main", 0, 120), ("a", 10, 70), ("b", 20, 60), ("a", 80, 100)]
    for name, calls in (("old", CALLS), ("new", slower)):
        write(tmp_path / f"{name}.json", calls)
    report = perfcore.profile([tmp_path / "old.json", tmp_path / "new.json"]).report()
    (table,) = (table for table in report.tables if "by call path" in (table.title or ""))
    found = {path: (old / 1000, new / 1000) for path, old, new in table.rows}
    assert found == {
        "main → a → b": (10, 40), "main → a": (50, 80), "main": (100, 120), "main → c": (10, 0),
    }  # fmt: skip
    assert [path for path, _, _ in table.rows][:2] == ["main → a", "main → a → b"]
