"""Several subjects side by side: each below a path of its own, and a first view that leads to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from perf_views.contents import (
    Cell,
    Change,
    Check,
    Checkable,
    DataEndpoint,
    Editable,
    Feed,
    Link,
    NoViewError,
    Query,
    Table,
    View,
    Viewable,
    ViewPath,
    nav_links,
    unsaved_of,
)
from perfcore.base.errors import OptionError


class Shelf:
    """Subjects by name."""

    def __init__(self, subjects: Mapping[str, Viewable]) -> None:
        self._subjects = dict(subjects)

    @property
    def title(self) -> str:
        """How many there are."""
        return f"{len(self._subjects)} subjects"

    def view(self, path: ViewPath, query: Query) -> View:
        """The list, or a view of the subject that the path begins with; see `Viewable.view`."""
        if not path:
            rows = tuple((Cell(name, Link("", (name,))), item.title) for name, item in self._subjects.items())
            return View(self.title, (Table(("file", "what it is"), rows),))
        name, *rest = path
        if name not in self._subjects:
            raise NoViewError(path)
        try:
            view = self._subjects[name].view(tuple(rest), query)
        except NoViewError:
            raise NoViewError(path) from None
        return view.mounted((name,), trail=(Link(self.title, ()),))

    def paths(self) -> Iterable[ViewPath]:
        """The list, then the views of one subject after the other."""
        yield ()
        for name, subject in self._subjects.items():
            for path in subject.paths():
                yield (name, *path)

    def ways(self, path: ViewPath, query: Query) -> Iterable[Link]:
        """The subjects, and below the one that is shown its own; see `perf_views.contents.Navigable`."""
        yield Link(self.title, ())
        for name, subject in self._subjects.items():
            yield Link(name, (name,))
            if path[:1] == (name,):
                yield from (way.mounted((name,), {}) for way in nav_links(subject, path[1:], query) if way.path)

    def feed(self, path: ViewPath, query: Query) -> Feed:
        """Pass a question on to its subject; see `DataEndpoint.feed`."""
        subject = self._subjects.get(path[0]) if path else None
        if not isinstance(subject, DataEndpoint):
            raise NoViewError(path)
        return subject.feed(path[1:], query)  # type: ignore[unreachable]

    def act(self, path: ViewPath, form: Query) -> Change:
        """Pass an action on to its subject; see `Editable.act`."""
        subject = self._subjects.get(path[0]) if path else None
        if not isinstance(subject, Editable):
            raise OptionError("there is nothing to change here")
        change = subject.act(path[1:], form)
        changed = Shelf({**self._subjects, path[0]: change.subject})
        return replace(change, subject=changed, path=(path[0], *change.path))

    def check(self, path: ViewPath, form: Query) -> tuple[Check, ...]:
        """Pass what was typed on to its subject; see `Checkable.check`."""
        subject = self._subjects.get(path[0]) if path else None
        return subject.check(path[1:], form) if isinstance(subject, Checkable) else ()  # type: ignore[redundant-expr]

    @property
    def unsaved(self) -> tuple[str, ...]:
        """What stands in no file, of all subjects."""
        return tuple(f"{name}: {text}" for name, subject in self._subjects.items() for text in unsaved_of(subject))
