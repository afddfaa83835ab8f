"""Third parties' plugins, installed where nothing of them was, work from the program."""

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
PLUGIN, AMDAHL = EXAMPLES / "plugin_ruptures", EXAMPLES / "plugin_amdahl"
START_S = 1_718_000_000
COMMANDS = """
import contextlib, io, json, sys
from perfcore.__main__ import main
printed = []
for words in json.loads(sys.argv[1]):
    sys.argv = ["perf", *words]
    out = io.TextIOWrapper(io.BytesIO(), write_through=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            main()
        except SystemExit as ended:
            out.write(f"status {ended.code}" if ended.code else "")
    printed.append(out.buffer.getvalue().decode())
print(json.dumps(printed))
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Python that sees both plugins, installed by pip into a folder of their own: once for all workers.

    The build backend and the libraries come from this environment, so nothing is downloaded.
    """
    base = tmp_path_factory.getbasetemp()
    home = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "third_parties"
    pip = ["-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index", "--no-deps"]
    with home.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not home.exists():
            words = [*pip, "--no-build-isolation", "--no-compile", "--target", str(home), str(PLUGIN), str(AMDAHL)]
            subprocess.run([sys.executable, *words], check=True)

    def run(*arguments: str, status: int = 0) -> str:
        """What was printed, on stderr where it should fail."""
        environment = os.environ | {"PYTHONPATH": str(home)}
        done = subprocess.run(
            [sys.executable, *arguments], capture_output=True, text=True, check=False, env=environment
        )
        assert done.returncode == status, f"{done.stdout}\n{done.stderr}"
        return done.stdout if status == 0 else done.stderr

    return run


@pytest.fixture(scope="module")
def perf(run, tmp_path_factory):
    """What the program prints for each of several command lines, which run in one process."""
    script = tmp_path_factory.mktemp("perf") / "commands.py"
    script.write_text(COMMANDS)

    def perf(*lines: tuple) -> list[str]:
        words = [[str(word) for word in line] for line in lines]
        return json.loads(run(str(script), json.dumps(words)).splitlines()[-1])

    return perf


@pytest.fixture
def log(tmp_path):
    """Three levels, which change 40 and 100 samples of 10 s after the start."""
    loads = [1.0] * 40 + [6.0] * 60 + [3.0] * 50
    # A ripple below the jumps, so that neighbouring steps differ.
    lines = [f"{START_S + 10 * i} {load + 0.1 * (i % 2)}" for i, load in enumerate(loads)]
    path = tmp_path / "machine.load"
    path.write_text("\n".join(["# loadlog 1", *lines, ""]))
    return path


def test_plugins_are_listed_with_their_origin_and_checked_alone(run, perf):
    listing, checked, misspelt = perf(
        ("plugins", "--all"), ("plugins", "check", "perfcore-amdahl"), ("plugins", "check", "perfcore-ahmdal")
    )
    for name in ("ruptures", "loadlog"):
        assert any(name in line.split() and "perfcore-ruptures" in line for line in listing.splitlines()), listing
    assert "4 implementations: all can be imported" in checked
    assert "did you mean 'perfcore-amdahl'" in misspelt
    assert misspelt.endswith("status 2")


def test_its_reader_and_its_segmenter_fit_a_log(perf, log):
    words = ("fit", log, "--fitter", "phases", "--segmenter", "ruptures")
    printed, refused = perf(
        (*words, "--phases", 3, "--degree", 0, "--json"), ("fit", log, *words[4:], "--method", "botom-up")
    )
    starts = [phase["start"] for phase in json.loads(printed)["model"]["phases"]]
    assert starts == [START_S + 10 * steps for steps in (0, 40, 100)]
    assert "did you mean 'bottom-up'" in refused
    assert "Traceback" not in refused
    assert refused.endswith("status 2")


@pytest.mark.parametrize("plugin", [AMDAHL, pytest.param(PLUGIN, marks=pytest.mark.slow)])
def test_its_own_tests_pass(run, plugin):
    run("-m", "pytest", "-q", "-p", "no:cacheprovider", str(plugin / "tests"))


def test_a_fitter_is_listed_offered_and_fits_and_its_model_is_used_everywhere(perf, tmp_path):
    """Amdahl's law, with the data that it was fitted to beside it."""
    runs, model = tmp_path / "runs.csv", tmp_path / "amdahl.json"
    times = [(p, (5 + 95 / p) * (1.01 if p in (2, 16) else 0.99))
             for p in (1, 2, 4, 8, 16, 32)]  # fmt: skip
    runs.write_text("p,time_s\n" + "".join(f"{p},{time}\n" for p, time in times))
    offered, suggested, _, predicted, verified, compared, following, _, _, top = perf(
        ("fit", "--help"),
        ("info", runs, "--all"),
        ("fit", runs, "--fitter", "amdahl", "-o", model),
        ("predict", model, "--at", "p=64", "--json"),
        ("validate", model, runs),
        ("compare", model, model, "--at", "p=64"),
        ("experiment", "next", model, "--target", "p=128", "--candidates", "p=1..64*2"),
        ("plot", model, runs, "-o", tmp_path / "amdahl.svg"),
        ("explore", model, runs, "-o", tmp_path / "amdahl.html"),
        ("limit", model),
    )
    assert "\n  amdahl " in offered
    assert "--fitter amdahl" in suggested
    (content,) = json.loads(predicted)["rows"]
    assert content["value"] == pytest.approx(5 + 95 / 64, rel=0.02)
    assert "median error" in " ".join(verified.split())
    assert compared
    assert following
    assert "status" not in compared + following
    for name in ("amdahl.svg", "amdahl.html"):
        assert (tmp_path / name).stat().st_size > 1000
    assert float(top.split()[2]) == pytest.approx(20, rel=0.05)  # 100/5


def test_a_representation_a_reader_and_a_command(run, perf, tmp_path):
    rates = "0\tMethod: MEMCPY\tElapsed: 0.00010\tMiB: 1.00000\tCopy: 10101.010 MiB/s\n"
    (tmp_path / "runs.txt").write_text(rates)
    value, read, offered = perf(
        ("stochastic", "eval", "2*a", "--with", "a=weibull:3,0.4", "--json"),
        ("info", tmp_path / "runs.txt", "--all"),
        ("--help",),
    )
    assert "weibull" in value.lower()
    assert "mbw" in read
    assert "  limit " in offered
    assert run("-c", "import perfcore; print('limit' in dir(perfcore), perfcore.limit)").startswith("True")
