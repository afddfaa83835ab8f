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


# What GitHub writes of a pull request, cut down to what an action reads.
EVENT = {"action": "synchronize", "number": 42, "pull_request": {"number": 42, "head": {"sha": "0a1b2c3d"}}}


def run_bash(*words, folder, told):
    """Run bash with further variables of the environment."""
    known = {**os.environ, **told}
    return subprocess.run(["/bin/bash", *words], cwd=folder, env=known, check=True, capture_output=True, text=True)


@pytest.mark.parametrize(("base", "new", "status", "verdict"), [
    ("old.json", [1.5 + k / 100 for k in range(8)], "1", "fail"),
    ("old.json", [1.13 + k / 60 for k in range(8)], "0", "inconclusive"), ("none.json", [1.0], "2", "error"),
])  # fmt: skip
def test_it_writes_the_verdict_and_comments_on_a_recorded_event(tmp_path, base, new, status, verdict):
    for name, times in (("old", [1.0 + k / 60 for k in range(8)]), ("new", new)):
        (tmp_path / f"{name}.json").write_text(json.dumps({"results": [{"command": "sort", "times": times}]}))
    (tmp_path / "event.json").write_text(json.dumps(EVENT))
    (tmp_path / "gh").write_text('#!/bin/sh\necho "$@" >>"$RUNNER_TEMP/gh.txt"\n')
    (tmp_path / "gh").chmod(0o755)
    told = {"BASE": base, "NEW": "new.json", "LIMIT": "1.05x", "RUNNER_TEMP": str(tmp_path), "COMMENT": "true"}
    told |= {"GITHUB_EVENT_PATH": str(tmp_path / "event.json"), "GITHUB_REPOSITORY": "owner/project"}
    told |= {name: str(tmp_path / name) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    told |= {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    program = Path(sys.executable).with_name("perfcore")
    done = run_bash(SCRIPT, program, folder=tmp_path, told=told)
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == f"status={status}\nverdict={verdict}\n"
    assert ("::notice" in done.stdout) == (verdict == "inconclusive")
    if verdict == "error":
        assert not (tmp_path / "gh.txt").exists()
        return
    assert (tmp_path / "gate.png").exists()
    assert f"**{verdict.upper()}" in (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
    assert (tmp_path / "gh.txt").read_text().startswith("pr comment 42 --repo owner/project --edit-last")


def test_a_history_is_commented_with_its_values(tmp_path):
    rows = "".join(f"c{k:02d},sort,{1.0 + 0.01 * (k % 3)}\n" for k in range(20))
    (tmp_path / "history.csv").write_text(f"commit,bench,time_s\n{rows}")
    told = {"BASE": "history.csv", "RUNNER_TEMP": str(tmp_path)}
    told |= {name: str(tmp_path / name) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    program = Path(sys.executable).with_name("perfcore")
    subprocess.run(["/bin/bash", SCRIPT, program], cwd=tmp_path, env={**os.environ, **told}, check=True)
    assert "verdict=pass" in (tmp_path / "GITHUB_OUTPUT").read_text()
    assert "▁▄█" in (tmp_path / "GITHUB_STEP_SUMMARY").read_text()


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
        url = f"http://127.0.0.1:{server.server_port}"
        told = {"GATE_TOKEN": "secret", "CI_MERGE_REQUEST_IID": "7", "CI_PROJECT_ID": "3", "CI_API_V4_URL": url}
        traced = run_bash("-xc", comment, folder=tmp_path, told=told)
        server.shutdown()
    *_, (path, token, body) = server.told
    assert (path, token) == ("/projects/3/merge_requests/7/notes", "secret")
    assert ("uploads" in unquote_plus(body.decode())) == picture == (len(server.told) == 2)
    assert not [line for line in traced.stderr.splitlines() if "curl" in line and "secret" in line]
    assert not (tmp_path / ".gate-header").exists()
