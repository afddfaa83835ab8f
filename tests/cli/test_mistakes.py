"""Mistakes in the options of every command and files that are made to hurt: short lines, and nothing is written."""

import gzip
import json
import os
import re
import shlex
import sqlite3
import time
from xml.etree import ElementTree

import pytest
from trace_samples import tarred

import perfcore

# Words of the command line, and what is said of them. Files of a fit are asked for, and appear only if all is well.
MISTAKES = r"""
plot curve.csv -o x.gif | cannot draw 'x.gif': the ending must be one of
plot curve.csv curve.csv | the first of two files must be a model
plot curve.csv --panels nosuch | there is no panel 'nosuch'; there are data
plot curve.csv --size 0in | size '0in': half an inch to 60 inches is accepted
plot curve.csv --size 3.4em | size '3.4em': a width such as 3.4in
plot curve.csv --font 500 | no room for its panels; choose some, a larger size or smaller text
plot curve.csv --font 0 | Invalid value for '--font'
plot none.json | none.json: there is no such file
plot | Missing argument 'SUBJECT'
explore curve.csv -o x.pdf | cannot write 'x.pdf': the ending must be .html
explore curve.csv -o x.html --port 8000 | --port and --no-browser are of the page
explore curve.csv --views 2 | --views belongs to -o FILE
explore | Missing argument 'FILES'
convert none.csv -o x.docx | cannot write 'x.docx'
convert none.csv -o x.csv | none.csv: there is no such file
convert curve.csv --curve -o x.csv | --curve belongs to traces
convert curve.csv | Missing option '--output'
explore none.csv | none.csv: there is no such file
explore curve.csv --port 0 | --port
explore curve.csv --reader nope | unknown reader 'nope'
experiment sample cpu | Missing option '--output'
experiment sample disk -o x.csv | 'disk' is not one of 'cpu', 'network'
experiment sample cpu -o x.jpg | cannot write 'x.jpg': the ending must be one of
experiment sample cpu -o x.csv --for soon | duration 'soon': a positive number with one of
experiment sample cpu -o x.csv --every 1ms | at least 10 ms are needed
experiment sample cpu -o x.csv --for 1s --every 2s | 0 samples would be taken
experiment design | Missing option '--factor'
experiment design -f p -o d.toml | NAME=LEVEL,LEVEL
experiment design -f p=1 -f p=2 -o d.toml | --factor p is given twice
experiment design -f p=1 -c 'q > 1' -o d.toml | constraint 'q > 1': unknown factor 'q': choose from cores, p
experiment design -f p=1 -c 'p > 1' -o d.toml | no point is left to measure: p > 1 refuses 1
experiment design -f p=1 --kind all -o d.toml | 'all' is not one of
experiment design -f p=1 --kind sobol -o d.toml | needs the number of its points (--points N)
experiment design -f p=1 --points 3 -o d.toml | --points belongs to latin-hypercube and sobol
experiment design -f p=1 --fraction 3 -o d.toml | --fraction belongs to fractional
experiment design -f p=1 --budget 2h -o d.toml | --budget needs the time of a run
experiment design -f p=1 --budget soon --runs x.db -o d.toml | duration 'soon'
experiment design -f p=1 --runs x.db -o d.toml | x.db: there is no such store
experiment design -f p=1 --runs x.db --model m.json -o d.toml | give one
experiment design -f p=1,2 --kind one-at-a-time --centre p=3 -o d.toml | unknown level of p for the centre '3'
fit curve.csv -o n.json --fitter worly | unknown fitter 'worly': did you mean 'worley'? Choose from
fit curve.csv -o n.json --segmenter gredy | did you mean 'greedy'?
fit curve.csv -o n.json --segmenter minimax | --segmenter 'minimax': unknown value 'minimax': choose from
fit curve.csv -o n.json --fitter worley --segmenter greedy | No such option '--segmenter'
fit curve.csv -o n.json --fases 3 | --phases
fit curve.csv -o n.json --phases 0 | phases: --phases '0': the number of phases must be at least 1
fit curve.csv -o n.json --phases 5..2 | the range must not decrease
fit curve.csv -o n.json --phases many | expected a number (9), a range (1..20) or auto
fit curve.csv -o n.json --phases | '--phases' requires an argument
fit curve.csv -o n.json --degree 4 | phases: --degree '4': unknown value '4': choose from 0, 1, 2, 3, auto
fit curve.csv -o n.json --rule knie | did you mean 'knee'?
fit curve.csv -o n.json --fitter worley --functions exp,lg | did you mean 'log'?
fit curve.csv -o n.json --fitter worley --scale 0 | worley: --scale '0': must be greater than 0
fit curve.csv -o n.json --fitter worley --scale nan | worley: --scale 'nan': expected a finite number
fit curve.csv -o n.json --begin equal | No such option '--begin'
fit curve.csv -o n.json --busy run | --busy and --idle belong to traces
fit curve.csv -o n.json --plot phases.jpg | cannot draw 'phases.jpg': the ending must be one of .png, .svg, .pdf, .html
fit curve.csv -o n.json --reader cvs | unknown reader 'cvs': did you mean 'csv'?
fit curve.csv -o n.json -r valu=x | unknown option of csv 'valu': did you mean 'value'?
fit curve.csv -o n.json -r value | --read 'value': KEY=VALUE is expected
fit curve.csv -o n.json -o . | .: cannot be written: it is a folder; name a file
predict model.json --at p=1 | unknown variable 'p'
predict none.json --at t=1 | none.json: there is no such file
predict curve.csv --at t=1 | curve.csv: not a model file
predict model.json --at t=1 --interval 1 | interval 1.0: the coverage must be above 0 and below 1
predict model.json --at t=1 --interval x | Invalid value for '--interval'
experiment next none.json --target p=1 | none.json: there is no such file
experiment next m.json --target p=1,2 | --target p: one level is expected, not 2
experiment next m.json --target q=1 | unknown variable 'q': choose from p
experiment next m.json --target p | --target p=p: NAME=VALUE,... is expected
experiment next m.json --target p=1 -c q=1,2 | unknown variable 'q': choose from p
experiment next m.json --target p=1 -c p=1..4 | --candidates p=1..4: NAME=VALUE,... is expected
experiment next m.json --target p=1 --constraint 'p > 1' | --constraint needs --candidates
experiment next m.json --target p=1 -c p=2 -c d.toml | one design, or levels of each variable
experiment next m.json --target p=1 --precision 2% | --precision is for a run database
experiment next m.json --target p=1 --most 3 | --most is for a run database
""".strip().splitlines()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Data and models that stay as they are, since no mistake writes anything."""
    folder = tmp_path_factory.mktemp("mistakes")
    (folder / "curve.csv").write_text("start,end,value\n0,25,1\n25,40,1\n40,70,5\n70,100,5\n")
    (folder / "runs.csv").write_text("p,time_s\n1,8.1\n2,4.3\n4,2.5\n8,1.7\n16,1.2\n32,1.05\n")
    perfcore.fit(folder / "curve.csv", phases=2, degree=0).save(folder / "model.json")
    perfcore.fit(folder / "runs.csv", fitter="individual", functions="all", terms=2).save(folder / "m.json")
    return folder


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_named_and_nothing_is_written(refused, files, monkeypatch, line):
    words, _, message = line.partition(" | ")
    monkeypatch.chdir(files)
    before = {path: path.stat().st_mtime_ns for path in files.iterdir()}
    assert message in refused(*shlex.split(words))
    assert {path: path.stat().st_mtime_ns for path in files.iterdir()} == before


# Errors are short lines: what is wrong and where, then what mends it, with at most five names.
FILES = {
    "runs.csv": "p,time_s\n1,8\n2,4.2\n4,2.3\n8,1.4\n",
    "twice.csv": "p,time_s\n1,8\n2,4.2\n4,2.3\n" + "1,8\n2,4.2\n4,2.3\n",
    "word.csv": "p,time_s\n1,8\n2,many\n4,2.3\n", "cut.csv": "p,time_s\n1,8\n2\n4,2.3\n",
    "none.csv": "alpha,beta,gamma,delta,epsilon,zeta\n1,2,3,4,5,6\n1,2,3,4,5,6\n",
    "numbers.csv": "1,2,3\n4,5,6\n", "thousands.csv": "p;time_s\n1;10.200\n2;5.300\n4;860\n",
    "several.csv": "p,n,time_s\n" + "".join(f"{p},{n},{n / p}\n" for p in (1, 2, 4) for n in (10, 20, 40)),
    "codes.csv": "code,p,time_s\n" + "".join(f"code{k},{p},{k / p}\n" for k in range(1, 12) for p in (1, 2, 4, 8)),
    "trace.csv": "start_us,end_us,location,state\n0,40,c0,run\n10,90,c0,odd\n",
    "wide.csv": ",".join(f"c{k}" for k in range(40)) + "\n" + ",".join("1" * 40) + "\n",
    "broken.json": '{"traceEvents": [{"ph": "X"',
    "words.txt": "Nothing here is a table.\nIt is prose, of several lines.\n",
}  # fmt: skip
SHORT = [
    "fitt runs.csv", "fit", "fit nosuch.csv", "fit runs.csv --fitter nosuch", "fit runs.csv --valu time_s",
    "fit runs.csv --value nosuch", "fit runs.csv --at p=x", "fit runs.csv --at q=4", "fit runs.csv --where 'q=4'",
    "fit runs.csv --functions '1/q'", "fit runs.csv -r nosuch=1", "fit runs.csv --reader nosuch", "fit twice.csv",
    "fit word.csv", "fit cut.csv", "fit none.csv", "fit numbers.csv", "fit thousands.csv",
    "fit several.csv --parameter p", "fit wide.csv --value nosuch", "fit codes.csv --fitter individual --value nosuch",
    "overheads trace.csv", "overheads runs.csv", "profile runs.csv", "info broken.json", "info words.txt",
    "info runs.csv --reader otf2", "gate runs.csv", "gate runs.csv none.csv", "compare runs.csv none.csv",
    "plugins check nosuch", "predict runs.csv", "convert runs.csv -o runs.otf2", "stochastic summarize none.csv",
    "stochastic summarize runs.csv --column nosuch",
]  # fmt: skip


@pytest.mark.parametrize("line", SHORT)
def test_errors_are_short_lines_with_at_most_five_names(perf, folder, line):
    for name, text in FILES.items():
        (folder / name).write_text(text)
    lines = perf(*[word.strip("'") for word in re.findall(r"'[^']*'|\S+", line)], status=2).err.splitlines()
    lines = [text for text in lines if not re.match(r"perf: (?!error)", text)]  # notes that come before
    assert lines[0].startswith("perf: error: ")
    assert len(lines) <= 4, "\n".join(lines)
    assert all(len(text) <= 100 or text.startswith("  perf ") for text in lines), "\n".join(lines)
    said = " ".join(text.strip() for text in lines)
    assert not re.search(r"(?:[\w.-]+, ){6}", said), said


# Files that are made to hurt: each is refused in one line, or does nothing but what its text says.
WIDE = ",".join(["p", *(f"c{number:07d}" for number in range(20_000))])
TABLE = b"p,time_s\n1,8\n2,4.5\n4,2.5\n8,1.75\n"


@pytest.mark.parametrize(("words", "content", "message"), [
    ("info wide.csv", f"{WIDE}\n{WIDE}\n".encode(), "wide.csv:1: has 20,001 columns, more than the 10,000 that"),
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
    perf("info", "trace.csv", status=(0,))  # whose kernels may have to be compiled
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
