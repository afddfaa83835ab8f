"""pj_dump: lines and StarVZ's table, nested states, state types."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_samples import pieces, sample

import perfcore
from perfcore.base.errors import InputError

FILE = "dump.csv"

PLAIN = sample("pj_dump_plain")
TABLE = sample("pj_dump_table")


def pieces_of(trace, location):
    return sorted((row[1:] for row in pieces(trace) if row[0] == location), key=lambda row: row[1])


def test_the_innermost_state_counts(write):
    trace = perfcore.read(write(PLAIN))
    s = 1_000_000_000
    expected = [("compute", 0, s), ("MPI_Recv", s, 2 * s), ("copy", 2 * s, 3 * s), ("compute", 3 * s, 6 * s)]
    assert pieces_of(trace, "p1") == expected
    assert pieces_of(trace, "p2") == [("compute", 1, 4 * s)]
    assert trace.time_unit == "s"
    assert "1 variable lines passed over, which -r kind=variables reads" in trace.notes


def test_starvz_counts_a_task_whole_unless_told_otherwise(write):
    path = write(TABLE)
    trace = perfcore.read(path)
    assert pieces_of(trace, "CPU0") == [("Idle", 500_000, 2_000_000), ("dgemm", 2_000_000, 4_000_000)]
    assert (trace.time_unit, trace.busy_states) == ("ms", ("dgemm",))
    inner = perfcore.read(path, nested="innermost", time_unit="us")
    expected = [("Idle", 500, 2000), ("dgemm", 2000, 2500), ("Callback", 2500, 3000), ("dgemm", 3000, 4000)]
    assert pieces_of(inner, "CPU0") == expected


@pytest.mark.real_data
def test_starpu_factorization(real_data):
    # Figures from an independent parser: 9,678 times at which the number of busy workers changes, mean 0.754 of 10.
    trace = perfcore.read(real_data / "traces" / "paje" / "qr_trace.paje.worker_state.csv.gz")
    curve = trace.utilization()
    # No worker is busy when the trace begins and when it ends: one step more than changes.
    assert curve.n_steps == 9678 + 1
    assert curve.mean / 10 == pytest.approx(0.754, abs=5e-4)
    # Tasks in which a task is submitted are cut where the submission, a runtime state, is the innermost one.
    inner = perfcore.read(trace.source, nested="innermost").utilization()
    assert inner.n_steps > curve.n_steps
    assert inner.integral < curve.integral
    assert inner.mean / 10 == pytest.approx(0.754, abs=5e-4)


VARIABLES = """\
Nature, ResourceId, Type, Start, End, Duration, Value
Variable, scheduler, Number of Ready Tasks, 0.0, 1.5, 1.5, 3
Variable, scheduler, Number of Ready Tasks, 1.5, 4.0, 2.5, 0
Variable, CPU0, GFlops, 0.0, 4.0, 4.0, 10.5
Variable, CPU1, GFlops, 0.5, 4.0, 3.5, 4
"""


def test_variables_are_a_series_by_type_and_summed_over_containers(write):
    series = perfcore.read(write(VARIABLES, "paje.variable.csv"))
    assert (series.time_unit, series.times.tolist()) == ("ms", [0, 0.5, 1.5])
    assert {name: values.tolist() for name, values in series.columns.items()} == {
        "Number of Ready Tasks": [3, 3, 0], "GFlops": [10.5, 14.5, 14.5], "CPU0 GFlops": [10.5, 10.5, 10.5],
        "CPU1 GFlops": [0, 4, 4],
    }  # fmt: skip
    power = perfcore.read(write(PLAIN), kind="variables")
    assert (power.time_unit, power.columns["power"].tolist()) == ("s", [1])


def test_ready_work_from_variables_tells_imbalance_from_lack_of_work(write):
    """By hand: of two locations CPU1 is idle for 1 ms with tasks ready and for 2.5 ms without."""
    lines = (
        "State, CPU0, Worker State, 0.0, 4.0, 4.0, 0.0, dgemm\nState, CPU1, Worker State, 0.5, 1.0, 0.5, 0.0, dgemm\n"
    )
    trace = perfcore.read(write(TABLE.split("\n")[0] + "\n" + lines, "worker_state.csv"))
    ready = write(VARIABLES, "paje.variable.csv")
    profile = perfcore.overheads(trace, ready=ready, ready_column="Number of Ready Tasks")
    spent = profile.to_frame().set_index("category")["time_s"]
    assert spent["load imbalance"] == pytest.approx(1e-3 / 2)
    assert spent["insufficient parallelism"] == pytest.approx(2.5e-3 / 2)


@st.composite
def nested(draw, start=0, end=30, depth=0):
    """Intervals (start, end, depth) that lie within one another or apart."""
    found = []
    cuts = sorted(draw(st.lists(st.integers(start, end), max_size=4)))
    for first, last in zip(cuts[::2], cuts[1::2], strict=False):
        found.append((first, last, depth))
        if depth < 3:
            found += draw(nested(first, last, depth + 1))
    return found


@settings(deadline=None, max_examples=25)
@given(intervals=nested().filter(lambda rows: any(end > start for start, end, _ in rows)), order=st.randoms())
def test_every_moment_belongs_to_the_deepest_interval(tmp_path_factory, intervals, order):
    path = tmp_path_factory.mktemp("nested") / "dump.csv"
    order.shuffle(intervals)
    lines = [f"State, p, S, {a}, {b}, {b - a}, {depth}, d{depth}\n" for a, b, depth in intervals]
    path.write_text("".join(lines))
    trace = perfcore.read(path, time_unit="ns")
    for moment in range(30):
        holding = [depth for a, b, depth in intervals if a <= moment < b]
        mine = (trace.start_ns <= moment) & (moment < trace.end_ns)
        assert [trace.states[code] for code in trace.state[mine]] == [f"d{max(holding, default=0)}"] * bool(holding)


def test_states_that_cross_are_refused(write):
    crossing = "State, p1, ST, 0, 4, 4, 0, outer\nState, p1, ST, 1, 5, 4, 1, inner\n"
    problem = r":2: 'p1' is in state 'inner' from 1 although 'outer' \(line 1\) lasts until 4"
    with pytest.raises(InputError, match=problem):
        perfcore.read(write(crossing))
