"""Third parties' plugins, installed into a fresh environment, work from the program."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
PLUGIN, USL = EXAMPLES / "plugin_ruptures", EXAMPLES / "plugin_usl"
START_S = 1_718_000_000


def run(python: Path, *arguments: str, status: int = 0) -> str:
    """Run the environment's interpreter; what it printed, on stderr where it should fail."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([python, *arguments], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == status, f"{done.stdout}\n{done.stderr}"
    return done.stdout if status == 0 else done.stderr


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Interpreter of a fresh environment that has the plugins, and sees what is installed here.

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
        *("--quiet", "--no-index", "--no-deps", "--no-build-isolation", str(PLUGIN), str(USL)),
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
        *("-m", "perfcore", "fit", str(log), "--fitter", "phases", "--segmenter", "ruptures"),
        *("--phases", "3", "--degree", "0", "--json"),
    )
    phases = json.loads(printed)["model"]["phases"]
    starts = [phase["start"] for phase in phases]
    assert starts == [START_S + 10 * steps for steps in (0, 40, 100)]


def test_its_options_are_checked_by_the_core(python, log):
    message = run(
        python, *("-m", "perfcore", "fit", str(log), "--segmenter", "ruptures", "--method", "botom-up"), status=2
    )
    assert "did you mean 'bottom-up'" in message
    assert "Traceback" not in message


def test_its_own_tests_pass(python):
    run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(PLUGIN / "tests"))


@pytest.fixture(scope="module")
def model(python, tmp_path_factory):
    """A file of the law of Gunther, with the data that it was fitted to beside it."""
    folder = tmp_path_factory.mktemp("usl")
    times = [(p, 100 * (1 + 0.02 * (p - 1) + 0.0005 * p * (p - 1)) / p * (1.01 if p in (2, 16) else 0.99))
             for p in (1, 2, 4, 8, 16, 32)]  # fmt: skip
    (folder / "runs.csv").write_text("p,time_s\n" + "".join(f"{p},{time}\n" for p, time in times))
    file = folder / "usl.json"
    run(python, "-m", "perfcore", "fit", str(folder / "runs.csv"), "--fitter", "usl", "-o", str(file))
    return file


def test_a_fitter_is_listed_offered_and_fits(python, model):
    assert "\n  usl " in run(python, "-m", "perfcore", "fit", "--help")
    assert "--fitter usl" in run(python, "-m", "perfcore", "info", str(model.with_name("runs.csv")))
    (content,) = json.loads(run(python, "-m", "perfcore", "predict", str(model), "--at", "p=64", "--json"))["rows"]
    assert 4 < content["value"] < 10


def test_its_model_is_verified_compared_drawn_and_reported(python, model, tmp_path):
    runs = str(model.with_name("runs.csv"))
    assert "R^2" in run(python, "-m", "perfcore", "validate", str(model), runs)
    assert run(python, "-m", "perfcore", "compare", str(model), str(model), "--at", "p=64")
    assert run(
        python, "-m", "perfcore", "experiment", "next", str(model), "--target", "p=128", "--candidates", "p=1..64*2"
    )
    for command, name in (("plot", "usl.svg"), ("explore", "usl.html")):
        run(python, "-m", "perfcore", command, str(model), runs, "-o", str(tmp_path / name))
        assert (tmp_path / name).stat().st_size > 1000


def test_a_representation_a_reader_and_a_command(python, model, tmp_path):
    assert (
        "weibull"
        in run(python, "-m", "perfcore", "stochastic", "eval", "2*a", "--with", "a=weibull:3,0.4", "--json").lower()
    )
    rates = "0\tMethod: MEMCPY\tElapsed: 0.00010\tMiB: 1.00000\tCopy: 10101.010 MiB/s\n"
    (tmp_path / "runs.txt").write_text(rates)
    assert "mbw" in run(python, "-m", "perfcore", "info", str(tmp_path / "runs.txt")).splitlines()[1]
    assert "  peak " in run(python, "-m", "perfcore", "--help")
    # Gunther: sqrt((1 - a)/b), here 44.
    text = run(python, "-m", "perfcore", "peak", str(model))
    assert 30 < int(text.split()[2]) < 60
    code = f"import perfcore; print('peak' in dir(perfcore), perfcore.peak({str(model)!r}))"
    assert run(python, "-c", code).split()[0] == "True"


def test_check_looks_at_one_plugin_alone(python):
    assert "4 implementations: all can be imported" in run(python, "-m", "perfcore", "plugins", "check", "perfcore-usl")
    message = run(python, "-m", "perfcore", "plugins", "check", "perfcore-ulsl", status=2)
    assert "did you mean 'perfcore-usl'" in message


def test_the_tests_of_the_second_pass_too(python):
    run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(USL / "tests"))
