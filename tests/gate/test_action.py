"""The gate in GitHub and in GitLab: the table and the picture, and the gate's status."""

import json
import os
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import unquote_plus

import pytest
import yaml

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".github" / "gate.sh"


@pytest.mark.parametrize(("base", "status", "written"), [("old_*.json", "1", True), ("none_*.json", "2", False)])
def test_it_says_the_status_and_ends_well(tmp_path, base, status, written):
    for name, time in (("old", 1.0), ("new", 1.5)):
        for k in range(8):
            result = {"command": "sort", "times": [time + k / 100], "mean": time + k / 100}
            (tmp_path / f"{name}_{k}.json").write_text(json.dumps({"results": [result]}))
    told = {"BASE": base, "NEW": "new_*.json", "LIMIT": "1.05x", "RUNNER_TEMP": str(tmp_path)}
    files = {name: str(tmp_path / name) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    program = Path(sys.executable).with_name("perfcore")
    subprocess.run(["/bin/bash", SCRIPT, program], cwd=tmp_path, env={**os.environ, **told, **files}, check=True)
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == f"status={status}\n"
    assert (tmp_path / "gate.png").exists() == written
    assert (tmp_path / "GITHUB_STEP_SUMMARY").exists() == written


class _Recorder(BaseHTTPRequestHandler):
    """Answers as GitLab does to a picture, and keeps what it was told."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.told.append((self.path, self.headers["PRIVATE-TOKEN"], body))
        self.send_response(201)
        self.end_headers()
        self.wfile.write(json.dumps({"markdown": "![gate](/uploads/1/gate.png)"}).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl, which GitLab's images have, is not here")
@pytest.mark.parametrize("picture", [True, False])
def test_gitlab_gets_the_table_and_the_picture_and_no_token_on_a_command_line(tmp_path, picture):
    _, jobs = yaml.safe_load_all((ROOT / ".gitlab" / "gate.yml").read_text())
    [comment] = jobs["perf-gate"]["after_script"]
    (tmp_path / "gate.md").write_text("| benchmark | ratio |\n")
    if picture:
        (tmp_path / "gate.png").write_bytes(b"png")
    with HTTPServer(("127.0.0.1", 0), _Recorder) as server:
        server.told = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        told = {
            "GATE_TOKEN": "secret",
            "CI_MERGE_REQUEST_IID": "7",
            "CI_PROJECT_ID": "3",
            "CI_API_V4_URL": f"http://127.0.0.1:{server.server_port}",
        }
        traced = subprocess.run(
            ["/bin/bash", "-xc", comment],
            cwd=tmp_path,
            env={**os.environ, **told},
            check=True,
            capture_output=True,
            text=True,
        )
        server.shutdown()
    *_, (path, token, body) = server.told
    assert (path, token) == ("/projects/3/merge_requests/7/notes", "secret")
    assert ("uploads" in unquote_plus(body.decode())) == picture == (len(server.told) == 2)
    assert not [line for line in traced.stderr.splitlines() if "curl" in line and "secret" in line]
    assert not (tmp_path / ".gate-header").exists()
