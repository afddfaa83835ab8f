"""The functions behind ``perf explore``."""

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
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    views: int = MOST_VIEWS,
    port: int | None = None,
    browser: bool = True,
    read: Read = read_file,
    announce: Callable[[str], object] = print,
    **options: Any,
) -> None:
    """Show data, models and other results as a page in the browser, until interrupted (Ctrl-C).

    The page listens on this machine only. Its address has a key that opens it once, in one browser: nobody else can.
    With ``output`` the same is written to one HTML file that opens anywhere, without network.
    """
    if output is not None:
        report(*subjects, output=output, overwrite=overwrite, views=views, read=read, **options)
        return
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
