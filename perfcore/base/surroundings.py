"""What a program finds where it runs, and how it ends: streams, settings of libraries, signals, temporary files.

A folder of data configures nothing: numba would read ``.numba_config.yaml`` there, whose ``cache_dir`` makes it
unpickle files, and matplotlib ``matplotlibrc``.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.abc
import importlib.machinery
import io
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, NoReturn

_SETTINGS = {"matplotlib": "matplotlibrc", "numba.core.config": ".numba_config.yaml"}  # file that a module reads
# The first of these that is set says how many threads OpenBLAS has.
_THREADS = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_received: list[int] = []
_variables: set[str] = set()  # of the environment that the program set for its libraries
_folders: dict[tuple[str, int], str] = {}  # of temporary files, by the folder that holds them and the process


def open_closed_streams() -> None:
    """Open standard streams that are closed, as cron and daemons leave them; else files would take their numbers."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the least free number
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


class _Forgiving(io.FileIO):
    """Standard error of which what can't be written is lost, as on a full disk, and nothing else."""

    def write(self, content: Any) -> int:
        try:
            return super().write(content)
        except OSError:
            return len(content)


def forgive_standard_error() -> None:
    """Let no notice that can't be written end the work."""
    if sys.stderr is sys.__stderr__ and sys.stderr is not None:
        raw = io.BufferedWriter(_Forgiving(2, "w", closefd=False))
        sys.stderr = io.TextIOWrapper(raw, sys.stderr.encoding, "backslashreplace", line_buffering=True)


def drop_output() -> None:
    """Write what standard output still holds nowhere; else Python would complain once more when it ends."""
    with contextlib.suppress(OSError, ValueError):  # of a stream that is no file
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def ignore_settings_of_folder() -> None:
    """Let no library read its settings from the current folder, for the rest of the process."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def use_one_blas_thread() -> None:
    """Let OpenBLAS compute in one thread if nobody says in how many; call it before numpy is imported.

    Most matrices are small: more threads wait for each other, and take twice the processor time of large fits.
    """
    if not any(name in os.environ for name in _THREADS):
        os.environ[_THREADS[0]] = "1"
        _variables.add(_THREADS[0])


def environment_of_user() -> dict[str, str]:
    """Return the variables that the program was started with, for programs of the user that it starts."""
    return {name: value for name, value in os.environ.items() if name not in _variables}


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of `_SETTINGS` as others do, and hides their file from them while they are imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in _SETTINGS:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            execute = functools.partial(_execute, spec.loader.exec_module, _SETTINGS[fullname])
            spec.loader.exec_module = execute  # type: ignore[method-assign]
        return spec


def _execute(execute: Callable[[ModuleType], None], file: str, module: ModuleType) -> None:
    """Execute a module while ``os.path.exists`` says that there is no such file."""
    exists = os.path.exists
    os.path.exists = lambda path: path != file and exists(path)
    try:
        execute(module)
    finally:
        os.path.exists = exists
    if hasattr(module, "_config_fname"):  # numba looks again when it is told to reload
        setattr(module, "_config_fname", os.devnull)  # noqa: B010


def end_on_signals() -> None:
    """Let signals that end programs raise an exception, so that what was begun is put away."""
    _received.clear()
    sys.unraisablehook = _raise_again
    for number in _SIGNALS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):  # and not ignored, as by nohup
            signal.signal(number, _end)


def status_of_signal() -> int:
    """Return the exit status for the signal that ends the program, as shells count; 0 if there was none."""
    return 128 + _received[-1] if _received else 0


def _end(number: int, _: Any) -> NoReturn:
    _received.append(number)
    raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(status_of_signal())


def _raise_again(unraisable: Any) -> None:
    """Send a signal again whose exception was lost within a library that calls back."""
    if _received and issubclass(unraisable.exc_type, (KeyboardInterrupt, SystemExit)):
        threading.Timer(0.05, os.kill, (os.getpid(), _received[-1])).start()
    else:
        sys.__unraisablehook__(unraisable)


@contextlib.contextmanager
def one_temporary_folder() -> Iterator[None]:
    """Keep the temporary files of a block in one folder, which goes when the process ends."""
    try:
        before = tempfile.gettempdir()
        place = before, os.getpid()
        if not os.path.isdir(_folders.get(place, "")):  # noqa: PTH112 (no pathlib at start-up)
            _folders[place] = tempfile.mkdtemp(prefix="perf-", dir=before)
            atexit.unregister(_remove_folders)
            atexit.register(_remove_folders)
    except OSError:  # nothing can be written, which matters to who writes
        yield
        return
    tempfile.tempdir = _folders[place]
    try:
        yield
    finally:
        tempfile.tempdir = before
        atexit.unregister(_end_at_once_on_signals)
        atexit.register(_end_at_once_on_signals)  # what is registered last comes first


def _remove_folders() -> None:
    for (_, process), folder in _folders.items():
        if process == os.getpid():  # and not the one that forked it
            shutil.rmtree(folder, ignore_errors=True)


def _end_at_once_on_signals() -> None:
    def end(number: int, _: Any) -> NoReturn:
        _remove_folders()
        os._exit(128 + number)

    for number in _SIGNALS:
        with contextlib.suppress(ValueError):  # of a thread that is not the first
            signal.signal(number, end)
