"""A report on paper: PDF by a browser that is there."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perfcore.base.errors import MissingDependencyError, PerfError

__all__ = ["browser_that_prints", "printed"]

# All are Chromium below; no other browser writes PDF without a window.
_ON_PATH = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "brave",
)
_ON_MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
_OF_PLAYWRIGHT = (
    "chromium-*/chrome-linux*/chrome",
    "chromium_headless_shell-*/chrome-*linux*/*headless*shell",
    "chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
)
MOST_SECONDS = 60.0  # a report of 60 views takes 3 s


def browser_that_prints() -> str:
    """Program of a browser that can write PDF.

    Returns
    -------
    str
        The first of Chromium and its kin on ``PATH``, or else of those that Playwright has fetched.

    Raises
    ------
    MissingDependencyError
        There is none.
    """
    browser = next(filter(None, map(shutil.which, (*_ON_PATH, _ON_MAC))), None) or next(_of_playwright(), None)
    if browser is None:
        raise MissingDependencyError(
            "no browser that writes PDF was found: install chromium or Chrome, or open the report and print it there"
        )
    return browser


def _of_playwright() -> Iterator[str]:
    folders = (os.environ.get("PLAYWRIGHT_BROWSERS_PATH"), "~/.cache/ms-playwright", "~/Library/Caches/ms-playwright")
    for folder in filter(None, folders):
        for pattern in _OF_PLAYWRIGHT:
            # The newest version first.
            yield from map(str, sorted(Path(folder).expanduser().glob(pattern), reverse=True))


def printed(text: str, browser: str) -> bytes:
    """A document as PDF.

    Parameters
    ----------
    text : str
        HTML that needs nothing else.
    browser : str
        As `browser_that_prints` finds it; it is ended after `MOST_SECONDS`.

    Raises
    ------
    PerfError
        The browser cannot be started, fails, or takes too long.
    """
    with tempfile.TemporaryDirectory(prefix="perf-print-", ignore_cleanup_errors=True) as folder:
        page, paper = Path(folder) / "report.html", Path(folder) / "report.pdf"
        page.write_text(text, encoding="utf-8")
        command = [
            browser, "--headless", "--disable-gpu", "--no-first-run", "--disable-extensions",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            f"--user-data-dir={Path(folder) / 'profile'}", "--no-pdf-header-footer", f"--print-to-pdf={paper}",
        ]  # fmt: skip
        if os.geteuid() == 0:  # as root the sandbox does not start, and the page is our own
            command.append("--no-sandbox")
        last_line = _run([*command, page.as_uri()])
        try:
            return paper.read_bytes()
        except OSError:
            why = f": {last_line}" if last_line else ""
            raise PerfError(f"{browser} wrote no PDF{why}; open the report in a browser and print it there") from None


def _run(command: list[str]) -> str:
    """Last line of what a program says; it ends with all that it started."""
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    try:
        with subprocess.Popen(command, **pipes, start_new_session=True) as running:  # noqa: S603 (words, no shell)
            try:
                _, output = running.communicate(timeout=MOST_SECONDS)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(running.pid, signal.SIGKILL)
    except OSError as error:
        raise PerfError(f"{command[0]} does not start: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise PerfError(
            f"{command[0]} did not print within {MOST_SECONDS:g} s; open the report in a browser and print it there"
        ) from None
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""
