"""One run, measured: its command, what it reports, and the machine that it is made on, also by itself."""

from __future__ import annotations

import contextlib
import csv
import datetime
import hashlib
import math
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

import perfcore
from perf_experiments.design import COLUMNS, available_cores
from perf_experiments.points import Point, level_text
from perf_experiments.run_records import Run, RunOptions
from perfcore.base import progress
from perfcore.base.errors import InputError, MissingDependencyError, OptionError, PerfError, UnknownNameError
from perfcore.base.surroundings import environment_of_user
from perfcore.data.series import Series

_SHORTEST_NS = 10_000_000  # the kernel counts processor time in ticks of 10 ms: nothing happens within less
_MOST_SAMPLES = 10_000_000
MOST_BYTES = 1 << 20  # kept of each of standard output and standard error

Counters = Mapping[str, tuple[float, float]]
Patterns = Mapping[str, re.Pattern[bytes]]  # by the value's name the expression whose one group is the number
LAUNCHERS = {"local": "", "mpirun": "mpirun -np {p}", "srun": "srun -n {p}"}
_PLACE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_GRACE_MS = 2000  # between SIGTERM, which lets mpirun end what it started elsewhere, and SIGKILL
_SUPERVISOR = str(Path(__file__).with_name("supervisor.py"))
_LOOK_NS = 200_000_000  # twenty ticks of the kernel's clock, by which it counts processor time
_PAUSE_S = 1.0
_TOOK = ("wall_ns", "user_s", "system_s", "peak_memory_kib", "exit_status", "signal")


def sample_system(quantity: str, duration_ns: int, interval_ns: int, rows: Path | None = None) -> Series:
    """Sample a quantity of this machine until the time is over or the user interrupts.

    Each sample is about the interval that ends at its time. The times do not drift: a late sample does not delay the
    next ones. They are written to the CSV file ``rows`` as they come, so that no signal loses them.
    """
    if quantity not in QUANTITIES:
        raise UnknownNameError("quantity", quantity, QUANTITIES)
    if interval_ns < _SHORTEST_NS:
        raise OptionError(f"sampling every {interval_ns / 1e6:g} ms: at least 10 ms are needed, the system's own step")
    count = duration_ns // interval_ns
    if not 1 <= count <= _MOST_SAMPLES:
        raise OptionError(f"{count} samples would be taken; 1 to {_MOST_SAMPLES:,} are possible")
    try:
        import psutil
    except ImportError as error:
        raise MissingDependencyError("sampling needs psutil: pip install 'perfcore[sample]'") from error
    with _interrupted_by(signal.SIGTERM, signal.SIGHUP):
        return _sampled(lambda now_s: QUANTITIES[quantity](psutil, now_s), int(count), interval_ns, rows)


@contextlib.contextmanager
def _interrupted_by(*signals: signal.Signals) -> Iterator[None]:
    """Let signals that are not ignored end the body as Ctrl-C does."""
    is_main = threading.current_thread() is threading.main_thread()  # no other thread may handle signals
    before = {each: signal.getsignal(each) for each in signals if is_main and signal.getsignal(each) != signal.SIG_IGN}
    for each in before:
        signal.signal(each, signal.default_int_handler)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _sampled(read: Callable[[float], Counters], count: int, interval_ns: int, written: Path | None) -> Series:
    """Return differences of counters over ``count`` intervals."""
    # Only the monotonic clock never jumps; the other one says once when that was.
    epoch_s = time.time() - time.monotonic()
    start_ns = time.monotonic_ns()
    before = read(time.monotonic())
    times: list[float] = []
    rows: list[list[float]] = []
    notes: tuple[str, ...] = ()
    try:
        with progress.bar("sampling", total=count) as advance, contextlib.ExitStack() as opened:
            for number in range(1, count + 1):
                time.sleep(max(0, start_ns + number * interval_ns - time.monotonic_ns()) / 1e9)
                now_s = time.monotonic()
                after = read(now_s)
                rows.append([_rate(before[name], after.get(name)) for name in before])
                times.append(epoch_s + now_s)
                if written is not None:
                    if number == 1:
                        file = opened.enter_context(written.open("w", encoding="utf-8", newline="", buffering=1))
                        csv.writer(file).writerow(["time_s", *before])
                    csv.writer(file).writerow([times[-1], *("" if np.isnan(value) else value for value in rows[-1])])
                before = {name: after.get(name, counters) for name, counters in before.items()}
                advance(1)
    except KeyboardInterrupt:
        if not rows:
            raise
        del rows[len(times) :]  # it may have come between the two
        notes = (f"interrupted after {len(times)} of {count} samples",)
    except OSError as error:
        problem = f"cannot be written: {error.strerror or error}; it has the samples until then"
        raise InputError(written or "this machine", problem) from error
    table = np.array(rows)
    columns = {name: table[:, column] for column, name in enumerate(before)}
    return Series(np.array(times), columns, "s", source="this machine", notes=notes)


def _rate(before: tuple[float, float], after: tuple[float, float] | None) -> float:
    """Counts per unit of their reference; NaN where that stood still, or what is counted went away."""
    if after is None or after[1] <= before[1]:
        return np.nan
    return max(after[0] - before[0], 0.0) / (after[1] - before[1])


def _processor_counters(psutil: Any, now_s: float) -> Counters:
    """Return the busy seconds and all seconds of each processor."""
    named = {"all": psutil.cpu_times()} | {str(n): times for n, times in enumerate(psutil.cpu_times(percpu=True))}
    counters = {}
    for cpu, times in named.items():
        spent = times._asdict()
        # The time of guests is in user time already.
        total = sum(spent.values()) - spent.get("guest", 0.0) - spent.get("guest_nice", 0.0)
        counters[f"cpu {cpu} busy"] = (total - spent["idle"] - spent.get("iowait", 0.0), total)
    return counters


def _network_counters(psutil: Any, now_s: float) -> Counters:
    """Return bytes so far and the time of each interface, received and sent."""
    counters = {}
    for interface, counted in psutil.net_io_counters(pernic=True).items():
        counters[f"network {interface} received B/s"] = (float(counted.bytes_recv), now_s)
        counters[f"network {interface} sent B/s"] = (float(counted.bytes_sent), now_s)
    return counters


QUANTITIES: Mapping[str, Callable[[Any, float], Counters]] = {"cpu": _processor_counters, "network": _network_counters}


def launcher_words(launcher: str) -> tuple[str, ...]:
    """Return a launcher by name, or any text, as the words that stand before the command."""
    try:
        return tuple(shlex.split(LAUNCHERS.get(launcher, launcher)))
    except ValueError as error:
        raise OptionError(f"launcher {launcher!r}: {error}") from None


def filled(words: Iterable[str], point: Point) -> tuple[str, ...]:
    """Return words with the levels of a point in their places; ``{{`` and ``}}`` are braces."""

    def place(match: re.Match[str]) -> str:
        if match[0] in ("{{", "}}"):
            return match[0][0]
        if match[1] is None:
            word, brace = match.string, match[0]
            raise OptionError(f"{word!r}: {brace!r} stands alone; {{FACTOR}} is a place and {brace * 2} a brace")
        if match[1] not in point:
            raise UnknownNameError(f"factor in {match.string!r}", match[1], point)
        return level_text(point[match[1]])

    return tuple(_PLACE.sub(place, word) for word in words)


class RunValueError(PerfError):
    """A run that did not report what was asked for; it counts as failed."""


def parse_patterns(texts: Sequence[str], factors: Sequence[str]) -> Patterns:
    """``NAME=EXPRESSION`` texts."""
    patterns: dict[str, re.Pattern[bytes]] = {}
    for text in texts:
        name, equals, expression = text.partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise OptionError(f"value {text!r}: NAME=EXPRESSION is expected, such as 'time=Time = *([0-9.]+)'")
        if name in patterns or name in factors or name in COLUMNS:
            raise OptionError(f"value {name!r}: the name is taken; choose another")
        try:
            patterns[name] = re.compile(expression.encode(), re.MULTILINE)
        except re.error as error:
            raise OptionError(f"value {name}: {expression!r} is no regular expression: {error}") from None
        if (groups := patterns[name].groups) != 1:
            raise OptionError(
                f"value {name}: {expression!r} has {groups} groups; one is expected, in ( ), which is the number; "
                "(?: ) groups without counting"
            )
    return patterns


def values_in(output: bytes, patterns: Patterns) -> dict[str, float]:
    """Return the one value that each pattern finds."""
    values = {}
    for name, expression in patterns.items():
        matches = expression.findall(output)
        if len(matches) != 1:
            several = f"{len(matches)} times" if matches else "nowhere"
            raise RunValueError(f"value {name} is found {several} in the output; once is expected")
        matched = matches[0].decode(errors="replace")
        try:
            values[name] = float(matched)
        except ValueError:
            values[name] = math.nan
        if not math.isfinite(values[name]):
            raise RunValueError(f"value {name} is {matched[:40]!r} in the output; expected a finite number")
    return values


def environment(program: str) -> dict[str, Any]:
    """Return facts about this machine and this moment, as JSON-ready values; what cannot be found out is None."""
    commit = _git("rev-parse", "HEAD")
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "cpu model")))
    return {
        "host": platform.node(),
        "processor": next(named, platform.processor() or platform.machine() or None),
        "cores": available_cores(),
        "memory_mib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20,
        "system": platform.platform(),
        "python": platform.python_version(),
        "perfcore": perfcore.__version__,
        "folder": str(Path.cwd()),
        "git_commit": commit,
        "git_changed": None if commit is None else bool(_git("status", "--porcelain", "--untracked-files=no")),
        **program_fingerprint(program),
    }


def program_fingerprint(program: str) -> dict[str, str | None]:
    """Return the file that a command starts, and its SHA-256."""
    executable = shutil.which(program)
    if executable is None:
        return {"program": None, "program_sha256": None}
    path = Path(executable).resolve()
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:  # one may run what one may not read
        return {"program": str(path), "program_sha256": None}
    return {"program": str(path), "program_sha256": digest}


def _git(*words: str) -> str | None:
    command = ["git", "-c", "core.fsmonitor=false", *words]  # the user's git, without a repository's monitor
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None


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
        if self.timed_out:
            return f"stopped by the time limit after {self.wall_ns / 1e9:.3g} s"
        if self.signal is not None:
            return f"ended by {self.signal}"
        return f"exit status {self.exit_status}" if self.exit_status else None


def cut(output: bytes) -> bytes:
    r"""Return output of about `MOST_BYTES` at most: its beginning, its end, and between them how much is missing."""
    if len(output) <= MOST_BYTES:
        return output
    missing = f"\n... {len(output) - MOST_BYTES} bytes left out ...\n".encode()
    return output[: MOST_BYTES // 2] + missing + output[len(output) - MOST_BYTES // 2 :]


def run_process(argv: Sequence[str], limit_s: float | None = None) -> Finished:
    """Run a program to its end, without a shell and without input."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        words = _report(argv, limit_s, stdout, stderr).split()
        if words[0] == "error":
            raise OptionError(f"command {argv[0]!r} cannot be started: {' '.join(words[1:])}")
        code, name = int(words[4]), None
        if code < 0:
            is_named = -code in set(signal.Signals)  # else a real-time signal
            name = signal.Signals(-code).name if is_named else f"signal {-code}"
        stdout.seek(0)
        stderr.seek(0)
        return Finished(
            wall_ns=int(words[0]),
            user_s=float(words[1]),
            system_s=float(words[2]),
            peak_memory_kib=int(words[3]),
            exit_status=code if code >= 0 else None,
            signal=name,
            timed_out=words[5] == "1",
            stdout=stdout.read(),
            stderr=stderr.read(),
        )


def _report(argv: Sequence[str], limit_s: float | None, stdout: BinaryIO, stderr: BinaryIO) -> str:
    """Return what the supervisor says about the program."""
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
            env=environment_of_user(),
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


def busy_share() -> float:
    """Return the share of all processors that is busy now, 0 to 1; this program only waits meanwhile."""
    try:
        sampled = sample_system("cpu", _LOOK_NS, _LOOK_NS)
    except MissingDependencyError:
        return min(os.getloadavg()[0] / (os.cpu_count() or 1), 1.0)
    share = float(sampled.columns["cpu all busy"][0])
    return 0.0 if math.isnan(share) else share  # nothing was counted: nothing ran


def wait_until_idle(most: float, wait_s: float) -> tuple[float | None, bool]:
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
    patterns: Patterns
    environment: Mapping[str, object]  # facts about this machine, kept with each run
    _busy: bool = False
    _programs: dict[str, Mapping[str, object]] = field(default_factory=dict)

    def run(self, point: Point, replication: int, command: Sequence[str]) -> Run:
        options = self.options
        for _ in range(options.warmup):
            run_process(command, options.time_limit_s)
        was_busy = self._busy
        share, self._busy = wait_until_idle(self.options.max_load, 0.0 if was_busy else self.options.wait_s)
        if self._busy and not was_busy:
            progress.note(
                f"other work keeps {share:.0%} of the processors busy; runs are marked as noisy, and not waited for, "
                "until it ends"
            )
        started = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        if command[0] not in self._programs:  # which may differ from version to version
            self._programs[command[0]] = program_fingerprint(command[0])
        completed = run_process(command, options.time_limit_s)
        problem, values = completed.problem, dict[str, float]()
        if problem is None:
            try:
                values = values_in(completed.stdout + b"\n" + completed.stderr, self.patterns)
            except RunValueError as error:
                problem = str(error)
        return Run(
            point=point,
            replication=replication,
            problem=problem,
            started=started,
            command=tuple(command),
            **{name: getattr(completed, name) for name in _TOOK},
            busy_before=share,
            noisy=self._busy,
            values=values,
            stdout=cut(completed.stdout),
            stderr=cut(completed.stderr),
            environment={**self.environment, **self._programs[command[0]]},
        )
