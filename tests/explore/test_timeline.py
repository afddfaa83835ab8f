"""The timeline of a trace: bins against sums over all intervals, lanes, jumps, what is said, and hostile names."""

import json
import struct

import numpy as np
import pytest

from perf_explore import open_subjects
from perfcore import Trace

STATES = ["solve", "MPI_Wait", "MPI_Allreduce", "free"]


def random_trace(n_locations=6, each=50, seed=1, **facts):
    """Intervals with gaps between them, in no order."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.choice(20_000, (n_locations, 2 * each), replace=False), axis=1) + 1000
    order = rng.permutation(n_locations * each)
    columns = (
        np.repeat(np.arange(n_locations), each), rng.integers(0, 4, n_locations * each), cuts[:, ::2], cuts[:, 1::2],
    )  # fmt: skip
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
    return open_subjects([trace])


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
