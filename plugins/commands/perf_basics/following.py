"""A model of a run while it is still being recorded: extended as its file grows."""

from __future__ import annotations

import contextlib
import itertools
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from perf_basics.growing import GrowingTable, growing_lines
from perfcore.base import progress
from perfcore.base.errors import OptionError, PerfError
from perfcore.hooks.registry import registry
from perfcore.models.fitting import default_fitter, resolve


_GROWN = 1.05  # the model is made anew when there are so many times the lines, so that all fits cost some 20 last ones
_APART_S = 0.25


def follow(
    path: str, read: Callable[..., Any], fitter: str | None, options: dict[str, Any], idle_s: float
) -> tuple[Any, Any]:
    """Fit a file that grows until nothing comes any more, or who started it interrupts."""
    if fitter is not None:
        _able(fitter)
    table = GrowingTable(path, read)
    with _interrupts() as stopped:
        grown = _states(table, growing_lines(path, idle_s, stopped.is_set))
        first = next(grown)
        if fitter is None:
            fitter, note = default_fitter(first, options)
            progress.note(note)
        implementation = _able(fitter)
        chosen, parts = resolve(registry().entry("fitters", fitter), options)
        return implementation().follow(itertools.chain([first], grown), chosen, **parts), table.data


def _able(fitter: str) -> Any:
    implementation = registry().entry("fitters", fitter).load()
    if not hasattr(implementation, "follow"):
        able = [name for name, entry in registry().entries("fitters").items() if _follows(entry)]
        raise OptionError(f"--follow: {fitter} fits whole files; {', '.join(able) or 'no fitter'} follows growing ones")
    return implementation


def _follows(entry: Any) -> bool:
    try:
        return hasattr(entry.load(), "follow")
    except PerfError:  # one that lacks its library
        return False


def _states(table: GrowingTable, lines: Iterator[bytes]) -> Iterator[Any]:
    """The data each time that they grew enough, or nothing came for a moment; and at the end."""
    shown_rows, last_time = 0, 0.0
    for new in lines:
        table.add(new)
        enough = not new or table.rows > _GROWN * shown_rows
        if table.rows > shown_rows and enough and time.monotonic() - last_time > _APART_S:
            yield table.data
            shown_rows, last_time = table.rows, time.monotonic()
    table.add(b"", last=True)
    if table.rows > shown_rows or not shown_rows:
        yield table.data


@contextlib.contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets; a second one interrupts as always."""
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return

    def stop(*_: Any) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        stopped.set()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGINT, before)
