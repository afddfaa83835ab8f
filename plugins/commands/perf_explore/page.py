"""Whole pages: the frame around a view, the preview of a change, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from importlib import resources
from urllib.parse import parse_qsl, quote, unquote, urlencode

from perf_explore.blocks import Writer
from perf_explore.shades import colour_sheet
from perf_views.contents import Action, Link, Notice, Query, View, ViewPath
from perf_views.edits import Change

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
SCRIPTS = {"/-/page.js": "page.js", "/-/charts.js": "charts.js", "/-/timeline.js": "timeline/timeline.js"}
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
    """Text of a file that ships beside this module."""
    return resources.files("perf_explore").joinpath(name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Frame:
    """What every page of a session has around its view."""

    title: str  # of the subject
    version: str  # goes with every action
    undoable: str | None  # what the button of undo takes back
    ways: tuple[Link, ...] = ()  # what is listed beside the view

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
            f"<p>{escape(change.summary)}. Nothing is kept yet.</p>{''.join(map(writer.block, change.blocks))}"
            f'<form method="post" action="{escape(address(path, {}))}">{hidden}'
            f'<p><button name="{STEP}" value="keep">Keep</button> '
            f'<button name="{STEP}" value="leave" class="quiet">Leave it as it is</button></p></form>'
        )
        return self._page("What would change", body, (Link(self.title, ()), Link("What would change", path)))

    def refused(self, message: str, action: Action, place: str) -> str:
        """A page about an action that was refused, with everything that was typed, ready to be sent again."""
        writer = self._writer(place)
        body = (
            writer.block(Notice(message, "error"))
            + writer.block(replace(action, title="What you typed"))
            + f'<p><a href="{escape(place)}">Back to the view</a></p>'
        )
        return self._page("Not changed", body, (Link(self.title, ()), Link("Not changed", action.path)))

    def failed(self, title: str, message: str) -> str:
        """A page about a view that cannot be shown."""
        body = self._writer("/").block(Notice(message, "error")) + '<p><a href="/">To the first view</a></p>'
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
            f'<div class="beside">{navigation(self.ways, current, writer)}'
            f'<main id="main" tabindex="-1"><h1>{escape(title)}</h1>{body}</main>'
            "</div>" + "".join(f'<script src="{script}" defer></script>' for script in SCRIPTS),
        )


def document(title: str, body: str, styles: Sequence[str] = ("page.css",), policy: str = "") -> str:
    """A whole HTML document with its style sheets in it, and a policy of contents where no server sends one."""
    policy_tag = f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">' if policy else ""
    sheets = colour_sheet() + "".join(map(asset, styles))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">{policy_tag}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="icon" href="data:,"><style>{sheets}</style>'
        f"</head><body>{body}</body></html>"
    )
