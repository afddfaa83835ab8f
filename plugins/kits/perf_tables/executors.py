"""What does tasks here or elsewhere: threads, processes of this machine, or a cluster of Dask's.

Processes are started as Python itself and never run the program that called; they are asked by lines of JSON and
answer with bytes, so that nothing is unpickled. One that dies is replaced, and its task done once more.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import json
import logging
import os
import queue
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from typing import Any

from perfcore.base.errors import DataError, MissingDependencyError, OptionError, PerfError

Task = Callable[..., bytes]
_AHEAD = 128  # tasks that are at work or wait for a worker
_SERVE = "from perf_tables.executors import serve; serve()"
_TRIES = 2
_MOST_PROCESSES = 1 << 10
_ANSWERS_WITHIN_S, _ENDS_WITHIN_S = 5, 2
_DONE, _REFUSED = b"+", b"-"
_SIZE_BYTES = 8
_LARGEST_GREETING_BYTES = 1 << 20  # some hundred bytes
_THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")  # of which several processes need one each


def as_they_end(
    executor: Executor | None, task: Task, arguments: Iterable[tuple[Any, ...]], names: Sequence[str] = ()
) -> Iterator[tuple[int, bytes]]:
    """Yield the position of arguments that a task was called with, and its answer; for sums, which need no order.

    A worker that is lost is replaced once; then the task is named, by ``names`` if they are given. Arguments are taken
    as they are needed, some ahead of those that are at work.
    """
    waiting = enumerate(arguments)
    if executor is None:
        for position, args in waiting:
            yield position, task(*args)
        return
    futures: dict[Future[bytes], int] = {}
    position, n_done = 0, 0
    try:
        while True:
            for position, args in itertools.islice(waiting, _AHEAD - len(futures)):
                futures[executor.submit(task, *args)] = position
            if not futures:
                return
            for future in wait(futures, return_when=FIRST_COMPLETED).done:
                position = futures.pop(future)
                yield position, future.result()
                n_done += 1
    except PerfError:
        raise
    except (CancelledError, OSError) as error:
        raise DataError(f"--parallel: the scheduler is gone, {n_done} tasks were done") from error
    except (BrokenExecutor, ImportError) as error:
        raise DataError(f"{names[position] if names else 'work elsewhere'}: {error}") from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] != "distributed":
            raise
        problem = str(error).partition(". ")[0]
        raise DataError(f"{names[position] if names else 'work elsewhere'}: {problem}") from error
    finally:
        for future in futures:
            future.cancel()


def in_order(
    executor: Executor | None, task: Task, arguments: Iterable[tuple[Any, ...]], names: Sequence[str] = ()
) -> Iterator[bytes]:
    """Yield the answers in the order of the arguments; see `as_they_end`."""
    early: dict[int, bytes] = {}
    following = 0
    for position, answer in as_they_end(executor, task, arguments, names):
        early[position] = answer
        while following in early:
            yield early.pop(following)
            following += 1


class LocalProcesses(Executor):
    """Processes of this machine, for functions of modules whose arguments are texts, bytes of text, numbers and
    lists.
    """

    def __init__(self, count: int, prepare: str | None = None, *, one_thread: bool = True) -> None:
        self._threads = ThreadPoolExecutor(count)
        self._processes = [_Process(prepare, one_thread) for _ in range(count)]
        self._idle: queue.LifoQueue[_Process] = queue.LifoQueue()
        for process in self._processes:
            if prepare is not None:
                process.start()
            self._idle.put(process)
        self._ended = False

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a function called that gives bytes; see `concurrent.futures.Executor.submit`."""
        assert not kwargs, "arguments have no names on their way to a process"
        plain = [each.decode() if isinstance(each, bytes) else each for each in args]
        line = json.dumps([function.__module__, function.__qualname__, plain])
        return self._threads.submit(self._answer, line)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End all processes; see `concurrent.futures.Executor.shutdown`."""
        if not wait:
            self._ended = True
            for process in self._processes:
                process.kill()
        self._threads.shutdown(wait=True, cancel_futures=cancel_futures)
        for process in self._processes:
            process.end()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait for what runs; after an error or Ctrl-C end it."""
        self.shutdown(wait=kind is None, cancel_futures=kind is not None)

    def _answer(self, line: str) -> bytes:
        process = self._idle.get()
        status = 0
        try:
            for _ in range(_TRIES):
                if self._ended:
                    break
                with contextlib.suppress(OSError, EOFError):
                    return process.ask(line)
                status = process.end(_ENDS_WITHIN_S)
                if status > 0:  # by an error that it has printed and would meet again
                    break
            raise BrokenExecutor(
                f"a process ended with status {status}" + (", for lack of memory as a rule" if status < 0 else "")
            )
        finally:
            self._idle.put(process)


class _Process:
    """One process, which is started when it is asked something and has ended, or never began."""

    def __init__(self, prepare: str | None, one_thread: bool) -> None:
        self._running: subprocess.Popen[bytes] | None = None
        self._settings = {**(dict.fromkeys(_THREADS, "1") if one_thread else {}), **os.environ}
        self._command = [sys.executable, "-P", "-c", _SERVE, *([] if prepare is None else [prepare])]

    def start(self) -> subprocess.Popen[bytes]:
        if self._running is None:
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            # Ctrl-C is for the program that asks, which then ends them.
            self._running = subprocess.Popen(self._command, **pipes, env=self._settings, start_new_session=True)  # noqa: S603
        return self._running

    def ask(self, line: str) -> bytes:
        running = self.start()
        assert running.stdin is not None and running.stdout is not None  # noqa: PT018
        running.stdin.write(line.encode() + b"\n")
        running.stdin.flush()
        head = running.stdout.read(1 + _SIZE_BYTES)
        if len(head) < 1 + _SIZE_BYTES:
            raise EOFError
        size = int.from_bytes(head[1:], "little")
        content = running.stdout.read(size)
        if len(content) < size:
            raise EOFError
        if head[:1] == _REFUSED:
            raise OptionError(content.decode())
        return content

    def kill(self) -> None:
        """End it while another thread waits for its answer."""
        if (running := self._running) is not None:
            running.kill()

    def end(self, wait_s: float = 0) -> int:
        """End it, unless it does so itself within a time; gives the status with which it ended."""
        if self._running is None:
            return 0
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._running.wait(wait_s)
        self._running.kill()
        with contextlib.suppress(OSError):  # what it was not asked any more
            self._running.communicate()
        status, self._running = self._running.returncode, None
        return status


def serve() -> None:
    """Call the functions that are asked for on standard input, one for each line, until it ends.

    One that the command line names is called first.
    """
    answers = sys.stdout.buffer
    sys.stdout = sys.stderr  # whatever a library prints is no answer
    for prepare in sys.argv[1:]:
        module, _, name = prepare.partition(":")
        getattr(importlib.import_module(module), name)()
    for line in sys.stdin.buffer:
        module, name, arguments = json.loads(line)
        try:
            sign, content = _DONE, getattr(importlib.import_module(module), name)(*arguments)
        except PerfError as error:
            sign, content = _REFUSED, str(error).encode()
        answers.write(sign + len(content).to_bytes(_SIZE_BYTES, "little"))
        answers.write(content)
        answers.flush()


@contextlib.contextmanager
def executor_of(where: str | None, prepare: str | None = None, *, one_thread: bool = True) -> Iterator[Executor | None]:
    """Open what ``--parallel`` names: ``local:4``, ``dask://HOST:PORT``; None for this process."""
    kind, sign, rest = (where or "").partition(":")
    if where is None:
        yield None
    elif kind == "local" and sign and rest.isdecimal() and 1 <= int(rest) <= _MOST_PROCESSES:
        with LocalProcesses(int(rest), prepare, one_thread=one_thread) as executor:
            yield executor
    elif kind == "dask" and rest.startswith("//") and ":" in rest:
        with _of_dask(rest[2:]) as executor:
            yield executor
    else:
        raise OptionError(
            f"--parallel {where!r}: local:N, for N processes of this machine, or dask://HOST:PORT is expected; "
            "perf summarize and perf experiment run take slurm, too"
        )


@contextlib.contextmanager
def _of_dask(address: str) -> Iterator[Executor]:
    _check_scheduler(address)
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise MissingDependencyError(
            "--parallel dask:// needs the package distributed; pip install 'perfcore[cluster]' brings it"
        ) from None
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # what goes wrong becomes one line
    try:
        client = distributed.Client(f"tcp://{address}", timeout=_ANSWERS_WITHIN_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise _no_scheduler(address, str(error).partition("\n")[0] or "no answer") from None
    with client:
        _check_workers(client, address)
        executor = client.get_executor(retries=1)
        ended_well = False
        try:
            yield executor
            ended_well = True
        finally:  # after an error nothing is waited for: no worker may be left to end it
            executor.shutdown(wait=ended_well)


def _check_workers(client: Any, address: str) -> None:
    """Refuse a cluster without workers, or with another perfcore than this one's."""
    try:
        client.wait_for_workers(1, timeout=_ANSWERS_WITHIN_S)
    except TimeoutError:
        raise OptionError(f"--parallel 'dask://{address}': no worker yet; start one: dask worker {address}") from None
    versions = client.get_versions(packages=["perfcore"])
    here, *there = (each["packages"].get("perfcore") for each in (versions["client"], *versions["workers"].values()))
    for worker, found in zip(versions["workers"], there, strict=True):
        if found != here:
            raise OptionError(
                f"--parallel 'dask://{address}': worker {worker} has perfcore {found}, and this is {here}"
            )


def _check_scheduler(address: str) -> None:
    """Refuse an address where no scheduler answers in a few seconds."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _ANSWERS_WITHIN_S) as connection:
            size = int.from_bytes(connection.makefile("rb").read(_SIZE_BYTES), "little")
    except (OSError, ValueError, OverflowError) as error:
        raise _no_scheduler(address, getattr(error, "strerror", None) or str(error)) from None
    if not 0 < size < _LARGEST_GREETING_BYTES:
        raise _no_scheduler(address, "another program does")


def _no_scheduler(address: str, why: str) -> OptionError:
    return OptionError(f"--parallel 'dask://{address}': no scheduler of Dask answers there: {why}")
