"""What the commands share: tables, JSON, and progress on standard error."""

import io
import json
import sys

import pytest

from perfcore.base import progress
from perfcore.cli.output import print_json, print_table, reporting
from perfcore.tables import Column, Table


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


@pytest.mark.parametrize(("seconds", "is_shown"), [(0.9, False), (1.1, True)])
def test_a_bar_appears_on_a_terminal_after_a_second(monkeypatch, capsys, seconds, is_shown):
    terminal, now_s = Terminal(), [0.0]
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("tqdm.std.time", lambda: now_s[0])
    with reporting(), progress.bar("reading", total=2) as advance:
        advance(1)
        now_s[0] = seconds
        advance(1)
    assert ("reading" in terminal.getvalue()) == is_shown
    assert capsys.readouterr().out == ""


TABLE = Table(
    [
        Column("path", "path"),
        Column("time", "time", "ms", "time"),
        Column("speedup", "speedup", key=("speedup", "lower", "upper"), format=".2f"),
        Column("noise", "noise", format=".1%"),
        Column("samples", "samples", importance="data"),
    ],
    [
        {"path": "main/solve/exchange/wait_for_all", "time": 2500.0, "speedup": (1.5, 1.25, 2.0), "samples": 10},
        {"path": "main/solve/exchange/post_for_all", "time": None, "speedup": (2.0, None, None), "samples": 20},
        {"path": "main", "time": 10.0, "speedup": None, "samples": 30},
    ],
    limit=2,
)


def test_declared_columns_have_one_unit_and_no_empty_column(capsys):
    print_table(TABLE)
    assert capsys.readouterr().out.splitlines() == [
        "path                              time [s]            speedup",
        "main/solve/exchange/wait_for_all       2.5  1.50 [1.25, 2.00]",
        "main/solve/exchange/post_for_all         -               2.00",
        "... 1 more row",
    ]
