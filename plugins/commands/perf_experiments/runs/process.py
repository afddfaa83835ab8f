"""One run of a program: what it took, and what it said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from perfcore.base.errors import OptionError


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
