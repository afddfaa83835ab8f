"""Parts of a run as an array of Slurm's jobs, and their merge as the job after it: both are calls of ``perf``."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from perf_formulas.formula import read_toml
from perf_traces import slurm_client as slurm
from perf_traces.summaries.run import Run
from perf_traces.summaries.sums import facts_of
from perfcore.base.errors import InputError, OptionError, UnknownNameError
from perfcore.base.files import write_bytes

_USUAL_PARTS = 100
_VALUE = re.compile(r"[\w.:,@+-]{1,200}", re.ASCII)
# What each option is called by sbatch.
_CALLED = {"partition": "partition", "time": "time", "memory": "mem", "account": "account", "qos": "qos"}


@dataclass(frozen=True)
class SlurmOptions:
    """What the jobs of an array ask for."""

    parts: int | None  # how many jobs; by default 100, or one for each file if there are fewer
    requests: Mapping[str, str]  # ``partition``, ``time``, ``memory``, ``account`` and ``qos``, as sbatch takes them


@dataclass(frozen=True)
class SubmittedJobs:
    """How far an array is."""

    parts: int  # how many there are, and how many of them are done
    there: int
    jobs: tuple[str, ...]  # the array and the merge after it, which wait or run
    folder: Path  # where parts, and what jobs say, are


class _Array(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The jobs that were submitted last."""

    run: str  # its identity
    parts: int
    jobs: tuple[str, ...]


def slurm_options(text: str) -> SlurmOptions:
    """Return what follows ``--parallel slurm``: nothing, ``:KEY=VALUE,...``, or ``:FILE.toml`` with the same keys."""
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


def submit(
    run: Run,
    arguments: Sequence[str],
    output: str | os.PathLike[str],
    options: SlurmOptions,
    *,
    overwrite: bool = False,
) -> SubmittedJobs | list[Path]:
    """Have Slurm make the parts that are missing and merge them; return their files if all are there.

    Arguments are those of ``perf summarize`` that name and read the files of the run.
    """
    target = Path(output).absolute()
    where = target.with_name(f"{target.name}.parts")
    n_parts = min(_USUAL_PARTS, len(run.files)) if options.parts is None else options.parts
    if n_parts > len(run.files):
        raise OptionError(
            f"--parallel slurm: parts={n_parts}: there are {len(run.files)} files; give at most as many parts"
        )
    slurm.check_commands("sbatch", "squeue")
    files = [where / f"{part}.summary" for part in range(1, n_parts + 1)]
    jobs = _jobs(where, run, n_parts, overwrite)
    missing = [part for part, path in enumerate(files, 1) if not path.is_file()]
    if jobs and slurm.waiting(jobs):
        return SubmittedJobs(n_parts, n_parts - len(missing), jobs, where)
    if not missing:
        return files
    job = '"$SLURM_ARRAY_TASK_ID"'
    of_a_part = ["--part", f"{job}/{n_parts}", "-o", f"{shlex.quote(str(where))}/{job}.summary"]
    array = slurm.submit(
        _script(where / "part.sh", options.requests, [*map(shlex.quote, arguments), *of_a_part]),
        [f"--array={_ranges(missing)}"], where / "part-", "summarize", ending="%a.out",
    )  # fmt: skip
    submitted: tuple[str, ...] = (array,)
    write_bytes(where / "jobs", msgspec.json.encode(_Array(run.identity, n_parts, submitted)))
    words = [*map(str, files), "-o", str(target), *(["--overwrite"] if overwrite else [])]
    merge = slurm.submit(  # also if some failed: it says which are missing
        _script(where / "merge.sh", options.requests, map(shlex.quote, words)),
        [f"--dependency=afterany:{array.partition(';')[0]}"], where / "merge.out", "merge",
    )  # fmt: skip
    submitted = array, merge
    write_bytes(where / "jobs", msgspec.json.encode(_Array(run.identity, n_parts, submitted)))
    return SubmittedJobs(n_parts, n_parts - len(missing), submitted, where)


def _script(path: Path, requests: Mapping[str, str], words: Sequence[str] | map[str]) -> Path:
    """Write the script of jobs that call ``perf summarize`` with words of a shell."""
    directives = "".join(f"#SBATCH --{called}={requests[key]}\n" for key, called in _CALLED.items() if key in requests)
    text = (
        f"#!/bin/bash\n#SBATCH --ntasks=1\n#SBATCH --cpus-per-task=1\n{directives}"
        "export NUMBA_NUM_THREADS=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1\n"
        f"exec {shlex.quote(sys.executable)} -P -m perfcore summarize {' '.join(words)}\n"
    )
    write_bytes(path, text.encode("utf-8", "surrogateescape"))
    return path


def _jobs(where: Path, run: Run, n_parts: int, overwrite: bool) -> tuple[str, ...]:
    """Return the jobs submitted for this run; make the folder of parts, or refuse that of another run."""
    try:
        where.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(where, f"cannot be made: {error.strerror or error}") from error
    path, parts = where / "jobs", sorted(where.glob("*.summary"))
    if not path.is_file():
        return ()
    try:
        earlier = msgspec.json.decode(path.read_bytes(), type=_Array)
    except msgspec.DecodeError as error:
        raise InputError(path, f"is no list of jobs: {error}; remove it when none of them runs") from None
    if (earlier.run, earlier.parts) == (run.identity, n_parts):
        return earlier.jobs
    if not overwrite:
        difference = facts_of(parts[0]).run.difference(run) if parts else None
        difference = difference or f"{earlier.parts} parts, or other files or options"
        raise InputError(where, f"holds parts of another run: {difference}; --overwrite starts again")
    if slurm.waiting(earlier.jobs):
        raise InputError(where, f"jobs {', '.join(earlier.jobs)} still work on it; scancel them first")
    for old in [*parts, *where.glob("*.unfinished"), *where.glob("*.out"), path]:
        old.unlink(missing_ok=True)
    return ()


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers as sbatch takes them, such as ``1-3,7``."""
    groups = itertools.groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])
    runs = [[number for _, number in group] for _, group in groups]
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)
