"""What type checkers and readers of the reference are told of `perfcore`: as much as `dir` lists."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SLIP = 'perfcore.fit(runs, fitter="scaling", parametre="p")'
PROGRAM = f"""import perfcore
runs = perfcore.read("runs.csv")
model = perfcore.fit(runs, fitter="scaling", parameter="p")
reveal_type(model)
reveal_type(perfcore.fit(runs, fitter="worley", degree=2))
reveal_type(perfcore.fit(runs))
reveal_type(model.predict([128], interval=0.95))
model.save("model.json")
{SLIP}
"""


@pytest.fixture(scope="module")
def stubs():
    """The program that writes the stubs."""
    spec = importlib.util.spec_from_file_location("write_stubs", ROOT / "plugins" / "stubs" / "write_stubs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_stubs_are_up_to_date(stubs):
    assert stubs.STUB.read_text() == stubs.stub_text(), "run `python plugins/stubs/write_stubs.py`"
    assert (stubs.STUB.parent / "py.typed").read_text() == "partial\n"


def test_every_package_with_a_function_says_that_it_is_typed(stubs):
    packages = set(re.findall(r"^from (perf\w*)", stubs.stub_text(), re.MULTILINE))
    for name in packages:
        assert (Path(importlib.util.find_spec(name).origin).parent / "py.typed").exists(), name


@pytest.mark.slow
def test_a_type_checker_knows_every_function(stubs, tmp_path):
    pytest.importorskip("mypy")
    names = ["fit", "rank", *re.findall(r"import \w+ as (\w+)", stubs.stub_text())]
    assert {"compare", "overheads", "fit"} <= set(names)
    (tmp_path / "use.py").write_text("\n".join(["import perfcore", *(f"reveal_type(perfcore.{n})" for n in names)]))
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), "use.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    revealed = re.findall(r'^use\.py:(\d+): note: Revealed type is "(.*)"$', done.stdout, re.MULTILINE)
    assert [int(line) - 2 for line, _ in revealed] == list(range(len(names))), done.stdout + done.stderr
    assert [name for name, (_, kind) in zip(names, revealed, strict=True) if kind == "Any"] == []


@pytest.mark.slow
def test_a_strict_type_checker_accepts_a_program_and_finds_a_slip_in_an_option(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "use.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "use.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert re.findall(r'^use\.py:\d+: note: Revealed type is "(?:.*\.)?(\w+)"$', done.stdout, re.MULTILINE) == [
        "ScalingModel", "PhaseModel", "Model", "DataFrame",
    ], done.stdout + done.stderr  # fmt: skip
    errors = re.findall(r"^use\.py:(\d+): error", done.stdout, re.MULTILINE)
    assert {PROGRAM.splitlines()[int(line) - 1] for line in errors} == {SLIP}
