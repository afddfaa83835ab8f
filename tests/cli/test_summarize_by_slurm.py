"""``perf summarize --parallel slurm``, with stand-ins for `sbatch` and `squeue`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from perfcore import read, summarize

STAND_IN = Path(__file__).parent.parent / "experiments" / "stand_in_slurm.py"
GIVEN = ("rank*.csv", "-o", "whole", "--cells", 64, "-r", "clocks=recorded", "--parallel", "slurm:parts=3,time=10:00")


@pytest.fixture
def jobs(folder, tmp_path_factory, monkeypatch):
    """Five files, and where the stand-ins keep jobs."""
    for rank in range(5):
        rows = [f"{at * 10 + rank},{at * 10 + 10},cpu0,{'solve' if at % 2 else 'io'}" for at in range(9)]
        (folder / f"rank{rank}.csv").write_text("\n".join(["start_ns,end_ns,location,state", *rows]) + "\n")
    place = tmp_path_factory.mktemp("slurm")
    for name in ("sbatch", "squeue"):
        program = place / name
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -S {STAND_IN} "$0" "$@"\n')
        program.chmod(0o755)
    (place / "jobs").mkdir()
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    monkeypatch.setenv("STAND_IN_SLURM", str(place / "jobs"))
    return place / "jobs"


def end(jobs):
    for path in jobs.iterdir():
        path.write_text(json.dumps(json.loads(path.read_text()) | {"state": "COMPLETED"}))


def run_job(job, **variables):
    return subprocess.run(
        ["/bin/bash", job["script"], *job["arguments"]], check=False, env={**os.environ, **variables},
        capture_output=True, text=True,
    )  # fmt: skip


def test_an_array_of_jobs_makes_the_summary_of_one_process(jobs, folder, perf):
    said = perf("summarize", *GIVEN, status=(3,))
    assert said.lines[0] == "0 of 3 parts are done; jobs pending or running: 4000, 4001"
    array, merge = (json.loads((jobs / number).read_text()) for number in ("4000", "4001"))
    where = folder / "whole.parts"
    assert array["options"] == [
        "--parsable", "--job-name=summarize", f"--output={where}/part-%a.out", f"--chdir={folder}",
        "--ntasks=1", "--cpus-per-task=1", "--time=10:00", "--array=1-3",
    ]  # fmt: skip
    assert merge["options"][-1] == "--dependency=afterany:4000"
    assert run_job(array, SLURM_ARRAY_TASK_ID="2").returncode == 0
    assert perf("summarize", *GIVEN, status=(3,)).lines[0].startswith("1 of 3 parts are done; jobs pending")
    assert len(list(jobs.iterdir())) == 2  # as nothing was handed over again

    # The jobs of two parts are killed: they are named, and handed over again.
    assert "1.summary" in run_job(merge).stderr
    end(jobs)
    perf("summarize", *GIVEN, status=(3,))
    assert "--array=1,3" in json.loads((jobs / "4002").read_text())["options"]
    for part in (3, 1):
        perf("summarize", *GIVEN[:-2], "--part", f"{part}/3", "-o", where / f"{part}.summary")
    assert run_job(merge).returncode == 0
    summarize("rank*.csv", "alone", cells=64, clocks="recorded")
    alone = read("alone")
    for _ in range(2):
        whole = read("whole")
        assert (whole.windows()[1] == alone.windows()[1]).all()
        assert (whole.times_and_entries()[0] == alone.times_and_entries()[0]).all()
        assert perf("summarize", *GIVEN, status=(0,)).err == "perf: whole: already there\n"
        (folder / "whole").unlink()
        end(jobs)
        assert perf("summarize", *GIVEN, status=(0,)).lines[0].endswith("from 5 of 5 files")


def test_parts_of_another_run_are_refused(jobs, perf, refused):
    perf("summarize", *GIVEN, status=(3,))
    said = refused("summarize", *GIVEN[:-1], "slurm:parts=2")
    assert "holds parts of another run: 3 parts, or other files or options; --overwrite starts again" in said
    assert "jobs 4000, 4001 still work on it" in refused("summarize", *GIVEN[:-1], "slurm:parts=2", "--overwrite")
    end(jobs)
    assert perf("summarize", *GIVEN[:-1], "slurm:parts=2", "--overwrite", status=(3,)).lines[0].startswith("0 of 2")
