"""Iterations that a marker names: the mean one, how they differ, and which class of states makes the difference."""

import json
import sys

import numpy as np
import pytest

import perfcore
from perf_traces.windows import part_of
from perfcore import Trace, UtilizationCurve
from perfcore.__main__ import main
from perfcore.base.errors import DataError, OptionError, UnknownNameError

SENDS = (10, 12, 30, 9, 11)  # microseconds that each iteration communicates


def run_of_steps(name="step#{}", **facts):
    """Two locations that compute for 40 us; one of them then sends, which the other one waits for; 5 us between."""
    rows, marks, at = [], [], 100
    for number, send in enumerate(SENDS, 1):
        end = at + 40 + send
        rows += [(0, 0, at, at + 40), (0, 1, at + 40, end), (1, 0, at, at + 40), (1, 2, at + 40, end)]
        marks.append((name.format(number), 1000 * at, 1000 * end))
        at = end + 5
    location, state, start, end = np.array(rows).T
    return Trace(location, state, 1000 * start, 1000 * end, ["a", "b"], ["solve", "MPI_Send", "MPI_Barrier"],
                 markers=marks, source="run", **facts)  # fmt: skip


@pytest.mark.parametrize(("name", "labels"), [("step#{}", 5), ("step", 1)])
def test_what_a_marker_spans(name, labels):
    found = perfcore.iterations(run_of_steps(name), marker="step")
    assert found.count == 5
    assert found.durations.tolist() == pytest.approx([40 + send for send in SENDS])
    assert len(set(found.labels)) == labels
    assert found.period == pytest.approx(40 + np.mean(SENDS))


def test_classes_of_states_make_the_difference():
    found = perfcore.iterations(run_of_steps(), marker="step").differences
    assert found.categories == ("computing", "communicating", "synchronizing")
    sent = 1000 * np.array(SENDS)
    np.testing.assert_array_equal(found.times_ns, np.column_stack([np.full(5, 80_000), sent, sent]))
    # Both locations make as much of it, the one that sends and the one that waits.
    assert found.shares_of_variance == pytest.approx({"computing": 0.0, "communicating": 0.5, "synchronizing": 0.5})
    assert found.shares_of_slowest == pytest.approx(found.shares_of_variance)
    assert found.slowest == 2
    assert sum(found.mean_shares.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(3))
def test_times_by_category_add_up_to_the_nanosecond(seed):
    rng = np.random.default_rng(seed)
    bounds = np.sort(rng.integers(0, 100_000, (3, 200)), axis=1).reshape(-1, 2)
    edges = np.sort(rng.choice(100_000, 40, replace=False)).reshape(-1, 2)
    trace = Trace(np.repeat(np.arange(3), 100), rng.integers(0, 3, 300), *bounds.T, ["a", "b", "c"],
                  ["run", "MPI_Send", "Idle"], markers=[("mark", int(a), int(b)) for a, b in edges])  # fmt: skip
    found = perfcore.iterations(trace, marker="mark").differences
    np.testing.assert_array_equal(found.times_ns.sum(axis=1), 3 * np.diff(edges, axis=1)[:, 0])
    assert sum(found.shares_of_variance.values()) == pytest.approx(1.0)
    assert sum(found.shares_of_slowest.values()) == pytest.approx(1.0)


def test_iterations_that_the_part_cuts_are_left_out():
    trace = run_of_steps()
    part = part_of(trace, since="110us", until="260us")
    assert perfcore.iterations(part, marker="step").labels == ("step#2",)
    assert perfcore.iterations(part_of(trace, since="step#2", until="step#4")).count == 3
    with pytest.raises(DataError, match="no 'step' lies within it as a whole"):
        perfcore.iterations(part_of(trace, since="110us", until="120us"), marker="step")


def test_equal_iterations_have_no_difference():
    trace = Trace([0] * 3, [0] * 3, [0, 10, 20], [10, 20, 30], ["a"], ["run"], markers=[("s", 0, 10), ("s", 10, 20)])
    found = perfcore.iterations(trace, marker="s")
    assert found.differences.shares_of_variance == {}
    assert found.summary()[-1] == "by category: 100% computing"


def test_what_cannot_be():
    with pytest.raises(UnknownNameError, match=r"unknown time or marker of run 'stpe': did you mean 'step'\?"):
        perfcore.iterations(run_of_steps(), marker="stpe")
    with pytest.raises(OptionError, match="leave out --no-markers"):
        perfcore.iterations(run_of_steps(), marker="step", markers=False)
    with pytest.raises(OptionError, match="--marker belongs to traces"):
        perfcore.iterations(UtilizationCurve([0, 1], [1]), marker="step")


def test_from_the_command_line(tmp_path, monkeypatch, capsys):
    trace = run_of_steps()
    events = [{"ph": "X", "pid": 0, "tid": trace.locations[at], "name": trace.states[code], "ts": start / 1000,
               "dur": (end - start) / 1000}
              for at, code, start, end in zip(trace.location.tolist(), trace.state.tolist(), trace.start_ns.tolist(),
                                              trace.end_ns.tolist(), strict=True)]  # fmt: skip
    events += [{"ph": "X", "pid": 0, "tid": "a", "name": name, "cat": "user_annotation", "ts": start / 1000,
                "dur": (end - start) / 1000} for name, start, end in trace.markers]  # fmt: skip
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"traceEvents": events}))

    def printed(*words):
        monkeypatch.setattr(sys, "argv", ["perf", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
        return capsys.readouterr().out

    text = printed("iterations", str(path), "--marker", "step")
    assert "slowest: the 3rd (step#3), 70 us, 28.7% above the mean: 15.6 us, of which on a location " in text
    assert "what makes the difference: of the variance of durations 50% communicating, 50% synchronizing" in text
    found = json.loads(printed("iterations", str(path), "--marker", "step", "--json"))
    assert found["labels"] == [f"step#{number}" for number in range(1, 6)]
    assert found["by_category"]["slowest"] == 3
    assert "step#1 .. step#5 (5 x 54.4 us)" in printed("info", str(path))
