"""Shell completion: commands, options and names, in three shells."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


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
    offered = set(complete("perf fit x.csv --segmenter hill-climb --"))
    assert "--start" in offered
    assert "--tolerance" not in offered


def test_names_of_registered_things(complete):
    assert set(complete("perf fit x.csv --fitter ")) >= {"individual", "phases", "scaling", "strohmaier", "worley"}
    assert set(complete("perf rank x.csv --fitter s")) == {"scaling", "strohmaier"}
    assert set(complete("perf fit x.csv --segmenter ")) >= {"bounded", "greedy", "hill-climb", "least-squares"}
    assert set(complete("perf fit x.csv --segmenter hill-climb --start g")) == {"greedy"}
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
