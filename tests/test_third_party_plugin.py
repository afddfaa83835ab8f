"""A third party's plugin, installed into a fresh environment, works from the program."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parents[1] / "examples" / "plugin_ruptures"
START_S = 1_718_000_000


def run(python: Path, *arguments: str, status: int = 0) -> str:
    """Run the environment's interpreter; what it printed, on stderr where it should fail."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([python, *arguments], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == status, f"{done.stdout}\n{done.stderr}"
    return done.stdout if status == 0 else done.stderr


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Interpreter of a fresh environment that has the plugin, and sees what is installed here.

    The build backend and the libraries come from this environment, so nothing is downloaded.
    """
    home = tmp_path_factory.mktemp("environment")
    venv.EnvBuilder(symlinks=True).create(home)
    python = home / "bin" / "python"
    fresh = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    # addsitedir, unlike a plain line, also follows the .pth file of an editable perfcore.
    here = sysconfig.get_path("purelib")
    (fresh / "libraries_from_outside.pth").write_text(f"import site; site.addsitedir({here!r})\n")
    pip = ["-m", "pip", "--python", str(python), "--disable-pip-version-check", "install"]
    run(
        Path(sys.executable),
        *pip,
        *("--quiet", "--no-index", "--no-deps", "--no-build-isolation", str(PLUGIN)),
    )
    return python


@pytest.fixture
def log(tmp_path):
    """Three levels, which change 40 and 100 samples of 10 s after the start."""
    loads = [1.0] * 40 + [6.0] * 60 + [3.0] * 50
    # A ripple below the jumps, so that neighbouring steps differ.
    lines = [f"{START_S + 10 * i} {load + 0.1 * (i % 2)}" for i, load in enumerate(loads)]
    path = tmp_path / "machine.load"
    path.write_text("\n".join(["# loadlog 1", *lines, ""]))
    return path


def test_the_plugin_is_listed_with_its_origin(python):
    listing = run(python, "-m", "perfcore", "plugins")
    for name in ("ruptures", "loadlog"):
        assert any(name in line.split() and "perfcore-ruptures" in line for line in listing.splitlines()), listing


def test_its_reader_and_its_segmenter_fit_a_log(python, log):
    printed = run(
        python,
        *("-m", "perfcore", "fit", str(log), "--fitter", "worley", "--segmenter", "ruptures"),
        *("--phases", "3", "--degree", "0", "--json"),
    )
    phases = json.loads(printed)["model"]["phases"]
    starts = [phase["start"] for phase in phases]
    assert starts == [START_S + 10 * steps for steps in (0, 40, 100)]


def test_its_options_are_checked_by_the_core(python, log):
    message = run(
        python,
        *("-m", "perfcore", "fit", str(log), "--segmenter", "ruptures", "--method", "botom-up"),
        status=2,
    )
    assert "did you mean 'bottom-up'" in message
    assert "Traceback" not in message


def test_its_own_tests_pass(python):
    run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(PLUGIN / "tests"))
