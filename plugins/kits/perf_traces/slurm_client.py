"""Talks to Slurm: `sbatch` takes jobs, `squeue` knows which are not over, `sacct` says what became of them.

Formats as `sbatch(1)`, `squeue(1)` and `sacct(1)` of Slurm 17.11 to 24.05 document them.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfcore.base import grouped
from perfcore.base.errors import OptionError, PerfError
from perfcore.base.files import write_bytes
from perfcore.base.surroundings import environment_of_user

_LIMIT_S = 120.0  # a busy controller takes its time
_AT_ONCE = 500  # jobs in one question: a command line has an end

# What the job's state says once it is over; every other state, PENDING to SUSPENDED, may still change.
_OVER = frozenset(
    ("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT")
)
_PARSABLE = re.compile(r"(?P<job>[0-9]+)(?:;(?P<cluster>\S+))?")
# These would change what a job is, or what sbatch prints; each run is one job, and where it writes is ours.
_NOT_TAKEN = ("array", "wrap", "wait", "parsable", "test-only", "requeue", "output", "chdir")
_KEY = re.compile(r"[a-z][a-z-]+")  # sbatch's long options, without the dashes
_CALLED = {"memory": "mem"}
_SACCT = ("--parsable2", "--noheader", "--allocations", "--format=JobIDRaw,State,ExitCode,ElapsedRaw,End")


class SchedulerError(PerfError):
    """Slurm's commands are missing, or refuse."""


@dataclass(frozen=True)
class JobState:
    """What Slurm says of a job."""

    state: str  # as `sacct` has it, without who cancelled it: ``TIMEOUT``, ``CANCELLED``
    exit_status: int
    signal: int
    elapsed_s: int
    ended: float | None  # seconds since 1970; None where it has not ended

    @property
    def over(self) -> bool:
        """Whether it will not change any more."""
        return self.state in _OVER


def sbatch_words(text: str) -> tuple[str, ...]:
    """Return options for `sbatch` from ``KEY=VALUE,FLAG`` as users write them; a value with commas is quoted."""
    lexer = shlex.shlex(text, posix=True)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = ",", True, ""
    words, spelled = [], f"slurm:{text}"
    try:
        entries = list(lexer)
    except ValueError as error:
        raise OptionError(f"--parallel {spelled!r}: {error}") from None
    for entry in entries:
        key, equals, value = (part.strip() for part in entry.partition("="))
        if not _KEY.fullmatch(key) or (equals and not value):
            raise OptionError(f"--parallel {spelled!r}: {entry!r}: KEY=VALUE is expected, such as ntasks=4,exclusive")
        if key in _NOT_TAKEN:
            raise OptionError(f"--parallel {spelled!r}: {key} does not go with one job for each run")
        words.append(f"--{_CALLED.get(key, key)}{equals}{value}")
    return tuple(words)


def check_commands(*names: str) -> None:
    """Refuse a machine on which these commands are missing."""
    for name in names:
        if shutil.which(name) is None:
            raise SchedulerError(f"there is no {name} here; Slurm's commands are needed")


def submit(
    script: Path, line: str, words: Sequence[str], output: Path, name: str, ending: str = "", before: str = ""
) -> str:
    """Write the script of a job that runs ``python -m LINE`` of this Python, hand it over and return its number.

    ``line`` and the lines ``before`` it are of the shell; ``words`` are options of `sbatch`.
    """
    # -P: a module of the folder where the job runs is not to be taken for one of Python's.
    text = f"#!/bin/sh\n{before}exec {shlex.quote(sys.executable)} -P -m {line}\n"
    write_bytes(script, text.encode("utf-8", "surrogateescape"))
    # In names of output files Slurm replaces %j and the like.
    fixed = ["--parsable", f"--job-name={name}", f"--output={str(output).replace('%', '%%')}{ending}"]
    answer = _run(["sbatch", *fixed, f"--chdir={Path.cwd()}", *words, str(script)])
    match = _PARSABLE.fullmatch(answer.strip())
    if match is None:
        raise SchedulerError(f"sbatch --parsable prints a job's number; it printed {answer.strip()[:80]!r}")
    return match[0]


def waiting(jobs: Sequence[str]) -> bool:
    """Return whether any of these jobs waits or runs; one that Slurm does not know any more is over."""
    for job in jobs:
        number, _, cluster = job.partition(";")
        where = [f"--clusters={cluster}"] if cluster else []
        try:
            answer = _run(["squeue", "--noheader", "--format=%A", *where, f"--jobs={number}"])
        except SchedulerError as error:
            if "Invalid job id" not in str(error):
                raise
            continue
        if any(line.strip().isdecimal() for line in answer.splitlines()):  # a line for the cluster may be there, too
            return True
    return False


def states(jobs: Iterable[str]) -> dict[str, JobState]:
    """Return what became of jobs; those that Slurm does not know are left out."""
    by_job = {}
    parted = (job.partition(";") for job in jobs)
    for cluster, numbers in grouped((cluster, number) for number, _, cluster in parted).items():
        for begin in range(0, len(numbers), _AT_ONCE):
            part = numbers[begin : begin + _AT_ONCE]
            where = [f"--clusters={cluster}"] if cluster else []
            answer = _run(
                ["sacct", *_SACCT, *where, f"--jobs={','.join(part)}"],
                {"SLURM_TIME_FORMAT": "%s"},  # seconds since 1970 instead of the controller's local time
            )
            for line in answer.splitlines():
                number, state = _state(line)
                by_job[f"{number};{cluster}" if cluster else number] = state
    return by_job


def _state(line: str) -> tuple[str, JobState]:
    """Return one line of `sacct`, such as ``4711|CANCELLED by 1000|0:15|12|1700000000``."""
    try:
        number, state, code, elapsed, end = line.split("|")
        status, _, signal = code.partition(":")
        ended = float(end) if end.isdigit() else None  # "Unknown" and "None" where there is no end
        return number, JobState(state.split()[0].rstrip("+"), int(status), int(signal or 0), int(elapsed or 0), ended)
    except (ValueError, IndexError):
        raise SchedulerError(
            f"sacct printed {line[:80]!r}; JobIDRaw|State|ExitCode|ElapsedRaw|End is expected"
        ) from None


def _run(words: Sequence[str], variables: Mapping[str, str] | None = None) -> str:
    """Return what a command of Slurm prints."""
    try:
        completed = subprocess.run(  # noqa: S603 (words, no shell)
            words,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LIMIT_S,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**environment_of_user(), **(variables or {})},
        )
    except FileNotFoundError:
        raise SchedulerError(f"there is no {words[0]} here; Slurm's commands are needed") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SchedulerError(f"{words[0]}: {error}; call again when it answers") from error
    if completed.returncode:
        message = " ".join(completed.stderr.split()) or f"exit status {completed.returncode}"
        raise SchedulerError(f"{words[0]} refuses: {message[:300]}")
    return completed.stdout
