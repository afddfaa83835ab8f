"""Phases of two runs are matched in order, and compared pair by pair."""

import itertools

import numpy as np
import pytest

import perfcore
from perfcore import Trace, UtilizationCurve
from perfcore.base.errors import DataError
from perfcore.hooks.registry import registry


def run(levels, lengths, seed=0, unit="us", processors=16):
    rng = np.random.default_rng(seed)
    pieces = zip(levels, lengths, strict=True)
    heights = np.concatenate([np.full(n, level) + rng.normal(0, 0.5, n) for level, n in pieces])
    return UtilizationCurve(
        np.arange(len(heights) + 1.0), np.clip(heights, 0, processors), unit, n_locations=processors
    )


def test_a_phase_that_became_longer():
    old, new = (
        perfcore.fit(run([3, 12, 6], lengths, seed)) for seed, lengths in enumerate([(400,) * 3, (400, 800, 400)])
    )
    comparison = perfcore.compare(old, new)
    assert comparison.alike
    ratios = [second.duration / first.duration for first, second in comparison.pairs]
    assert ratios == pytest.approx([1.0, 2.0, 1.0], abs=0.02)
    assert [first.level for first, _ in comparison.pairs] == pytest.approx([3, 12, 6], abs=0.2)
    for first, second in comparison.pairs:
        assert first.duration_within[0] <= 400 <= first.duration_within[1]
        assert second.level_within[0] <= second.level <= second.level_within[1]
    assert [side.duration_within for side in comparison.totals] == [None, None]  # of one run each


def test_a_phase_that_is_gone():
    old, new = perfcore.fit(run([3, 12, 6, 14], (400,) * 4)), perfcore.fit(run([3, 6, 14], (400,) * 3, 1))
    pairs = [(a and list(a.phases), b and list(b.phases)) for a, b in perfcore.compare(old, new).pairs]
    assert pairs == [([0], [0]), ([1], None), ([2], [1]), ([3], [2])]
    assert "only in A: phase 2" in perfcore.compare(old, new, names=("A", "B")).report().closing()[0]


def test_runs_that_do_not_look_alike():
    old, new = perfcore.fit(run([15, 14], (600, 600))), perfcore.fit(run([1, 9, 2, 7], (300,) * 4))
    comparison = perfcore.compare(old, new)
    assert not comparison.alike
    assert "runs not alike" in comparison.report().closing()[0]
    assert len(comparison.report().shown_tables[0][2]) == 1
    assert comparison.to_dict()["phases"] == []


# Phases have names: time of each state to the nanosecond, names of functions, and the part names play in matching.
def random_trace(seed, n_locations=5, n_states=4):
    rng = np.random.default_rng(seed)
    rows = []
    for location in range(n_locations):
        at = int(rng.integers(0, 50))
        for _ in range(30):
            length = int(rng.integers(0, 40))
            rows.append((location, int(rng.integers(n_states)), at, at + length))
            at += length + int(rng.choice([0, 0, 7]))
    location, state, start, end = map(list, zip(*rows, strict=True))
    names = [f"task {k}" for k in range(n_states - 1)] + ["wait"]
    return Trace(location, state, start, end, [f"cpu{k}" for k in range(n_locations)], names)


def activities(trace, edges, **options):
    """Activities of the phases that begin and end at these times."""
    marks = [(f"m{k}", low, high) for k, (low, high) in enumerate(itertools.pairwise(edges))]
    facts = (trace.location, trace.state, trace.start_ns, trace.end_ns, trace.locations, trace.states)
    marked = Trace(*facts, markers=marks, time_unit="ns")
    model = perfcore.fit(marked, fitter="phases", phases_from=[name for name, _, _ in marks], **options)
    return [phase.activity for phase in model.phases]


@pytest.mark.parametrize("seed", range(5))
def test_every_nanosecond_of_every_location_is_in_one_field(seed):
    trace = random_trace(seed)
    first, last = trace.span_ns
    found = activities(trace, [first, first + 3, 200, last])
    for each in found:
        named = sum(state.time_ns for state in each.states)
        total = each.duration_ns * each.n_locations
        assert named + each.others_computing_ns + each.others_ns + each.no_state_ns == total
    for code, name in enumerate(trace.states):
        spent = (trace.end_ns - trace.start_ns)[trace.state == code].sum()
        assert sum(state.time_ns for each in found for state in each.states if state.state == name) == spent


def test_names_say_shares_and_who_is_idle():
    trace = Trace(
        [0, 0, 1, 2], [0, 1, 0, 2], [0, 84, 0, 0], [84, 100, 100, 100], ["a", "b", "c"], ["dgemm", "dtrsm", "MPI_Wait"]
    )
    assert [each.name for each in activities(trace, [0, 100])] == ["92% dgemm, 8% dtrsm; 1 of 3 idle (MPI_Wait)"]
    assert activities(trace, [0, 100], idle=["dgemm", "dtrsm"])[0].name == "MPI_Wait; 2 of 3 idle (92% dgemm)"
    quiet = Trace([0, 1, 0], [0, 0, 1], [0, 0, 50], [50, 50, 60], ["a", "b"], ["MPI_Init", "run"])
    assert activities(quiet, [0, 50, 60], busy=["run"])[0].name == "all 2 idle (MPI_Init)"


@pytest.mark.parametrize(("name", "plain"), [
    ("void (anonymous namespace)::elementwise<int, (A)2>(int, B<C>)", "elementwise"),
    ("Hello::Hello(CkMigrateMessage*)", "Hello::Hello"),
    ("std::pair<int, int> lib::sorted(std::vector<int> const&) const", "sorted"),
    ("bool lib::T::operator<(T const&)", "T::operator<"), ("lapack_dgemm", "lapack_dgemm"),
    ("Wait/WaitAll", "Wait/WaitAll"), ("(outside of all regions)", "(outside of all regions)"), ("a  b\nc", "a b c"),
    ("<", "<"), ("::", "::"), ("f(", "f("), ("((((<<<<::", "((((<<<<::"),
])  # fmt: skip
def test_names_of_functions(name, plain):
    trace = Trace([0], [0], [0], [100], ["cpu"], [name])
    assert [each.name for each in activities(trace, [0, 100], busy=[name])] == [plain]


def named_run(parts, n_locations=4, seed=0):
    """Phases (state, locations that compute, microseconds) of a run whose other locations wait."""
    rng = np.random.default_rng(seed)
    states = [*dict.fromkeys(state for state, _, _ in parts), "wait"]
    rows, at = [], 0
    for state, computing, length in parts:
        for location in range(n_locations):
            inner = at
            while inner < at + 1000 * length:
                end = min(inner + int(rng.integers(2000, 4000)), at + 1000 * length)
                busy = (location + inner // 3000) % n_locations < computing
                rows.append((location, states.index(state) if busy else len(states) - 1, inner, end))
                inner = end
        at += 1000 * length
    location, code, start, end = map(list, zip(*rows, strict=True))
    return Trace(location, code, start, end, [f"cpu{k}" for k in range(n_locations)], states)


def test_names_go_before_shapes_in_matching():
    # By shape alone, the wide phase of one run and the wide phase of the other would be a pair.
    runs = [
        named_run([("pack", 2, 150), ("solve", 4, 500), ("pack", 2, 300), ("write", 1, 100)]),
        named_run([("pack", 2, 150), ("solve", 4, 350), ("pack", 2, 450), ("write", 1, 100)], seed=1),
    ]
    models = [perfcore.fit(run, fitter="phases", phases=4, degree=0) for run in runs]
    found = perfcore.compare(*models, names=("a", "b"))
    assert found.by_name
    assert [(list(a.phases), list(b.phases)) for a, b in found.pairs] == [([k], [k]) for k in range(4)]
    assert found.to_dict()["phases"][1][0]["what_runs"] == "solve"
    assert found.report().shown_tables[0][1][-2:] == ["activity a", "activity b"]


# Several runs as one table: phases of generated runs at several p, whose durations follow known laws.
# Seconds over p, and the share of the processors that computes.
LAWS = (
    (lambda p: 2.0 + 24.0 / p, 0.9), (lambda p: 3.0, 0.25), (lambda p: 40.0 / p, 0.7), (lambda p: 1.0 + 0.2 * p, 0.4),
)  # fmt: skip


def run_of_joining(p, seed=0, laws=LAWS):
    """Independent samples around each level; durations vary by half a per cent."""
    rng = np.random.default_rng([seed, p])
    heights, widths = [], []
    for duration, share in laws:
        seconds = duration(p) * rng.normal(1.0, 0.005)
        n = 200
        heights.append(np.clip(rng.normal(share, 0.06, n), 0, 1) * p)
        widths.append(np.full(n, seconds / n))
    edges = np.concatenate([[0.0], np.cumsum(np.concatenate(widths))])
    return UtilizationCurve(edges, np.concatenate(heights), "s", n_locations=p, source=f"run{p}")


def joined_of_joining(levels, told=False, repetitions=1, laws=LAWS):
    runs = [(p, r) for p in levels for r in range(repetitions)]
    parts = [(f"run_p{p}_r{r}.csv", run_of_joining(p, r, laws)) for p, r in runs]
    return registry().load("fitters", "phases").join_runs(parts, [{"p": p} if told else {} for p, _ in runs], "runs")


@pytest.mark.parametrize("told", [False, True])
def test_each_phase_has_a_row_of_each_run(told):
    data = joined_of_joining((2, 4, 8), told)
    table = data.table
    assert (data.roles.parameters, data.roles.value, data.roles.unit) == ({"p": "p"}, "duration_s", "s")
    assert table.groupby("phase")["p"].apply(sorted).tolist() == [[2, 4, 8]] * 4
    for (_, rows), (duration, share) in zip(table.groupby("phase"), LAWS, strict=True):
        expected = np.array([duration(p) for p in rows["p"]])
        assert rows["duration_s"].to_numpy() == pytest.approx(expected, rel=0.05)
        assert rows["processor_time_s"].to_numpy() == pytest.approx(expected * share * rows["p"], rel=0.06)


def test_the_next_run_lies_within_the_bounds_of_each_phase():
    """A law for each phase of runs at p = 2, 4, 8, three of each, against the truth at 16."""
    model = perfcore.fit(joined_of_joining((2, 4, 8), repetitions=3), fitter="scaling")
    phases = [f"phase {k}" for k in range(1, 5)]
    bounds = model.predict_array({"p": np.full(4, 16.0), "path": phases}, interval=0.95)
    for (_, low, high), (duration, _) in zip(bounds, LAWS, strict=True):
        assert low <= duration(16) <= high


def test_runs_of_different_programs_are_refused():
    other = tuple((duration, 1.0 - share) for duration, share in reversed(LAWS[1:]))
    parts = [("a.csv", run_of_joining(4)), ("b.csv", run_of_joining(8, laws=other))]
    with pytest.raises(DataError, match=r"a\.csv and b\.csv do not look like runs of one program"):
        registry().load("fitters", "phases").join_runs(parts, [{}, {}], "runs")
