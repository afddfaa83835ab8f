"""Parts of a run as an array of Slurm's jobs, and their merge as the job after it.

A job runs ``python -m perf_analysis.slurm_array``. The script is the same for all runs: names of files are in a plan
beside it, and reach no shell.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from perf_formulas.formula import read_toml
from perf_traces import slurm_client as slurm
from perf_traces.summaries.run import Run
from perf_traces.summaries.summarized_trace import SummarizedTrace
from perf_traces.summaries.summarizing import Checkpoint, merged, summarized
from perf_traces.summaries.summary_file import load, save
from perfcore.base.errors import DataError, InputError, OptionError, PerfError, UnknownNameError, listing
from perfcore.base.files import write_bytes

PLAN = "plan.json"


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What all jobs of an array work on."""

    run: Run
    folder: str  # that its files are below
    parts: int
    output: str  # the summary of all of them
    allow_missing: bool  # leave out files that cannot be read

    @staticmethod
    def read(where: Path) -> Plan:
        """The plan in a folder."""
        path = where / PLAN
        try:
            return msgspec.json.decode(path.read_bytes(), type=Plan)
        except OSError as error:
            raise InputError(path, f"cannot be read: {error.strerror or error}") from error
        except msgspec.DecodeError as error:
            raise InputError(path, f"is no plan of an array of jobs: {error}") from None

    def missing(self, where: Path) -> list[int]:
        """Which parts are not there."""
        return [part for part in range(1, self.parts + 1) if not part_file(where, part).is_file()]


def part_file(where: Path, part: int) -> Path:
    """The summary of a part."""
    return where / f"{part}.summary"


def make_part(where: Path, part: int) -> None:
    """Summarize a part, unless it is there."""
    plan = Plan.read(where)
    positions = plan.run.positions((part, plan.parts))
    path = part_file(where, part)
    if path.is_file():
        return
    checkpoint = Checkpoint(path.with_suffix(".unfinished"), plan.run, frozenset(positions))
    summary = summarized(
        plan.run, Path(plan.folder), positions, None, allow_missing=plan.allow_missing, checkpoint=checkpoint
    )
    SummarizedTrace(summary, plan.folder)  # refuse errors before anything is written
    save(summary, path, (part, plan.parts))
    checkpoint.remove()


def make_whole(where: Path) -> None:
    """Merge all parts to the output."""
    plan = Plan.read(where)
    missing = plan.missing(where)
    if missing:
        raise DataError(
            f"{len(missing)} of {plan.parts} parts are missing: {listing(map(str, missing), 8)}; {where}/part-K.out "
            "says why, and the same perf summarize hands them over again"
        )
    summary = merged([part_file(where, part) for part in range(1, plan.parts + 1)])
    SummarizedTrace(summary, plan.folder)
    save(summary, plan.output)


def main() -> None:
    """Do what the words after the command name: a folder, and a part or ``merge``."""
    _, folder, task = sys.argv
    try:
        if task == "merge":
            make_whole(Path(folder))
        else:
            make_part(Path(folder), int(task))
    except PerfError as error:
        sys.stderr.write(f"perf: error: {error}\n")
        sys.exit(2)


_USUAL_PARTS = 100
_JOBS, _SCRIPT = "jobs", "job.sh"
_VALUE = re.compile(r"[\w.:,@+-]{1,200}", re.ASCII)
# What each option is called by sbatch.
_CALLED = {"partition": "partition", "time": "time", "memory": "mem", "account": "account", "qos": "qos"}


@dataclass(frozen=True)
class SlurmOptions:
    """What the jobs of an array ask for."""

    parts: int | None  # how many jobs; by default 100, or one for each file where there are fewer
    requests: Mapping[str, str]  # ``partition``, ``time``, ``memory``, ``account`` and ``qos``, as sbatch takes them


@dataclass(frozen=True)
class SubmittedJobs:
    """How far an array is."""

    parts: int  # how many there are, and how many of them are done
    there: int
    jobs: tuple[str, ...]  # the array and the merge after it, which wait or run
    folder: Path  # where parts, and what jobs say, are


def slurm_options(text: str) -> SlurmOptions:
    """What follows ``--parallel slurm``: nothing, ``:KEY=VALUE,...``, or ``:FILE.toml`` with the same keys."""
    if text.endswith(".toml"):
        requests = {key: str(value) for key, value in read_toml(text[1:]).items()}
    else:
        pairs = [pair.partition("=") for pair in text[1:].split(",")] if text else []
        if text[:1] not in ("", ":") or any(not key or not sign for key, sign, _ in pairs):
            raise OptionError(f"--parallel slurm{text}: slurm, slurm:KEY=VALUE,... or slurm:FILE.toml is expected")
        requests = {key.strip(): value.strip() for key, _, value in pairs}
    for key, value in requests.items():
        if key not in (*_CALLED, "parts"):
            raise UnknownNameError("key of --parallel slurm", key, ["parts", *_CALLED])
        if not _VALUE.fullmatch(value):
            raise OptionError(f"--parallel slurm: {key}={value!r} has letters that no {key} has")
    parts = requests.pop("parts", None)
    if parts is not None and (not parts.isdecimal() or int(parts) < 1):
        raise OptionError(f"--parallel slurm: parts={parts}: a number of jobs is expected")
    return SlurmOptions(None if parts is None else int(parts), requests)


def job_script(requests: Mapping[str, str]) -> str:
    """The script of all jobs: called with the Python to take, the folder of the plan, and what the merge alone says."""
    directives = "".join(f"#SBATCH --{called}={requests[key]}\n" for key, called in _CALLED.items() if key in requests)
    return (
        f"#!/bin/bash\n#SBATCH --ntasks=1\n#SBATCH --cpus-per-task=1\n{directives}"
        "export NUMBA_NUM_THREADS=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1\n"
        'exec "$1" -P -m perf_analysis.slurm_array "$2" "${3:-$SLURM_ARRAY_TASK_ID}"\n'
    )


def submit(
    run: Run,
    folder: Path,
    output: str | os.PathLike[str],
    options: SlurmOptions,
    *,
    allow_missing: bool = False,
    overwrite: bool = False,
) -> SubmittedJobs | SummarizedTrace:
    """Have Slurm make the parts that are missing and merge them; what is there already is kept."""
    target = Path(output).absolute()
    where = target.with_name(f"{target.name}.parts")
    parts = min(_USUAL_PARTS, len(run.files)) if options.parts is None else options.parts
    if parts > len(run.files):
        raise OptionError(
            f"--parallel slurm: parts={parts}: there are {len(run.files)} files; give at most as many parts"
        )
    plan = Plan(run, str(folder), parts, str(target), allow_missing)
    slurm.check_commands("sbatch", "squeue")
    _prepare(where, plan, overwrite)
    jobs = _jobs(where)
    if jobs and slurm.waiting(jobs):
        return SubmittedJobs(parts, parts - len(plan.missing(where)), tuple(jobs), where)
    missing = plan.missing(where)
    if not missing:
        make_whole(where)
        return SummarizedTrace(load(target)[0], os.fspath(output))
    script = where / _SCRIPT
    write_bytes(script, job_script(options.requests).encode())
    arguments = [sys.executable, str(where)]
    jobs = [
        slurm.submit(
            script, [f"--array={_ranges(missing)}"], where / "part-", "summarize", ending="%a.out", arguments=arguments
        )
    ]
    write_bytes(where / _JOBS, msgspec.json.encode(jobs))
    after = f"--dependency=afterany:{jobs[0].partition(';')[0]}"  # also where some failed: it says which are missing
    jobs.append(slurm.submit(script, [after], where / "merge.out", "merge", arguments=[*arguments, "merge"]))
    write_bytes(where / _JOBS, msgspec.json.encode(jobs))
    return SubmittedJobs(parts, parts - len(missing), tuple(jobs), where)


def _prepare(where: Path, plan: Plan, overwrite: bool) -> None:
    try:
        where.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(where, f"cannot be made: {error.strerror or error}") from error
    if (where / PLAN).is_file():
        existing = Plan.read(where)
        if existing == plan:
            return
        if not overwrite:
            difference = (
                existing.run.difference(plan.run) or f"{existing.parts} parts, or another place of files or output"
            )
            raise InputError(where, f"holds parts of another run: {difference}; --overwrite starts again")
        if (jobs := _jobs(where)) and slurm.waiting(jobs):
            raise InputError(where, f"jobs {', '.join(jobs)} still work on it; scancel them first")
        for path in [*where.glob("*.summary"), *where.glob("*.unfinished"), *where.glob("*.out"), where / _JOBS]:
            path.unlink(missing_ok=True)
    write_bytes(where / PLAN, msgspec.json.encode(plan))


def _jobs(where: Path) -> list[str]:
    path = where / _JOBS
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[str]) if path.is_file() else []
    except msgspec.DecodeError as error:
        raise InputError(path, f"is no list of jobs: {error}; remove it when none of them runs") from None


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers as sbatch takes them, such as ``1-3,7``."""
    groups = itertools.groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])
    runs = [[number for _, number in group] for _, group in groups]
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


if __name__ == "__main__":
    main()
