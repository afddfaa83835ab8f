"""Each command that ``perf info`` or a refusal suggests runs on the file that it is suggested for."""

import re
import shlex
import shutil
import sys

import pytest

from perfcore.__main__ import main

SUGGESTED = re.compile(r"(?:Next|fix): (?:.*? )??(perf (?:fit|gate|info|overheads|profile|rank|stochastic) .*)")
FILES = ("*.csv", "*.txt", "*.json", "*.jsonl", "log.*")
VERDICTS = {"gate": (0, 1, 3)}  # pass, fail, inconclusive
_EVERY = 12  # files of which one is looked at with each change


def suggestions(text):
    """Return the commands of an output, whose long lines are joined."""
    lines = re.sub(r"\n {2,}(?=\S)", " ", text).splitlines()
    return [match[1] for line in lines if (match := SUGGESTED.search(line))]


def checked(folder, tmp_path, monkeypatch, capsys, first, step):
    """Run what is suggested for some files, and return how many commands were run."""
    files = sorted(path for pattern in FILES for path in folder.glob(f"*/{pattern}") if path.stat().st_size < 200_000)[
        first::step
    ]
    monkeypatch.setenv("COLUMNS", "200")

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["perf", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return ended.value.code, out + err

    wrong, count = [], 0
    for path in files:
        copy = tmp_path / path.parent.name
        if not copy.exists():
            shutil.copytree(path.parent, copy)
        monkeypatch.chdir(copy)
        status, text = run("info", path.name)
        assert status in (0, 2), text
        for command in suggestions(text):
            count += 1
            words = shlex.split(command)[1:]
            status, text = run(*words)
            if status not in VERDICTS.get(words[0], (0,)):
                wrong.append(f"{path.parent.name}/{path.name}: {command}: {status} {text[-300:]}")
    assert not wrong
    return count


def test_the_commands_of_a_text_are_found():
    text = "Next: perf fit a.csv\n  --plot m.png\nUncertain: x\nperf: error: y\n  fix: put a line above\n"
    assert suggestions(text) == ["perf fit a.csv --plot m.png"]


@pytest.mark.real_data
def test_what_is_suggested_runs(real_data, tmp_path, monkeypatch, capsys):
    assert checked(real_data.parent / "cases", tmp_path, monkeypatch, capsys, 3, _EVERY) > 2


@pytest.mark.slow
@pytest.mark.real_data
def test_all_that_is_suggested_runs(real_data, tmp_path, monkeypatch, capsys):
    assert checked(real_data.parent / "cases", tmp_path, monkeypatch, capsys, 0, 1) > 40
