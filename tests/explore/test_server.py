"""Only the page itself is answered: the secret, the host, the origin; and every answer is a page."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import replace
from urllib.parse import urlsplit

import numpy as np
import pytest
from browsing import PORT

import perfcore
from perf_explore import Session, open_subjects, served
from perf_views import Action, FileEdit
from perfcore import UtilizationCurve
from perfcore.base.errors import DataError, InputError

OWN = f"http://127.0.0.1:{PORT}"


def test_a_link_leads_to_the_page_once_and_the_secret_stays_in_the_cookie(ask, page):
    link = page.link().removeprefix(OWN)
    assert "the-secret" not in link
    entry = ask(link, cookie=None)
    assert entry.status == 200
    assert entry.headers["set-cookie"] == f"perf-{PORT}=the-secret; Path=/; HttpOnly; SameSite=Strict"
    assert entry.headers["refresh"] == "0; url=/"
    assert "notebook" not in entry.text
    assert ask(link, cookie=None).status == 403
    assert ask(link).status == 200
    assert "the-secret" not in ask("/").text


@pytest.mark.parametrize("path", ["/", "/?key=guess", "/?key=", "/-/page.js", "/a%2Fb/%C3%BC"])
@pytest.mark.parametrize("cookie", [None, f"perf-{PORT}=guess", "perf-1=the-secret", f"perf-{PORT}=the-secrät"])
def test_without_the_secret_nothing_is_shown(ask, path, cookie):
    answer = ask(path, cookie=cookie)
    assert answer.status == 403
    assert "notebook" not in answer.text


@pytest.mark.parametrize("path", ["/", "/-/undo"])
def test_who_goes_away_within_a_request_is_not_waited_for(page, path):
    async def gone():
        return {"type": "http.disconnect"}

    async def send(message):
        raise AssertionError(message)

    headers = {"host": OWN.removeprefix("http://"), "cookie": f"perf-{PORT}=the-secret", "origin": OWN}
    scope = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
        "http_version": "1.1", "scheme": "http", "server": ("127.0.0.1", PORT),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    asyncio.run(page.application()(scope, gone, send))


@pytest.mark.parametrize("host", ["", "evil.example", f"evil.example:{PORT}", f"127.0.0.1.evil.example:{PORT}"])
def test_a_foreign_host_is_refused(ask, host):
    """A name that was made to point to this machine (DNS rebinding)."""
    for path in ("/", "/?key=the-secret", "/-/page.js"):
        answer = ask(path, host=host)
        assert (answer.status, answer.text) == (400, "Invalid host header")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", f"{OWN}0"])
def test_a_foreign_origin_is_refused(ask, session, origin):
    for form in (None, {"text": "two", "_version": "0", "_step": "keep"}):
        assert ask("/", form, origin=origin).status == 403
    assert ask("/", {"text": "two", "_version": "0"}, origin=None).status == 403
    assert session.version == "0"


def test_nothing_may_be_fetched_or_framed(ask):
    policy = ask("/").headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; connect-src 'self'; ")
    assert "form-action 'self'; base-uri 'none'; frame-ancestors 'none'" in policy
    assert ask("/").headers["cache-control"] == "no-store"


@pytest.mark.parametrize(("path", "status", "message"), [
    ("/no%0Awhere", 404, "there is no view"), ("/bad", 422, "does not converge"), ("/%FF", 404, "there is no view"),
])  # fmt: skip
def test_what_cannot_be_shown_is_said(ask, path, status, message):
    answer = ask(path)
    assert answer.status == status
    assert message in answer.text
    assert "Traceback" not in answer.text


def test_a_change_is_shown_then_kept_then_undone(ask, notebook):
    preview = ask("/", {"text": "two & more", "_version": "0"}, origin=OWN)
    assert preview.status == 200
    assert "two &amp; more" in preview.text
    assert notebook.file.read_text() == "one"
    kept = ask("/", {"text": "two & more", "_version": "0", "_step": "keep"}, origin=OWN)
    assert (kept.status, kept.headers["location"]) == (303, "/")
    assert notebook.file.read_text() == "two & more"
    assert "Undo: text is two &amp; more" in ask("/").text
    undone = ask("/-/undo", {"_version": "1"}, origin=OWN)
    assert (undone.status, undone.headers["location"]) == (303, "/")
    assert notebook.file.read_text() == "one"
    assert "Undo" not in ask("/").text


def test_an_edit_from_another_tab_is_refused_and_not_lost(ask, notebook):
    ask("/", {"text": "two", "_version": "0", "_step": "keep"}, origin=OWN)
    for step in ("preview", "keep"):
        late = ask("/", {"text": "three", "_version": "0", "_step": step}, origin=OWN)
        assert late.status == 409
        assert "meanwhile another tab kept: text is two" in late.text
        assert "three</textarea>" in late.text
    assert notebook.file.read_text() == "two"
    # The form that comes back is of the present version: it can be sent again.
    assert 'name="_version" value="1"' in late.text


def test_long_forms_are_refused(ask):
    assert ask("/", {"text": "x" * (5 << 20), "_version": "0"}, origin=OWN).status == 413


def test_only_loopback_is_bound(notebook):
    with served(notebook) as address:
        host, port = urlsplit(address).hostname, urlsplit(address).port
        assert host == "127.0.0.1"
        with pytest.raises(InputError, match=rf"127\.0\.0\.1:{port}: cannot be listened on"):
            perfcore.explore(CURVE, port=port, browser=False)
        with socket.socket() as other, pytest.raises(ConnectionRefusedError):
            other.connect(("127.0.0.2", port))


def test_a_file_that_someone_else_changed_is_left_alone(session, notebook):
    session.preview((), {"text": "two"}, "0")
    notebook.file.write_text("theirs")
    with pytest.raises(DataError, match="modified by another program"):
        session.keep((), {"text": "two"}, "0")
    assert (notebook.file.read_text(), session.version) == ("theirs", "0")
    notebook.file.write_text("one")
    session.keep((), {"text": "two"}, "0")
    notebook.file.write_text("theirs")
    with pytest.raises(DataError):
        session.undo("1")
    assert notebook.file.read_text() == "theirs"


def test_of_several_files_all_are_written_or_none(notebook, tmp_path):
    class Two(type(notebook)):
        def act(self, path, form):
            change = super().act(path, form)
            (tmp_path / "wall").write_text("")
            return replace(change, files=(*change.files, FileEdit(tmp_path / "wall" / "x", None, b"")))

    session = Session(Two(notebook.file))
    with pytest.raises(InputError):
        session.keep((), {"text": "two"}, "0")
    assert (notebook.file.read_text(), session.version) == ("one", "0")


CURVE = UtilizationCurve(np.arange(31.0), np.repeat([2.0, 8.0, 4.0], 10), source="c.csv")
PHASES = ("fit", "phases")


@pytest.fixture
def fits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()  # beside the data
    perfcore.write(CURVE, "runs/c.csv")
    return Session(open_subjects(["runs/c.csv"]))


def form_of(fits, query):
    """What the form that saves is sent with."""
    (action,) = (block for block in fits.view(PHASES, query).blocks if isinstance(block, Action))
    assert action.path == PHASES
    return {item.name: item.value for item in action.fields}


def test_a_fit_is_saved_beside_its_data_as_it_is_shown(fits):
    query = {"fit.degree": "0", "phases": "3", "from": "5"}
    form = form_of(fits, query)
    assert form.pop("save_as") == "runs/c-phases.json"
    assert form == query
    kept = fits.keep(PHASES, {**form, "save_as": "runs/c-phases.json"}, "0")
    assert (kept.path, kept.query) == (PHASES, query)
    assert perfcore.load("runs/c-phases.json").formula == perfcore.fit(CURVE, phases=3, degree=0).formula
