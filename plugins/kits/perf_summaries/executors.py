"""What reads files elsewhere: processes of this machine, or a cluster of Dask's.

Processes are started as Python itself and never run the program that called; they are asked by lines of JSON and
answer with bytes, so that nothing is unpickled. One that dies is replaced, and its task done once more.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import queue
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from typing import Any

from perfcore.base.errors import MissingDependencyError, OptionError, PerfError

__all__ = ["LocalProcesses", "executor_of", "serve"]

_SERVE = "from perf_summaries.executors import serve; serve()"
_TRIES = 2
_MOST_PROCESSES = 1 << 10
_ANSWERS_WITHIN_S = 5
_DONE, _REFUSED = b"+", b"-"
_SIZE_BYTES = 8


class LocalProcesses(Executor):
    """Processes of this machine, for functions of modules whose arguments are texts, bytes of text, numbers and lists.

    Parameters
    ----------
    count : int
        How many; each is started when it gets its first task.

    Examples
    --------
    >>> import os
    >>> with LocalProcesses(1) as executor:
    ...     executor.submit(os.fsencode, "name").result()
    b'name'
    """

    def __init__(self, count: int) -> None:
        self._threads = ThreadPoolExecutor(count)
        self._idle: queue.LifoQueue[_Process] = queue.LifoQueue()
        for _ in range(count):
            self._idle.put(_Process())

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a function called that gives bytes; see `concurrent.futures.Executor.submit`."""
        assert not kwargs, "arguments have no names on their way to a process"
        plain = [each.decode() if isinstance(each, bytes) else each for each in args]
        line = json.dumps([function.__module__, function.__qualname__, plain])
        return self._threads.submit(self._answer, line)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End all processes; see `concurrent.futures.Executor.shutdown`."""
        if not wait or cancel_futures:
            self._threads.shutdown(wait=False, cancel_futures=True)
        self._threads.shutdown(wait=wait)
        while not self._idle.empty():
            self._idle.get().end()

    def _answer(self, line: str) -> bytes:
        process = self._idle.get()
        try:
            for _ in range(_TRIES):
                with contextlib.suppress(OSError, EOFError):
                    return process.ask(line)
                status = process.end()
            raise BrokenExecutor(f"a process died twice at the same files (status {status})")
        finally:
            self._idle.put(process)


class _Process:
    """One process, which is started when it is asked something and has ended, or never began."""

    def __init__(self) -> None:
        self._running: subprocess.Popen[bytes] | None = None

    def ask(self, line: str) -> bytes:
        """Its answer.

        Raises
        ------
        PerfError
            What it refuses.
        OSError, EOFError
            It has ended.
        """
        if self._running is None:
            command = [sys.executable, "-P", "-c", _SERVE]
            self._running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603
        assert self._running.stdin is not None and self._running.stdout is not None  # noqa: PT018
        self._running.stdin.write(line.encode() + b"\n")
        self._running.stdin.flush()
        head = self._running.stdout.read(1 + _SIZE_BYTES)
        if len(head) < 1 + _SIZE_BYTES:
            raise EOFError
        size = int.from_bytes(head[1:], "little")
        content = self._running.stdout.read(size)
        if len(content) < size:
            raise EOFError
        if head[:1] == _REFUSED:
            raise OptionError(content.decode())
        return content

    def end(self) -> int | None:
        """End it; gives the status with which it ended."""
        if self._running is None:
            return None
        self._running.kill()
        self._running.communicate()
        status, self._running = self._running.returncode, None
        return status


def serve() -> None:
    """Call the functions that are asked for on standard input, one for each line, until it ends."""
    answers = sys.stdout.buffer
    sys.stdout = sys.stderr  # whatever a library prints is no answer
    for line in sys.stdin.buffer:
        module, name, arguments = json.loads(line)
        try:
            sign, content = _DONE, getattr(importlib.import_module(module), name)(*arguments)
        except PerfError as error:
            sign, content = _REFUSED, str(error).encode()
        answers.write(sign + len(content).to_bytes(_SIZE_BYTES, "little") + content)
        answers.flush()


@contextlib.contextmanager
def executor_of(where: str | None) -> Iterator[Executor | None]:
    """What ``--on`` names: ``local:4``, ``dask://HOST:PORT``; None for this process.

    Raises
    ------
    OptionError
        It is neither, or nobody answers at the address.
    MissingDependencyError
        Dask's scheduler is asked for and its library is not installed.
    """
    kind, sign, rest = (where or "").partition(":")
    if where is None:
        yield None
    elif kind == "local" and sign and rest.isdecimal() and 1 <= int(rest) <= _MOST_PROCESSES:
        with LocalProcesses(int(rest)) as executor:
            yield executor
    elif kind == "dask" and rest.startswith("//") and ":" in rest:
        with _of_dask(rest[2:]) as executor:
            yield executor
    else:
        raise OptionError(f"--on {where}: local:N, for N processes of this machine, or dask://HOST:PORT is expected")


@contextlib.contextmanager
def _of_dask(address: str) -> Iterator[Executor]:
    try:
        from distributed import Client
    except ImportError:
        raise MissingDependencyError(
            "--on dask:// needs the package distributed; pip install 'perfcore[cluster]' brings it"
        ) from None
    try:
        client = Client(f"tcp://{address}", timeout=_ANSWERS_WITHIN_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        why = str(error).splitlines()[0] if str(error) else "nobody answers"
        raise OptionError(f"--on dask://{address}: no scheduler of Dask answers there: {why}") from None
    with client, client.get_executor() as executor:
        yield executor
