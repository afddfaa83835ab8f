"""The list of views at the left of the page: a tree by the parts of their paths."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape

from perf_explore.blocks import Writer
from perf_views.contents import Link, ViewPath


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
