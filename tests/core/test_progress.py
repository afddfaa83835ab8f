"""Progress goes where the program says, and nowhere by default."""

import contextlib

import pytest

from perfcore.base import progress


class Recorder(progress.Sink):
    def __init__(self):
        self.seen = []

    @contextlib.contextmanager
    def bar(self, label, total):
        self.seen.append((label, total))
        yield self.seen.append

    def note(self, text):
        self.seen.append(text)


def work():
    with progress.bar("reading", total=3) as advance:
        advance(1)
        advance(2)
    progress.note("done")


def test_silent_by_default(capfd):
    work()
    assert capfd.readouterr() == ("", "")


def test_reports_reach_the_innermost_sink_and_only_within_its_block():
    outer, inner = Recorder(), Recorder()
    with progress.show_with(outer):
        with progress.show_with(inner):
            work()
        progress.note("outside")
    work()
    assert inner.seen == [("reading", 3), 1, 2, "done"]
    assert outer.seen == ["outside"]


def test_an_error_ends_the_block():
    recorder = Recorder()
    with pytest.raises(ZeroDivisionError), progress.show_with(recorder):
        raise ZeroDivisionError
    work()
    assert recorder.seen == []
