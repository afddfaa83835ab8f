"""Progress of long work: the library reports, the program decides whether and where it is shown."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

Advance = Callable[[int], None]


class Sink:
    """Where reports go; this one is silent."""

    def bar(self, label: str, total: int | None) -> AbstractContextManager[Advance]:
        """Open a bar; the returned context gives a function to call with each amount done."""
        return contextlib.nullcontext(lambda amount: None)

    def note(self, text: str) -> None:
        """One line about something that takes time."""


_sink = contextvars.ContextVar("perfcore_progress", default=Sink())  # noqa: B039 (silent, and holds nothing)


def bar(label: str, total: int | None = None) -> AbstractContextManager[Advance]:
    """Report work of ``total`` units (None: unknown)."""
    return _sink.get().bar(label, total)


def note(text: str) -> None:
    """Report one line, for example that something compiles."""
    _sink.get().note(text)


@contextlib.contextmanager
def collected() -> Iterator[list[str]]:
    """Collect the notes of the block instead of showing them; bars are shown as before."""
    notes, outer = list[str](), _sink.get()

    class Collector(Sink):
        bar = staticmethod(outer.bar)  # type: ignore[assignment]
        note = staticmethod(notes.append)  # type: ignore[assignment]

    with show_with(Collector()):
        yield notes


@contextlib.contextmanager
def show_with(sink: Sink) -> Iterator[None]:
    """Send reports to ``sink`` within the block."""
    token = _sink.set(sink)
    try:
        yield
    finally:
        _sink.reset(token)
