"""Whole pages and reports by their templates: the frame around a view, the preview of a change, what went wrong."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from itertools import islice
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

from perf_explore.blocks import Writer, colour_sheet, script_data, templates
from perf_views.colours import ON_DARK
from perf_views.contents import Action, Change, Link, Notice, Query, View, Viewable, ViewPath
from perfcore.base.errors import PerfError
from perfcore.report import Plot

# Addresses and fields of the page itself; views keep clear of them.
SCRIPTS = {"/-/page.js": "page.js", "/-/charts.js": "charts.js", "/-/timeline.js": "timeline/timeline.js"}
BOKEH, UNDO, WINDOW = "/-/bokeh.js", "/-/undo", "/-/window"
VERSION, STEP, PLACE = "_version", "_step", "_from"

MOST_VIEWS = 20  # a view with charts takes some 50 kB and half a second: such a report still opens at once
_MORE = "`perf explore --views N` takes more, `perf explore` has all."
_REPORT_SCRIPTS = ("report.js", "charts.js")


@dataclass
class _Branch:
    """What stands below one part of a path."""

    path: ViewPath = ()
    text: str = ""
    link: Link | None = None
    below: dict[str, _Branch] = field(default_factory=dict)


def _tree(ways: Iterable[Link], current: Link) -> _Branch | None:
    """Return links by their paths, that of the view that is shown among them; None if there is no other."""
    top, paths = _Branch(), set[ViewPath]()
    for way in (*ways, current):
        if way.path in paths:
            continue
        paths.add(way.path)
        branch = top
        for part in way.path:
            branch = branch.below.setdefault(part, _Branch((*branch.path, part), part))
        branch.link, branch.text = way, way.text or branch.text
    return top if len(paths) > 1 else None


def address(path: ViewPath, query: Query) -> str:
    """Return the address of a view on the page."""
    return "/" + "/".join(quote(part, safe="") for part in path) + (f"?{urlencode(query)}" if query else "")


def path_of(raw: str) -> ViewPath:
    """Return the view that an address names, as yet encoded and without its query."""
    return tuple(unquote(part) for part in raw.split("/") if part)


def place_of(text: str) -> tuple[ViewPath, dict[str, str]]:
    """Return the view and its state that an address names."""
    raw, _, query = text.partition("?")
    return path_of(raw), dict(parse_qsl(query, keep_blank_values=True))


@functools.cache
def asset(name: str) -> str:
    """Return the text of a file that ships with this module."""
    return resources.files("perf_explore").joinpath(name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Frame:
    """What every page of a session has around its view."""

    title: str  # of the subject
    version: str  # goes with every action
    undoable: str | None  # what the button of undo takes back
    ways: tuple[Link, ...] = ()  # what is listed next to the view
    keep: Callable[[Plot], str] | None = None  # the address of finer parts of a plot

    def view(self, view: View, query: Query | None = None, notices: Sequence[Notice] = ()) -> str:
        """Return a page with one view, in the state that the query names."""
        writer = self._writer(address(view.path, query or {}))
        body = writer.blocks(notices) + writer.view(view)
        return self._page(view.title, (*view.trail, Link(view.title, view.path)), body=body)

    def preview(self, change: Change, path: ViewPath, form: Query, place: str) -> str:
        """A page that shows what a change would do, with the buttons that keep it or lead back to what was typed."""
        preview = {
            "summary": change.summary, "blocks": self._writer(place).blocks(change.blocks), "action": address(path, {}),
            "fields": {**form, VERSION: self.version, PLACE: place},
        }  # fmt: skip
        trail = (Link(self.title, ()), Link("Preview of changes", path))
        return self._page("Preview of changes", trail, preview=preview)

    def refused(self, message: str, action: Action, place: str) -> str:
        """Return a page about an action that was refused, with everything that was typed, ready to be sent again."""
        body = self._writer(place).blocks([Notice(message, "error"), replace(action, title="Your input")])
        trail = (Link(self.title, ()), Link("Change refused", action.path))
        return self._page("Change refused", trail, body=body, back={"address": place, "text": "Back to the view"})

    def failed(self, title: str, message: str) -> str:
        """Return a page about a view that cannot be shown."""
        body = self._writer("/").blocks([Notice(message, "error")])
        trail = (Link(self.title, ()), Link(title, ()))
        return self._page(title, trail, body=body, back={"address": "/", "text": "Home"})

    def _writer(self, place: str) -> Writer:
        return Writer(address, hidden={VERSION: self.version, PLACE: place}, keep=self.keep)

    def _page(self, title: str, trail: Sequence[Link], **content: Any) -> str:
        content = {"body": "", "preview": None, "back": None, **content}
        return document(
            title if title == self.title else f"{title} - {self.title}", "page.html", heading=title, trail=trail,
            current=trail[-1], ways=_tree(self.ways, trail[-1]), undoable=self.undoable, version=self.version,
            address=address, undo=UNDO, version_field=VERSION, step_field=STEP, scripts=list(SCRIPTS), **content,
        )  # fmt: skip


def document(
    title: str, template: str = "document.html", styles: Sequence[str] = ("page.css",), policy: str = "", **content: Any
) -> str:
    """Return a whole HTML document with its style sheets in it, and a policy of contents if no server sends one."""
    sheets = colour_sheet() + "".join(map(asset, styles))
    page = templates().get_template(template)
    return page.render(title=title, sheets=sheets, policy=policy, on_dark=script_data(ON_DARK), **content)


def report_text(
    subject: Viewable, most_views: int = MOST_VIEWS, has_more: str = _MORE, draws_static: bool = False
) -> str:
    """Return one HTML document with everything in it, read-only; links lead to its other sections."""
    first_paths = list(islice(subject.paths(), most_views + 1))
    paths, more = first_paths[:most_views], ""
    if len(first_paths) > most_views:
        more = f"{'The first view' if most_views == 1 else f'The first {most_views} views'}; {has_more}"
    places, sections, has_charts = set(paths), [], False

    def section_of(path: ViewPath, query: Query) -> str | None:
        # A link to another state of a view, such as a zoom, has no section.
        return f"#{_anchor(path)}" if path in places and not query else None

    views = [_view(subject, path) for path in paths]
    for number, view in enumerate(views, 1):
        heading = "" if _name(view) == subject.title else _name(view)
        level = 3 if heading else 2  # else h1 stands above
        writer = Writer(section_of, is_live=False, name=f"s{number}-", level=level, draws_static=draws_static)
        sections.append({"anchor": _anchor(view.path), "heading": heading, "body": writer.view(view)})
        has_charts = has_charts or writer.has_charts
    scripts = [asset(name) for name in _REPORT_SCRIPTS]
    if has_charts:
        from perf_views.bokeh_marks import bokeh_script

        scripts.insert(0, bokeh_script())
    # A browser may run these scripts, and fetch nothing.
    sums = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{each}'" for each in sums)
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {allowed}"
    return document(
        subject.title, "report.html", ("page.css", "report.css"), policy, items=_items(views), more=more,
        has_top=views[0].title != subject.title, sections=sections, scripts=scripts,
    )  # fmt: skip


def _items(views: Sequence[View]) -> list[dict[str, Any]]:
    """Links to all sections, in their order; what belongs to the one above stands below it, further to the right."""
    items: list[dict[str, Any]] = []
    above: list[ViewPath] = []
    for view in views:
        belongs_to = view.trail[-1].path if len(view.trail) > 1 else None
        while above and above[-1] != belongs_to:
            above.pop()
        name = _name(view)
        text = view.title if above else name
        items.append({"depth": len(above), "anchor": _anchor(view.path), "name": name, "text": text})
        above.append(view.path)
    return items


def _view(subject: Viewable, path: ViewPath) -> View:
    """Return a view, or in its place why there is none: one that fails must not cost the others."""
    try:
        return subject.view(path, {})
    except PerfError as error:
        return View(path[-1] if path else subject.title, (Notice(str(error), "error"),), path)


def _name(view: View) -> str:
    """Return the title with what it belongs to, if that is not the whole."""
    return ": ".join([*(link.text for link in view.trail[1:]), view.title])


def _anchor(path: ViewPath) -> str:
    return "view" + "".join(f"/{quote(part, safe='')}" for part in path)
