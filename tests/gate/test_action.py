"""The script of the action of GitHub: the table and the picture, and the gate's status as an output."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".github" / "gate.sh"


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
