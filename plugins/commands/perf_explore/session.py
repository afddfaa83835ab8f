"""What one page works on: the present subject, changes before they are kept, and the way back."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from perf_explore.journal import Journal
from perf_views.contents import Link, NoViewError, Query, View, Viewable, ViewPath
from perf_views.edits import Change, Check, Checkable, Editable, FileEdit, unsaved_of
from perf_views.feeds import Feed, Feeding
from perf_views.kept_changes import KeptChange, KeptFile, content, digest, put
from perf_views.ways import ways_of
from perfcore.base.errors import DataError, OptionError, PerfError

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
        summaries = "; ".join(kept) or "something else"
        super().__init__(
            f"meanwhile another tab kept: {summaries}. Your edit was not applied, and nothing of it is lost: it stands "
            "below; look at it against what holds now"
        )


@dataclass(frozen=True)
class _Step:
    """What was kept, and what it took the place of; None where an earlier run of the program kept it."""

    kept: KeptChange
    before: Viewable | None


class Session:
    """The state behind a page; several tabs share it.

    Each edit carries the version that it was begun at, and is refused where another one was kept since.

    Parameters
    ----------
    subject : Viewable
    journal : Journal, optional
        Of what was kept, so that it can be undone after a restart; by default undo ends with the session.
    reopen : callable, optional
        Gives the subject as its files have it. It goes with a journal: what an earlier run changed is taken back in
        the files, and then looked at anew.

    Examples
    --------
    >>> from perf_views.drawable import DrawableViews
    >>> import perfcore
    >>> model = perfcore.fit(perfcore.UtilizationCurve([0, 4, 10], [2, 8]), phases=2, degree=0)
    >>> session = Session(DrawableViews(model))
    >>> session.view((), {}).title, session.version, session.undoable
    ('2 phases of curve', '0', None)
    """

    def __init__(
        self, subject: Viewable, journal: Journal | None = None, reopen: Callable[[], Viewable] | None = None
    ) -> None:
        self._subject, self._journal, self._reopen = subject, journal, reopen
        self._log: list[str] = []  # what was kept or undone, in order: one line for each version
        self._steps: list[_Step] = []
        if journal is not None and reopen is not None:
            self._steps = [_Step(kept, None) for kept in journal.changes()]
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
        return self._steps[-1].kept.summary if self._steps else None

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the user must know of the files, such as that one was mended."""
        return () if self._journal is None else tuple(self._journal.remarks)

    @property
    def unsaved(self) -> tuple[str, ...]:
        """What was made on the page and stands in no file."""
        return unsaved_of(self._subject)

    def view(self, path: ViewPath, query: Query) -> View:
        """A view of the present subject; see `Viewable.view`."""
        return self._subject.view(path, query)

    def ways(self, path: ViewPath, query: Query) -> tuple[Link, ...]:
        """Where one can go from a view; see `perf_views.ways.ways_of`. Nowhere if that cannot be told."""
        try:
            return ways_of(self._subject, path, query)
        except PerfError:
            return ()

    def feed(self, path: ViewPath, query: Query) -> Feed:
        """What a script of the page asks for; see `Feeding.feed`."""
        if not isinstance(self._subject, Feeding):
            raise NoViewError(path)
        return self._subject.feed(path, query)

    def check(self, path: ViewPath, form: Query) -> tuple[Check, ...]:
        """What is to be said of an action while it is typed; nothing where the subject does not check."""
        return self._subject.check(path, form) if isinstance(self._subject, Checkable) else ()

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
        place_path, query = place or (path, {})
        files = [KeptFile(str(edit.path.resolve()), edit.before, digest(edit.after)) for edit in change.files]
        kept = KeptChange(change.summary, place_path, dict(query), tuple(files))
        with contextlib.nullcontext() if self._journal is None or not files else self._journal.keeping(kept):
            _write(change.files)
        self._steps.append(_Step(kept, self._subject))
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
        kept, before = self._steps[-1].kept, self._steps[-1].before
        with contextlib.nullcontext() if self._journal is None or not kept.files else self._journal.undoing(kept):
            edits = [_taking_back(file) for file in kept.files]
            _write(edits)
            if before is None:
                before = self._reopened(edits)
        self._steps.pop()
        self._advance(before, f"undo: {kept.summary}")
        return kept.path, kept.query

    def _reopened(self, edits: Sequence[FileEdit]) -> Viewable:
        """The subject as its files have it now; where they cannot be read so, they are as they were."""
        assert self._reopen is not None, "steps of an earlier run come with a way to reopen"
        try:
            return self._reopen()
        except PerfError:
            _write([FileEdit(edit.path, edit.after, edit.before) for edit in edits])
            raise

    def _check(self, version: str) -> None:
        if version != self.version:
            in_log = version.isascii() and version.isdecimal() and int(version) < len(self._log)
            raise StaleEditError(self._log[int(version) :] if in_log else ())

    def _advance(self, subject: Viewable, summary: str) -> None:
        self._subject = subject
        self._log.append(summary)
        self._previews.clear()


def _taking_back(file: KeptFile) -> FileEdit:
    """The edit that gives a file what it held before a change.

    Raises
    ------
    DataError
        It holds something else than the change wrote.
    """
    path = Path(file.path)
    now = content(path)
    if digest(now) != file.after:
        raise DataError(_changed_by_others(path))
    return FileEdit(path, now, file.before)


def _write(edits: Sequence[FileEdit]) -> None:
    """Write all files or none; on a disk that is full what was written may have to wait for the journal's mending."""
    for edit in edits:
        if content(edit.path) != edit.before:
            raise DataError(_changed_by_others(edit.path))
    written: list[FileEdit] = []
    try:
        for edit in edits:
            put(edit.path, edit.after)
            written.append(edit)
    except PerfError as error:
        stuck = []
        for edit in written:
            try:
                put(edit.path, edit.before)
            except PerfError:
                stuck.append(str(edit.path))
        if stuck:
            problem = f"{error}; nor can {', '.join(stuck)} be put back now: make room, and open the page again"
            raise DataError(problem) from error
        raise


def _changed_by_others(path: Path) -> str:
    return (
        f"{path}: the file was changed by someone else since it was read; nothing was written. Save what you typed "
        "elsewhere, and open the page again"
    )
