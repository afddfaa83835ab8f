"""A report: the views of a subject as sections of one file that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import islice
from urllib.parse import quote

from perf_explore.blocks import Writer
from perf_explore.page import document
from perf_views.contents import Notice, Query, View, Viewable, ViewPath
from perfcore.base.errors import PerfError

__all__ = ["MOST_VIEWS", "report_text"]

MOST_VIEWS = 60  # a view with a picture takes some 50 kB: such a report still opens at once and can be mailed


def report_text(subject: Viewable, most_views: int = MOST_VIEWS, remarks: Sequence[str] = ()) -> str:
    """One HTML document with everything in it, read-only; links lead to its other sections.

    Parameters
    ----------
    subject : Viewable
    most_views : int
        The first so many of `Viewable.paths`, which are the most important ones; the report says what it leaves out.
    remarks : sequence of str
        Below the title, such as where it comes from.
    """
    found = list(islice(subject.paths(), most_views + 1))
    paths, more = found[:most_views], len(found) > most_views
    places = set(paths)

    def address(path: ViewPath, query: Query) -> str | None:
        # A link to another state of a view, such as a closer look, has no section of its own.
        return f"#{_anchor(path)}" if path in places and not query else None

    views = [_view(subject, path) for path in paths]
    lines = "".join(f'<p class="hint">{escape(remark)}</p>' for remark in remarks)
    if more:
        lines += Writer(address).block(
            Notice(f"The first {most_views} views; `perf report --views N` takes more, `perf explore` has all.")
        )
    contents = "".join(f'<li><a href="#{_anchor(view.path)}">{escape(_name(view))}</a></li>' for view in views)
    sections = []
    for number, view in enumerate(views, 1):
        writer = Writer(address, is_live=False, name=f"s{number}-", level=3)
        sections.append(
            f'<section id="{_anchor(view.path)}"><h2>{escape(_name(view))}</h2>{writer.view(view)}'
            '<p class="hint"><a href="#top">To the contents</a></p></section>'
        )
    listed = f'<nav id="top" aria-label="Contents"><ol>{contents}</ol></nav>' if len(views) > 1 else '<p id="top"></p>'
    return document(
        subject.title,
        f"<main><h1>{escape(subject.title)}</h1>{lines}{listed}{''.join(sections)}</main>",
    )


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
