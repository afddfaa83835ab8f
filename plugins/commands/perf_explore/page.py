"""Whole pages: the frame around a view, the preview of a change, and what went wrong."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from importlib import resources
from itertools import islice
from urllib.parse import parse_qsl, quote, unquote, urlencode

from perf_explore.blocks import Writer, colour_sheet
from perf_views.contents import Action, Change, Link, Notice, Query, View, Viewable, ViewPath
from perfcore.base.errors import PerfError

_MOST_OPEN = 8  # views below one that are shown without being asked for


@dataclass
class _Branch:
    """What stands below one part of a path."""

    name: str = ""
    link: Link | None = None
    below: dict[str, _Branch] = field(default_factory=dict)


def navigation(ways: Iterable[Link], current: Link, writer: Writer) -> str:
    """A tree of links, in which the view that is shown is marked."""
    top, paths = _Branch(), set[ViewPath]()
    for way in (*ways, current):
        if way.path not in paths:
            paths.add(way.path)
            _branch_at(top, way.path).link = way
    if len(paths) < 2:
        return ""
    first = "" if top.link is None else f"<p>{_linked(top, current, writer)}</p>"
    return f'<nav class="side" aria-label="Views">{first}{_list(top, (), current, writer)}</nav>'


def _branch_at(top: _Branch, path: ViewPath) -> _Branch:
    branch = top
    for part in path:
        branch = branch.below.setdefault(part, _Branch(part))
    return branch


def _list(branch: _Branch, path: ViewPath, current: Link, writer: Writer) -> str:
    items = "".join(f"<li>{_item(each, (*path, name), current, writer)}</li>" for name, each in branch.below.items())
    return f"<ul>{items}</ul>" if items else ""


def _item(branch: _Branch, path: ViewPath, current: Link, writer: Writer) -> str:
    """A link, or what it groups; what is not on the way to the view that is shown, and long, is folded."""
    below = _list(branch, path, current, writer)
    if not below:
        return _linked(branch, current, writer)
    is_open = len(branch.below) <= _MOST_OPEN or current.path[: len(path)] == path
    if branch.link is not None:
        return _linked(branch, current, writer) + (below if is_open else "")
    return f"<details{' open' if is_open else ''}><summary>{escape(branch.name)}</summary>{below}</details>"


def _linked(branch: _Branch, current: Link, writer: Writer) -> str:
    link = branch.link
    assert link is not None, "only what has a link stands without anything below it"
    text = escape(link.text or branch.name)
    marked = ' aria-current="page"' if link.path == current.path else ""
    return f'<a href="{escape(writer.address(link.path, link.query) or "")}" title="{text}"{marked}>{text}</a>'


# Addresses and fields of the page itself; views keep clear of them.
SCRIPTS = {"/-/page.js": "page.js", "/-/timeline.js": "timeline/timeline.js"}
UNDO = "/-/undo"
VERSION, STEP, PLACE = "_version", "_step", "_from"


def address(path: ViewPath, query: Query) -> str:
    """The address of a view on the page."""
    return "/" + "/".join(quote(part, safe="") for part in path) + (f"?{urlencode(query)}" if query else "")


def path_of(raw: str) -> ViewPath:
    """The view that an address names, as yet encoded and without its query."""
    return tuple(unquote(part) for part in raw.split("/") if part)


def place_of(text: str) -> tuple[ViewPath, dict[str, str]]:
    """The view and its state that an address names."""
    raw, _, query = text.partition("?")
    return path_of(raw), dict(parse_qsl(query, keep_blank_values=True))


def asset(name: str) -> str:
    """Text of a file that ships with this module."""
    return resources.files("perf_explore").joinpath(name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Frame:
    """What every page of a session has around its view."""

    title: str  # of the subject
    version: str  # goes with every action
    undoable: str | None  # what the button of undo takes back
    ways: tuple[Link, ...] = ()  # what is listed next to the view

    def view(self, view: View, query: Query | None = None, notices: Sequence[Notice] = ()) -> str:
        """A page with one view, in the state that the query names."""
        writer = self._writer(address(view.path, query or {}))
        above = "".join(map(writer.block, notices))
        return self._page(view.title, above + writer.view(view), (*view.trail, Link(view.title, view.path)))

    def preview(self, change: Change, path: ViewPath, form: Query, place: str) -> str:
        """A page that shows what a change would do, with the buttons that keep it or lead back to what was typed."""
        writer = self._writer(place)
        fields = {**form, VERSION: self.version, PLACE: place}
        hidden = "".join(
            f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">' for name, value in fields.items()
        )
        body = (
            f"<p>{escape(change.summary)}. Nothing is written yet.</p>{''.join(map(writer.block, change.blocks))}"
            f'<form method="post" action="{escape(address(path, {}))}">{hidden}'
            f'<p><button name="{STEP}" value="keep">Keep</button> '
            f'<button name="{STEP}" value="leave" class="quiet">Discard</button></p></form>'
        )
        return self._page("Preview of changes", body, (Link(self.title, ()), Link("Preview of changes", path)))

    def refused(self, message: str, action: Action, place: str) -> str:
        """A page about an action that was refused, with everything that was typed, ready to be sent again."""
        writer = self._writer(place)
        body = (
            writer.block(Notice(message, "error"))
            + writer.block(replace(action, title="Your input"))
            + f'<p><a href="{escape(place)}">Back to the view</a></p>'
        )
        return self._page("Change refused", body, (Link(self.title, ()), Link("Change refused", action.path)))

    def failed(self, title: str, message: str) -> str:
        """A page about a view that cannot be shown."""
        body = self._writer("/").block(Notice(message, "error")) + '<p><a href="/">Home</a></p>'
        return self._page(title, body, (Link(self.title, ()), Link(title, ())))

    def _writer(self, place: str) -> Writer:
        return Writer(address, hidden={VERSION: self.version, PLACE: place})

    def _page(self, title: str, body: str, trail: Sequence[Link]) -> str:
        *above, current = trail
        writer = Writer(address)
        steps = "".join(f"<li>{writer.link(link)}</li>" for link in above)
        undo = ""
        if self.undoable is not None:
            undo = (
                f'<form method="post" action="{UNDO}"><input type="hidden" name="{VERSION}" '
                f'value="{escape(self.version)}"><button class="quiet">Undo: {escape(self.undoable)}</button></form>'
            )
        return document(
            title if title == self.title else f"{title} - {self.title}",
            '<a class="skip" href="#main">To the content</a>'
            f'<header><nav aria-label="Where you are"><ol>{steps}'
            f'<li aria-current="page">{escape(current.text)}</li></ol></nav>{undo}</header>'
            f'<div class="columns">{navigation(self.ways, current, writer)}'
            f'<main id="main" tabindex="-1"><h1>{escape(title)}</h1>{body}</main>'
            "</div>" + "".join(f'<script src="{script}" defer></script>' for script in SCRIPTS),
        )


def document(title: str, body: str, styles: Sequence[str] = ("page.css",), policy: str = "") -> str:
    """A whole HTML document with its style sheets in it, and a policy of contents where no server sends one."""
    policy_tag = f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">' if policy else ""
    sheets = colour_sheet() + "".join(map(asset, styles))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">{policy_tag}'
        '<meta name="generator" content="perfcore">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="icon" href="data:,"><style>{sheets}</style>'
        f"</head><body>{body}</body></html>"
    )


MOST_VIEWS = 60  # a view with a picture takes some 80 kB: such a report still opens at once and can be mailed
_MORE = "`perf explore --views N` takes more, `perf explore` has all."
_SCRIPTS = ("report.js",)
_TOP = "top"


def report_text(
    subject: Viewable, most_views: int = MOST_VIEWS, remarks: Sequence[str] = (), has_more: str = _MORE
) -> str:
    """One HTML document with everything in it, read-only; links lead to its other sections."""
    first_paths = list(islice(subject.paths(), most_views + 1))
    paths, more = first_paths[:most_views], len(first_paths) > most_views
    places = set(paths)

    def address(path: ViewPath, query: Query) -> str | None:
        # A link to another state of a view, such as a zoom, has no section.
        return f"#{_anchor(path)}" if path in places and not query else None

    views = [_view(subject, path) for path in paths]
    lines = "".join(f'<p class="hint">{escape(remark)}</p>' for remark in remarks)
    if more:
        first_views = "The first view" if most_views == 1 else f"The first {most_views} views"
        lines += Writer(address).block(Notice(f"{first_views}; {has_more}"))
    sections = []
    for number, view in enumerate(views, 1):
        heading = "" if _name(view) == subject.title else f"<h2>{escape(_name(view))}</h2>"
        writer = Writer(address, is_live=False, name=f"s{number}-", level=3 if heading else 2)  # else h1 stands above
        sections.append(f'<section id="{_anchor(view.path)}">{heading}{writer.view(view)}</section>')
    side = _sidebar(subject.title, views) if len(views) > 1 else ""
    main = f'<main id="{_TOP}"><h1>{escape(subject.title)}</h1>{lines}{"".join(sections)}</main>'
    scripts = [asset(name) for name in _SCRIPTS]
    body = f'<div class="columns report">{side}{main}</div>' + "".join(f"<script>{each}</script>" for each in scripts)
    return document(subject.title, body, styles=("page.css", "report.css"), policy=_policy(scripts))


def _policy(scripts: Sequence[str]) -> str:
    """What a browser may do with a report: run these scripts, and fetch nothing."""
    sums = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{each}'" for each in sums)
    return f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {allowed}"


def _sidebar(title: str, views: Sequence[View]) -> str:
    """Links to all sections, in their order; what belongs to the one above stands below it, further to the right."""
    items: list[str] = []
    above: list[ViewPath] = []
    for view in views:
        belongs_to = view.trail[-1].path if len(view.trail) > 1 else None
        while above and above[-1] != belongs_to:
            above.pop()
        text = view.title if above else _name(view)
        items.append(
            f'<li style="--depth:{len(above)}"><a href="#{_anchor(view.path)}" title="{escape(_name(view))}">'
            f"{escape(text)}</a></li>"
        )
        above.append(view.path)
    top = "" if views[0].title == title else f'<p><a href="#{_TOP}">{escape(title)}</a></p>'
    return f'<nav class="side" aria-label="Contents">{top}<ol>{"".join(items)}</ol></nav>'


def _view(subject: Viewable, path: ViewPath) -> View:
    """A view, or in its place why there is none: one that fails must not cost the others."""
    try:
        return subject.view(path, {})
    except PerfError as error:
        return View(path[-1] if path else subject.title, (Notice(str(error), "error"),), path)


def _name(view: View) -> str:
    """Title with what it belongs to, where that is not the whole."""
    return ": ".join([*(link.text for link in view.trail[1:]), view.title])


def _anchor(path: ViewPath) -> str:
    return "view" + "".join(f"/{quote(part, safe='')}" for part in path)
