"""What the commands share: tables, JSON, CSV, LaTeX, and progress on standard error."""

import csv
import io
import json
import sys

import pytest

from perfcore.base import progress
from perfcore.cli.output import print_json, print_result, print_table, reporting
from perfcore.report import Report, Result
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


# Tables for other programs: CSV that a reader gives back, and LaTeX in which nothing is a command by accident.
HEADER = ["path", "time", "note"]
NASTY = 'a,b "c"\nd'


def declared(title, header, rows):
    return Table([Column(name, k, key=name) for k, name in enumerate(header)], rows, title, drops_empty=False)


class Tables(Result):
    def __init__(self, *tables):
        self.given = [declared(*each) for each in tables]

    def report(self, data=None):
        return Report("Tables", "Some.", tables=self.given)


def printed(capsys, table_format, *tables):
    print_result(Tables(*tables), False, table_format)
    return capsys.readouterr().out


def test_csv_is_what_a_reader_gives_back(capsys):
    rows = [[NASTY, "1.5", ""], ["ü -> ß", "-2", "#1"]]
    text = printed(capsys, "csv", ("", HEADER, rows))
    assert list(csv.reader(io.StringIO(text))) == [HEADER, *rows]


def test_latex_aligns_numbers_and_words(capsys):
    text = printed(capsys, "latex", ("A title", HEADER, [["f", "1.5", ""], ["g", "2 .. 3", ""]]))
    assert text.splitlines() == [
        r"\begin{table}",
        r"  \centering",
        r"  \caption{A title}",
        r"  \begin{tabular}{lrl}",
        r"    \toprule",
        r"    path & time & note \\",
        r"    \midrule",
        r"    f & 1.5 &  \\",
        r"    g & 2 .. 3 &  \\",
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]


@pytest.mark.parametrize(("text", "escaped"), [
    ("50 %", r"50 \%"), ("a_b & c#d $e", r"a\_b \& c\#d \$e"), ("{x}", r"\{x\}"), (r"C:\n", r"C:\textbackslash{}n"),
    ("p^(2/3)*log2(p)", r"p\textasciicircum{}(2/3)*log2(p)"), ("~main", r"\textasciitilde{}main"),
    ("<root>", r"\textless{}root\textgreater{}"), ("a->b", r"a-\textgreater{}b"), ("a|b", r"a\textbar{}b"),
    ("a---b", r"a-{}-{}-b"), ("1 ± 2 µs", r"1 \(\pm\) 2 \(\mu\)s"), ("two\nlines", "two lines"),
    (r"\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
])  # fmt: skip
def test_latex_prints_every_sign_as_it_is(capsys, text, escaped):
    lines = printed(capsys, "latex", (text, [text], [[text]])).splitlines()
    assert lines[2] == rf"  \caption{{{escaped}}}"
    assert lines[5] == lines[7] == rf"    {escaped} \\"
