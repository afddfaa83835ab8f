"""`perf plugins new` writes packages that work; `perf plugins check` and errors of plugins name what fails."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

KINDS = ("fitter", "segmenter", "function", "representation", "reader", "command")
DOCS = Path(__file__).parents[2] / "docs"
SCRIPT = """
import contextlib, io, json, pytest, sys
from perfcore.__main__ import main
lines, *tests = sys.argv[1:]
printed = []
for words in json.loads(lines):
    sys.argv = ["perf", *words]
    out = io.TextIOWrapper(io.BytesIO(), write_through=True)
    status = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            main()
        except SystemExit as ended:
            status = ended.code or 0
    printed.append((status, out.buffer.getvalue().decode()))
if tests:
    printed.append((int(pytest.main(["-q", "-p", "no:cacheprovider", *tests])), ""))
print()
print(json.dumps(printed))
"""


def installed(folder, files):
    """Let Python find packages of `new` as pip would have installed them."""
    for file in files:
        if file.parent.parent.name.startswith("perfcore-") and file.suffix == ".py" and file.parent.name != "tests":
            target = folder / file.parent.name
            target.mkdir(exist_ok=True)
            (target / file.name).write_text(file.read_text())
            package = file.parent.name
            record = folder / f"{package}-0.1.0.dist-info"
            record.mkdir(exist_ok=True)
            name = package.replace("_", "-")
            (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n")
            (record / "entry_points.txt").write_text(f"[perfcore]\n{package} = {package}\n")


@pytest.fixture
def new(perf):
    """Write a package with `perf plugins new`, and return its files."""

    def new(name, kind, folder):
        lines = perf("plugins", "new", name, "--kind", kind, "--folder", folder, short=True).lines
        assert lines[-1].startswith("Next: pip install -e ")
        return [Path(line) for line in lines[:-1]]

    return new


def run(folder, *lines, tests=()):
    """Status and output of each command, and of pytest on files, in one process that finds a folder's packages."""
    environment = os.environ | {"PYTHONPATH": str(folder)}
    command = [sys.executable, "-c", SCRIPT, json.dumps(lines), *map(str, tests)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_the_guide_shows_the_files_that_are_written(new, tmp_path):
    guide = "".join(page.read_text(encoding="utf-8") for page in (DOCS / "how-to").glob("extend*.md"))
    for kind in KINDS:
        code = next(path for path in new("example", kind, tmp_path / kind) if path.name == f"{kind}.py")
        assert f"```python\n{code.read_text(encoding='utf-8')}```\n" in guide, kind


def test_a_package_of_each_kind_keeps_its_contract(new, tmp_path):
    """And the fitter finds a power law without noise exactly: 8, 4, 2, 1, and 0.5 at p=16."""
    written = [new(f"my-{kind}", kind, tmp_path) for kind in KINDS]
    for files in written:
        installed(tmp_path, files)
    (tmp_path / "runs.csv").write_text("p,time_s\n1,8\n2,4\n4,2\n8,1\n")
    tests = [file for files in written for file in files if file.parent.name == "tests"]
    assert len(tests) == len(KINDS)
    *checked, fitted, tested = run(
        tmp_path,
        *(["plugins", "check", f"perfcore-my-{kind}"] for kind in KINDS),
        ["fit", "runs.csv", "--fitter", "my-fitter", "--at", "16"],
        tests=tests,
    )
    said = "1 plugins, 1 implementations: all can be imported and keep their contracts\n"
    assert checked == [[0, said]] * len(KINDS)
    assert (fitted[0], fitted[1][:14]) == (0, "At p=16: 0.5 s")
    assert tested[0] == 0


@pytest.mark.parametrize(("name", "kind", "message"), [
    ("Power", "fitter", "small letters, digits and hyphens"), ("class", "fitter", "small letters, digits and hyphens"),
    ("power", "model", "choose from fitter, segmenter, function, representation, reader, command"),
])  # fmt: skip
def test_names_that_cannot_be_packages_are_refused(refused, tmp_path, name, kind, message):
    assert message in refused("plugins", "new", name, "--kind", kind, "--folder", tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_exists_is_kept(refused, tmp_path):
    (tmp_path / "perfcore-power").mkdir()
    assert "perfcore-power: exists; name another plugin" in refused("plugins", "new", "power", "--folder", tmp_path)
