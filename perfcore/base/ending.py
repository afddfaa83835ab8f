"""How the program ends: on signals, and without leaving temporary files."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from typing import Any, NoReturn

_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_AGAIN_S = 0.05
_received: list[int] = []
_folders: dict[tuple[str, int], str] = {}  # of temporary files, by the folder that holds them and the process


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
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(status_of_signal())


def _raise_again(unraisable: Any) -> None:
    """Send a signal again whose exception was lost within a library that calls back."""
    if _received and issubclass(unraisable.exc_type, (KeyboardInterrupt, SystemExit)):
        threading.Timer(_AGAIN_S, os.kill, (os.getpid(), _received[-1])).start()
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
