"""What stands in the folder where the program runs, and how its streams are opened, changes nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

RUNS = "p,time_s\n1,10.2\n2,5.3\n4,2.9\n8,1.68\n16,1.12\n"
FIT = [sys.executable, "-m", "perfcore", "fit", "runs.csv"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "runs.csv").write_text(RUNS)
    return tmp_path


def test_numba_takes_no_settings_from_the_current_folder(folder):
    (folder / ".numba_config.yaml").write_text(f"cache_dir: {folder / 'planted'}\n")
    code = (
        "import numpy, perfcore\n"
        "from perf_statistics.kernels import kernel\n"
        "print(kernel(lambda x: x.sum())(numpy.arange(4.0)))\n"
        "import numba; print(numba.config.CACHE_DIR or 'unset'); numba.config.reload_config()\n"
        "print(numba.config.CACHE_DIR or 'unset')\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.split() == ["6.0", "unset", "unset"]
    assert not (folder / "planted").exists()


def picture_in(folder):
    """The bytes of a picture that is drawn in a folder."""
    done = subprocess.run(
        [sys.executable, "-m", "perfcore", "plot", "runs.csv"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return (folder / "plot.png").read_bytes()


@pytest.fixture(scope="module")
def plain_picture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    (folder / "runs.csv").write_text(RUNS)
    return picture_in(folder)


@pytest.mark.parametrize("settings", ["axes.facecolor: black\ntext.usetex: True\n", "no settings \xff\n"])
def test_matplotlib_takes_no_settings_from_the_current_folder(folder, plain_picture, settings):
    (folder / "matplotlibrc").write_text(settings, encoding="latin-1")
    assert picture_in(folder) == plain_picture


def run_in_a_shell(folder, redirection):
    """Status and standard error of the fit, with streams as a shell opens them."""
    words = " ".join(FIT)
    return subprocess.run(
        ["sh", "-c", f"{words} -o m.json {redirection}"], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("redirection", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_closed_streams_do_not_keep_the_work_from_being_done(folder, redirection):
    done = run_in_a_shell(folder, redirection)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert (folder / "m.json").stat().st_size > 100


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_standard_output_is_one_line(folder):
    done = run_in_a_shell(folder, ">/dev/full")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "perf: error: standard output: No space left on device"
