"""Third parties' plugins, installed where nothing of them was, work from the program."""

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from child import run_lines

EXAMPLES = Path(__file__).parents[1] / "examples"
PLUGIN, AMDAHL = EXAMPLES / "plugin_ruptures", EXAMPLES / "plugin_amdahl"
START_S = 1_718_000_000


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Folder into which pip installs both plugins once for all workers, without downloads."""
    base = tmp_path_factory.getbasetemp()
    home = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "third_parties"
    pip = ["-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index", "--no-deps"]
    with home.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not home.exists():
            words = [*pip, "--no-build-isolation", "--no-compile", "--target", str(home), str(PLUGIN), str(AMDAHL)]
            subprocess.run([sys.executable, *words], check=True)
    return home


def run(home: Path, *words: str) -> str:
    """What Python prints, which sees both plugins."""
    environment = os.environ | {"PYTHONPATH": str(home)}
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of the formats and laws that the plugins are for."""
    folder = tmp_path_factory.mktemp("files")
    # Three levels, which change 40 and 100 samples of 10 s after the start, and a ripple below the jumps.
    loads = [1.0] * 40 + [6.0] * 60 + [3.0] * 50
    lines = [f"{START_S + 10 * i} {load + 0.1 * (i % 2)}" for i, load in enumerate(loads)]
    (folder / "machine.load").write_text("\n".join(["# loadlog 1", *lines, ""]))
    times = [(p, (5 + 95 / p) * (1.01 if p in (2, 16) else 0.99)) for p in (1, 2, 4, 8, 16, 32)]
    (folder / "runs.csv").write_text("p,time_s\n" + "".join(f"{p},{time}\n" for p, time in times))
    rates = "0\tMethod: MEMCPY\tElapsed: 0.00010\tMiB: 1.00000\tCopy: 10101.010 MiB/s\n"
    (folder / "runs.txt").write_text(rates)
    return folder


PHASES = "fit machine.load --fitter phases --segmenter ruptures"
LINES = {
    "listed": "plugins --all", "checked": "plugins check perfcore-amdahl", "misspelt": "plugins check perfcore-ahmdal",
    "phases": f"{PHASES} --phases 3 --degree 0 --json", "refused": f"{PHASES} --method botom-up",
    "offered": "fit --help", "suggested": "info runs.csv --all",
    "fitted": "fit runs.csv --fitter amdahl -o amdahl.json", "predicted": "predict amdahl.json --at p=64 --json",
    "verified": "validate amdahl.json runs.csv", "compared": "compare amdahl.json amdahl.json --at p=64",
    "next": "experiment next amdahl.json --target p=128 --candidates p=1..64*2",
    "drawn": "plot amdahl.json runs.csv -o amdahl.svg", "page": "explore amdahl.json runs.csv -o amdahl.html",
    "limit": "limit amdahl.json",
    "value": "stochastic eval 2*a --with a=weibull:3,0.4 --json",
    "read": "info runs.txt --all", "help": "--help",
}  # fmt: skip


@pytest.fixture(scope="module")
def printed(home, folder):
    """What the program prints for each command line; all run in one process."""
    ended = run_lines([line.split() for line in LINES.values()], folder, PYTHONPATH=str(home))
    texts = [each.out + (f"status {each.status}" if each.status else "") for each in ended]
    return dict(zip(LINES, texts, strict=True))


def test_plugins_are_listed_with_their_origin_and_checked_alone(printed):
    for name in ("ruptures", "loadlog"):
        assert any(name in line.split() and "perfcore-ruptures" in line for line in printed["listed"].splitlines())
    assert "4 implementations: all can be imported" in printed["checked"]
    assert "did you mean 'perfcore-amdahl'" in printed["misspelt"]
    assert printed["misspelt"].endswith("status 2")


def test_its_reader_and_its_segmenter_fit_a_log(printed):
    starts = [phase["start"] for phase in json.loads(printed["phases"])["model"]["phases"]]
    assert starts == [START_S + 10 * steps for steps in (0, 40, 100)]
    assert "did you mean 'bottom-up'" in printed["refused"]
    assert "Traceback" not in printed["refused"]
    assert printed["refused"].endswith("status 2")


@pytest.mark.parametrize("plugin", [AMDAHL, pytest.param(PLUGIN, marks=pytest.mark.slow)])
def test_its_own_tests_pass(home, plugin):
    run(home, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(plugin / "tests"))


def test_a_fitter_is_listed_offered_and_fits_and_its_model_is_used_everywhere(printed, folder):
    """Amdahl's law, with the data that it was fitted to beside it."""
    assert "\n  amdahl " in printed["offered"]
    assert "--fitter amdahl" in printed["suggested"]
    (content,) = json.loads(printed["predicted"])["rows"]
    assert content["value"] == pytest.approx(5 + 95 / 64, rel=0.02)
    assert "median error" in " ".join(printed["verified"].split())
    assert printed["compared"]
    assert printed["next"]
    assert "status" not in printed["compared"] + printed["next"]
    for name in ("amdahl.svg", "amdahl.html"):
        assert (folder / name).stat().st_size > 1000
    assert float(printed["limit"].split()[2]) == pytest.approx(20, rel=0.05)  # 100/5


def test_a_representation_a_reader_and_a_command(home, printed):
    assert "weibull" in printed["value"].lower()
    assert "mbw" in printed["read"]
    assert "  limit " in printed["help"]
    assert run(home, "-c", "import perfcore; print('limit' in dir(perfcore), perfcore.limit)").startswith("True")
