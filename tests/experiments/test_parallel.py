"""Runs of a design by several workers: the same runs by every route, and what happens if a worker is lost."""

import sys

import pytest

from perf_experiments import Design, RunOptions, Store, run_design
from perfcore.base.errors import PerfError

DESIGN = Design(factors={"n": [1, 2, 3]}, replications=2)
# The program's parent watches it for the worker, whose process is in the fourth field.
KILL_WORKER = "import os; os.kill(int(open(f'/proc/{os.getppid()}/stat').read().split()[3]), 9)"


def made(tmp_path, parallel=None, code="print('t', {n}**2)", **options):
    given = {"max_load": 1.0, "values": ["t=t ([0-9.]+)"], **options}
    command = [sys.executable, "-S", "-c", code]
    summary = run_design(DESIGN, tmp_path / "store.db", RunOptions(command, **given), parallel)
    return summary, kept(tmp_path)


def kept(tmp_path):
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
    assert kept(tmp_path).items() <= {**EXPECTED, (3, 1): None}.items()


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
