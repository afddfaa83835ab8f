"""The page's server: one machine, one user, no request that did not come from its own page.

It listens on the loopback address. A link opens it once, for one browser, whose cookie then holds the secret. A
foreign ``Host`` (a name made to point here) or ``Origin`` (a form on another page) is refused.
"""

from __future__ import annotations

import contextlib
import hmac
import logging
import secrets
import signal
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, quote

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from perf_explore import page as pages
from perf_explore.blocks import FEED
from perf_explore.session import Place, Session, StaleEditError
from perf_views.contents import Action, Block, Field, Notice, NoViewError, Query, Viewable, ViewPath
from perfcore.base.errors import InputError, PerfError
from perfcore.report import Plot

HOST = "127.0.0.1"
_MOST_BYTES = 4 << 20  # of a posted form; formulas take kilobytes
_MOST_PLOTS = 64  # that are remembered, whose finer parts may be asked for
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


def _filled(block: Block, path: ViewPath, form: Query) -> Action | None:
    """Return the block with what was typed; None if the form was not sent from it."""
    if not isinstance(block, Action) or block.path != path:
        return None
    if any(form.get(item.name) != item.value for item in block.fields if item.kind == "hidden"):
        return None
    return replace(block, fields=tuple(replace(item, value=form.get(item.name, item.value)) for item in block.fields))


class _Guard:
    """Passes on what the page itself asks, with the headers of every answer; who goes away is not waited for."""

    def __init__(self, app: ASGIApp, refusal: Callable[[Request], Response | None]) -> None:
        self._app, self._refusal = app, refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        if scope["type"] == "http":
            answer = self._refusal(Request(scope)) or self._app
            with contextlib.suppress(ClientDisconnect):
                await answer(scope, receive, send_with_headers)


class Page:
    """A session as a web application."""

    def __init__(
        self, session: Session, port: int, secret: str | None = None,
        announce: Callable[[str], object] = lambda line: None,
    ) -> None:  # fmt: skip
        self.session = session
        self._secret = secrets.token_urlsafe(24) if secret is None else secret
        self._port, self._announce = port, announce
        self._keys = set[str]()  # of links that were not opened yet
        self._lock = threading.Lock()  # requests of several tabs follow one another
        self._cookie = f"perf-{port}"  # cookies do not tell ports apart
        self._plots: OrderedDict[str, Plot] = OrderedDict()  # whose finer parts may be asked for

    def link(self) -> str:
        """Return a new address that opens the page once."""
        key = secrets.token_urlsafe(24)
        self._keys.add(key)
        return f"http://{HOST}:{self._port}/?key={key}"

    def application(self) -> Starlette:
        """Return the application, for a server or a test."""

        class AnyText(StringConvertor):
            regex = "(?s:.*)"  # names may have line breaks, which Starlette's own paths do not

        register_url_convertor("any_text", AnyText())
        routes = [
            *(Route(path, self._script) for path in (*pages.SCRIPTS, pages.BOKEH)),
            Route(pages.WINDOW, self._window),
            Route(f"{FEED}/{{path:any_text}}", self._feed),
            Route(pages.UNDO, self._change, methods=["POST"]),
            Route("/{path:any_text}", self._view, methods=["GET"]),
            Route("/{path:any_text}", self._change, methods=["POST"]),
        ]
        middleware = [
            Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"], www_redirect=False),
            Middleware(_Guard, refusal=self._refusal),
        ]
        return Starlette(routes=routes, middleware=middleware, exception_handlers={Exception: _bug})

    def _refusal(self, request: Request) -> Response | None:
        """Return what others than the page get, and who opens it by a link."""
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if origin != f"http://{host}" and (origin is not None or request.method == "POST"):
            text = "This page answers only on its own address and to its own forms."
            return HTMLResponse(pages.document("Refused", text=text), 403)
        key = request.query_params.get("key")
        if request.method == "GET" and request.scope["path"] == "/" and key is not None and self._is_spent(key):
            cookie = f"{self._cookie}={self._secret}; Path=/; HttpOnly; SameSite=Strict"
            return HTMLResponse(
                pages.document("perf explore", text=""), 200, {"Set-Cookie": cookie, "Refresh": "0; url=/"}
            )
        if not hmac.compare_digest(request.cookies.get(self._cookie, "").encode(), self._secret.encode()):
            message = "Open the address that `perf explore` printed last: each opens the page once, in one browser."
            return HTMLResponse(pages.document("Refused", text=message), 403)
        return None

    def _is_spent(self, key: str) -> bool:
        """Return whether a key opens the page; it does not again."""
        with self._lock:
            matches = [each for each in self._keys if hmac.compare_digest(key.encode(), each.encode())]
            self._keys.difference_update(matches)
            if matches and not self._keys:
                line = f"opened; for another browser: {self.link()}"
                # A terminal that is not read must not stop the page.
                threading.Thread(target=self._announce, args=(line,), daemon=True).start()
        return bool(matches)

    def _script(self, request: Request) -> Response:
        from perf_views.bokeh_marks import bokeh_script

        path = request.scope["path"]
        text = bokeh_script() if path == pages.BOKEH else pages.asset(pages.SCRIPTS[path])
        # That of BokehJS is long, and stays the same while the page is open.
        headers = {"Cache-Control": "private, max-age=3600"} if path == pages.BOKEH else {}
        return Response(text, headers=headers, media_type="text/javascript")

    def _window(self, request: Request) -> Response:
        """Finer parts of a long chart."""
        from perf_views.bokeh_marks import window_content

        query = request.query_params
        with self._lock:
            plot = self._plots.get(query.get("plot", ""))
        try:
            start, end = float(query["from"]), float(query["to"])
        except (KeyError, ValueError):
            plot = None
        if plot is None or not start < end:
            return _json({"error": "there is no such chart any more; load the page again"}, 404)
        return _json(window_content(plot, (start, end)))

    def _keep(self, plot: Plot) -> str:
        """Remember a plot, of which finer parts may be asked for; return where."""
        name = secrets.token_urlsafe(8)
        self._plots[name] = plot
        if len(self._plots) > _MOST_PLOTS:
            self._plots.popitem(last=False)
        return f"{pages.WINDOW}?plot={name}"

    def _feed(self, request: Request) -> Response:
        """Return what a script asks for; it does not wait for views and changes, and these not for it."""
        try:
            feed = self.session.subject.feed(
                pages.path_of(_raw(request).removeprefix(FEED)), dict(request.query_params)
            )
        except PerfError as error:
            return _json({"error": str(error)}, 404 if isinstance(error, NoViewError) else 422)
        headers = {}
        if feed.file_name:
            headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(feed.file_name, safe='')}"
        return Response(feed.content, media_type=feed.media, headers=headers)

    def _frame(self) -> pages.Frame:
        session = self.session
        return pages.Frame(session.subject.title, session.version, session.undoable, keep=self._keep)

    def _view(self, request: Request) -> Response:
        path, query = pages.path_of(_raw(request)), dict(request.query_params)
        with self._lock:
            try:
                view = self.session.view(path, query)
                return HTMLResponse(replace(self._frame(), ways=self.session.ways(path, query)).view(view, query))
            except PerfError as error:
                is_absent = isinstance(error, NoViewError)
                title, status = ("Not here", 404) if is_absent else ("Cannot show this view", 422)
                return HTMLResponse(self._frame().failed(title, str(error)), status)

    async def _change(self, request: Request) -> Response:
        """Preview, keep, leave or undo a change."""
        form = await _form(request)
        if form is None:
            return HTMLResponse(pages.document("Too long", text="The form is longer than 4 MiB."), 413)
        return await run_in_threadpool(self._changed, _raw(request), form)

    def _changed(self, raw: str, form: dict[str, str]) -> Response:
        version, step, place_text = (
            form.pop(pages.VERSION, ""),
            form.pop(pages.STEP, "preview"),
            form.pop(pages.PLACE, ""),
        )
        path = pages.path_of(raw)
        place = pages.place_of(place_text) if place_text else (path, {})
        with self._lock:
            try:
                if raw == pages.UNDO:
                    return HTMLResponse("", 303, {"Location": pages.address(*self.session.undo(version))})
                if step == "leave":
                    return self._left(path, form, version, place)
                if step == "keep":
                    kept = self.session.keep(path, form, version, place)
                    return HTMLResponse("", 303, {"Location": pages.address(kept.path, kept.query)})
                change = self.session.preview(path, form, version)
                return HTMLResponse(self._frame().preview(change, path, form, pages.address(*place)))
            except PerfError as error:
                status = 409 if isinstance(error, StaleEditError) else 422
                if raw == pages.UNDO:
                    return HTMLResponse(self._frame().failed("Change refused", str(error)), status)
                return HTMLResponse(self._refused(str(error), path, form, place), status)

    def _left(self, path: ViewPath, form: Query, version: str, place: Place) -> Response:
        """Return the view that a change was begun in, with what was typed."""
        view = self.session.view(*place)
        view = replace(view, blocks=tuple(_filled(block, path, form) or block for block in view.blocks))
        notice = Notice("Nothing was kept. Your input is still here.")
        # What was typed stays of the version that it was begun at: an edit of another tab is not passed over.
        frame = replace(self._frame(), version=version, ways=self.session.ways(*place))
        return HTMLResponse(frame.view(view, place[1], [notice]))

    def _refused(self, message: str, path: ViewPath, form: Query, place: Place) -> str:
        try:
            blocks = self.session.view(*place).blocks
            action = next(filter(None, (_filled(block, path, form) for block in blocks)), None)
        except PerfError:  # the view went with an edit of another tab
            action = None
        if action is None:  # texts with the names of the fields
            fields = (Field(name, name.replace("_", " "), text, "lines") for name, text in form.items())
            action = Action(tuple(fields), path)
        return self._frame().refused(message, action, pages.address(*place))


def _raw(request: Request) -> str:
    """Return the path of a request, as yet encoded: a part of it may have a slash."""
    raw: bytes = request.scope.get("raw_path", request.scope["path"].encode())
    return raw.decode("ascii", "replace")


async def _form(request: Request) -> dict[str, str] | None:
    """Return the fields of a posted form; None if it is too long."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_BYTES:
            return None
    fields = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)
    return {name: value.replace("\r\n", "\n") for name, value in fields}


def _json(content: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(content), status, media_type="application/json")


def listen(port: int = 0) -> socket.socket:
    """Return a socket on the loopback address."""
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
    """Serve until the process is interrupted, which raises `KeyboardInterrupt`, or its terminal goes."""
    config = uvicorn.Config(
        page.application(), log_level="error", access_log=False, server_header=False, lifespan="off",
        timeout_graceful_shutdown=1,
    )  # fmt: skip
    server = uvicorn.Server(config)
    # A client whose request breaks off or breaks the protocol is no error of the program.
    breaks = ("LocalProtocolError", "RemoteProtocolError")
    logging.getLogger("uvicorn.error").addFilter(
        lambda record: not record.exc_info or type(record.exc_info[1]).__name__ not in breaks
    )
    if hasattr(signal, "SIGHUP"):  # its terminal goes; an exception would be raised in whatever is being served
        signal.signal(signal.SIGHUP, lambda *_: setattr(server, "should_exit", True))
    server.run(sockets=[listener])


@contextlib.contextmanager
def served(subject: Viewable) -> Iterator[str]:
    """The address that opens a subject's page, served from a thread: to try views in a browser, or to picture them."""
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
    """Return what the browser gets if the program has a bug, whose traceback goes to the terminal."""
    text = "This is a bug of perfcore; the terminal has its traceback. Nothing was changed; go back to what you had."
    return HTMLResponse(pages.document("Internal error", text=text), 500, _HEADERS)
