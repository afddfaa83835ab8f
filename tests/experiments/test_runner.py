"""Runs of a design: kept, made again, refused; by several workers: the same runs, also if a worker is lost."""

import os
import sys
import threading

import pytest

from perf_experiments import Design, RunOptions, Store, run_design
from perfcore.base.errors import InputError, PerfError


@pytest.fixture
def runs(tmp_path):
    """Run a piece of Python, with places for factors, over a design; gives the summary."""

    def run(code, factors=None, *, store=tmp_path / "runs.db", design=None, **options):
        design = design or {}
        made = Design(factors=factors or {"n": [1, 2]}, **{"replications": 1, **design})
        command = [] if code is None else [sys.executable, "-S", "-c", code]
        return run_design(made, store, RunOptions(command, **{"max_load": 1.0, **options}))

    run.store = tmp_path / "runs.db"
    return run


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
    assert runs(code, {"n": [1]}, values=["t=t=([0-9])"]).failed == (problem is not None)
    assert [run.problem for run in kept(runs)] == [problem]


def test_warm_up_runs_are_made_and_not_kept(runs, tmp_path):
    log = tmp_path / "log"
    assert runs(f"open({str(log)!r}, 'a').write('x')", warmup=2).made == 2
    assert log.read_text() == "x" * 6


def test_repetition_stops_when_the_median_is_known(runs):
    steady = runs("print('t=5')", {"n": [1]}, values=["t=t=(.)"], until=0.02, design={"replications": 2})
    assert (steady.succeeded, steady.wide) == (6, ())


def test_other_work_is_waited_for_and_then_noted(runs, monkeypatch):
    shares = [0.25, 0.75, 0.75]
    monkeypatch.setattr("perf_experiments.measurement._PAUSE_S", 0.0)
    monkeypatch.setattr("perf_experiments.measurement.busy_share", lambda: shares.pop() if shares else 0.75)
    assert (runs("pass", {"n": [1]}, max_load=0.5, wait_s=3600.0).noisy, shares) == (0, [])
    assert runs("pass", {"n": [2]}, max_load=0.5, wait_s=0.0).noisy == 1
    assert [(run.busy_before, run.noisy) for run in kept(runs)] == [(0.25, False), (0.75, True)]


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


# Runs of a design by several workers: the same runs by every route, and what happens if a worker is lost.
DESIGN = Design(factors={"n": [1, 2, 3]}, replications=2)
# The program's parent watches it for the worker, whose process is in the fourth field.
KILL_WORKER = "import os; os.kill(int(open(f'/proc/{os.getppid()}/stat').read().split()[3]), 9)"


def made(tmp_path, parallel=None, code="print('t', {n}**2)", **options):
    given = {"max_load": 1.0, "values": ["t=t ([0-9.]+)"], **options}
    command = [sys.executable, "-S", "-c", code]
    summary = run_design(DESIGN, tmp_path / "store.db", RunOptions(command, **given), parallel)
    return summary, values_kept(tmp_path)


def values_kept(tmp_path):
    with Store.read(tmp_path / "store.db") as store:
        return {(run.point["n"], run.replication): run.values.get("t", run.problem) for run in store.runs()}


EXPECTED = {(n, replication): float(n * n) for n in (1, 2, 3) for replication in (1, 2)}


def test_processes_make_the_same_runs(tmp_path):
    summary, runs = made(tmp_path, "local:2")
    assert (summary.made, summary.failed) == (6, 0)
    assert runs == EXPECTED
    assert "2 runs at a time shared this machine" in str(summary.report())
    assert made(tmp_path, None)[0].made == 0


def test_repetition_looks_at_the_runs_of_all_workers(tmp_path):
    assert made(tmp_path, "local:2", until=0.01, most=6)[0].made == 18  # an interval of a median takes six runs


def test_threads_of_the_program_are_the_users(tmp_path, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    code = "import os; print('t', {n} if 'OMP_NUM_THREADS' not in os.environ else 0)"
    assert made(tmp_path, "local:2", code)[1][2, 1] == 2.0


def test_a_lost_worker_is_replaced_once(tmp_path):
    code = f"import pathlib; p = pathlib.Path(r'{tmp_path}/once')\nif not p.exists(): p.touch(); {KILL_WORKER}\n"
    assert made(tmp_path, "local:2", code.replace("{", "{{").replace("}", "}}") + "print('t', {n}**2)")[1] == EXPECTED


def test_a_run_that_always_ends_its_worker_is_named_and_the_others_stay(tmp_path):
    code = f"if {{n}} == 3: {KILL_WORKER.replace('{', '{{').replace('}', '}}')}\nprint('t', {{n}}**2)"
    with pytest.raises(PerfError, match=r"^run n=3, repetition 1: a process ended with status -9"):
        made(tmp_path, "local:1", code)
    assert values_kept(tmp_path).items() <= {**EXPECTED, (3, 1): None}.items()


@pytest.mark.parametrize(("parallel", "message"), [
    ("local:0", "parallel='local:0': local:N"),
    ("dask://localhost:1", "no scheduler of Dask answers there"),
    ("mpi:4", "local:N, for N processes of this machine"),
])  # fmt: skip
def test_wrong_places_are_refused_before_a_store_is_made(tmp_path, parallel, message):
    with pytest.raises(PerfError, match=message):
        made(tmp_path, parallel)
    assert not (tmp_path / "store.db").exists()


class TestDask:
    @pytest.fixture
    def address(self):
        distributed = pytest.importorskip("distributed")
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster:
            yield cluster.scheduler_address.replace("tcp://", "dask://")

    def test_workers_make_the_same_runs(self, tmp_path, address):
        assert made(tmp_path, address)[1] == EXPECTED
        assert made(tmp_path, address)[0].made == 0
