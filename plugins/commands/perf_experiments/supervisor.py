"""Starts one program, waits for it, and reports what it took: a script that `perf_experiments.measurement` runs.

It is a separate process for two reasons. Linux counts the memory of the process that starts a program into that
program's peak: one that has numpy loaded would hide every smaller program behind 160 MiB, this one behind some 10 MiB.
And it outlives its caller for a moment: when the caller is killed, the pipe between them closes, and the run is ended
instead of going on unseen and disturbing the next.

Arguments: number of the pipe that closes when the caller is gone, number of the pipe for the report, time limit in
milliseconds or -1, milliseconds between asking and killing; then the command. It imports nothing that it does not
need, since its own size and start are part of every run's cost.
"""

import os
import select
import signal
import sys
import time


def supervise(caller: int, limit_ms: int, grace_ms: int, argv: list[str]) -> str:
    """Run a program in a new session; kill the rest of its group at the end."""
    start_ns = time.monotonic_ns()
    try:
        # Python ignores these two, which the program would inherit.
        reset = [signal.SIGPIPE, signal.SIGXFSZ]
        process = os.posix_spawnp(argv[0], argv, os.environ, setsid=True, setsigdef=reset)
    except OSError as error:
        return f"error {error.strerror or error}"
    ended = os.pidfd_open(process)
    wait = select.poll()
    wait.register(ended, select.POLLIN)
    wait.register(caller, select.POLLIN | select.POLLHUP)
    events = dict(wait.poll(limit_ms if limit_ms >= 0 else None))
    late = not events
    if late:
        _kill(process, signal.SIGTERM)
        events = dict(wait.poll(grace_ms))
    # The process is not reaped yet: until then its number is not reused, so killing is safe.
    wall_ns = time.monotonic_ns() - start_ns
    _kill(process, signal.SIGKILL)
    _, status, usage = os.wait4(process, 0)
    if late and ended not in events:
        wall_ns = time.monotonic_ns() - start_ns
    code = os.waitstatus_to_exitcode(status)
    return f"{wall_ns} {usage.ru_utime} {usage.ru_stime} {usage.ru_maxrss} {code} {int(late)}"


def _kill(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # it ended, or belongs to another user by now
        return


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:5]]
    for descriptor in numbers[:2]:
        os.set_inheritable(descriptor, False)
    report = supervise(numbers[0], numbers[2], numbers[3], sys.argv[5:])
    os.write(numbers[1], report.encode())
