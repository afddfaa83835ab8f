"""The functions behind ``perf explore`` and ``perf report``."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from perf_explore.opening import Opening, Read, open_subjects, read_file
from perf_explore.report import MOST_VIEWS, report_text
from perfcore.base.errors import OptionError
from perfcore.base.files import check_folder, refuse_existing, write_bytes

__all__ = ["explore", "report"]


def report(
    *subjects: Any,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    views: int = MOST_VIEWS,
    read: Read = read_file,
    **options: Any,
) -> str:
    """Put data, models and other results into one HTML file that opens anywhere, without network.

    Take it to hand on what `explore` shows; every figure is there as a table too.

    Parameters
    ----------
    *subjects : str, path, Model, data or any other result
        Data that follow a model are what it was fitted to; a table that follows predictions is what happened.
    output : str or path, optional
        File to write, which ends with ``.html``.
    overwrite : bool
        Whether a file that exists is replaced.
    views : int
        At most so many, the most important ones first.
    read : callable, optional
        Reads files of data; takes a path and the wanted types, as `perfcore.read` does by default.
    **options
        Of openers, such as ``column`` of the table of what happened, for predictions.

    Returns
    -------
    str
        The HTML.

    Raises
    ------
    InputError
        A file exists and ``overwrite`` is not set, or it cannot be written.
    PerfError
        A subject cannot be read or shown.

    Examples
    --------
    >>> import perfcore
    >>> curve = perfcore.UtilizationCurve([0, 4, 10], [2, 8])
    >>> html = report(perfcore.fit(curve, phases=2, degree=0), curve)
    >>> html.count("<svg role"), "https://" in html
    (1, False)
    """
    if output is not None:
        name = os.fspath(output)
        if not name.lower().endswith((".html", ".htm")):
            raise OptionError(f"cannot write {name!r}: the ending must be .html; `perf plot` makes single pictures")
        refuse_existing(name, overwrite)
        check_folder(name)
    text = report_text(open_subjects(subjects, Opening(read, options)), views)
    if output is not None:
        write_bytes(output, text.encode())
    return text


def explore(
    *subjects: Any,
    port: int | None = None,
    browser: bool = True,
    read: Read = read_file,
    announce: Callable[[str], object] = print,
    **options: Any,
) -> None:
    """Show data, models and other results as a page in the browser, until interrupted (Ctrl-C).

    The page listens on this machine only. Its address has a key that opens it once, in one browser: nobody else can.

    Parameters
    ----------
    *subjects, read, **options
        As of `report`.
    port : int, optional
        To listen on; by default a free one.
    browser : bool
        Whether to open it; where there is none, as on a login node, nothing happens.
    announce : callable
        Takes each line that is said: the address, and at the end what was not saved.

    Raises
    ------
    MissingDependencyError
        The libraries of the page are not installed.
    InputError
        The port is taken.
    PerfError
        A subject cannot be read or shown.

    Examples
    --------
    >>> explore("examples/step.csv", "examples/structural/sor.toml")  # doctest: +SKIP
    open http://127.0.0.1:40613/?key=... (Ctrl-C ends it)
    """
    from perf_explore.server import Page, listen, require_libraries, serve
    from perf_explore.session import Session

    require_libraries()
    opening = Opening(read, options)
    with listen(port or 0) as listener:
        session = Session(open_subjects(subjects, opening))
        page = Page(session, listener.getsockname()[1], announce=announce)
        try:
            announce(f"open {page.link()} (Ctrl-C ends it)")
            with _opened(page.link()) if browser else contextlib.nullcontext():
                serve(page, listener)
        except KeyboardInterrupt:
            announce("stopped; everything that was kept is in its files")
            if session.unsaved:
                announce(f"not saved: {'; '.join(session.unsaved)}")


@contextlib.contextmanager
def _opened(link: str) -> Iterator[None]:
    """Open a browser by a file that only this user can read: command lines are in everybody's list of processes."""
    import tempfile
    import webbrowser

    with tempfile.TemporaryDirectory(prefix="perf-explore-") as folder:
        file = Path(folder) / "open.html"
        file.write_text(f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={link}">\n')
        # Some browsers end only when they are closed: the page does not wait for them.
        threading.Thread(target=webbrowser.open, args=(file.as_uri(),), daemon=True).start()
        yield
