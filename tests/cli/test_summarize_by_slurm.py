"""``perf summarize --parallel slurm``, with stand-ins for `sbatch` and `squeue`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from perf_analysis.slurm_array import job_script, make_part, make_whole
from perf_analysis.summarize import summarize
from perfcore.base.errors import DataError

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


def test_an_array_of_jobs_makes_the_bytes_of_one_process(jobs, folder, perf):
    said = perf("summarize", *GIVEN, status=(3,))
    assert said.lines[0] == "0 of 3 parts are done; jobs pending or running: 4000, 4001"
    array, merge = (json.loads((jobs / number).read_text()) for number in ("4000", "4001"))
    where = folder / "whole.parts"
    assert array["options"] == [
        "--parsable", "--job-name=summarize", f"--output={where}/part-%a.out", f"--chdir={folder}", "--array=1-3",
    ]  # fmt: skip
    assert merge["options"][-1] == "--dependency=afterany:4000"
    assert Path(array["script"]).read_text() == job_script({"time": "10:00"})
    environment = {**os.environ, "SLURM_ARRAY_TASK_ID": "2"}
    subprocess.run(["/bin/bash", array["script"], *array["arguments"]], check=True, env=environment)
    assert perf("summarize", *GIVEN, status=(3,)).lines[0].startswith("1 of 3 parts are done; jobs pending")
    assert len(list(jobs.iterdir())) == 2  # as nothing was handed over again

    # The jobs of two parts are killed: both are named, and handed over again.
    with pytest.raises(DataError, match=r"2 of 3 parts are missing: 1, 3; .*/whole.parts/part-K.out says why"):
        make_whole(where)
    end(jobs)
    perf("summarize", *GIVEN, status=(3,))
    assert "--array=1,3" in json.loads((jobs / "4002").read_text())["options"]
    for part in (3, 1):
        make_part(where, part)
    kept = (where / "2.summary").stat().st_mtime_ns
    make_part(where, 2)
    assert (where / "2.summary").stat().st_mtime_ns == kept
    subprocess.run(["/bin/bash", merge["script"], *merge["arguments"]], check=True, env=environment)
    whole = (folder / "whole").read_bytes()
    summarize("rank*.csv", "alone", cells=64, clocks="recorded")
    assert whole == (folder / "alone").read_bytes()
    assert perf("summarize", *GIVEN, status=(0,)).err == "perf: whole: already there\n"
    (folder / "whole").unlink()
    end(jobs)
    assert perf("summarize", *GIVEN, status=(0,)).lines[0].endswith("from 5 of 5 files")
    assert (folder / "whole").read_bytes() == whole
