"""What one page works on: the present subject, changes before they are kept, and the way back."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perfcore.errors import DataError, InputError, OptionError, PerfError
from perfcore.files import write_bytes
from perfcore.view.contents import Query, View, Viewable, ViewPath
from perfcore.view.edits import Change, Editable, FileEdit

__all__ = ["Place", "Session", "StaleEditError"]

Place = tuple[ViewPath, Query]  # a view in a state

_MOST_PREVIEWS = 8  # refits that are remembered until they are kept or given up


class StaleEditError(PerfError):
    """An edit that was begun before another one was kept.

    Parameters
    ----------
    kept : sequence of str
        What was kept in between.
    """

    def __init__(self, kept: Sequence[str]) -> None:
        what = "; ".join(kept) or "something else"
        super().__init__(
            f"meanwhile another tab kept: {what}. Your edit was not applied, and nothing of it is lost: it stands "
            "below; look at it against what holds now"
        )


@dataclass(frozen=True)
class _Step:
    """What was kept, and what it took the place of."""

    summary: str
    before: Viewable
    files: tuple[FileEdit, ...]
    place: Place


class Session:
    """The state behind a page; several tabs share it.

    Each edit carries the version that it was begun at, and is refused where another one was kept since.

    Parameters
    ----------
    subject : Viewable

    Examples
    --------
    >>> from perfcore.view.drawable_views import DrawableViews
    >>> import perfcore
    >>> model = perfcore.fit(perfcore.UtilizationCurve([0, 4, 10], [2, 8]), phases=2, degree=0)
    >>> session = Session(DrawableViews(model))
    >>> session.view((), {}).title, session.version, session.undoable
    ('2 phases of curve', '0', None)
    """

    def __init__(self, subject: Viewable) -> None:
        self._subject = subject
        self._log: list[str] = []  # what was kept or undone, in order: one line for each version
        self._steps: list[_Step] = []
        self._previews: OrderedDict[tuple[str, ViewPath, tuple[tuple[str, str], ...]], Change] = OrderedDict()

    @property
    def subject(self) -> Viewable:
        """What is shown now."""
        return self._subject

    @property
    def version(self) -> str:
        """Changes with everything that is kept or undone."""
        return str(len(self._log))

    @property
    def undoable(self) -> str | None:
        """What undo would take back; None where there is nothing."""
        return self._steps[-1].summary if self._steps else None

    def view(self, path: ViewPath, query: Query) -> View:
        """A view of the present subject; see `Viewable.view`."""
        return self._subject.view(path, query)

    def preview(self, path: ViewPath, form: Query, version: str) -> Change:
        """What an action would change.

        Raises
        ------
        StaleEditError
            Something was kept since.
        PerfError
            The subject has no actions, or refuses this one.
        """
        self._check(version)
        if not isinstance(self._subject, Editable):
            raise OptionError("there is nothing to change here")
        key = (version, path, tuple(sorted(form.items())))
        if key not in self._previews:
            self._previews[key] = self._subject.act(path, form)
            if len(self._previews) > _MOST_PREVIEWS:
                self._previews.popitem(last=False)
        return self._previews[key]

    def keep(self, path: ViewPath, form: Query, version: str, place: Place | None = None) -> Change:
        """Make a change, and write its files.

        Parameters
        ----------
        path : tuple of str
        form : mapping of str to str
        version : str
        place : (tuple of str, mapping of str to str), optional
            The view in its state that the change was made from; by default the view at the action's path.

        Raises
        ------
        StaleEditError, PerfError
            As `preview`.
        DataError
            A file holds something else than the change was made from.
        InputError
            A file cannot be written; then none is changed.
        """
        change = self.preview(path, form, version)
        _write(change.files)
        self._steps.append(_Step(change.summary, self._subject, change.files, place or (path, {})))
        self._advance(change.subject, change.summary)
        return change

    def undo(self, version: str) -> Place:
        """Take the last change back, in the files too; returns where it was made.

        Raises
        ------
        StaleEditError, DataError, InputError
            As `keep`.
        OptionError
            There is nothing to undo.
        """
        self._check(version)
        if not self._steps:
            raise OptionError("there is nothing to undo")
        step = self._steps[-1]
        _write([replace(edit, before=edit.after, after=edit.before) for edit in step.files])
        self._steps.pop()
        self._advance(step.before, f"undo: {step.summary}")
        return step.place

    def _check(self, version: str) -> None:
        if version != self.version:
            known = version.isascii() and version.isdecimal() and int(version) < len(self._log)
            raise StaleEditError(self._log[int(version) :] if known else ())

    def _advance(self, subject: Viewable, what: str) -> None:
        self._subject = subject
        self._log.append(what)
        self._previews.clear()


def _write(edits: Sequence[FileEdit]) -> None:
    """Write all files or none."""
    for edit in edits:
        if _content(edit.path) != edit.before:
            raise DataError(
                f"{edit.path}: the file was changed by someone else since it was read; nothing was written. Save what "
                "you typed elsewhere, and open the page again"
            )
    done: list[FileEdit] = []
    try:
        for edit in edits:
            _put(edit.path, edit.after)
            done.append(edit)
    except PerfError:
        for edit in done:
            with contextlib.suppress(PerfError):  # the first error is the one to report
                _put(edit.path, edit.before)
        raise


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror or error}") from error


def _put(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink(missing_ok=True)
    else:
        write_bytes(path, content)
