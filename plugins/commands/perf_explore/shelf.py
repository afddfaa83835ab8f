"""Several subjects side by side: each below a separate path, and a first view that leads to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from perf_views import contents as page
from perfcore.base.errors import OptionError


class Shelf:
    """Subjects by name."""

    def __init__(self, subjects: Mapping[str, page.Viewable]) -> None:
        self._subjects = dict(subjects)

    @property
    def title(self) -> str:
        return f"{len(self._subjects)} subjects"

    def view(self, path: page.ViewPath, query: page.Query) -> page.View:
        """The list, or a view of the subject that the path begins with; see `Viewable.view`."""
        if not path:
            rows = tuple((page.Cell(name, page.Link("", (name,))), item.title) for name, item in self._subjects.items())
            return page.View(self.title, (page.Table(("file", "what it is"), rows),))
        name, *rest = path
        if name not in self._subjects:
            raise page.NoViewError(path)
        try:
            view = self._subjects[name].view(tuple(rest), query)
        except page.NoViewError:
            raise page.NoViewError(path) from None
        return view.mounted((name,), trail=(page.Link(self.title, ()),))

    def paths(self) -> Iterable[page.ViewPath]:
        """The list, then the views of one subject after the other."""
        yield ()
        for name, subject in self._subjects.items():
            for path in subject.paths():
                yield (name, *path)

    def ways(self, path: page.ViewPath, query: page.Query) -> Iterable[page.Link]:
        """The subjects, and below the one that is shown its own; see `perf_views.contents.Navigable`."""
        yield page.Link(self.title, ())
        for name, subject in self._subjects.items():
            yield page.Link(name, (name,))
            if path[:1] == (name,):
                yield from (way.mounted((name,), {}) for way in page.nav_links(subject, path[1:], query) if way.path)

    def feed(self, path: page.ViewPath, query: page.Query) -> page.Feed:
        """Pass a question on to its subject; see `DataEndpoint.feed`."""
        subject = self._subjects.get(path[0]) if path else None
        if not isinstance(subject, page.DataEndpoint):
            raise page.NoViewError(path)
        return subject.feed(path[1:], query)  # type: ignore[unreachable]

    def act(self, path: page.ViewPath, form: page.Query) -> page.Change:
        """Pass an action on to its subject; see `Editable.act`."""
        subject = self._subjects.get(path[0]) if path else None
        if not isinstance(subject, page.Editable):
            raise OptionError("nothing to edit in this view")
        change = subject.act(path[1:], form)
        changed = Shelf({**self._subjects, path[0]: change.subject})
        return replace(change, subject=changed, path=(path[0], *change.path))
