"""What the commands share: tables, JSON, and progress on standard error."""

import io
import json
import sys
import time

import pytest

from perfcore.base import progress
from perfcore.cli.output import print_json, print_table, reporting


def test_numbers_to_the_right_and_words_to_the_left(capsys):
    print_table(["name", "value", "note"], [["a", "1.5", ""], ["longer", "-22", "x"]])
    assert capsys.readouterr().out == "name    value  note\na         1.5\nlonger    -22  x\n"


def test_a_table_without_rows_is_its_header(capsys):
    print_table(["name", "value"], [])
    assert capsys.readouterr().out == "name  value\n"


def test_json_is_strict(capsys):
    print_json("test", {"nothing": float("nan"), "much": float("inf"), "some": 1.5})
    envelope = {"schema": "perfcore-output/1", "kind": "test"}
    assert json.loads(capsys.readouterr().out) == {**envelope, "nothing": None, "much": None, "some": 1.5}
    print_json("test", [1, 2])
    assert json.loads(capsys.readouterr().out) == {**envelope, "rows": [1, 2]}
    print_json("test", {"schema": "its own/2"})
    assert json.loads(capsys.readouterr().out) == {"schema": "its own/2"}


class Terminal(io.StringIO):
    def isatty(self):
        return True


def work(seconds):
    with reporting(), progress.bar("reading", total=2) as advance:
        advance(1)
        time.sleep(seconds)
        advance(1)


@pytest.mark.parametrize(("seconds", "is_shown"), [(0.0, False), (1.05, True)])
def test_a_bar_appears_on_a_terminal_after_a_second(monkeypatch, capsys, seconds, is_shown):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    work(seconds)
    assert ("reading" in terminal.getvalue()) == is_shown
    assert capsys.readouterr().out == ""


def test_no_bar_where_nobody_looks(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)  # importing it would fail
    work(0.0)
    assert capsys.readouterr() == ("", "")


def test_notes_are_for_people_too(capsys):
    with reporting():
        progress.note("compiling")
    assert capsys.readouterr() == ("", "perf: compiling\n")
