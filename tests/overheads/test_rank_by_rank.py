"""Overheads of a run from the files of its ranks, told rank by rank, are those of the same run in memory."""

import numpy as np
import pytest
from traces.kineto_files import START_US, read, write_rank

from perf_analysis.attribution import profile_overheads
from perf_analysis.categories import STANDARD, STREAMS, read_categories
from perf_traces.levels import located
from perf_traces.windows import part_of
from perfcore import Trace

N_RANKS = 3


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Each rank enters its collectives a microsecond after the one before."""
    folder = tmp_path_factory.mktemp("ranks")
    for rank in range(N_RANKS):
        write_rank(folder, rank, start_us=START_US + rank, world_size=4)
    return read(folder)


def in_memory(trace):
    """The same trace as arrays."""
    return Trace(
        trace.location,
        trace.state,
        trace.start_ns,
        trace.end_ns,
        trace.locations,
        trace.states,
        busy_states=trace.busy_states,
        span_ns=trace.span_ns,
        source=trace.source,
        notes=trace.notes,
        markers=trace.markers,
        levels=trace.levels,
        facts=trace.facts,
    )


@pytest.mark.parametrize(
    ("level", "categories"),
    [("device", None), ("process", None), ("stream", None), ("node", None), ("device", STREAMS), ("stream", STANDARD)],
)
def test_the_overheads_are_those_of_the_run_in_memory(run, level, categories):
    run.levels["node"] = ("n",) * len(run.locations)
    rules = None if categories is None else read_categories(categories)
    edges = [run.span_ns[0], 150_000, run.span_ns[1]]
    for trace in (run, part_of(run, until="60%"), part_of(run, until=0.0035)):  # in the last there is one rank only
        cut = [edges[0], min(edges[1], trace.span_ns[1] // 2), edges[2]]
        one_by_one, whole = (
            profile_overheads(located(each, level), rules, phase_edges_ns=cut, by_marker=True)
            for each in (trace, in_memory(trace))
        )
        assert one_by_one.to_dict() == whole.to_dict()
        assert np.array_equal(one_by_one.timeline_ns, whole.timeline_ns)
        assert one_by_one.total_ns == one_by_one.elapsed_ns * len(one_by_one.locations)


def test_who_waits_for_whom(run):
    profile = profile_overheads(located(run, "auto"))
    assert [each.waited_ns for each in profile.ranks] == [10_000, 5_000, 0]
    assert profile.by_location_ns[profile.categories.index("waiting for other ranks")].tolist() == [10_000, 5_000, 0]


def test_no_array_of_the_run_is_made(run, monkeypatch):
    """A rank is read when it is needed; what is made of all of them would be as large as all of them."""
    monkeypatch.setattr(type(run), "_arrays", property(lambda _: pytest.fail("the arrays of the whole run")))
    for level in ("device", "process"):
        trace = located(run, level)
        assert profile_overheads(trace, by_marker=True).total_ns
        assert trace.utilization().integral
    assert profile_overheads(run).total_ns
