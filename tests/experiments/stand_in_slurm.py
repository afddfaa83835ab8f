"""Stands in for Slurm's `sbatch`, `squeue` and `sacct`: takes and prints what their manual pages document, no more.

Jobs are folders below $STAND_IN_SLURM; a job waits there until the test runs or ends it.
"""

import itertools
import json
import os
import sys
from pathlib import Path

JOBS = Path(os.environ["STAND_IN_SLURM"])
FIELDS = ("JobIDRaw", "State", "ExitCode", "ElapsedRaw", "End")


def refuse(text):
    sys.stderr.write(text + "\n")
    sys.exit(1)


def sbatch(words):
    """``--parsable`` prints the job's number and, with several clusters, a semicolon and the cluster's name."""
    options = list(itertools.takewhile(lambda word: word.startswith("-"), words))
    scripts = words[len(options) :]  # and what it is called with
    if not scripts or not Path(scripts[0]).read_text().startswith("#!"):
        refuse("sbatch: error: This does not look like a batch script.")
    if "--partition=closed" in options:
        refuse("sbatch: error: invalid partition specified: closed\nsbatch: error: Batch job submission failed")
    number = str(4000 + len(list(JOBS.glob("*"))))
    job = {
        "script": scripts[0], "arguments": scripts[1:], "options": options, "state": "PENDING", "code": "0:0",
        "elapsed": 0, "end": None,
    }  # fmt: skip
    (JOBS / number).write_text(json.dumps(job))
    cluster = os.environ.get("STAND_IN_CLUSTER")
    sys.stdout.write(f"{number};{cluster}\n" if cluster else f"{number}\n")


def sacct(words):
    """``--parsable2`` separates fields by ``|`` without one at the end; ``--noheader`` leaves the names out."""
    given = dict(word.removeprefix("--").partition("=")[::2] for word in words)
    if set(given) - {"parsable2", "noheader", "allocations", "format", "jobs", "clusters"}:
        refuse(f"sacct: unrecognized option in {words}")
    if given.get("clusters", "") != os.environ.get("STAND_IN_CLUSTER", ""):
        refuse("sacct: error: no such cluster")
    assert "parsable2" in given
    assert "noheader" in given
    for number in given["jobs"].split(","):
        path = JOBS / number
        if not path.exists():
            continue
        job = json.loads(path.read_text())
        end = "Unknown" if job["end"] is None else str(int(job["end"]))
        if os.environ.get("SLURM_TIME_FORMAT") != "%s":
            end = "2026-01-01T00:00:00"
        values = dict(zip(FIELDS, (number, job["state"], job["code"], str(job["elapsed"]), end), strict=True))
        sys.stdout.write("|".join(values[field] for field in given["format"].split(",")) + "\n")


def squeue(words):
    """A line for each of the jobs that is not over; an error where the only one that is asked for is gone."""
    given = dict(word.removeprefix("--").partition("=")[::2] for word in words)
    assert given.keys() == {"noheader", "format", "jobs"}
    assert given["format"] == "%A"
    for number in given["jobs"].split(","):
        path = JOBS / number
        if not path.exists():
            refuse("slurm_load_jobs error: Invalid job id specified")
        if json.loads(path.read_text())["state"] == "PENDING":
            sys.stdout.write(f"{number}\n")


if __name__ == "__main__":
    {"sbatch": sbatch, "squeue": squeue, "sacct": sacct}[Path(sys.argv[1]).name](sys.argv[2:])
