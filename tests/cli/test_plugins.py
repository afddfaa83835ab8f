"""``perf plugins``: what is installed, what is wrong with it, packages that `new` writes, and plugins that raise."""

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from child import run_lines
from trace_samples import sample

from perfcore import hookimpl
from perfcore.__main__ import main
from perfcore.hooks.registry import Registry, registry


def test_lists_everything_that_is_registered(perf):
    rows = perf("plugins").lines[3:]
    listed = {tuple(row.split()[:2]) for row in rows}
    everything = {(kind[:-1], name) for kind in registry().kinds for name in registry().entries(kind)}
    assert listed == {(kind, name.split()[0]) for kind, name in everything}  # commands of groups have two words
    facts = json.loads(perf("plugins", "--json").out)["rows"]
    assert {(fact["kind"], fact["name"]) for fact in facts} == everything
    assert all(fact["from"] and fact["help"] for fact in facts)


@pytest.mark.parametrize("name", [name for kind in registry().kinds for name in registry().entries(kind)])
def test_each_can_be_described(perf, name):
    assert name in perf("plugins", name).lines[0]
    assert ">>>" not in perf("plugins", name).out  # examples are for the documentation


def test_check(perf):
    assert perf("plugins", "check").out.endswith("implementations: all can be imported\n")


@pytest.fixture
def with_broken_plugins(monkeypatch):
    class Half:
        @staticmethod
        @hookimpl
        def register_functions(register):
            register("half", "no_such_module:Half", help="cannot be imported")

    def broken():
        raise ImportError("needs another\nversion")

    found = Registry()
    found.add_plugins(("half", "dist-half", Half))
    found.add_plugins(("broken", "dist-broken", broken))
    monkeypatch.setattr("perf_basics.cli.registry", lambda: found)
    monkeypatch.setattr("perfcore.cli.output.registry", lambda: found)


@pytest.mark.usefixtures("with_broken_plugins")
def test_check_names_everything_that_is_broken(perf):
    warning, error = perf("plugins", "check", status=2).err.split("\nperf: error: ")
    error = " ".join(error.split())
    assert warning.startswith("perf: warning: plugin broken of dist-broken is skipped: ImportError: needs another")
    assert "plugin broken of dist-broken is skipped" in error
    assert "function 'half' of dist-half cannot be imported" in error


@pytest.mark.usefixtures("with_broken_plugins", "folder")
def test_to_other_commands_a_broken_plugin_is_a_warning(perf, monkeypatch, capsys):
    monkeypatch.setattr("perf_basics.cli.registry", registry)  # the warning is that of every command
    monkeypatch.setattr(sys, "argv", ["perf", "info", "curve.csv"])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    assert ended.value.code == 0
    assert out.startswith("utilization curve")
    assert err == "perf: warning: plugin broken of dist-broken is skipped: ImportError: needs another version\n"


# A third party's plugin that raises: one line that names it, its method and its line; a traceback on request.
SOURCE = sample("raising_plugin")


@pytest.fixture
def plugin(folder, monkeypatch):
    """The plugin, in the registry of this process until the test ends."""
    (folder / "raising.py").write_text(SOURCE)
    (folder / "a.broken").write_text("any")
    (folder / "runs.csv").write_text("p,time_s\n1,8.1\n2,4.2\n4,2.1\n8,1.1\n16,0.6\n")
    monkeypatch.syspath_prepend(folder)
    known = registry()
    installed = [*known.plugins]
    known.add_plugins(("raising", "dist-raising", lambda: importlib.import_module("raising")))
    assert not known.problems
    yield known
    known._skip("raising", "dist-raising", "the test has ended")
    known.plugins[:] = installed


@pytest.mark.usefixtures("plugin")
def test_whatever_raises_is_named_with_its_line(perf):
    perf("fit", "runs.csv", "--fitter", "raising-curve", "-o", "model.json")
    for line, method, error in (
        ("fit a.broken", "Broken.read", "KeyError: 'column'"),
        ("gate a.broken a.broken", "Broken.read", "KeyError: 'column'"),
        ("predict model.json --at p=200", "Curve.curve", "ValueError: too large"),
        ("fit curve.csv --segmenter halves --phases 2", "Halves.segment", "ZeroDivisionError: division by zero"),
        ("fit runs.csv --fitter individual --functions power,1", "Power.__call__", "TypeError: power"),
        ("stochastic eval x+1 --with x=dice:6", "Dice.quantile", "OSError: no dice"),
        ("roll twice", "roll", "AttributeError: roll"),
    ):
        name = method.rpartition(".")[2]
        number = next(k for k, text in enumerate(SOURCE.splitlines(), 1) if text.endswith(f"# {name}"))
        place = f"plugin dist-raising: {method} failed at raising.py:{number}: {error}"
        outcome = perf(*line.split(), status=2, short=True)
        assert " ".join(re.sub(r"^perf: \w+: ", "", outcome.err).split()) == f"{place} fix: -v shows the traceback"
        assert "Traceback" not in outcome.err


@pytest.mark.usefixtures("plugin")
def test_a_fitter_without_faults_of_its_own_names_what_is_wrong(perf, refused):
    """As the user's, or as that of the plugin whose coefficients have another shape."""
    assert perf("fit", "runs.csv", "--fitter", "raising-curve", "--at", "16").lines[0].startswith("At p=16: 3.22 s")
    said = refused("fit", "runs.csv", "--fitter", "raising-curve", "--at", "q=16")
    assert said == "--at 'q=16': NAME=NUMBER is expected, with a name of p"
    said = refused("fit", "runs.csv", "--fitter", "bent")
    assert "Bent.estimate returned an array of shape (3,); (1,) is expected" in said


@pytest.mark.usefixtures("plugin")
def test_the_traceback_is_there_on_request(perf):
    err = perf("fit", "a.broken", "-v", status=2, short=True).err
    assert "Traceback (most recent call last):" in err
    assert '{}["column"]  # read' in err


# `perf plugins new` writes packages that work; `perf plugins check` and errors of plugins name what fails.
KINDS = ("fitter", "segmenter", "function", "representation", "reader", "command")
DOCS = Path(__file__).parents[2] / "docs"


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
    lines = [["plugins", "check", f"perfcore-my-{kind}"] for kind in KINDS]
    lines.append(["fit", "runs.csv", "--fitter", "my-fitter", "--at", "16"])
    *checked, fitted = run_lines(lines, tmp_path, PYTHONPATH=str(tmp_path))
    said = "1 plugins, 1 implementations: all can be imported and keep their contracts\n"
    assert [each[:2] for each in checked] == [(0, said)] * len(KINDS)
    assert (fitted.status, fitted.out[:14]) == (0, "At p=16: 0.5 s")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(words, cwd=tmp_path, check=False, env=os.environ | {"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 0


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
