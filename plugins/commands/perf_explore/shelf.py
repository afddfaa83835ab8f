"""Several subjects side by side: each below a separate path, and a first view that leads to them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import replace

from perf_explore.command_views import CommandViews
from perf_views import contents as page
from perf_views.drawable import report_blocks
from perfcore.base.errors import OptionError, PerfError

_TWO = 2


class Shelf:
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

    def view(self, path: page.ViewPath, query: page.Query) -> page.View:
        """The list, or a view of the subject that the path begins with; see `Viewable.view`."""
        if not path:
            for views in self._commands.values():
                with contextlib.suppress(PerfError):
                    return page.View(self.title, report_blocks(views.answer({}).report()))
            rows = [(page.Cell(_text(name, item), page.Link("", (name,))), item.title) for name, item in self._shown()]
            return page.View(self.title, (page.Table(("file", "what it is"), tuple(rows)),))
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
            for path in () if name == next(iter(self._commands), None) else subject.paths():
                yield (name, *path)

    def ways(self, path: page.ViewPath, query: page.Query) -> Iterable[page.Link]:
        """The subjects, and below the one that is shown its own; see `perf_views.contents.Navigable`."""
        yield page.Link(self.title, ())
        for name, subject in self._shown():
            yield page.Link(_text(name, subject), (name,))
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
        subjects = {name: item for name, item in self._subjects.items() if name not in self._commands}
        changed = Shelf({**subjects, path[0]: change.subject}, self._commands)
        return replace(change, subject=changed, path=(path[0], *change.path))

    def _shown(self) -> list[tuple[str, page.Viewable]]:
        return [item for item in self._subjects.items() if not getattr(item[1], "failed", False)]


def _text(name: str, subject: page.Viewable) -> str:
    """What a subject is called: a command by its title, a file by its name."""
    return subject.title if isinstance(subject, CommandViews) else name
