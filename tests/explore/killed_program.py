"""A program that is killed at the n-th file that it puts in place: ``python killed_program.py N COMMAND``.

COMMAND is ``keep`` or ``undo`` of a text that stands in two files of the working directory, or words of `perf`.
"""

import os
import signal
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from perf_explore.journal import Journal
from perf_explore.session import Session
from perf_views import Change, FileEdit, View

FILES = ("a.txt", "b.txt")


@dataclass(frozen=True)
class TwoFiles:
    """A text in two files that belong together."""

    text: str

    title = "two files"

    @classmethod
    def read(cls):
        return cls(Path(FILES[0]).read_text())

    def view(self, path, query):
        return View(self.text, ())

    def paths(self):
        return [()]

    def act(self, path, form):
        edits = [FileEdit(Path(name), Path(name).read_bytes(), form["text"].encode()) for name in FILES]
        return Change(replace(self, text=form["text"]), f"text is {form['text']}", (), tuple(edits))


def session(journal):
    return Session(TwoFiles.read(), journal, TwoFiles.read)


def kill_at(number):
    """Have the process killed, as by kill -9, when it is about to put that file in place."""
    place, left = Path.replace, [number]

    def counted(self, target):
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        return place(self, target)

    Path.replace = counted


if __name__ == "__main__":
    number, *words = sys.argv[1:]
    kill_at(int(number))
    if words == ["keep"]:
        session(Journal(Path("state"), FILES)).keep((), {"text": "new"}, "0")
    elif words == ["undo"]:
        session(Journal(Path("state"), FILES)).undo("0")
    else:
        from perfcore.__main__ import main

        sys.argv = ["perf", *words]
        main()
