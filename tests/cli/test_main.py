"""The program as a whole: its names, its exit status, its streams, and completion in three shells."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from child import run_lines

import perfcore
from perfcore.base.errors import DataError
from perfcore.hooks.registry import registry
from perfcore.hooks.specs import COMMAND_GROUP

HEAVY = {"numpy", "scipy", "pandas", "numba", "matplotlib", "duckdb", "statsmodels", "msgspec"}
PERF = Path(sys.executable).with_name("perf")


def test_both_names_and_the_module_are_the_same_program(program):
    outcome = program("plugins", "--json")
    assert outcome == program("plugins", "--json", name="perfcore")
    assert outcome == program("-m", "perfcore", "plugins", "--json", name="python")
    assert outcome.status == 0
    assert json.loads(outcome.out)


@pytest.mark.parametrize("words", [["--version"], ["plugins"]])  # of help, see tests/core/test_structure.py
def test_nothing_heavy_is_imported_to_say_what_there_is(words):
    [ended] = run_lines([words])
    assert ended.status == 0
    assert ended.out
    assert not HEAVY & set(ended.modules)


def test_unknown_commands_are_refused_with_the_nearest(refused):
    assert refused("fti").startswith("unknown command 'fti': did you mean 'fit'? Choose from ")
    assert "No such option" in refused("--fitter", "worley")
    assert "did you mean 'list'" in refused("experiment", "lits")


@pytest.mark.parametrize(("words", "message"), [
    (["stat", "ls"],
        "unknown command 'stat': this is perfcore, for performance models; Linux perf is another program"),
    (["top"], "unknown command 'top': this is perfcore"),
])  # fmt: skip
def test_earlier_names_and_commands_of_linux_perf_are_told(refused, words, message):
    assert refused(*words).startswith(message)


@pytest.mark.parametrize("name", registry().entries("commands"))
def test_every_command_has_help_with_an_example(perf, name):
    text = perf(*name.split(), "--help").out
    assert text.startswith(f"Usage: perf {name} ")
    if registry().entry("commands", name).target != COMMAND_GROUP:
        assert f"\n  perf {name} " in text


def test_an_error_of_several_lines_becomes_one(refused, monkeypatch, folder):
    def fit(*_, **__):
        raise DataError("one\ntwo\n")

    monkeypatch.setattr(perfcore, "fit", fit)
    assert refused("fit", folder / "curve.csv") == "one two"


def test_a_bug_keeps_its_traceback(monkeypatch, folder):
    def fit(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(perfcore, "fit", fit)
    monkeypatch.setattr(sys, "argv", ["perf", "fit", str(folder / "curve.csv")])
    with pytest.raises(ZeroDivisionError):
        perfcore.__main__.main()


def test_data_from_standard_input_and_the_result_alone_on_stdout(program):
    words = ["fit", "-", "--fitter", "worley", "--phases", "2", "--degree", "0", "--json"]
    outcome = program(*words, input="time,value\n0,1\n4,5\n10,\n")
    assert (outcome.status, outcome.err) == (0, "")
    assert [phase["coefficients"] for phase in json.loads(outcome.out)["model"]["phases"]] == [[1], [5]]


def test_a_device_without_end_is_refused_as_standard_input():
    with Path("/dev/zero").open() as endless:
        done = subprocess.run([PERF, "info", "-"], stdin=endless, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "perf: error: -: is a device\n  fix: name a file, or - for standard input\n"


@pytest.mark.parametrize(
    ("number", "status", "told"), [(signal.SIGINT, 130, "\nperf: interrupted\n"), (signal.SIGTERM, 143, "")]
)
def test_an_interruption_is_one_line_and_leaves_nothing(folder, number, status, told):
    """The program reads a pipe, which others fill; there it is interrupted."""
    os.mkfifo("pipe.csv")
    temporary = folder / "temporary"
    temporary.mkdir()
    with subprocess.Popen(
        [PERF, "fit", "pipe.csv", "-o", "model.json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"TMPDIR": str(temporary)},
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509 (a shell has it ignored behind &)
    ) as running:  # fmt: skip
        with contextlib.suppress(BrokenPipeError), Path("pipe.csv").open("wb", buffering=0) as pipe:
            running.send_signal(number)
            while running.poll() is None:  # a signal just before a read is noticed when the read returns
                pipe.write(b"1\n")
        out, err = running.communicate()
    # On a terminal the first line already holds the ^C that was typed.
    assert (running.returncode, out, err) == (status, "", told)
    assert list(temporary.iterdir()) == []
    assert not Path("model.json").exists()


def test_a_reader_that_goes_away_is_no_error():
    """As with `perf plugins | head`, when nobody reads what is printed."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([PERF, "plugins"], stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_brief_help_of_the_program_fits_a_screen(perf):
    """Usage, one example and the names of all commands; the same without any word, which is a mistake."""
    lines = perf("-h", short=True).lines
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line.startswith("  perf ")] == ["  perf info runs.csv"]
    words = set(re.findall(r"[\w-]+", " ".join(lines)))
    assert {word for name in registry().entries("commands") for word in name.split()} <= words
    assert lines[-1] == "perf --help: what each command does"
    assert perf(short=True, status=2).lines == lines


@pytest.mark.parametrize("command", ["info", "fit", "predict", "gate", "overheads", "experiment run"])
def test_brief_help_fits_a_screen(command, perf):
    """Usage, one example, and at most six options, those of the examples first; the rest is where it says."""
    lines = perf(*command.split(), "-h", short=True).lines
    assert len(lines) <= 26
    assert lines[0].startswith(f"Usage: perf {command} ")
    assert sum(line.startswith(f"  perf {command} ") for line in lines) == 1
    assert 3 <= sum(line.startswith("  -") for line in lines) <= 6
    assert re.fullmatch(rf"perf {command} --help: all [0-9]+ options", lines[-1])


# Shell completion: commands, options and names, in three shells.
@pytest.fixture
def complete(perf, monkeypatch):
    """Words that bash would offer for the last, perhaps unfinished, word of a line."""

    def complete(line, shell="bash"):
        words = line.split(" ")
        monkeypatch.setenv("_PERF_COMPLETE", f"complete_{shell}")
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
        monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        return perf().out.split()

    return complete


def test_commands(complete):
    assert set(complete("perf ")) >= {"convert", "fit", "info", "plot", "plugins", "predict", "rank"}
    assert set(complete("perf p")) == {"plot", "plugins", "predict", "profile", "project"}


def test_options_of_the_fitter_and_of_the_selected_part(complete):
    assert {"--phases", "--degree", "--no-refine", "--json"} <= set(complete("perf fit x.csv --"))
    assert "--tolerance" in set(complete("perf fit x.csv --fitter worley --"))
    assert "--tolerance" not in set(complete("perf fit x.csv --segmenter hill-climb --"))


def test_names_of_registered_things(complete):
    assert set(complete("perf fit x.csv --fitter ")) >= {"individual", "phases", "scaling", "strohmaier", "worley"}
    assert set(complete("perf rank x.csv --fitter s")) == {"scaling", "strohmaier"}
    assert set(complete("perf fit x.csv --segmenter ")) >= {"bounded", "greedy", "hill-climb", "least-squares"}
    assert set(complete("perf fit x.csv --reader par")) == {"paraver", "parquet"}
    assert {"check", "worley", "csv", "exp"} <= set(complete("perf plugins "))


def test_functions_of_the_fitter(complete):
    characteristic = {"1/p^2", "1/p", "log(p)/p", "1/sqrt(p)", "1", "log(p)", "p"}
    assert set(complete("perf fit x.csv --fitter strohmaier --functions ")) == {*characteristic, "all"}
    assert set(complete("perf fit x.csv --fitter individual --functions ")) == {*characteristic, "all", "each"}
    assert set(complete("perf rank x.csv --functions lo")) == {"log(p)", "log(p)/p"}
    assert complete("perf rank x.csv --fitter strohmaier --functions 1/p,1/s") == ["1/p,1/sqrt(p)"]
    assert set(complete("perf fit x.csv --fitter strohmaier --intervals ")) == {"asymptotic", "profile", "bootstrap"}


def test_other_shells(complete):
    # zsh is given a call of _arguments, fish one word a line.
    assert '"knee"' in complete("perf fit x.csv --rule ", "zsh")[-2]
    assert complete("perf fit x.csv --rule p", "fish") == ["penalty"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("name", ["perf", "perfcore"])
def test_each_name_of_the_program_has_its_script(perf, monkeypatch, shell, name):
    monkeypatch.setattr("typer.completion._get_shell_name", lambda: shell)
    script = perf("--show-completion", name=name).out
    assert f"_{name.upper()}_COMPLETE=complete_{shell}" in script
    assert f" {name}" in script
    if shutil.which(shell):
        done = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_bash_completes_with_the_script(perf, monkeypatch, tmp_path):
    """The whole way: the script is sourced, and its function called as bash would."""
    monkeypatch.setattr("typer.completion._get_shell_name", lambda: "bash")
    script = tmp_path / "completion.bash"
    script.write_text(perf("--show-completion").out)
    steps = f"""
        source {script}
        COMP_WORDS=(perf fit x.csv --segmenter hill)
        COMP_CWORD=4
        _perf_completion perf hill "--segmenter"
        echo ${{COMPREPLY[@]}}
    """
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path}
    done = subprocess.run(["bash", "-c", steps], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == ["hill-climb"]
