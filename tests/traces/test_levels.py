"""Locations of a level: what is shown of several at once, against a look at every nanosecond."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import perfcore
from perf_traces import nesting
from perf_traces.levels import NOT_STARTED, WAITING_FOR_HOST, LocatedTrace, level_names, located
from perf_traces.windows import part_of
from perfcore import Trace, overheads
from perfcore.base.errors import DataError

# In the order in which they are shown.
STATES = ("gemm", "ncclAllReduce", "Memcpy HtoD", NOT_STARTED, WAITING_FOR_HOST, "Idle")
STREAMS = ("GPU 0 / stream 1", "GPU 1 / stream 1", "GPU 0 / stream 2", "GPU 0 / stream 3")


@st.composite
def traces(draw):
    rows = []
    for stream in range(len(STREAMS)):
        at = 0
        pieces = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6), st.integers(0, 5)), min_size=1, max_size=5)
        for gap, width, state in draw(pieces):
            rows.append((stream, state, at + gap, at + gap + width))
            at += gap + width
    return Trace(*zip(*rows, strict=True), STREAMS, STATES, span_ns=(0, 60))


def at_every_moment(trace, end=60):
    """The state of each location at each nanosecond; one more than there are states for none."""
    table = np.full((len(trace.locations), end), len(trace.states))
    for location, state, start, end in zip(trace.location, trace.state, trace.start_ns, trace.end_ns, strict=True):
        table[location, start:end] = state
    return table


@settings(deadline=None, max_examples=60)
@given(trace=traces())
def test_the_first_class_is_shown(trace):
    assume((trace.end_ns > trace.start_ns).any())
    gpus = located(trace, "auto")
    assert gpus.locations == ("GPU 0", "GPU 1")
    recorded = at_every_moment(trace)
    expected = np.array([recorded[[0, 2, 3]].min(axis=0), recorded[1]])
    assert at_every_moment(gpus).tolist() == expected.tolist()
    # Neighbours differ, and any states that are asked for are counted whatever they hide behind.
    touching = (gpus.location[1:] == gpus.location[:-1]) & (gpus.start_ns[1:] == gpus.end_ns[:-1])
    assert not (touching & (gpus.state[1:] == gpus.state[:-1])).any()
    copies = (recorded == 2)[[0, 2, 3]].any(axis=0).sum() + (recorded == 2)[1].sum()
    assert gpus.utilization(["Memcpy HtoD"]).integral * 1000 == pytest.approx(copies)
    assert gpus.utilization().integral * 1000 == pytest.approx((expected == 0).sum())


def test_many_intervals_are_merged_alike(monkeypatch):
    """Compiled as interpreted, on streams that switch at the same moments."""
    rng = np.random.default_rng(1)
    n = 400
    columns = [np.repeat(np.arange(6), n), rng.integers(0, 5, 6 * n), *np.empty((2, 6 * n), np.int64)]
    edges = np.sort(rng.integers(0, 5000, (6, 2 * n)), axis=1)
    columns[2], columns[3] = edges[:, ::2].ravel(), edges[:, 1::2].ravel()
    place, rank = np.array([0, 1, 0, 1, 2, 0]), np.array([2, 0, 1, 1, 2])
    slow = nesting.merged_states(*columns, place=place, rank=rank)
    monkeypatch.setattr(nesting, "_INTERPRETED", 0)
    fast = nesting.merged_states(*columns, place=place, rank=rank)
    assert all((one == two).all() for one, two in zip(slow, fast, strict=True))


def test_levels_are_those_of_readers_or_of_names():
    names = ["a / thread 1", "a / thread 2", "1.1.1", "1.1.2", "rank 3 / CPU", "x"]
    trace = Trace(range(6), [0] * 6, [0] * 6, [9] * 6, names, ["run"])
    assert level_names(trace, "process") == ("a", "a", "1.1", "1.1", "rank 3", "")
    processes = located(trace, "process")
    assert processes.locations == ("a", "1.1", "rank 3", "x")
    assert "each computes while any of its own does; where one computes, 1.50 of them do at once" in processes.notes[-1]
    told = Trace(
        [0, 1], [0, 0], [0, 0], [9, 9], ["a", "b"], ["run"], levels={"node": ["n1", "n1"], "process": ["p", "q"]}
    )
    assert located(told, "node").locations == ("n1",)
    assert located(told, "node").levels == {"process": ("",), "node": ("n1",)}
    with pytest.raises(DataError, match=r"is the GPU known; known: --locations process, --locations node; leave"):
        located(told, "device")
    for level in ("auto", "stream", "thread", "both"):
        assert located(told, level) is told


def test_ranks_are_merged_one_by_one(tmp_path):
    """Two ranks in files of their own: the same as what their intervals together give; also cut to a part."""
    for rank in range(2):
        rows = [
            ("GPU 0 / stream 1,gemm", rank, 10),
            ("GPU 0 / stream 2,nccl", 5, 14 + rank),
            ("GPU 0 / stream 2,gemm", 20, 22),
        ]
        lines = ["location,state,start_us,end_us", *(f"{what},{start},{end}" for what, start, end in rows)]
        (tmp_path / f"rank{rank}.csv").write_text("\n".join(lines) + "\n")
    run = perfcore.read(tmp_path, clocks="unaligned")
    assert run.locations == ("rank 0 / GPU 0", "rank 1 / GPU 0")
    assert hasattr(run.recorded, "rank_traces")
    columns = [getattr(run.recorded, name) for name in ("location", "state", "start_ns", "end_ns")]
    whole = Trace(*columns, run.recorded.locations, run.recorded.states, levels=run.recorded.levels)
    assert at_every_moment(run, 24_000).tolist() == at_every_moment(located(whole, "auto"), 24_000).tolist()
    assert run.utilization().integral == run.utilization(["gemm"]).integral == (10 + 2) + (9 + 2)
    assert overheads(run)[0].devices == overheads(located(whole, "auto"))[0].devices
    both = located(run.recorded, "device")
    part = part_of(both, until="12us")
    assert isinstance(part, LocatedTrace)
    assert part.utilization().integral == 10 + 9
    run.recorded.levels["node"] = ("n",) * 4
    assert located(run.recorded, "node").utilization().integral == 10 + 3  # rank 1 begins with its own first event
