"""What one page works on: the present subject, changes before they are kept, and the way back."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from perf_views import contents as page
from perfcore.base.errors import DataError, InputError, OptionError, PerfError
from perfcore.base.files import write_bytes

Place = tuple[page.ViewPath, page.Query]  # a view in a state

_MOST_PREVIEWS = 8  # refits that are remembered until they are kept or given up
_MOST_WAYS = 80  # more are not looked through; search fields and tables lead to the rest


class StaleEditError(PerfError):
    """An edit that was begun before another one was kept."""

    def __init__(self, kept: Sequence[str]) -> None:
        summaries = "; ".join(kept) or "something else"
        super().__init__(
            f"meanwhile another tab kept: {summaries}. Your edit was not applied, and nothing of it is lost: it stands "
            "below; look at it against what holds now"
        )


@dataclass(frozen=True)
class _Step:
    """What was kept, where, the files that it wrote, and the subject that it took the place of."""

    summary: str
    place: Place
    files: tuple[page.FileEdit, ...]
    before: page.Viewable


class Session:
    """The state behind a page, which several tabs share: an edit is refused if another one was kept since it began."""

    def __init__(self, subject: page.Viewable) -> None:
        self.subject = subject
        self._log: list[str] = []  # what was kept or undone, in order: one line for each version
        self._steps: list[_Step] = []
        self._previews: OrderedDict[tuple[str, page.ViewPath, tuple[tuple[str, str], ...]], page.Change] = OrderedDict()

    @property
    def version(self) -> str:
        """Changes with everything that is kept or undone."""
        return str(len(self._log))

    @property
    def undoable(self) -> str | None:
        """What undo would take back; None if there is nothing."""
        return self._steps[-1].summary if self._steps else None

    def view(self, path: page.ViewPath, query: page.Query) -> page.View:
        """Return a view of the present subject; see `Viewable.view`."""
        return page.headed(self.subject, self.subject.view(path, query))

    def ways(self, path: page.ViewPath, query: page.Query) -> tuple[page.Link, ...]:
        """Return where one can go from a view; see `Viewable.ways`. Empty if unknown."""
        try:
            return tuple(itertools.islice(self.subject.ways(path, query), _MOST_WAYS))
        except PerfError:
            return ()

    def preview(self, path: page.ViewPath, form: page.Query, version: str) -> page.Change:
        """Return what an action would change."""
        self._check(version)
        key = (version, path, tuple(sorted(form.items())))
        if key not in self._previews:
            self._previews[key] = self.subject.act(path, form)
            if len(self._previews) > _MOST_PREVIEWS:
                self._previews.popitem(last=False)
        return self._previews[key]

    def keep(self, path: page.ViewPath, form: page.Query, version: str, place: Place | None = None) -> page.Change:
        """Make a change, and write its files; their previous versions stay as ``.bak``."""
        change = self.preview(path, form, version)
        files = tuple(page.FileEdit(edit.path.resolve(), edit.before, edit.after) for edit in change.files)
        _write(files, has_backup=True)
        self._steps.append(_Step(change.summary, place or (path, {}), files, self.subject))
        self._advance(change.subject, change.summary)
        return change

    def undo(self, version: str) -> Place:
        """Take the last change back, in the files too; returns where it was made."""
        self._check(version)
        if not self._steps:
            raise OptionError("there is nothing to undo")
        step = self._steps[-1]
        _write([page.FileEdit(edit.path, edit.after, edit.before) for edit in step.files])
        self._steps.pop()
        self._advance(step.before, f"undo: {step.summary}")
        return step.place

    def _check(self, version: str) -> None:
        if version != self.version:
            in_log = version.isascii() and version.isdecimal() and int(version) < len(self._log)
            raise StaleEditError(self._log[int(version) :] if in_log else ())

    def _advance(self, subject: page.Viewable, summary: str) -> None:
        self.subject = subject
        self._log.append(summary)
        self._previews.clear()


def _write(edits: Sequence[page.FileEdit], has_backup: bool = False) -> None:
    """Write all files or none."""
    for edit in edits:
        if page.content(edit.path) != edit.before:
            raise DataError(
                f"{edit.path}: file modified by another program since it was read; nothing was written. Save your "
                "input elsewhere, and open the page again"
            )
    written: list[page.FileEdit] = []
    try:
        for edit in edits:
            if has_backup and edit.before is not None:
                write_bytes(f"{edit.path}.bak", edit.before)
            _put(edit.path, edit.after)
            written.append(edit)
    except PerfError:
        for edit in written:
            _put(edit.path, edit.before)
        raise


def _put(path: Path, content: bytes | None) -> None:
    """Write a file whole, or remove it."""
    if content is not None:
        write_bytes(path, content)
        return
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(path, f"cannot be removed: {error.strerror or error}") from error
