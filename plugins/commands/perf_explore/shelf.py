"""Several subjects side by side: each below a separate path, and a first view that leads to them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import replace

from perf_explore.command_views import CommandViews
from perf_views import contents as page
from perf_views.contents import report_blocks
from perfcore.base.errors import OptionError, PerfError

_TWO = 2


class Nested:
    """Subjects below one first view, each below the name that its paths begin with."""

    @property
    def title(self) -> str:
        raise NotImplementedError

    def below(self) -> Mapping[str, page.Viewable]:
        """Return the subjects by name."""
        raise NotImplementedError

    def first_view(self, query: page.Query) -> page.View:
        """Return the view above the subjects."""
        raise NotImplementedError

    def view(self, path: page.ViewPath, query: page.Query) -> page.View:
        """Return the first view, or one of the subject that the path begins with; see `Viewable.view`."""
        if not path:
            return self.first_view(query)
        try:
            view = self.below()[path[0]].view(path[1:], query)
        except (KeyError, page.NoViewError):
            raise page.NoViewError(path) from None
        return view.mounted(path[:1], trail=(page.Link(self.title, ()),))

    def paths(self) -> Iterable[page.ViewPath]:
        """Return the first view, then the views of one subject after the other."""
        yield ()
        for name, subject in self.below().items():
            yield from ((name, *path) for path in subject.paths())

    def ways(self, path: page.ViewPath, query: page.Query) -> Iterable[page.Link]:
        """Return the subjects that say anything, and below the one that is shown its own ways; see `Navigable`."""
        yield page.Link(self.title, ())
        for name, subject in self.below().items():
            if not getattr(subject, "failed", False):
                yield page.Link(self.name_of(name, subject), (name,))
                if path[:1] == (name,):
                    ways = page.nav_links(subject, path[1:], query)
                    yield from (way.mounted((name,), {}) for way in ways if way.path)

    def name_of(self, name: str, subject: page.Viewable) -> str:
        """Return what a subject is called."""
        return subject.title

    def feed(self, path: page.ViewPath, query: page.Query) -> page.Feed:
        """Pass a question on to its subject; see `DataEndpoint.feed`."""
        subject = self.below().get(path[0]) if path else None
        if not isinstance(subject, page.DataEndpoint):
            raise page.NoViewError(path)
        return subject.feed(path[1:], query)  # type: ignore[unreachable]


class Shelf(Nested):
    """Subjects by name, and what commands answer about all of them."""

    def __init__(
        self, subjects: Mapping[str, page.Viewable], commands: Mapping[str, CommandViews] | None = None
    ) -> None:
        self._commands = dict(commands or {})
        self._subjects: dict[str, page.Viewable] = {**self._commands, **subjects}

    @property
    def title(self) -> str:
        names = [name for name in self._subjects if name not in self._commands]
        return " and ".join(names) if self._commands and len(names) == _TWO else f"{len(names)} subjects"

    def below(self) -> Mapping[str, page.Viewable]:
        return self._subjects

    def name_of(self, name: str, subject: page.Viewable) -> str:
        return subject.title if isinstance(subject, CommandViews) else name

    def first_view(self, query: page.Query) -> page.View:
        for views in self._commands.values():
            with contextlib.suppress(PerfError):
                return page.View(self.title, report_blocks(views.answer({}).report()))
        rows = [
            (page.Cell(self.name_of(name, item), page.Link("", (name,))), item.title)
            for name, item in self._subjects.items()
            if not getattr(item, "failed", False)
        ]
        return page.View(self.title, (page.Table(("file", "what it is"), tuple(rows)),))

    def paths(self) -> Iterable[page.ViewPath]:
        first_answer = next(iter(self._commands), None)  # the first view shows it
        return (path for path in super().paths() if not path or path[0] != first_answer)

    def act(self, path: page.ViewPath, form: page.Query) -> page.Change:
        """Pass an action on to its subject; see `Editable.act`."""
        subject = self._subjects.get(path[0]) if path else None
        if not isinstance(subject, page.Editable):
            raise OptionError("nothing to edit in this view")
        change = subject.act(path[1:], form)
        subjects = {name: item for name, item in self._subjects.items() if name not in self._commands}
        changed = Shelf({**subjects, path[0]: change.subject}, self._commands)
        return replace(change, subject=changed, path=(path[0], *change.path))
