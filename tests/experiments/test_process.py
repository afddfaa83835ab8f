"""One run: what it took is measured, whatever it does, and nothing of it stays behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perf_experiments.measurement import run_process


def run(code, limit_s=None):
    return run_process([sys.executable, "-S", "-c", code], limit_s)


def test_time_memory_and_output():
    done = run(
        "import time, sys; x = bytearray(60 << 20); time.sleep(0.3); print('out'); print('err', file=sys.stderr)"
    )
    assert (done.stdout, done.stderr, done.problem, done.exit_status) == (b"out\n", b"err\n", None, 0)
    assert done.wall_ns >= 300_000_000
    assert done.user_s + done.system_s < done.wall_ns / 1e9
    assert 60 << 10 <= done.peak_memory_kib < 90 << 10


def test_processor_time_of_children_counts():
    spin = "import time\nwhile time.process_time() < 0.3: pass"
    done = run(f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {spin!r}])")
    assert done.user_s + done.system_s >= 0.29


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("raise SystemExit(3)", "exit status 3"),
        ("import os; os.kill(os.getpid(), 11)", "ended by SIGSEGV"),
        ("import os; os.kill(os.getpid(), 40)", "ended by signal 40"),
    ],
)
def test_failures_say_why(code, problem):
    assert run(code).problem == problem


def alive(number):
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]


def gone(number):
    deadline = time.monotonic() + 5.0
    while alive(number) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not alive(number)


CHILD = "import subprocess, sys; c = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(60)']); "


def test_the_time_limit_ends_the_whole_group():
    done = run(CHILD + "print(c.pid, flush=True); c.wait()", limit_s=0.5)
    assert done.timed_out
    assert done.problem.startswith("stopped by the time limit after ")
    assert done.wall_ns < 5e9
    assert gone(int(done.stdout))


def test_who_ignores_to_be_asked_is_killed():
    start = time.monotonic()
    done = run("import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)", limit_s=0.5)
    assert (done.timed_out, done.signal) == (True, "SIGKILL")
    assert time.monotonic() - start < 10


def test_what_a_run_leaves_behind_is_ended():
    done = run(CHILD + "print(c.pid)")
    assert done.problem is None
    assert done.wall_ns < 5e9
    assert gone(int(done.stdout))


def test_an_interrupt_ends_the_run(tmp_path):
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 1.0)
    note = tmp_path / "pid"
    with pytest.raises(KeyboardInterrupt):
        run(f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(60)")
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    assert gone(int(note.read_text()))


def test_a_killed_caller_takes_its_run_along(tmp_path):
    note = tmp_path / "pid"
    code = f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    caller = (
        "import sys; from perf_experiments.measurement import run_process; "
        f"run_process([sys.executable, '-S', '-c', {code!r}])"
    )
    with subprocess.Popen([sys.executable, "-c", caller]) as process:
        deadline = time.monotonic() + 30.0
        while not (note.exists() and note.read_text()) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.kill()
    assert gone(int(note.read_text()))
