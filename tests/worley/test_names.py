"""Phases have names: time of each state to the nanosecond, names of functions, and the part names play in matching."""

import itertools

import numpy as np
import pytest

import perfcore
from perf_views.names import plain_name, plain_names
from perf_worley.activity import activities, clipped_sums, joined
from perf_worley.comparison import compare_phases
from perfcore import Trace


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


@pytest.mark.parametrize("seed", range(5))
def test_time_of_each_state_is_that_of_a_plain_loop(seed):
    trace = random_trace(seed)
    edges = np.array([10, 10, 11, 90, 400, 700])
    sums = clipped_sums(trace.start_ns, trace.end_ns, edges, [(trace.state, 4), (trace.location, 5)])
    for found, codes in zip(sums, (trace.state, trace.location), strict=True):
        expected = np.zeros_like(found)
        for code, start, end in zip(codes, trace.start_ns, trace.end_ns, strict=True):
            for k, (low, high) in enumerate(itertools.pairwise(edges)):
                expected[k, code] += max(min(end, high) - max(start, low), 0)
        assert (found == expected).all()


@pytest.mark.parametrize("seed", range(5))
def test_every_nanosecond_of_every_location_is_in_one_field(seed):
    trace = random_trace(seed)
    first, last = trace.span_ns
    found = activities(trace, [first, first + 3, 200, last])
    for each in (*found, joined(found)):
        named = sum(state.time_ns for state in each.states)
        total = each.duration_ns * each.n_locations
        assert named + each.others_computing_ns + each.others_ns + each.no_state_ns == total
    whole = activities(trace, [first, last])[0]
    assert {(s.state, s.time_ns) for s in joined(found).states} == {(s.state, s.time_ns) for s in whole.states}


def test_what_is_left_of_many_states_is_counted():
    n = 50
    trace = Trace(
        [0] * n, range(n), range(0, 10 * n, 10), range(10, 10 * n + 10, 10), ["cpu"], [f"f{k}" for k in range(n)]
    )
    (found,) = activities(trace, trace.span_ns)
    assert len(found.states) == 20
    assert found.others_computing_ns == 300
    assert found.name == "2% f0, many others"


def test_names_say_shares_and_who_is_idle():
    trace = Trace(
        [0, 0, 1, 2], [0, 1, 0, 2], [0, 84, 0, 0], [84, 100, 100, 100], ["a", "b", "c"], ["dgemm", "dtrsm", "MPI_Wait"]
    )
    assert [each.name for each in activities(trace, [0, 100])] == ["92% dgemm, 8% dtrsm; 1 of 3 idle (MPI_Wait)"]
    waiting = activities(trace, [0, 100], idle=["dgemm", "dtrsm"])[0]
    assert waiting.name == "MPI_Wait; 2 of 3 idle (92% dgemm)"
    quiet = Trace([0, 1, 0], [0, 0, 1], [0, 0, 50], [50, 50, 60], ["a", "b"], ["MPI_Init", "run"])
    assert activities(quiet, [0, 50, 60], busy=["run"])[0].name == "all 2 idle (MPI_Init)"


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("void (anonymous namespace)::elementwise<int, (A)2>(int, B<C>)", "elementwise"),
        ("Hello::Hello(CkMigrateMessage*)", "Hello::Hello"),
        ("std::pair<int, int> lib::sorted(std::vector<int> const&) const", "sorted"),
        ("bool lib::T::operator<(T const&)", "T::operator<"),
        ("lapack_dgemm", "lapack_dgemm"),
        ("Wait/WaitAll", "Wait/WaitAll"),
        ("(outside of all regions)", "(outside of all regions)"),
        ("a  b\nc", "a b c"),
        ("<", "<"),
        ("::", "::"),
        ("f(", "f("),
        ("((((<<<<::", "((((<<<<::"),
    ],
)
def test_names_of_functions(name, plain):
    assert plain_name(name) == plain


def test_different_functions_keep_different_names():
    names = [f"void lib::kernel<{'x' * 60}{k}>(int)" for k in range(3)] + ["void other::run()", "run"]
    assert len(set(plain_names(names))) == 5
    long = ["f" + "x" * 90 + letter + "y" * 90 for letter in "ab"]
    assert [name[-4:] for name in plain_names(long)] == [" [1]", " [2]"]


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


def test_fit_names_phases_in_table_json_and_file(tmp_path):
    model = perfcore.fit(named_run([("dgemm", 4, 600), ("dtrsm", 1, 400)]), fitter="phases")
    assert [phase.activity.name for phase in model.phases] == ["dgemm", "dtrsm; 3.0 of 4 idle (wait)"]
    assert model.tables()[0][1][-1] == "activity"
    assert model.to_frame()["what_runs"].tolist() == [phase.activity.name for phase in model.phases]
    path = tmp_path / "model.json"
    model.save(path)
    assert perfcore.load(path) == model


def test_names_go_before_shapes_in_matching():
    # By shape alone, the wide phase of one run and the wide phase of the other would be a pair.
    runs = [
        named_run([("pack", 2, 150), ("solve", 4, 500), ("pack", 2, 300), ("write", 1, 100)]),
        named_run([("pack", 2, 150), ("solve", 4, 350), ("pack", 2, 450), ("write", 1, 100)], seed=1),
    ]
    models = [perfcore.fit(run, fitter="phases", phases=4, degree=0) for run in runs]
    found = compare_phases(*models, ("a", "b"))
    assert found.by_name
    assert [(list(a.phases), list(b.phases)) for a, b in found.pairs] == [([k], [k]) for k in range(4)]
    assert found.to_dict()["phases"][1][0]["what_runs"] == "solve"
    assert found.tables()[0][1][-2:] == ["activity a", "activity b"]


def test_other_names_for_the_same_leave_shapes():
    parts = [("old_a", 4, 300), ("old_b", 1, 300)]
    one = perfcore.fit(named_run(parts), fitter="phases")
    renamed = perfcore.fit(named_run([(f"new{state[3:]}", *rest) for state, *rest in parts]), fitter="phases")
    found = compare_phases(one, renamed, ("a", "b"))
    assert found.by_name is False
    assert len(found.pairs) == 2
    assert any("other names" in line for line in found.summary())
