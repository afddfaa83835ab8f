"""Runs handed to Slurm, with stand-ins for `sbatch` and `sacct` on PATH that behave as their manual pages say."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perf_experiments import Design, RunOptions, Store, run_design
from perfcore.base.errors import PerfError

STAND_IN = Path(__file__).with_name("stand_in_slurm.py")


class Slurm:
    """What the test does in the place of Slurm's daemons."""

    def __init__(self, jobs):
        self.jobs = jobs

    def read(self, number):
        return json.loads((self.jobs / number).read_text())

    def numbers(self, state="PENDING"):
        return sorted(path.name for path in self.jobs.glob("*") if self.read(path.name)["state"] == state)

    def end(self, number, state, code="0:0", elapsed=1, end=None):
        job = self.read(number) | {"state": state, "code": code, "elapsed": elapsed, "end": end or time.time()}
        (self.jobs / number).write_text(json.dumps(job))

    def run(self, *numbers):
        for number in numbers or self.numbers():
            job = self.read(number)
            options = dict(word.removeprefix("--").partition("=")[::2] for word in job["options"])
            with Path(options["output"].replace("%%", "%")).open("wb") as stream:
                words = ["/bin/sh", job["script"]]
                done = subprocess.run(words, stdout=stream, stderr=stream, cwd=options["chdir"], check=False)
            self.end(number, "FAILED" if done.returncode else "COMPLETED", f"{done.returncode}:0")


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    jobs, programs = tmp_path / "slurm", tmp_path / "bin"
    jobs.mkdir()
    programs.mkdir()
    for name in ("sbatch", "sacct"):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -S {STAND_IN} "$0" "$@"\n')
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("STAND_IN_SLURM", str(jobs))
    return Slurm(jobs)


@pytest.fixture
def study(tmp_path, slurm):
    """Hand a piece of Python over; gives the summary."""

    def hand(code="print('t', {n})", *, sbatch="", collect_only=False, factors=None, **options):
        given = {"max_load": 1.0, "values": ["t=t ([0-9.]+)"], **options}
        command = [] if code is None else [sys.executable, "-S", "-c", code]
        design = Design(factors=factors or {"n": [1, 2]}, replications=1)
        return run_design(
            design, hand.store, RunOptions(command, **given), f"slurm:{sbatch}", collect_only=collect_only
        )

    hand.store = tmp_path / "it's a store%j.db"
    hand.slurm = slurm
    return hand


def kept(study):
    with Store.read(study.store) as store:
        return store.runs()


def test_runs_are_handed_over_and_collected(study):
    first = study()
    assert (first.made, first.handed_over, first.waiting) == (0, 2, 2)
    study.slurm.run("4000")
    second = study()
    assert (second.made, second.handed_over, second.waiting) == (1, 0, 1)
    study.slurm.run("4001")
    third = study(None, collect_only=True)
    assert (third.made, third.succeeded, third.failed, third.waiting) == (1, 2, 0, 0)
    assert {run.point["n"]: run.values["t"] for run in kept(study)} == {1: 1.0, 2: 2.0}
    assert all(run.peak_memory_kib > 0 for run in kept(study))
    with Store.read(study.store) as store:
        assert store.runs(1)[0].stdout in (b"t 1\n", b"t 2\n")
    assert not study.store.with_suffix(".jobs").exists()
    assert study().handed_over == 0


def test_each_point_gets_its_own_resources(study):
    study(sbatch="ntasks={n},exclusive", time_limit_s=600, wait_s=0)
    options = [study.slurm.read(number)["options"] for number in study.slurm.numbers()]
    assert sorted(word for words in options for word in words if "ntasks" in word) == ["--ntasks=1", "--ntasks=2"]
    assert all("--time=11" in words and "--no-requeue" in words for words in options)


def test_words_of_levels_reach_the_program_unchanged(study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    levels = ["$(touch evil)", "'; touch evil; '", '"`touch evil`"', "\\ {x} % %j"]
    code = "import sys; print('t 1'); print(sys.argv[1])"
    design = Design(factors={"w": levels}, replications=1)
    options = RunOptions([sys.executable, "-S", "-c", code, "{w}"], values=["t=t ([0-9]+)"], max_load=1.0)
    run_design(design, study.store, options, "slurm")
    study.slurm.run()
    assert run_design(design, study.store, options, "slurm").succeeded == len(levels)
    with Store.read(study.store) as store:
        printed = {store.runs(run.number)[0].stdout.decode() for run in store.runs()}
    assert printed == {f"t 1\n{level}\n" for level in levels}
    assert not Path("evil").exists()


def test_jobs_that_slurm_ended_are_failures(study):
    ended = {
        "TIMEOUT": ("0:0", "Slurm: TIMEOUT"), "CANCELLED by 1000": ("0:15", "Slurm: CANCELLED"),
        "OUT_OF_MEMORY": ("0:125", "Slurm: OUT_OF_MEMORY"), "NODE_FAIL": ("1:0", "Slurm: NODE_FAIL"),
        "FAILED": ("127:0", "Slurm: FAILED; it left no record"),
    }  # fmt: skip
    factors = {"n": list(range(len(ended)))}
    study(factors=factors)
    for k, (state, (code, _)) in enumerate(ended.items()):
        output = study.store.with_suffix(".jobs") / f"run-{k + 1}.out"
        output.write_text(f"slurmstepd: error: *** JOB {4000 + k} ENDED ***\n")
        study.slurm.end(str(4000 + k), state, code, elapsed=61)
    assert study(None, factors=factors).failed == len(ended)
    assert [run.problem for run in kept(study)] == [f"{p} (job {4000 + k})" for k, (_, p) in enumerate(ended.values())]
    assert {run.wall_ns for run in kept(study)} == {61 * 10**9}
    with Store.read(study.store) as store:
        assert b"JOB 4000 ENDED" in store.runs(1)[0].stderr
    again = study(None, factors=factors, retry_failed=True)
    assert (again.handed_over, again.waiting) == (5, 5)
    study.slurm.run("4005")
    assert study(None, factors=factors).succeeded == 1


def test_jobs_that_may_still_end_are_waited_for(study):
    states = ["PENDING", "RUNNING", "REQUEUED", "COMPLETING", "SUSPENDED"]
    study(factors={"n": list(range(5))})
    for k, state in enumerate(states):
        study.slurm.end(str(4000 + k), state)
    assert study(None, factors={"n": list(range(5))}).waiting == 5


def test_a_record_may_arrive_late_but_not_for_ever(study):
    study(factors={"n": [1]})
    study.slurm.end("4000", "COMPLETED", end=time.time() - 5)
    assert study(None, factors={"n": [1]}).waiting == 1
    study.slurm.end("4000", "COMPLETED", end=time.time() - 1000)
    summary = study(None, factors={"n": [1]})
    assert (summary.waiting, summary.failed) == (0, 1)


def test_a_refusal_loses_nothing(study):
    with pytest.raises(PerfError, match="sbatch refuses: sbatch: error: invalid partition specified: closed"):
        study(sbatch="partition=closed")
    assert study(sbatch="exclusive").handed_over == 2


def test_killed_while_handing_over(study, monkeypatch):
    def killed(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Store, "name_job", killed)  # after sbatch, before its answer is kept
        with pytest.raises(KeyboardInterrupt):
            study(factors={"n": [1]})
    assert study(None, factors={"n": [1]}).handed_over == 1
    study.slurm.run("4000", "4001")  # the first finds that its task was withdrawn
    assert study(None, factors={"n": [1]}).made == 1
    assert len(kept(study)) == 1


@pytest.mark.parametrize(("change", "message"), [
    ({"sbatch": "array=0-3"}, "parallel='slurm:array=0-3': array does not go with one job for each run"),
    ({"sbatch": "exclusive,wait"}, "wait does not go with"),
    ({"sbatch": "-p short"}, "'-p short': KEY=VALUE is expected, such as ntasks=4,exclusive"),
    ({"sbatch": "ntasks="}, "'ntasks=': KEY=VALUE is expected"),
    ({"sbatch": "'"}, "No closing quotation"),
    ({"sbatch": "ntasks={m}"}, "unknown factor in '--ntasks={m}' 'm'"),
    ({"until": 0.1}, "until= looks at results between runs"), ({"code": None}, "there is no command"),
])  # fmt: skip
def test_mistakes(study, change, message):
    with pytest.raises(PerfError) as refused:
        study(**change)
    assert message in str(refused.value)
    assert not study.slurm.numbers()
