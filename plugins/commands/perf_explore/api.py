"""The functions behind ``perf explore``."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from perf_explore.opening import open_subjects
from perf_explore.page import MOST_VIEWS, report_text
from perf_views.colours import PAGE
from perfcore.base.errors import MissingDependencyError, OptionError
from perfcore.base.files import check_folder, write_bytes
from perfcore.reading import Read, read_file
from perfcore.report import Column, Figure, Report, Result, Table

_MOST_VIEWS = 12  # a notebook keeps what its cells show: some 80 kB for each view
_MORE = "`views=N` takes more, and `perfcore.explore` has all."
_LEAST_HEIGHT, _MOST_HEIGHT = 100, 5000
_EDGE = PAGE["line"][0]


def report(
    *subjects: Any, output: str | os.PathLike[str] | None = None, views: int = MOST_VIEWS,
    read: Read = read_file, **options: Any,
) -> str:  # fmt: skip
    """Put data, models and other results into one HTML file that opens anywhere, without network."""
    if output is not None:
        name = os.fspath(output)
        if not name.lower().endswith((".html", ".htm")):
            raise OptionError(f"cannot write {name!r}: the ending must be .html; `perf plot` makes single pictures")
        check_folder(name)
    text = report_text(open_subjects(subjects, read, options), views)
    if output is not None:
        write_bytes(output, text.encode(errors="replace"))  # names of files may be no text
    return text


def explore(
    *subjects: Any, output: str | os.PathLike[str] | None = None, views: int = MOST_VIEWS,
    port: int | None = None, browser: bool = True, read: Read = read_file,
    announce: Callable[[str], object] = print, **options: Any,
) -> None:  # fmt: skip
    """Show data, models and other results as a page in the browser, until Ctrl-C, or write it to ``output`` (.html).

    The page listens on this machine only; its address has a key that opens it once, in one browser only.
    """
    if output is not None:
        report(*subjects, output=output, views=views, read=read, **options)
        return
    try:
        import bokeh  # noqa: F401

        from perf_explore.server import Page, listen, serve
        from perf_explore.session import Session
    except ImportError:
        raise MissingDependencyError(
            "the page needs Starlette, uvicorn, Jinja2 and Bokeh: pip install 'perfcore[view]'"
        ) from None
    with listen(port or 0) as listener:
        page = Page(Session(open_subjects(subjects, read, options)), listener.getsockname()[1], announce=announce)
        try:
            announce(f"open {page.link()} (Ctrl-C ends it)")
            with _opened(page.link()) if browser else contextlib.nullcontext():
                serve(page, listener)
        except KeyboardInterrupt:
            announce("stopped; everything that was kept is in its files")


@contextlib.contextmanager
def _opened(link: str) -> Iterator[None]:
    """Open a browser by a file that only this user can read: command lines are in everybody's list of processes."""
    import webbrowser

    with tempfile.TemporaryDirectory(prefix="perf-explore-") as folder:
        file = Path(folder) / "open.html"
        file.write_text(f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={link}">\n')
        # Some browsers end only when they are closed: the page does not wait for them.
        threading.Thread(target=webbrowser.open, args=(file.as_uri(),), daemon=True).start()
        yield


@dataclass(frozen=True, repr=False)
class Inline(Result):
    """What a cell shows in a frame: the views of data, models and other results.

    Parameters
    ----------
    name : str
        Of what is shown.
    page : str
        The report, as HTML.
    height : int, pixels
    """

    name: str
    page: str
    height: int

    def report(self, data: Any = None) -> Report:
        """Return what stands where no frame can be shown: the name and the size."""
        size = Figure("size", len(self.page.encode()) / 1e3, "kB", format=".0f", key="kB")
        table = Table([Column("shown", [self.name]), Column("size", [size.value], "kB", ".0f", key="kB")])
        return Report(self.name, self.name, [size], [table])

    def _repr_html_(self) -> str:
        # Its scripts run, but reach neither the notebook nor anything else.
        return (
            f'<iframe title="{escape(self.title)}" srcdoc="{escape(self.page)}" sandbox="allow-scripts" '
            f'style="width:100%;height:{self.height}px;border:1px solid {_EDGE}"></iframe>'
        )


def view(*subjects: Any, height: int = 600, views: int = _MOST_VIEWS, read: Read = read_file, **options: Any) -> Inline:
    """Show data, models and other results within a cell of a notebook, with charts one can touch.

    Parameters
    ----------
    *subjects : str, path, Model, data or any other result
        Data that follow a model are what it was fitted to; a table that follows predictions is what happened.
    height : int, pixels
        Of the frame, 100 to 5,000.
    views : int
        At most so many, the most important ones first: a notebook keeps all that its cells show.
    read, **options
        As of `report`.

    Raises
    ------
    OptionError
        The height or the number of views is out of range.
    PerfError
        A subject cannot be read or shown.

    Examples
    --------
    >>> import perfcore
    >>> curve = perfcore.UtilizationCurve([0, 4, 10], [2, 8])
    >>> view(perfcore.fit(curve, phases=2, degree=0), curve)
    <Inline: 2 phases in curve>
    """
    if not _LEAST_HEIGHT <= height <= _MOST_HEIGHT:
        raise OptionError(f"height {height}: {_LEAST_HEIGHT} to {_MOST_HEIGHT} pixels are accepted")
    if views < 1:
        raise OptionError(f"views {views}: at least 1")
    subject = open_subjects(subjects, read, options)
    return Inline(subject.title, report_text(subject, views, has_more=_MORE, draws_static=True), height)
