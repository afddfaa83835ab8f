"""A part of a run: parts add up to the whole, times and markers say which, and what cannot be is said in a line."""

import itertools

import duckdb
import numpy as np
import pytest
from traces.kineto_files import START_US, read, write_rank

import perfcore
from perf_io.tables import state_table
from perf_io.tables.state_table import TabularTrace
from perf_traces.joined_trace import JoinedTrace
from perf_traces.windows import part_of, part_of_curve
from perfcore import Trace
from perfcore.base.errors import DataError, OptionError, UnknownNameError

STATES = ("run", "MPI_Wait", "MPI_Send", "Idle")


def random_trace(seed, n_locations=4, n_each=60, **facts):
    """States of each location with gaps between them, some without duration, on a clock that does not begin at 0."""
    rng = np.random.default_rng(seed)
    bounds = 1_000 + np.sort(rng.integers(0, 5_000, (n_locations, 2 * n_each)), axis=1)
    location = np.repeat(np.arange(n_locations), n_each)
    state = rng.integers(0, len(STATES), n_locations * n_each)
    names = [f"rank {k}" for k in range(n_locations)]
    times = bounds.reshape(-1, 2)
    return Trace(
        location, state, times[:, 0], times[:, 1], names, STATES, time_unit="ns", span_ns=(900, 6_100), **facts
    )


def busy_ns(trace):
    mine = np.isin(trace.state, [trace.states.index(name) for name in trace.busy_states])
    return int((trace.end_ns - trace.start_ns)[mine].sum())


@pytest.mark.parametrize("seed", range(12))
def test_parts_add_up_to_the_whole(seed):
    trace = random_trace(seed)
    cuts = np.random.default_rng(seed + 100).integers(1_100, 2_000, seed % 5) + 1_000 * np.arange(seed % 5)
    edges = [900, *cuts.tolist(), 6_100]
    parts = [part_of(trace, since=a, until=b) for a, b in itertools.pairwise(edges)]
    assert [part.span_ns for part in parts] == list(itertools.pairwise(edges))
    assert sum(map(busy_ns, parts)) == busy_ns(trace)
    by_state = [np.bincount(part.state, part.end_ns - part.start_ns, len(STATES)) for part in parts]
    np.testing.assert_array_equal(sum(by_state), np.bincount(trace.state, trace.end_ns - trace.start_ns, len(STATES)))
    none = [(part.end_ns == part.start_ns).sum() for part in parts]
    assert sum(none) == (trace.end_ns == trace.start_ns).sum()


@pytest.mark.parametrize("seed", range(2))
def test_overheads_of_parts_add_up_to_those_of_the_whole(seed):
    trace = random_trace(seed)
    edges = [900, 2_345, 2_346, 5_001, 6_100]
    parts = [part_of(trace, since=a, until=b) for a, b in itertools.pairwise(edges)]
    profiles = [perfcore.overheads(part)[0] for part in parts]
    whole = perfcore.overheads(trace)[0]
    for name in ("by_category_ns", "elapsed_ns"):
        assert np.array_equal(sum(getattr(each, name) for each in profiles), getattr(whole, name))
    np.testing.assert_array_equal(sum(each.cycles_ns.sum(axis=2) for each in profiles), whole.cycles_ns.sum(axis=2))


@pytest.mark.parametrize("seed", range(3))
def test_the_curve_of_a_part_is_the_part_of_the_curve(seed):
    trace = random_trace(seed)
    curve = part_of(trace, since="20%", until=4_321).utilization()
    expected = part_of_curve(trace.utilization(), since="20%", until=4_321).merged()
    np.testing.assert_array_equal(curve.edges, expected.edges)
    np.testing.assert_array_equal(curve.heights, expected.heights)


def test_a_trace_on_disk_is_cut_there(tmp_path, monkeypatch):
    path = tmp_path / "trace.parquet"
    perfcore.write(random_trace(1), path)
    small = perfcore.read(path)
    monkeypatch.setattr(state_table, "IN_MEMORY_ROWS", 0)
    large = perfcore.read(path)
    for how in ({"since": 2_000, "until": 3_000}, {"since": "30%", "only": ["rank 1", "rank 3", "MPI_*"]}):
        one, two = part_of(small, **how), part_of(large, **how)
        assert isinstance(two, TabularTrace)
        for name in ("locations", "states", "busy_states", "span_ns", "n_intervals", "source", "notes", "markers"):
            assert getattr(one, name) == getattr(two, name), name
        busy = one.states[:1]
        np.testing.assert_array_equal(two.utilization(busy).heights, one.utilization(busy).heights)
        assert "_arrays" not in vars(two)
        # Rows of a table come in any order.
        rows = [
            sorted(zip(*(getattr(t, n).tolist() for n in ("location", "state", "start_ns", "end_ns")), strict=True))
            for t in (one, two)
        ]
        assert rows[0] == rows[1]
    again = part_of(part_of(large, only="rank 2"), only="run")
    assert (again.locations, again.states) == (("rank 2",), ("run",))
    assert (again.location == 0).all()
    assert (again.state == 0).all()
    perfcore.write(part_of(large, until="50%"), tmp_path / "part.parquet")
    written = duckdb.connect().execute(f"SELECT count(*) FROM '{tmp_path / 'part.parquet'}'").fetchone()
    assert written == (part_of(small, until="50%").n_intervals,)
    with pytest.raises(DataError, match="nothing of Idle, rank 0 is in the part"):
        part_of(large, since=950, until=960, only=["Idle", "rank 0"])


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        ("1.5us", "2us", (1_500, 2_000)),
        (1_500, "0.003 ms", (1_500, 3_000)),
        ("1500", None, (1_500, 6_100)),
        ("10%", "90 %", (1_420, 5_580)),
        (None, "2e3", (900, 2_000)),
        ("0", "1h", (900, 6_100)),  # as far as the run goes
        ("middle", None, (3_000, 6_100)),
        ("middle", "middle", (3_000, 4_000)),
        (None, "middle", (900, 4_000)),
    ],
)
def test_times_and_markers(since, until, expected):
    trace = random_trace(0, markers=[("middle", 3_000, 4_000)])
    assert part_of(trace, since=since, until=until).span_ns == expected


STEPS = [(f"step#{k}", 1_000 + 100 * k, 1_090 + 100 * k) for k in range(1, 21)]


def test_a_marker_by_its_own_name_by_its_place_and_by_what_counts():
    marks = [*STEPS, ("io", 1_000, 1_010), ("io", 2_000, 2_010), ("io", 3_000, 3_010)]
    trace = random_trace(0, markers=marks)
    assert part_of(trace, region="step#2").span_ns == (1_200, 1_290)  # and not step#20
    assert part_of(trace, region="io#2").span_ns == (2_000, 2_010)
    assert part_of(trace, region="io").span_ns == (1_000, 3_010)  # of several from the first to the last
    assert part_of(trace, region="step").span_ns == (1_100, 3_090)
    assert part_of(trace, since="step#3", until="step#5").span_ns == (1_300, 1_590)
    with pytest.raises(OptionError, match="'io#4': 'io' occurs 3 times"):
        part_of(trace, region="io#4")
    with pytest.raises(UnknownNameError, match="did you mean 'step'"):
        part_of(trace, region="stpe")


@pytest.mark.parametrize(
    ("how", "problem"),
    [
        ({"since": "7us"}, "from 7 us to 6.1 us lies outside of the run, 900 ns to 6.1 us"),
        ({"until": 900}, "lies outside of the run"),
        ({"since": 2_000, "until": 1_000}, "ends at 1 us, before it begins at 2 us"),
        ({"since": 2_000, "until": 2_000}, "is empty: it begins and ends at 2 us"),
        ({"since": 2_000, "region": "step#1"}, "leave out from= and to="),
        ({"since": "nowhere"}, "unknown time or marker of trace 'nowhere'"),
        ({"since": 900, "until": 910}, "no location is in any state in the part 900 ns .. 910 ns"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(how, problem):
    with pytest.raises((OptionError, DataError), match=problem.replace(".", r"\.")) as error:
        part_of(random_trace(0, markers=STEPS), **how)
    assert "\n" not in str(error.value)


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["paraver/qsort_beo3.prv", "chrome/rank0.json.gz", "picl/conceptual_pingpong.trf"])
def test_parts_of_real_traces_add_up(real_data, name):
    trace = perfcore.read(real_data / "traces" / name)
    edges = ["0%", "13%", "50%", "51.7%", "100%"]
    parts = [part_of(trace, since=a, until=b) for a, b in itertools.pairwise(edges)]
    assert sum(map(busy_ns, parts)) == busy_ns(trace)
    found = [perfcore.overheads(part)[0].by_category_ns for part in parts]
    np.testing.assert_array_equal(sum(found), perfcore.overheads(trace)[0].by_category_ns)


@pytest.mark.real_data
def test_steps_of_a_real_trace(real_data):
    """The five steps of the profiler follow one another, as their own times in the file say."""
    trace = perfcore.read(real_data / "traces" / "chrome" / "rank0.json.gz")
    steps = {name: (start, end) for name, start, end in trace.markers if name.startswith("ProfilerStep#")}
    assert sorted(steps) == [f"ProfilerStep#{number}" for number in range(550, 555)]
    assert part_of(trace, region="ProfilerStep#552").span_ns == steps["ProfilerStep#552"]
    found = perfcore.iterations(trace, marker="ProfilerStep")
    lengths = [end - start for _, (start, end) in sorted(steps.items())]
    assert found.durations == pytest.approx(np.array(lengths) / 1000)


# Parts of a run of several ranks are cut rank by rank, and add up to the whole.
@pytest.fixture
def run(tmp_path):
    for rank in range(3):
        write_rank(tmp_path, rank, start_us=START_US + 7 * rank, world_size=3)
    return read(tmp_path)


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
        markers=trace.markers,
        levels=trace.levels,
    )


@pytest.mark.parametrize(
    "asked",
    [{"until": "50%"}, {"since": 0.1, "until": "0.3ms"}, {"region": "ProfilerStep#2"}, {"only": "rank 1"},
     {"only": ("gemm", "rank 2*"), "since": "20%"}],
)  # fmt: skip
def test_a_part_is_that_of_the_same_trace_in_memory(run, asked):
    part, expected = part_of(run, **asked), part_of(in_memory(run), **asked)
    assert isinstance(part, JoinedTrace)
    assert part.span_ns == expected.span_ns
    assert part.locations == expected.locations
    assert part.levels == expected.levels
    assert part.markers == expected.markers
    assert part.n_intervals == expected.n_intervals
    rows = [
        sorted(zip(each.location.tolist(), each.start_ns.tolist(), each.end_ns.tolist(), strict=True))
        for each in (part, expected)
    ]
    assert rows[0] == rows[1]
    curves = [each.utilization(busy=["gemm"]) for each in (part, expected)]
    assert np.array_equal(curves[0].edges, curves[1].edges)
    assert np.array_equal(curves[0].heights, curves[1].heights)


def test_parts_add_up_to_the_whole_of_parts_of_ranks(run):
    parts = [part_of(run, until=0.2), part_of(run, since=0.2, until="60%"), part_of(run, since="60%")]
    assert sum(part.utilization().integral for part in parts) == pytest.approx(run.utilization().integral, rel=1e-12)
