"""One run: what it took is measured, whatever it does, and nothing of it stays behind."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import gone, met

import perfcore
from perf_experiments import Design, RunOptions, Store, make_design, read_design, run_design
from perfcore.base.errors import OptionError


@pytest.fixture
def run(tmp_path):
    """Make one run of a piece of Python, and give what is kept of it."""

    def made(code, limit_s=None):
        command = [sys.executable, "-S", "-c", code.replace("{", "{{").replace("}", "}}")]
        return only_run(tmp_path / "runs.db", {"n": [1]}, RunOptions(command, max_load=1.0, time_limit_s=limit_s))

    return made


def only_run(store, factors, options):
    run_design(Design(factors=factors, replications=1), store, options)
    with Store.read(store) as opened:
        return opened.runs(1)[0]


def test_time_memory_and_output(run):
    done = run(
        "import time, sys; x = bytearray(60 << 20); time.sleep(0.3); print('out'); print('err', file=sys.stderr)"
    )
    assert (done.stdout, done.stderr, done.problem, done.exit_status) == (b"out\n", b"err\n", None, 0)
    assert done.wall_ns >= 300_000_000
    assert done.user_s + done.system_s < done.wall_ns / 1e9
    assert 60 << 10 <= done.peak_memory_kib < 90 << 10


def test_processor_time_of_children_counts(run):
    spin = "import time\nwhile time.process_time() < 0.3: pass"
    done = run(f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {spin!r}])")
    assert done.user_s + done.system_s >= 0.29


@pytest.mark.parametrize(("code", "problem"), [
    ("raise SystemExit(3)", "exit status 3"),
    ("import os; os.kill(os.getpid(), 11)", "ended by SIGSEGV"),
    ("import os; os.kill(os.getpid(), 40)", "ended by signal 40"),
])  # fmt: skip
def test_failures_say_why(run, code, problem):
    assert run(code).problem == problem


def stopped(run, code):
    """Stop a run by its time limit, after it has printed something, however slow the machine is."""
    for limit_s in (2.0, 8.0, 32.0, 128.0):
        done = run(code, limit_s=limit_s)
        assert done.problem.startswith("stopped by the time limit after ")
        if done.stdout:
            return done
    raise AssertionError("nothing was printed")


CHILD = "import subprocess, sys; c = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(3600)']); "


def test_the_time_limit_ends_the_whole_group(run):
    assert gone(int(stopped(run, CHILD + "print(c.pid, flush=True); c.wait()").stdout))


def test_who_ignores_to_be_asked_is_killed(run):
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True)\n"
    assert stopped(run, f"{code}time.sleep(3600)").signal == "SIGKILL"


def test_what_a_run_leaves_behind_is_ended(run):
    done = run(CHILD + "print(c.pid)")
    assert done.problem is None
    assert gone(int(done.stdout))


def test_a_killed_caller_takes_its_run_along(tmp_path):
    note = tmp_path / "pid"
    code = f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(3600)"
    caller = (
        "import sys; from perf_experiments import Design, RunOptions, run_design; "
        f"run_design(Design(factors={{'n': [1]}}), {str(tmp_path / 'runs.db')!r}, "
        f"RunOptions([sys.executable, '-S', '-c', {code!r}], max_load=1.0))"
    )
    with subprocess.Popen([sys.executable, "-c", caller]) as process:
        assert met(lambda: note.exists() and note.read_text())
        process.kill()
    assert gone(int(note.read_text()))


# The shipped study: its programs report categories that add up, and its README says what its stores say.
STUDY = Path(__file__).parents[2] / "examples" / "study"


@pytest.fixture(scope="module")
def study():
    spec = importlib.util.spec_from_file_location("study", STUDY / "study.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("words", [["sor", "--iterations", "20"], ["cholesky"]])
def test_categories_add_up_to_the_total(words):
    command = [sys.executable, STUDY / "measure.py", *words, "--size", "48", "--workers", "2"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    seconds = {name: float(value) for name, value in re.findall(r"^(\w+) ([0-9.]+)$", out, re.MULTILINE)}
    assert set(seconds) == {"total", "compute", "waiting", "other"}
    assert sum(seconds.values()) - seconds["total"] == pytest.approx(seconds["total"], abs=5e-6)


def test_the_readme_says_what_the_stores_say(study):
    """Numbers may differ in their last digits between machines, the text not."""
    written = study._BLOCK.search((STUDY / "README.md").read_text())[0]
    number = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:e[-+][0-9]+)?")
    made = study.report()
    assert number.sub("#", made) == number.sub("#", written)
    found, shown = ([float(text) for text in number.findall(part)] for part in (made, written))
    assert found == pytest.approx(shown, rel=0.02)


def test_every_recorded_run_is_whole(study):
    for program in study.PROGRAMS:
        table = study.table_of(program).table
        assert set(table["category"]) == set(study.CATEGORIES)
        assert table.groupby("run")["time_s"].size().eq(3).all()
        # Who works alone waits for nobody.
        assert (table["time_s"] >= 0).all()
        assert (table.loc[table["category"] == "compute", "time_s"] > 0).all()


def test_a_design_is_the_file_that_it_wrote(tmp_path):
    plan = perfcore.design({"p": "1..8*2", "D": [64, 96]}, constraints=["p > 1"])
    plan.save(tmp_path / "d.toml")
    assert read_design(tmp_path / "d.toml") == plan
    assert plan.to_frame().columns.tolist() == ["p", "D", "repetitions"]
    assert len(plan.to_frame()) == 6
    assert "<table>" in plan._repr_html_()


# Factors, templates and values: what a user may write, and what is refused.
@pytest.mark.parametrize(("text", "levels"), [
    ("p=1,2,4", (1, 2, 4)), ("p=128..1024*2", (128, 256, 512, 1024)), ("p=0..1:0.5", (0, 0.5, 1)),
    ("p= cg , lu", ("cg", "lu")), ("p=-1e3", (-1000,)),
])  # fmt: skip
def test_levels(text, levels):
    found = perfcore.design([text]).factors["p"]
    assert tuple(found) == levels
    assert [type(level) for level in found] == [type(level) for level in levels]


@pytest.mark.parametrize(("text", "message"), [
    ("p", "NAME=LEVEL,LEVEL,... or NAME=FIRST..LAST"), ("p=", "NAME=LEVEL,LEVEL,..."),
    ("p=1,2,4o", "'4o' is no number"), ("p=1..8*1", "'1..8*1' is no number"),
    ("p=1,1.0", "level 1 stands there twice"), ("2p=1", "a name of letters, digits and _"),
    ("wall_s=1", "reserved name"), ("log=1", "reserved name"), ("p=nan", "'nan' is no number"),
])  # fmt: skip
def test_factors_that_are_refused(text, message):
    with pytest.raises(OptionError, match=message.replace("*", r"\*").replace(".", r"\.")):
        perfcore.design([text])


def test_places_of_factors_launchers_and_values(tmp_path):
    factors = {"p": [4], "D": [0.5], "solver": ["cg {p}"]}
    words = ["{p}x{D}", "{{{p}}}", "{solver}", "plain"]
    command = [sys.executable, "-S", "-c", r"print('x\nt =  2.5\nMop/s 1e-3')", *words]
    values = ["time=^t = *([0-9.]+)$", "rate=(?:Mop|mop)/s ([-+0-9.e]+)"]
    options = RunOptions(command, launcher="env -u 'a b' P={p}", values=values, max_load=1.0)
    made = only_run(tmp_path / "runs.db", factors, options)
    assert made.command[:4] == ("env", "-u", "a b", "P=4")
    assert made.command[-4:] == ("4x0.5", "{4}", "cg {p}", "plain")
    assert made.values == {"time": 2.5, "rate": 0.001}


def test_a_factor_called_cores_stands_for_itself_in_constraints():
    assert make_design({"cores": [1, 10**6]}, constraints=["cores > 1"]).chosen() == [{"cores": 10**6}]
