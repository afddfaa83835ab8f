"""The page's server: one machine, one user, no request that did not come from its own page.

It listens on the loopback address only. A link with a key opens it once, for one browser, whose cookie then
holds the secret: the link in a history or a list of processes opens nothing. A foreign ``Host`` (a name that was
made to point here) or ``Origin`` (a form on another page) is refused.
"""

from __future__ import annotations

import contextlib
import hmac
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote

import msgspec

from perf_explore.blocks import FEED
from perf_explore.page import PLACE, SCRIPTS, STEP, UNDO, VERSION, Frame, address, asset, document, path_of, place_of
from perf_explore.session import Place, Session, StaleEditError
from perf_views.contents import Action, Block, Field, Notice, NoViewError, Query, View, Viewable, ViewPath
from perfcore.base.errors import InputError, MissingDependencyError, PerfError

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response


def with_typed(view: View, path: ViewPath, form: Query) -> View:
    """The view that an action was sent from, with what was typed in place of what its fields held."""
    return replace(view, blocks=tuple(_filled(block, path, form) or block for block in view.blocks))


def sent_action(view: View, path: ViewPath, form: Query) -> Action | None:
    """The action that was sent, with what was typed; None where the view has it no more."""
    return next(filter(None, (_filled(block, path, form) for block in view.blocks)), None)


def unknown_action(path: ViewPath, form: Query) -> Action:
    """What was typed into an action that cannot be found again, as texts with the names of the fields."""
    return Action(tuple(Field(name, name.replace("_", " "), value, "lines") for name, value in form.items()), path)


def _filled(block: Block, path: ViewPath, form: Query) -> Action | None:
    """The block with what was typed; None where the form was not sent from it."""
    if not isinstance(block, Action) or block.path != path:
        return None
    if any(form.get(item.name) != item.value for item in block.fields if item.kind == "hidden"):
        return None
    return replace(block, fields=tuple(replace(item, value=form.get(item.name, item.value)) for item in block.fields))


HOST = "127.0.0.1"
_MOST_BYTES = 4 << 20  # of a posted form; formulas take kilobytes

# Nothing is fetched from elsewhere; styles stand in the page, since drawings and shaded cells have their own.
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'unsafe-inline'; img-src 'self' data:; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Page:
    """A session as a web application."""

    def __init__(
        self,
        session: Session,
        port: int,
        secret: str | None = None,
        announce: Callable[[str], object] = lambda line: None,
    ) -> None:
        self.session = session
        self._secret = secrets.token_urlsafe(24) if secret is None else secret
        self._port, self._announce = port, announce
        self._keys = set[str]()  # of links that were not opened yet
        self._hosts = {f"{HOST}:{port}", f"localhost:{port}"}
        self._lock = threading.Lock()  # requests of several tabs follow one another
        self._cookie = f"perf-{port}"  # cookies do not tell ports apart

    def link(self) -> str:
        """A new address that opens the page once."""
        key = secrets.token_urlsafe(24)
        self._keys.add(key)
        return f"http://{HOST}:{self._port}/?key={key}"

    def application(self) -> Starlette:
        """The application, for a server or a test."""
        from starlette.applications import Starlette
        from starlette.convertors import StringConvertor, register_url_convertor
        from starlette.routing import Route

        class AnyText(StringConvertor):
            regex = "(?s:.*)"  # names may have line breaks, which Starlette's own paths do not

        register_url_convertor("any_text", AnyText())
        routes = [Route("/{path:any_text}", self._answer, methods=["GET", "POST"])]
        return Starlette(routes=routes, exception_handlers={Exception: _bug})

    async def _answer(self, request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import HTMLResponse

        raw = request.scope.get("raw_path", request.scope["path"].encode()).decode("ascii", "replace")
        headers: dict[str, str] = {}
        status: int = 413
        text: str | bytes = _plain("Too long", "The form is longer than 4 MiB.")
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MOST_BYTES:
                break
        else:
            status, text, headers = await run_in_threadpool(self._respond, request, raw, body)
        return HTMLResponse(text, status, {**_HEADERS, **headers})

    def _respond(self, request: Request, raw: str, body: bytes) -> tuple[int, str | bytes, dict[str, str]]:
        """Status, text and headers of one answer."""
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        is_own = origin == f"http://{host}" or (origin is None and request.method != "POST")
        if host not in self._hosts or not is_own:
            return 403, _plain("Refused", "This page answers only on its own address and to its own forms."), {}
        key = request.query_params.get("key")
        if request.method == "GET" and raw == "/" and key is not None and self._spent(key):
            cookie = f"{self._cookie}={self._secret}; Path=/; HttpOnly; SameSite=Strict"
            return 200, _entry(), {"Set-Cookie": cookie, "Refresh": "0; url=/"}
        if not hmac.compare_digest(request.cookies.get(self._cookie, "").encode(), self._secret.encode()):
            message = "Open the address that `perf explore` printed last: each opens the page once, in one browser."
            return 403, _plain("Refused", message), {}
        if raw in SCRIPTS:
            return 200, asset(SCRIPTS[raw]), {"Content-Type": "text/javascript; charset=utf-8"}
        if request.method == "GET" and raw.startswith(f"{FEED}/"):
            return self._fed(path_of(raw.removeprefix(FEED)), dict(request.query_params))
        path = path_of(raw)
        with self._lock:
            if request.method == "GET":
                return self._shown(path, dict(request.query_params))
            fields = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)
            form = {name: value.replace("\r\n", "\n") for name, value in fields}
            return self._changed(raw, path, form)

    def _spent(self, key: str) -> bool:
        """Whether a key opens the page; it does not again."""
        with self._lock:
            matches = [each for each in self._keys if hmac.compare_digest(key.encode(), each.encode())]
            self._keys.difference_update(matches)
            if matches and not self._keys:
                self._announce(f"opened; for another browser: {self.link()}")
        return bool(matches)

    def _frame(self) -> Frame:
        session = self.session
        return Frame(session.subject.title, session.version, session.undoable)

    def _shown(self, path: ViewPath, query: Query) -> tuple[int, str, dict[str, str]]:
        try:
            view = self.session.view(path, query)
            frame = replace(self._frame(), ways=self.session.ways(path, query))
            return 200, frame.view(view, query), {}
        except NoViewError as error:
            return 404, self._frame().failed("Not here", str(error)), {}
        except PerfError as error:
            return 422, self._frame().failed("Cannot show this view", str(error)), {}

    def _fed(self, path: ViewPath, query: Query) -> tuple[int, bytes, dict[str, str]]:
        """What a script asks for; it does not wait for views and changes, and these not for it."""
        try:
            feed = self.session.feed(path, query)
        except PerfError as error:
            body = msgspec.json.encode({"error": str(error)})
            return 404 if isinstance(error, NoViewError) else 422, body, {"Content-Type": "application/json"}
        headers = {"Content-Type": feed.media}
        if feed.file_name:
            headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(feed.file_name, safe='')}"
        return 200, feed.content, headers

    def _changed(self, raw: str, path: ViewPath, form: dict[str, str]) -> tuple[int, str, dict[str, str]]:
        version, step, place_text = form.pop(VERSION, ""), form.pop(STEP, "preview"), form.pop(PLACE, "")
        place = place_of(place_text) if place_text else (path, {})
        try:
            if raw == UNDO:
                return 303, "", {"Location": address(*self.session.undo(version))}
            if step == "leave":
                return self._left(path, form, version, place)
            if step == "keep":
                kept = self.session.keep(path, form, version, place)
                return 303, "", {"Location": address(kept.path, kept.query)}
            change = self.session.preview(path, form, version)
            return 200, self._frame().preview(change, path, form, address(*place)), {}
        except PerfError as error:
            status = 409 if isinstance(error, StaleEditError) else 422
            if raw == UNDO:
                return status, self._frame().failed("Change refused", str(error)), {}
            return status, self._refused(str(error), path, form, place), {}

    def _left(self, path: ViewPath, form: Query, version: str, place: Place) -> tuple[int, str, dict[str, str]]:
        """The view that a change was begun in, with what was typed."""
        view = with_typed(self.session.view(*place), path, form)
        notice = Notice("Nothing was kept. Your input is still here.")
        # What was typed stays of the version that it was begun at: an edit of another tab is not passed over.
        frame = replace(self._frame(), version=version, ways=self.session.ways(*place))
        return 200, frame.view(view, place[1], [notice]), {}

    def _refused(self, message: str, path: ViewPath, form: Query, place: Place) -> str:
        try:
            action = sent_action(self.session.view(*place), path, form)
        except PerfError:  # the view went with an edit of another tab
            action = None
        return self._frame().refused(message, action or unknown_action(path, form), address(*place))


def require_libraries() -> None:
    """Say that the libraries of the page are missing, before a long file is read."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingDependencyError("the page needs Starlette and uvicorn: pip install 'perfcore[view]'") from None


def listen(port: int = 0) -> socket.socket:
    """A socket on the loopback address."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()  # now, so that a port that is taken is reported, and an early request waits
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or error
        problem = f"cannot be listened on: {reason}; leave out --port to take a free one"
        raise InputError(f"{HOST}:{port}", problem) from None
    return listener


def serve(page: Page, listener: socket.socket) -> None:
    """Serve until the process is interrupted, which raises `KeyboardInterrupt`."""
    import uvicorn

    config = uvicorn.Config(
        page.application(), log_level="error", access_log=False, server_header=False, lifespan="off",
        timeout_graceful_shutdown=1,
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[listener])


@contextlib.contextmanager
def served(subject: Viewable) -> Iterator[str]:
    """The address that opens a subject's page, served from a thread: to try views in a browser, or to picture them."""
    import uvicorn

    with listen() as listener:
        page = Page(Session(subject), listener.getsockname()[1])
        server = uvicorn.Server(uvicorn.Config(page.application(), log_level="critical", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield page.link()
        finally:
            server.should_exit = True
            thread.join(10)


async def _bug(request: Request, error: Exception) -> Response:
    """What the browser gets where the program has a bug, whose traceback goes to the terminal."""
    from starlette.responses import HTMLResponse

    text = "This is a bug of perfcore; the terminal has its traceback. Nothing was changed; go back to what you had."
    return HTMLResponse(_plain("Internal error", text), 500, _HEADERS)


def _entry() -> str:
    """A page of our own between the address with the secret and the first view."""
    return document("perf explore", '<p><a href="/">Home</a></p>')


def _plain(title: str, text: str) -> str:
    return document(title, f"<h1>{escape(title)}</h1><p>{escape(text)}</p>")
