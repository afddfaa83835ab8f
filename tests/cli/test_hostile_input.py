"""Files that are made to hurt: each is refused in one line, or does nothing but what its text says."""

import gzip
import json
import os
import sqlite3
import time
from xml.etree import ElementTree

import pytest
from trace_samples import tarred

HEADER = ",".join(["p", *(f"c{number:07d}" for number in range(20_000))])
TABLE = b"p,time_s\n1,8\n2,4.5\n4,2.5\n8,1.75\n"


@pytest.mark.parametrize(("words", "content", "message"), [
    ("info wide.csv", f"{HEADER}\n{HEADER}\n".encode(), "wide.csv:1: has 20,001 columns, more than the 10,000 that"),
    ("info bomb.csv.gz", lambda: gzip.compress(TABLE + b"1" * (1 << 27)),
        "bomb.csv.gz: decompresses to more than 200 times its"),
    ("predict deep.toml", b"[a" + b".a" * 100_000 + b"]\nx = 1\n", "deep.toml: not TOML: a key has more than 100"),
    ("experiment run deep.toml -- true", b"a = " + b"[" * 100_000, "deep.toml: not TOML"),
    ("predict deep.json", b"[" * 100_000, "deep.json: not a model file"),
    ("info run.tar --reader otf2", tarred({"../../out.otf2": TABLE, "run/traces.otf2": TABLE}),
        "run.tar: the archive leads out of its folder: '../../out.otf2'"),
    ("info rows.csv.gz", lambda: gzip.compress(b"p,t\n" + b"1,1\n" * (13 << 20)),
        "rows.csv.gz: decompresses to more than 200"),
    ("info deep.json", b"[" * 100_000, "deep.json: not in any of the "),
    ("info deep.json", b'{"traceEvents": ' + b"[" * 100_000, "deep.json"),
    ("predict nul.toml", b'equation = "a"\n[inputs]\na = { file = "a\\u0000.json" }\n',
        "the name of a file holds a NUL byte"),
    ("info run.py", b"import sys, os\nx, y = 1, 2\n", "run.py: not in any of the "),
])  # fmt: skip
def test_it_is_refused_in_one_line(refused, folder, words, content, message):
    file = folder / next(word for word in words.split()[1:] if "." in word)
    file.write_bytes(content() if callable(content) else content)
    before = sorted(folder.rglob("*"))
    assert refused(*words.split())[: len(message)] == message
    assert sorted(folder.rglob("*")) == before


def test_a_database_with_triggers_and_large_values_is_not_run(refused, folder):
    with sqlite3.connect(folder / "t.db") as database:
        database.executescript(
            "CREATE TABLE runs (p, time_s); INSERT INTO runs VALUES (1, zeroblob(100000000));"
            "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END;"
            "CREATE VIEW benchmarks AS SELECT randomblob(1000000000) AS time_s;"
        )
    before = (folder / "t.db").read_bytes()
    assert refused("experiment", "list", "t.db").startswith("t.db: is an SQLite file of another program")
    assert refused("info", "t.db").startswith("t.db: not in any of the ")
    assert (folder / "t.db").read_bytes() == before


def test_of_a_folder_the_files_of_data_are_read(perf, folder):
    """Neither pipes nor links that lead nowhere or upwards, nor scripts."""
    (folder / "runs").mkdir()
    (folder / "runs" / "a.csv").write_bytes(TABLE)
    (folder / "runs" / "run.py").write_text("x, y = 1, 2\n")
    os.mkfifo(folder / "runs" / "pipe.csv")
    for name, target in (("up", ".."), ("nowhere.csv", "none.csv")):
        (folder / "runs" / name).symlink_to(target)
    outcome = perf("info", "runs", status=(0,))
    assert outcome.lines[0] == "4 measurements of time_s [s] over p = 1, 2, 4, 8"
    assert "passed over, of no known format: run.py" in " ".join(outcome.out.split())


@pytest.mark.parametrize("name", [b"new\nline.csv", b"no\xfftext.csv", b"<b>&.csv", b"\x1b[31m.csv"])
def test_a_name_is_only_a_name(perf, folder, name):
    path = os.fsdecode(name)
    (folder / path).write_bytes(TABLE)
    for words in (["info", path], ["plot", path, "-o", "p.svg"], ["explore", path, "-o", "r.html"]):
        outcome = perf(*words, status=(0,))
        assert "\x1b[31m" not in outcome.out + outcome.err
    assert "<b>&.csv" not in (folder / "r.html").read_text()  # only as text: &lt;b&gt;


def test_cells_that_a_spreadsheet_runs_are_announced(perf, folder):
    (folder / "runs.csv").write_text("p,code,time_s\n1,=cmd|calc,8\n2,=cmd|calc,-4\n4,=cmd|calc,2\n")
    said = perf("convert", "runs.csv", "-o", "out.csv", status=(0,)).err
    assert "cells such as '=cmd|calc' are formulas to a spreadsheet; import them as text" in said
    assert "=cmd|calc" in (folder / "out.csv").read_text()


def test_time_is_near_linear_in_names_of_states(perf, folder):
    """A list that is searched for every name takes minutes for 100,000 of them, which are 3 MB."""
    rows = "".join(f"{k},{k + 1},0,function {k:06d}\n" for k in range(30_000))
    (folder / "states.csv").write_text("start_us,end_us,location,state\n" + rows)
    began = time.process_time()
    assert "30,000" in perf("info", "states.csv", status=(0,)).out
    assert time.process_time() - began < 8


NAMES = ["'); DROP TABLE input; --", 'a"b', "x*?[1]", "\x1b[31mred", "right\u202eleft", "=1+1", "@SUM(A1)"]


def test_signs_of_sql_of_patterns_and_of_terminals_in_names_are_text(perf, folder):
    name = "it's *?[a] ;--.csv"
    columns = ",".join(f'"{text.replace(chr(34), 2 * chr(34))}"' for text in NAMES)
    rows = "".join(f"{p},{','.join(map(repr, [1.5] * len(NAMES)))},{8 / p}\n" for p in (1, 2, 4))
    (folder / name).write_text(f"p,{columns},time_s\n{rows}")
    said = perf("info", name).out
    assert "3 measurements of time_s" in said
    assert "\x1b" not in said
    assert "\u202e" not in said


@pytest.mark.parametrize("form", ["csv", "spreadsheet", "latex"])
def test_names_in_exported_tables_are_text(perf, folder, form):
    codes = ["=cmd()", "\x1b[31mred", "a\u202eb"]
    rows = "".join(f"{code},{p},{k / p}\n" for k, code in enumerate(codes, 1) for p in (1, 2, 4, 8))
    (folder / "runs.csv").write_text(f"code,p,time_s\n{rows}")
    said = perf("fit", "runs.csv", "--table", form).out
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert ("'=cmd()" in said) == (form == "spreadsheet")
    assert "=cmd()" in said


def test_signs_that_steer_a_terminal_or_turn_a_line_are_spelt_out_in_every_output(perf, folder):
    names = ("a\x1b[31mb", "x\u202ey", "u\x9bz")
    rows = [f"{name},{p},{8 / p + 0.1 * run}" for name in names for p in (1, 2, 4) for run in range(3)]
    (folder / "runs.csv").write_text("\n".join(["path,p,time_s", *rows]), encoding="utf-8")
    printed = [
        perf("fit", "runs.csv", "--path", "path", "--plot", "runs.svg", "--json").out,
        perf("explore", "runs.csv", "-o", "runs.html").out,
        perf("gate", "runs.csv", "runs.csv", "--junit", "runs.xml").out,
    ]
    for file in ("runs.svg", "runs.xml"):
        ElementTree.parse(folder / file)  # XML may not hold the first name as it is
    written = [(folder / file).read_text(encoding="utf-8") for file in ("runs.svg", "runs.html", "runs.xml")]
    assert not {sign for text in printed + written for sign in "\x1b\u202e\x9b" if sign in text}
    assert all(json.dumps(name) in printed[0] for name in names)
