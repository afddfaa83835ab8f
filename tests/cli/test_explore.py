"""``perf explore``: what is said on the command line; the page itself is tested in tests/view."""

import contextlib
import http.client
import re
import signal
import subprocess
import sys
from pathlib import Path


def test_a_library_that_is_missing_is_named(refused, folder, monkeypatch):
    monkeypatch.delitem(sys.modules, "perf_explore.server", raising=False)  # which other tests import
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    needs = "the page needs Starlette, uvicorn, Jinja2 and Bokeh: pip install 'perfcore[view]'"
    assert refused("explore", "curve.csv", "--no-browser") == needs


@contextlib.contextmanager
def served():
    """The program that serves a page; it ends where the test fails, too."""
    words = [Path(sys.executable).with_name("perf"), "explore", "curve.csv", "--no-browser"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_it_serves_until_it_is_interrupted(folder):
    with served() as process:
        said = process.stdout.readline()
        port, key = re.fullmatch(
            r"open http://127\.0\.0\.1:(\d+)/\?key=(\S{32}) \(Ctrl-C ends it\)\n", said
        ).groups()  # fmt: skip
        connection = http.client.HTTPConnection("127.0.0.1", int(port))  # kernels may be compiled
        statuses, headers = [], {}
        for path in (f"/?key={key}", f"/?key={key}", "/fit/worley?fit.phases=2", "/"):
            connection.request("GET", path, headers=headers if len(statuses) > 1 else {})
            answer = connection.getresponse()
            statuses.append(answer.status)
            text = answer.read().decode()
            if given := answer.getheader("Set-Cookie"):
                headers = {"Cookie": given.split(";")[0]}
        connection.close()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert statuses == [200, 403, 200, 200]
    assert "curve.csv" in text
    again, said = out.split("\n", 1)
    assert re.fullmatch(rf"opened; for another browser: http://127\.0\.0\.1:{port}/\?key=\S{{32}}", again)
    assert key not in again
    assert said == "stopped; everything that was kept is in its files\n"
    compiled = "perf: compiling numerical kernels, a few seconds, first use only\n"
    assert (err.removeprefix(compiled), process.returncode) == ("", 0)
