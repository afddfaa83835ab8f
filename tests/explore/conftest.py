"""A subject to change, a request that goes through the whole application without a network, and a browser."""

import asyncio
import contextlib
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlencode

import pytest
from browsing import PORT

from perf_explore import Page, Session
from perf_views import Action, Cell, Change, Field, FileEdit, Form, Link, NoViewError, Table, Text, View, Viewable
from perfcore.base.errors import DataError

HOST = f"127.0.0.1:{PORT}"
CHROMIUM = shutil.which("chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]


@dataclass(frozen=True)
class Notebook(Viewable):
    """A text in a file, that can be changed, and a view below the first one."""

    file: Path
    text: str = "one"

    title = "notebook"

    def view(self, path, query):
        if path == ():
            action = Action((Field("text", "text", self.text, "lines"),), ())
            form = Form((Field("n", "number", query.get("n", "1"), "range", minimum="1", maximum="9"),), ())
            row = (Cell("below", Link("", ("a/b", "ü"))), Cell("0.97", shade=0.97))
            text = Text((self.text, f"n is {query.get('n', '1')}"))
            return View("notebook", (text, Table(("", "x"), (row,)), form, action))
        if path == ("a/b", "ü"):
            return View("below", (Text(("deep",)),), path, (Link("notebook", ()),))
        if path == ("bad",):
            raise DataError("this does not converge; try fewer terms")
        if path == ("bug",):
            raise ZeroDivisionError
        raise NoViewError(path)

    def paths(self):
        return [(), ("a/b", "ü"), ("bad",)]

    def act(self, path, form):
        if "?" in form["text"]:
            raise DataError("'?' is no formula")
        edit = FileEdit(self.file, self.file.read_bytes(), form["text"].encode())
        blocks = (Table(("text", "before", "after"), (("", self.text, form["text"]),)),)
        return Change(replace(self, text=form["text"]), f"text is {form['text']}", blocks, (edit,))


@pytest.fixture
def notebook(tmp_path):
    (tmp_path / "text").write_text("one")
    return Notebook(tmp_path / "text")


@pytest.fixture
def session(notebook):
    return Session(notebook)


class Answer(NamedTuple):
    status: int
    headers: dict
    text: str


@pytest.fixture
def page(session):
    return Page(session, PORT, secret="the-secret")


@pytest.fixture
def ask(page):
    """One request; the cookie and the right host unless told otherwise."""
    application = page.application()

    def request(path, form=None, *, cookie=f"perf-{PORT}=the-secret", host=HOST, origin="") -> Answer:
        path, _, query = path.partition("?")
        body = b"" if form is None else urlencode(form).encode()
        origin = (None if form is None else f"http://127.0.0.1:{PORT}") if origin == "" else origin
        headers = {"host": host, "cookie": cookie, "origin": origin}
        scope = {
            "type": "http", "method": "GET" if form is None else "POST", "path": unquote(path),
            "raw_path": path.encode(), "query_string": query.encode(), "http_version": "1.1", "scheme": "http",
            "server": ("127.0.0.1", PORT),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items() if value is not None],
        }  # fmt: skip
        sent = []

        async def receive():
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message):
            sent.append(message)

        with contextlib.suppress(ZeroDivisionError):  # which the server would log, after the answer
            asyncio.run(application(scope, receive, send))
        found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return Answer(sent[0]["status"], found, b"".join(part.get("body", b"") for part in sent[1:]).decode())

    return request


# Of a module, not of the session: while it runs, this thread has an event loop, and `ask` could not start its own.
@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here")
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def context(browser):
    """What tabs share: cookies, and a window of the usual size."""
    found = browser.new_context(viewport={"width": 1280, "height": 800})
    found.set_default_timeout(120_000)
    yield found
    found.close()


@pytest.fixture
def tab(context):
    """A new tab; what the console complains about and what is asked of others is a failure."""
    found = context.new_page()
    complaints, asked = [], []
    found.on("console", lambda message: complaints.append(message.text))
    found.on("pageerror", lambda error: complaints.append(str(error)))
    found.on("request", lambda request: asked.append(request.url))
    yield found
    found.close()
    assert complaints == []
    assert all(url.startswith(("http://127.0.0.1:", "file://", "data:")) for url in asked)
