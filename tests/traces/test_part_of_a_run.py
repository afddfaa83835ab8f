"""A part of a run: parts add up to the whole, times and markers say which, and what cannot be is said in a line."""

import itertools

import duckdb
import numpy as np
import pytest
from trace_samples import pieces
from traces.kineto_files import read, three_ranks

import perfcore
from perfcore import Trace
from perfcore.base.errors import DataError, OptionError, UnknownNameError

STATES = ("run", "MPI_Wait", "MPI_Send", "Idle")
COLUMNS = ("location", "state", "start_ns", "end_ns")


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


@pytest.fixture
def file(tmp_path):
    """Write a random trace, by default in the format that keeps markers and leaves out states without duration."""

    def file(seed, ending="json", **facts):
        perfcore.write(random_trace(seed, **facts), tmp_path / f"{seed}.{ending}")
        return tmp_path / f"{seed}.{ending}"

    return file


def clipped(trace, first, last, wanted=lambda location, state: True):
    """What lies between two moments, interval by interval."""
    return [
        (location, state, max(start, first), min(end, last))
        for location, state, start, end in pieces(trace)
        if wanted(location, state) and ((start < last and end > first) or first <= start == end < last)
    ]


@pytest.mark.parametrize(("seed", "ending"), [*((seed, "json") for seed in range(11)), (11, "parquet")])
def test_parts_add_up_to_the_whole(file, seed, ending):
    trace, path = random_trace(seed), file(seed, ending)
    cuts = np.random.default_rng(seed + 100).integers(1_100, 2_000, seed % 5) + 1_000 * np.arange(seed % 5)
    edges = [900, *cuts.tolist(), 6_100]
    parts = [perfcore.read(path, since=a, until=b) for a, b in itertools.pairwise(edges)]
    for part, (first, last) in zip(parts, itertools.pairwise(edges), strict=True):
        assert part.span_ns == (first, last)
        lasting = [row for row in clipped(trace, first, last) if row[2] < row[3]]
        assert [row for row in pieces(part) if row[2] < row[3]] == lasting
    if ending == "parquet":
        none = [(part.end_ns == part.start_ns).sum() for part in parts]
        assert sum(none) == (trace.end_ns == trace.start_ns).sum() > 0


def test_overheads_of_parts_add_up_to_those_of_the_whole(file):
    path = file(1)
    edges = [900, 2_345, 2_346, 5_001, 6_100]
    profiles = [perfcore.overheads(perfcore.read(path, since=a, until=b))[0] for a, b in itertools.pairwise(edges)]
    whole = perfcore.overheads(path)[0]
    for name in ("by_category_ns", "elapsed_ns"):
        assert np.array_equal(sum(getattr(each, name) for each in profiles), getattr(whole, name))
    np.testing.assert_array_equal(sum(each.cycles_ns.sum(axis=2) for each in profiles), whole.cycles_ns.sum(axis=2))


@pytest.mark.parametrize("seed", range(3))
def test_the_curve_of_a_part_is_the_part_of_the_curve(file, seed, tmp_path):
    """Cut as a trace, and as a curve."""
    path = file(seed)
    whole = perfcore.read(path).utilization()
    perfcore.write(whole, tmp_path / "curve.csv")
    curve = perfcore.read(path, since="20%", until=4_321).utilization()
    inside = whole.edges[(whole.edges > 1_940) & (whole.edges < 4_321)]
    for part in (curve, perfcore.read(tmp_path / "curve.csv", since="20%", until=4_321)):
        np.testing.assert_array_equal(part.edges, [1_940, *inside, 4_321])
        np.testing.assert_array_equal(whole.value_at((part.edges[1:] + part.edges[:-1]) / 2), part.heights)


def test_a_trace_on_disk_is_cut_there(file, tmp_path, monkeypatch):
    path = file(1, "parquet")
    asked = ({"since": 2_000, "until": 3_000}, {"since": "30%", "only": ["rank 1", "rank 3", "MPI_*"]})
    small = [perfcore.read(path, **how) for how in asked]
    monkeypatch.setattr("perf_io.tables.state_table.IN_MEMORY_ROWS", 0)
    for one, how in zip(small, asked, strict=True):
        two = perfcore.read(path, **how)
        assert (type(one).__name__, type(two).__name__) == ("Trace", "TabularTrace")
        for name in ("locations", "states", "busy_states", "span_ns", "n_intervals", "source", "notes", "markers"):
            assert getattr(one, name) == getattr(two, name), name
        busy = one.states[:1]
        np.testing.assert_array_equal(two.utilization(busy).heights, one.utilization(busy).heights)
        assert "_arrays" not in vars(two)
        assert pieces(two) == pieces(one)
    again = perfcore.read(path, only=("rank 2", "run"))
    assert (again.locations, again.states) == (("rank 2",), ("run",))
    assert not again.location.any()
    assert not again.state.any()
    half = perfcore.read(path, until="50%")
    perfcore.write(half, tmp_path / "part.parquet")
    written = duckdb.connect().execute(f"SELECT count(*) FROM '{tmp_path / 'part.parquet'}'").fetchone()
    assert written == (half.n_intervals,) == (len(clipped(random_trace(1), 900, 3_500)),)
    with pytest.raises(DataError, match="nothing of Idle, rank 0 is in the part"):
        perfcore.read(path, since=950, until=960, only=["Idle", "rank 0"])


@pytest.mark.parametrize(("since", "until", "expected"), [
    ("1.5us", "2us", (1_500, 2_000)), (1_500, "0.003 ms", (1_500, 3_000)), ("1500", None, (1_500, 6_100)),
    ("10%", "90 %", (1_420, 5_580)), (None, "2e3", (900, 2_000)),
    ("0", "1h", (900, 6_100)),  # as far as the run goes
    ("middle", None, (3_000, 6_100)), ("middle", "middle", (3_000, 4_000)), (None, "middle", (900, 4_000)),
])  # fmt: skip
def test_times_and_markers(file, since, until, expected):
    given = {name: moment for name, moment in (("since", since), ("until", until)) if moment is not None}
    assert perfcore.read(file(0, markers=[("middle", 3_000, 4_000)]), **given).span_ns == expected


STEPS = [(f"step#{k}", 1_000 + 100 * k, 1_090 + 100 * k) for k in range(1, 21)]


def test_a_marker_by_its_own_name_by_its_place_and_by_what_counts(file):
    path = file(0, markers=[*STEPS, ("io", 1_000, 1_010), ("io", 2_000, 2_010), ("io", 3_000, 3_010)])
    for asked, span in (
        ({"region": "step#2"}, (1_200, 1_290)),  # and not step#20
        ({"region": "io#2"}, (2_000, 2_010)),
        ({"region": "io"}, (1_000, 3_010)),  # of several from the first to the last
        ({"region": "step"}, (1_100, 3_090)),
        ({"since": "step#3", "until": "step#5"}, (1_300, 1_590)),
    ):
        assert perfcore.read(path, **asked).span_ns == span
    with pytest.raises(OptionError, match="'io#4': 'io' occurs 3 times"):
        perfcore.read(path, region="io#4")
    with pytest.raises(UnknownNameError, match="did you mean 'step'"):
        perfcore.read(path, region="stpe")


@pytest.mark.parametrize(("how", "problem"), [
    ({"since": "7us"}, "from 7 us to 6.1 us lies outside of the run, 900 ns to 6.1 us"),
    ({"until": 900}, "lies outside of the run"),
    ({"since": 2_000, "until": 1_000}, "ends at 1 us, before it begins at 2 us"),
    ({"since": 2_000, "until": 2_000}, "is empty: it begins and ends at 2 us"),
    ({"since": 2_000, "region": "step#1"}, "leave out from= and to="),
    ({"since": "nowhere"}, "unknown time or marker of .* 'nowhere'"),
    ({"since": 900, "until": 910}, "no location is in any state in the part 900 ns .. 910 ns"),
])  # fmt: skip
def test_what_cannot_be_is_said_in_a_line(file, how, problem):
    with pytest.raises((OptionError, DataError), match=problem) as error:
        perfcore.read(file(0, markers=STEPS), **how)
    assert "\n" not in str(error.value)


@pytest.mark.real_data
def test_steps_of_a_real_trace(real_data):
    """The five steps of the profiler follow one another, as their own times in the file say."""
    path = real_data / "traces" / "chrome" / "rank0.json.gz"
    trace = perfcore.read(path)
    steps = {name: (start, end) for name, start, end in trace.markers if name.startswith("ProfilerStep#")}
    assert sorted(steps) == [f"ProfilerStep#{number}" for number in range(550, 555)]
    assert perfcore.read(path, region="ProfilerStep#552").span_ns == steps["ProfilerStep#552"]
    found = perfcore.iterations(trace, marker="ProfilerStep")
    lengths = [end - start for _, (start, end) in sorted(steps.items())]
    assert found.durations == pytest.approx(np.array(lengths) / 1000)


# Parts of a run of several ranks are cut rank by rank, and add up to the whole.
@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return three_ranks(tmp_path_factory.mktemp("ranks"), 7, 3)


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ({"until": "50%"}, lambda location, state: True),
        ({"since": 0.1, "until": "0.3ms"}, lambda location, state: True),
        ({"region": "ProfilerStep#2"}, lambda location, state: True),
        ({"only": "rank 1"}, lambda location, state: location.startswith("rank 1 ")),
        ({"only": ("gemm", "rank 2*"), "since": "20%"},
         lambda location, state: location.startswith("rank 2") and state == "gemm"),
    ],
)  # fmt: skip
def test_a_part_of_ranks_is_what_lies_between_two_moments(folder, asked, wanted):
    run, part = read(folder), read(folder, **asked)
    assert type(part).__name__ == "JoinedTrace"
    assert pieces(part) == clipped(run, *part.span_ns, wanted)
    assert part.n_intervals == len(part.start_ns)
    assert part.locations == tuple(dict.fromkeys(name for name in run.locations if wanted(name, "gemm")))
    assert list(part.levels["process"]) == [name[:6] for name in part.locations]
    # Where the part begins or ends within the run markers are cut.
    low, high = (None if here == there else here for here, there in zip(part.span_ns, run.span_ns, strict=True))
    assert [marker[1:] for marker in part.markers] == [
        (start if low is None else max(start, low), end if high is None else min(end, high))
        for _, start, end in run.markers
        if start < part.span_ns[1] and end > part.span_ns[0]
    ]
    busy = sum(end - start for _, state, start, end in pieces(part) if state == "gemm")
    assert part.utilization(busy=["gemm"]).integral * 1000 == pytest.approx(busy)
