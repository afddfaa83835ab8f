"""One run, measured."""

from __future__ import annotations

import datetime
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from perf_experiments.design.factors import Point
from perf_experiments.runs.environment import program_fingerprint
from perf_experiments.runs.options import RunOptions
from perf_experiments.runs.records import Run
from perf_experiments.runs.templates import filled
from perf_experiments.runs.values import ResultsFile, RunValueError, ValuePattern, values_in
from perf_experiments.sampling import sample_system
from perfcore.base import progress
from perfcore.base.errors import MissingDependencyError, OptionError

_GRACE_MS = 2000  # between SIGTERM, which lets mpirun end what it started elsewhere, and SIGKILL
_SUPERVISOR = str(Path(__file__).with_name("supervisor.py"))


@dataclass(frozen=True)
class Finished:
    """A run that ended."""

    wall_ns: int  # from before the process was made until it ended, by the monotonic clock
    user_s: float  # processor time of the process and of those of its descendants that were waited for
    system_s: float
    peak_memory_kib: int  # largest resident memory of any one of these processes, not their sum
    exit_status: int | None  # none where a signal ended it
    signal: str | None  # such as ``"SIGSEGV"``
    timed_out: bool
    stdout: bytes  # all that was printed
    stderr: bytes

    @property
    def problem(self) -> str | None:
        """Why the run counts as failed."""
        if self.timed_out:
            return f"stopped by the time limit after {self.wall_ns / 1e9:.3g} s"
        if self.signal is not None:
            return f"ended by {self.signal}"
        if self.exit_status:
            return f"exit status {self.exit_status}"
        return None


def cut(output: bytes, most: int) -> bytes:
    r"""Output of at most about ``most`` bytes: its beginning and its end, and between them how much is missing."""
    if len(output) <= most:
        return output
    first = most - most // 2
    last = most // 2
    missing = f"\n... {len(output) - most} bytes left out ...\n".encode()
    return output[:first] + missing + output[len(output) - last :]


def run_process(argv: Sequence[str], limit_s: float | None = None) -> Finished:
    """Run a program to its end, without a shell and without input."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        words = _report(argv, limit_s, stdout, stderr).split()
        if words[0] == "error":
            raise OptionError(f"command {argv[0]!r} cannot be started: {' '.join(words[1:])}")
        code = int(words[4])
        stdout.seek(0)
        stderr.seek(0)
        return Finished(
            wall_ns=int(words[0]),
            user_s=float(words[1]),
            system_s=float(words[2]),
            peak_memory_kib=int(words[3]),
            exit_status=code if code >= 0 else None,
            signal=_signal_name(-code) if code < 0 else None,
            timed_out=words[5] == "1",
            stdout=stdout.read(),
            stderr=stderr.read(),
        )


def _report(argv: Sequence[str], limit_s: float | None, stdout: BinaryIO, stderr: BinaryIO) -> str:
    """What the supervisor says about the program."""
    watched, alive = os.pipe()  # nothing is written: it closes when this process ends, however it ends
    receiving, reporting = os.pipe()
    limit_ms = -1 if limit_s is None else round(limit_s * 1000)
    numbers = map(str, (watched, reporting, limit_ms, _GRACE_MS))
    try:
        supervisor = subprocess.Popen(  # noqa: S603 (running the user's command is the purpose)
            [sys.executable, "-I", "-S", _SUPERVISOR, *numbers, *argv],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            pass_fds=(watched, reporting),
            start_new_session=True,  # Ctrl-C is for this process, which then ends the run
        )
    finally:
        os.close(watched)
        os.close(reporting)
    try:
        with open(receiving, encoding="utf-8") as report:  # noqa: PTH123 (a descriptor)
            text = report.read()
    finally:
        os.close(alive)
        supervisor.wait()
    if not text:
        raise OptionError(f"command {argv[0]!r}: the process that watched it was killed")
    return text


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"


_LOOK_NS = 200_000_000  # twenty ticks of the kernel's clock, by which it counts processor time
_PAUSE_S = 1.0


def busy_share() -> float:
    """Share of all processors that is busy now, 0 to 1; this program only waits meanwhile."""
    try:
        sampled = sample_system("cpu", _LOOK_NS, _LOOK_NS)
    except MissingDependencyError:
        return min(os.getloadavg()[0] / (os.cpu_count() or 1), 1.0)
    share = float(sampled.columns["cpu all busy"][0])
    return 0.0 if math.isnan(share) else share  # nothing was counted: nothing ran


def quiet_or_noisy(most: float, wait_s: float) -> tuple[float | None, bool]:
    """Wait until the machine is quiet, but not for ever."""
    if most >= 1.0:
        return None, False
    deadline = time.monotonic() + wait_s
    while (share := busy_share()) > most and time.monotonic() < deadline:
        time.sleep(min(_PAUSE_S, max(deadline - time.monotonic(), 0.0)))
    return share, share > most


@dataclass
class Measuring:
    """Makes runs, one after the other."""

    options: RunOptions
    patterns: Sequence[ValuePattern]
    environment: Mapping[str, object]  # facts about this machine, kept with each run
    _busy: bool = False
    _programs: dict[str, Mapping[str, object]] = field(default_factory=dict)

    def run(self, point: Point, replication: int, command: Sequence[str]) -> Run:
        """Make one run."""
        options = self.options
        for _ in range(options.warmup):
            run_process(command, options.time_limit_s)
        share = self._look()
        file = None if options.results is None else ResultsFile(filled([options.results], point)[0])
        started = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        completed = run_process(command, options.time_limit_s)
        problem, values, content = completed.problem, dict[str, float](), b""
        if problem is None:
            try:
                values, content = self._values(completed.stdout + b"\n" + completed.stderr, file, point)
            except RunValueError as error:
                problem = str(error)
        return Run(
            point=point,
            replication=replication,
            problem=problem,
            started=started,
            command=tuple(command),
            wall_ns=completed.wall_ns,
            user_s=completed.user_s,
            system_s=completed.system_s,
            peak_memory_kib=completed.peak_memory_kib,
            exit_status=completed.exit_status,
            signal=completed.signal,
            busy_before=share,
            noisy=self._busy,
            values=values,
            stdout=cut(completed.stdout, options.keep_bytes),
            stderr=cut(completed.stderr, options.keep_bytes),
            results=cut(content, options.keep_bytes),
            environment={**self.environment, **self._program(command[0])},
        )

    def _program(self, name: str) -> Mapping[str, object]:
        """The file of a program, which may differ from version to version; looked at once."""
        if name not in self._programs:
            self._programs[name] = program_fingerprint(name)
        return self._programs[name]

    def _look(self) -> float | None:
        """Wait until others leave the machine alone; where that did not help once, do not wait again until it does."""
        was_busy = self._busy
        share, self._busy = quiet_or_noisy(self.options.max_load, 0.0 if was_busy else self.options.wait_s)
        if self._busy and not was_busy:
            progress.note(
                f"other work keeps {share:.0%} of the processors busy; runs are marked as noisy, and not waited for, "
                "until it ends"
            )
        return share

    def _values(self, output: bytes, file: ResultsFile | None, point: Point) -> tuple[dict[str, float], bytes]:
        """What the run reported, and its results file."""
        if file is None:
            return values_in(output, self.patterns), b""
        content = file.content()
        if not file.is_json:
            return values_in(content, self.patterns, file.path), content
        output_values = values_in(output, self.patterns)
        return {**output_values, **file.numbers(content, reserved=[*output_values, *point])}, content
