"""Objects behind addresses: read by fsspec if it is installed, and refused in one line otherwise."""

import functools
import http.server
import sys
import threading
from pathlib import Path

import pytest

ROWS = "p,time_s\n" + "".join(f"{p},{0.5 + 8 / p}\n" for p in (1, 2, 4, 8, 16))


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def server(folder):
    folder.joinpath("runs.csv").write_text(ROWS)
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def test_without_the_extra_it_is_named(refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    expected = "s3://bucket/runs.csv: an address needs fsspec; pip install 'perfcore[remote]' brings it"
    assert refused("fit", "s3://bucket/runs.csv") == expected


def test_an_object_is_read_as_the_file(perf, refused, server):
    pytest.importorskip("fsspec")
    pytest.importorskip("aiohttp")
    assert perf("fit", f"{server}/runs.csv", "--at", "p=64").lines == perf("fit", "runs.csv", "--at", "p=64").lines
    assert refused("fit", f"{server}/none.csv") == f"{server}/none.csv: there is no such object"


def test_an_object_that_changes_is_refused(refused, server, monkeypatch):
    pytest.importorskip("aiohttp")
    from fsspec.implementations.http import HTTPFileSystem

    async def get_file(_, path, copy, **_options):
        Path(copy).write_text(ROWS)
        Path("runs.csv").write_text(ROWS + "32,0.8\n")

    HTTPFileSystem.clear_instance_cache()
    monkeypatch.setattr(HTTPFileSystem, "_get_file", get_file)
    assert refused("fit", f"{server}/runs.csv").startswith(f"{server}/runs.csv: changed while it was read")


def test_an_object_of_s3_is_read(perf, folder, monkeypatch):
    pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    server.start()
    try:
        host, port = server.get_host_and_port()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        import s3fs

        bucket = s3fs.S3FileSystem(skip_instance_cache=True)
        bucket.mkdir("results")
        bucket.pipe("results/runs.csv", ROWS.encode())
        folder.joinpath("runs.csv").write_text(ROWS)
        expected = perf("fit", "runs.csv", "--at", "p=64").lines
        assert perf("fit", "s3://results/runs.csv", "--at", "p=64").lines == expected
    finally:
        server.stop()
