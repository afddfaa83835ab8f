"""Runs of a design: what is kept, what is made again, and what is refused before anything runs."""

import os
import threading
import time

import pytest

from perf_experiments import Design, RunOptions, Store, run_design
from perfcore.base.errors import InputError, PerfError


def kept(runs):
    with Store.read(runs.store) as store:
        return store.runs()


def test_every_point_is_run_and_kept(runs):
    code = "print('t', {n} * {m}, '{w}')"
    factors = {"n": [2, 3], "m": [0.5], "w": ["a b"]}
    assert runs(code, factors, values=["t=t ([0-9.]+)"], design={"replications": 2}).succeeded == 4
    found = {(run.point["n"], run.replication): run for run in kept(runs)}
    assert sorted(found) == [(2, 1), (2, 2), (3, 1), (3, 2)]
    assert found[3, 1].values == {"t": 1.5}
    assert found[3, 1].command[-1] == "print('t', 3 * 0.5, 'a b')"
    assert found[3, 1].environment["host"] == os.uname().nodename
    with Store.read(runs.store) as store:
        assert store.runs(found[3, 2].number)[0].stdout == b"t 1.5 a b\n"


def test_the_same_call_goes_on_and_needs_no_command(runs):
    code = "print('t', {n})"
    assert runs(code, values=["t=t ([0-9]+)"]).made == 2
    assert runs(code, values=["t=t ([0-9]+)"]).made == 0
    grown = runs(None, {"n": [1, 2, 3]}, design={"replications": 2})
    assert (grown.made, grown.succeeded) == (4, 6)
    assert all(run.values == {"t": run.point["n"]} for run in kept(runs))


def test_failures_are_kept_and_made_again_on_demand(runs, tmp_path):
    flag = tmp_path / "flag"
    code = f"import os; assert {{n}} == 1 or os.path.exists({str(flag)!r})"
    first = runs(code)
    assert (first.made, first.succeeded, first.failed) == (2, 1, 1)
    assert runs(code).made == 0
    flag.touch()
    again = runs(code, retry_failed=True)
    assert (again.made, again.succeeded, again.failed) == (1, 2, 0)
    assert [run.problem for run in kept(runs) if run.point["n"] == 2] == ["exit status 1", None]
    assert runs(code, retry_failed=True).made == 0


@pytest.mark.parametrize(("code", "problem"), [
    ("print('x')", "value t is found nowhere in the output; once is expected"),
    ("print('t=1 t=2')", "value t is found 2 times in the output; once is expected"),
    ("import sys; print('t=1'); sys.exit(2)", "exit status 2"), ("import sys; print('t=1', file=sys.stderr)", None),
])  # fmt: skip
def test_values_of_a_run(runs, code, problem):
    summary = runs(code, {"n": [1]}, values=["t=t=([0-9])"])
    assert summary.failed == (problem is not None)
    assert [run.problem for run in kept(runs)] == [problem]


def test_warm_up_runs_are_made_and_not_kept(runs, tmp_path):
    log = tmp_path / "log"
    assert runs(f"open({str(log)!r}, 'a').write('x')", warmup=2).made == 2
    assert log.read_text() == "x" * 6


def test_repetition_stops_when_the_median_is_known(runs):
    steady = runs("print('t=5')", {"n": [1]}, values=["t=t=(.)"], until=0.02, design={"replications": 2})
    assert (steady.succeeded, steady.wide) == (6, ())


def test_other_work_is_waited_for_and_then_noted(runs, monkeypatch):
    monkeypatch.setattr("perf_experiments.measurement.busy_share", lambda: 0.75)
    start = time.monotonic()
    assert runs("pass", {"n": [1]}, max_load=0.5, wait_s=0.2).noisy == 1
    assert time.monotonic() - start >= 0.2
    assert (kept(runs)[0].busy_before, kept(runs)[0].noisy) == (0.75, True)


def test_a_busy_processor_is_seen(runs):
    pytest.importorskip("psutil")
    stop = threading.Event()

    def spin():
        while not stop.is_set():
            sum(range(1000))

    thread = threading.Thread(target=spin)
    thread.start()
    try:
        runs("pass", {"n": [1]}, max_load=0.999, wait_s=0.0)
        assert kept(runs)[0].busy_before >= 0.5 / (os.cpu_count() or 1)
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize(("change", "message"), [
    ({"command": ["true", "{m}"]}, "unknown factor in '{m}' 'm'"),
    ({"command": ["no-such-program"]}, "command 'no-such-program': there is no such program here"),
    ({"command": ["./{n}"]}, "command './1': there is no such program here"),
    ({"command": []}, "there is no command; write it after --"),
    ({"command": ["true"], "launcher": "mpirun"}, "unknown factor in '{p}' 'p'"),
    ({"command": ["true"], "launcher": "no-launcher -x"}, "command 'no-launcher'"),
    ({"command": ["true"], "values": ["t"]}, "NAME=EXPRESSION is expected"),
])  # fmt: skip
def test_mistakes_are_said_before_anything_runs(runs, change, message):
    with pytest.raises(PerfError) as refused:
        run_design(Design(factors={"n": [1, 2]}), runs.store, RunOptions(**change))
    assert message in str(refused.value)
    assert not change["command"] or not runs.store.exists()


def test_a_full_disk_loses_only_the_run_in_flight(runs, monkeypatch):
    original = Store.add
    made = []

    def add(store, run):
        if len(made) == 2:  # no page can be added any more: what SQLite meets when the disk is full
            pages = store._pragma("page_count")
            store._connection.execute(f"PRAGMA max_page_count = {pages}")
        made.append(run)
        return original(store, run)

    monkeypatch.setattr(Store, "add", add)
    code = "print('x' * 50000)"
    with pytest.raises(InputError, match=r"the disk is full; free some space; the run n=\d could not be kept"):
        runs(code, {"n": [1, 2, 3, 4]})
    monkeypatch.undo()
    assert len(kept(runs)) == 2
    assert runs(code, {"n": [1, 2, 3, 4]}).made == 2
