"""A report: the views of a subject as sections of one file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from itertools import islice
from urllib.parse import quote

from perf_explore.blocks import Writer
from perf_explore.page import asset, document
from perf_views.contents import Notice, Query, View, Viewable, ViewPath
from perfcore.base.errors import PerfError

MOST_VIEWS = 60  # a view with a picture takes some 80 kB: such a report still opens at once and can be mailed
_MORE = "`perf explore --views N` takes more, `perf explore` has all."
_SCRIPTS = ("charts.js", "report.js")
_TOP = "top"


def report_text(
    subject: Viewable, most_views: int = MOST_VIEWS, remarks: Sequence[str] = (), has_more: str = _MORE
) -> str:
    """One HTML document with everything in it, read-only; links lead to its other sections."""
    first_paths = list(islice(subject.paths(), most_views + 1))
    paths, more = first_paths[:most_views], len(first_paths) > most_views
    places = set(paths)

    def address(path: ViewPath, query: Query) -> str | None:
        # A link to another state of a view, such as a closer look, has no section of its own.
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
    body = f'<div class="beside report">{side}{main}</div>' + "".join(
        f"<script>{script}</script>" for script in scripts
    )
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
