"""What stands in the folder where the program runs, and how its streams are opened, changes nothing."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from perfcore.base.files import write_bytes
from perfcore.base.surroundings import environment_of_user, use_one_blas_thread

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
        [sys.executable, "-P", "-m", "perfcore", "plot", "runs.csv"], cwd=folder, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return (folder / "plot.png").read_bytes()


@pytest.fixture(scope="module")
def plain_picture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    (folder / "runs.csv").write_text(RUNS)
    return picture_in(folder)


# What libraries, Python and tools around it read of themselves in some folder: theirs, the user's, or this one.
MODULES = (
    *(
        "sitecustomize",
        "usercustomize",
        "conftest",
        "setup",
        "ipython_config",
        "numpy",
        "numba",
        "matplotlib",
        "duckdb",
    ),
    *("pandas", "typing", "json", "perfcore", "msgspec", "pluggy", "typer", "rich", "perfcore_plugins"),
)
SETTINGS = {
    ".numba_config.yaml": "disable_jit: 1\ncache_dir: planted\n", ".duckdbrc": ".shell touch ran\n",
    ".env": "MPLBACKEND=none\nNUMBA_DISABLE_JIT=1\n", "pyproject.toml": "[tool.perfcore]\n",
    "setup.cfg": "[perfcore]\n", "perfcore.mplstyle": "text.usetex: 1\n",
    "pyvenv.cfg": "home = /\n", "plugin.pth": "import os; open('ran', 'w')\n", "dask.yaml": "scheduler: none\n",
    "fsspec.json": '{"file": {"auto_mkdir": true}}', "bokeh.yaml": "resources: none\n",
}  # fmt: skip


@pytest.mark.parametrize("settings", ["axes.facecolor: black\ntext.usetex: True\n", "no settings \xff\n"])
def test_no_library_takes_settings_from_the_current_folder(folder, plain_picture, settings):
    (folder / "matplotlibrc").write_text(settings, encoding="latin-1")
    for name in MODULES:
        (folder / f"{name}.py").write_text("open('ran', 'w')\n")
    for name, content in SETTINGS.items():
        (folder / name).write_text(content)
    assert picture_in(folder) == plain_picture
    assert not (folder / "ran").exists()
    assert not (folder / "planted").exists()


def run_in_a_shell(folder, redirection):
    """Status and standard error of the fit, with streams as a shell opens them."""
    words, environment = " ".join(FIT), {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    return subprocess.run(
        ["sh", "-c", f"{words} -o m.json {redirection}"], cwd=folder, capture_output=True, text=True, check=False,
        env=environment,
    )  # fmt: skip


FULL = Path("/dev/full").exists()


@pytest.mark.parametrize("redirection", [">&- 2>&-", ">&- 2>&- <&-", *(["2>/dev/full"] if FULL else [])])
def test_closed_streams_do_not_keep_the_work_from_being_done(folder, redirection):
    done = run_in_a_shell(folder, redirection)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert (folder / "m.json").stat().st_size > 100


@pytest.mark.skipif(not FULL, reason="this system has no /dev/full")
def test_a_full_standard_output_is_one_line(folder):
    done = run_in_a_shell(folder, ">/dev/full")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "perf: error: standard output: No space left on device"


def run_python(code, folder, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False,
        env=os.environ | environment,
    )  # fmt: skip


def test_programs_of_the_user_choose_their_own_threads(monkeypatch):
    monkeypatch.setattr(os, "environ", {"OMP_NUM_THREADS": "4"})
    use_one_blas_thread()
    assert os.environ == {"OMP_NUM_THREADS": "4"}
    monkeypatch.setattr(os, "environ", {"HOME": "/"})
    use_one_blas_thread()
    assert os.environ == {"HOME": "/", "OPENBLAS_NUM_THREADS": "1"}
    assert environment_of_user() == {"HOME": "/"}


def test_ctrl_c_while_the_program_is_imported_is_one_line(tmp_path):
    code = (
        "import sys\n"
        "class Finder:\n"
        "    def find_spec(name, *_):\n"
        "        if name == 'typer': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Finder)\n"
        "from perfcore.__main__ import main\n"
        "main()\n"
    )
    done = run_python(code, tmp_path)
    assert (done.returncode, done.stderr) == (130, "\nperf: interrupted\n")


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this system has no SIGHUP")
def test_a_signal_leaves_no_temporary_files(folder):
    """The terminal goes as the file is to take its place."""
    code = (
        "import os, pathlib, signal, sys\n"
        "from perfcore.__main__ import main\n"
        "pathlib.Path.replace = lambda self, target: os.kill(os.getpid(), signal.SIGHUP)\n"
        "sys.argv = 'perf convert runs.csv -o t.parquet'.split()\n"
        "main()\n"
    )
    (folder / "temporary").mkdir()
    done = run_python(code, folder, TMPDIR=str(folder / "temporary"))
    assert (done.returncode, done.stdout, done.stderr) == (129, "", "")
    assert sorted(path.name for path in folder.rglob("*")) == ["runs.csv", "temporary"]


def test_what_killed_programs_left_is_removed_after_a_day(tmp_path):
    old, new = tmp_path / ".tmp-perf-old.json", tmp_path / ".tmp-perf-new.json"
    for path in (old, new):
        path.write_text("{")
    os.utime(old, (0, 0))
    write_bytes(tmp_path / "m.json", b"{}")
    assert sorted(path.name for path in tmp_path.iterdir()) == [new.name, "m.json"]
