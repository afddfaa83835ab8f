"""The timeline of a trace: bins against sums over all intervals, lanes, jumps, what is said, and hostile names."""

import json
import struct

import numpy as np
import pytest

from perf_explore.opening import DataViews
from perf_explore.timeline.shown import SortedIntervals, timeline_data
from perfcore import Trace

STATES = ["solve", "MPI_Wait", "MPI_Allreduce", "free"]


def random_trace(n_locations=6, each=50, seed=1, **facts):
    """Intervals with gaps between them, in no order."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.choice(20_000, (n_locations, 2 * each), replace=False), axis=1) + 1000
    order = rng.permutation(n_locations * each)
    columns = (
        np.repeat(np.arange(n_locations), each),
        rng.integers(0, 4, n_locations * each),
        cuts[:, ::2],
        cuts[:, 1::2],
    )
    names = [f"rank {at // 2} / thread {at % 2}" for at in range(n_locations)]
    return Trace(*(column.ravel()[order] for column in columns), names, STATES, source="random", **facts)


def lanes_of(view, query, path=()):
    """What the page gets for its lanes: what is said, and planes of (lanes, columns)."""
    content = view.feed((*path, "lanes"), {"columns": "40", **query}).content
    (length,) = struct.unpack_from("<I", content)
    said = json.loads(content[4 : 4 + length])
    planes = np.frombuffer(content, np.uint8, offset=4 + length)
    return said, planes.reshape(-1, len(said["rows"]), said["columns"])


@pytest.fixture(scope="module")
def trace():
    return random_trace(markers=[("step#1", 1000, 9000), ("step#2", 9000, 20_000)])


@pytest.fixture(scope="module")
def views(trace):
    return DataViews(trace, "random.csv")


def test_time_of_each_state_is_the_sum_over_all_intervals(trace):
    index = SortedIntervals.of(trace, np.arange(4), 4)
    rng = np.random.default_rng(2)
    for edges in (np.array([0, 30_000]), np.arange(990, 1090), np.unique(rng.integers(0, 22_000, 60))):
        time = index.time_in(edges, np.array([3, 0, 3]), np.array([0, 0, 1]), 2)
        expected = np.zeros_like(time)
        for row, members in enumerate(([3, 0], [3])):
            for state in range(4):
                mine = np.isin(trace.location, members) & (trace.state == state)
                low, high = edges[:-1, None], edges[1:, None]
                overlap = np.minimum(trace.end_ns[mine], high) - np.maximum(trace.start_ns[mine], low)
                expected[row, state] = np.maximum(overlap, 0).sum(axis=1)
        assert (time == expected).all()


def test_an_index_finds_what_lies_at_a_place_and_what_is_longest(trace):
    index = SortedIntervals.of(trace, np.array([0, 1, 1, 0]), 2)
    found = index.within(2, 5000, 6000)
    mine = (trace.location == 2) & (trace.start_ns < 6000) & (trace.end_ns > 5000)
    assert sorted(index.start_ns[found].tolist()) == sorted(trace.start_ns[mine].tolist())
    assert {index.location_of(int(at)) for at in found} == {2}
    durations = trace.end_ns - trace.start_ns
    for group, which in enumerate(index.longest_of_groups()):
        of_group = np.isin(trace.state, [[0, 3], [1, 2]][group])
        assert index.end_ns(which) - index.start_ns[which] == durations[of_group].max()
    only = index.only(np.array([False, True, False, False]))
    assert len(only) == (trace.state == 1).sum()
    assert only.end_ns(only.longest()) - only.start_ns[only.longest()] == durations[trace.state == 1].max()


def test_the_page_gets_the_class_of_most_time_and_its_share(views, trace):
    said, (top, share, _) = lanes_of(views, {"from": "2", "to": "10us", "find": "wait"}, ("timeline",))
    lane = next(at for at, row in enumerate(said["rows"]) if row["name"] == "rank 1 / thread 0")
    data = timeline_data(trace)
    classes = data.classes
    assert data.class_of_state == tuple(
        "computing" if name == "other" else name for name in perf_classes(trace.states)
    )  # all that is not known counts as busy here
    edges = np.rint(np.linspace(2000, 10_000, 41)).astype(int)  # on the clock of the trace, as the command line
    in_class = np.array([classes.index(name) for name in data.class_of_state])
    index = SortedIntervals.of(trace, in_class, len(classes))
    time = index.time_in(edges, np.array([2]), np.array([0]), 1)[0]
    assert (np.where(time.any(axis=0), time.argmax(axis=0), 255) == top[lane]).all()
    assert (np.ceil(time.max(axis=0) / np.diff(edges) * 255) == share[lane]).all()
    busy = trace.utilization()
    assert said["busy"][0] == pytest.approx(mean_height(busy, edges[0] / 1000, edges[1] / 1000), abs=1e-4)
    assert said["search"].startswith("MPI_Wait: ")
    assert [name for name, _, _ in said["markers"]] == ["step#1", "step#2"][: len(said["markers"])]


def perf_classes(states):
    from perf_traces.states import state_classes

    return state_classes(states)


def mean_height(curve, start, end):
    cuts = np.clip(curve.edges, start, end)
    return float((np.diff(cuts) * curve.heights).sum() / (end - start))


def test_perfetto_gets_every_interval_that_is_seen(views, trace):
    feed = views.feed(("timeline", "perfetto"), {"from": "3", "to": "5"})
    assert (feed.media, feed.file_name) == ("application/json", "random.json")
    events = json.loads(feed.content)["traceEvents"]
    start, end = 3000, 5000
    inside = (trace.start_ns < end) & (trace.end_ns > start)
    spans = [event for event in events if event["ph"] == "X" and event["cat"] != "user_annotation"]
    assert len(spans) == inside.sum()
    assert sorted(event["dur"] for event in spans) == sorted(((trace.end_ns - trace.start_ns)[inside] / 1000).tolist())
    assert {event["args"]["location"] for event in events if event["name"] == "thread_name"} == set(trace.locations)
