"""``perf compare``."""

import json
import math
from pathlib import Path

import pytest


@pytest.fixture
def programs(folder):
    """Two programs of work D/P and start P that cross at P = sqrt(5 D)."""
    for name, work, start in (("old", 3.0, 0.5), ("new", 5.0, 0.1)):
        rows = ["P,D,category,time_s"]
        rows += [
            f"{p},{d},{what},{time}"
            for p in (2, 4, 8, 16)
            for d in (10, 20, 40, 80)
            for what, time in (("work", work * d / p), ("start", start * p))
        ]
        Path(f"{name}.csv").write_text("\n".join(rows) + "\n")
    return folder


def test_data_are_fitted_and_compared(programs, perf):
    words = ["compare", "old.csv", "new.csv", "--parameter", "P,D", "--at", "P=2..64*2", "--at", "D=20"]
    lines = perf(*words, "--plot", "c.svg").lines
    assert lines[0] == "new against old"
    assert lines[1] == "they cross at P=10 (D=20), 11 s: old is smaller before, new after"
    table = lines[lines.index("") + 1 :]
    assert table[0].split()[:5] == ["P", "D", "old", "new", "ratio"]
    assert "work" in table[1]
    assert "start" in table[6]
    assert lines[-1] == "picture: c.svg"


def test_models_and_json(programs, perf):
    for name in ("old", "new"):
        perf("fit", f"{name}.csv", "--fitter", "modgen", "--parameter", "P,D", "-o", f"{name}.json")
    content = json.loads(perf("compare", "old.json", "new.json", "--at", "P=2,64", "--at", "D=80", "--json").out)
    assert content["crossings"][0]["at"] == pytest.approx(20.0)
    assert content["points"][0]["categories"]["work"]["values"] == pytest.approx([120.0, 200.0])
    assert content["gates"] == []


def test_mistakes(programs, refused):
    words = ["compare", "old.csv", "new.csv", "--parameter", "P,D"]
    assert "Missing option '--at'" in refused(*words)
    assert "give --at D=" in refused(*words, "--at", "P=2")
    assert "unknown variable of the model 'Q'" in refused(*words, "--at", "Q=2", "--at", "D=3")
    assert "leave out --at category" in refused(*words, "--at", "P=2", "--at", "D=3", "--at", "category=work")
    assert "no such file" in refused("compare", "a.json", "b.json", "--at", "P=2").lower()


@pytest.fixture
def versions(folder):
    """A path that grows as p, once as p^1.5; another one falls. Errors of 1 % that are no random numbers."""
    for name, power, shift in (("old", 1.0, 0.0), ("again", 1.0, 0.5), ("new", 1.5, 1.0)):
        rows, number = ["p,callpath,time_s"], 0
        for p in (4, 8, 16, 32, 64):
            for _ in range(4):
                number += 1
                error = 0.014 * math.sin(12.9898 * number + shift)
                rows += [
                    f"{p},solve,{(1 + error) * (2 + 400 / p)}",
                    f"{p},exchange,{(1 - error) * (1 + 0.1 * p**power)}",
                ]
        Path(f"{name}.csv").write_text("\n".join(rows) + "\n")
    return folder


SCALING = ["--fitter", "scaling"]


def test_a_gate_that_fails(versions, perf):
    """At p = 128 it takes 6.125 + 0.1 128^1.5 instead of 6.125 + 12.8: 7.98 times."""
    words = ["compare", "old.csv", "new.csv", *SCALING, "--fail-if", "slower than 1.1x at p=128"]
    lines = perf(*words, "--fail-if", "any law worse", status=1).lines
    assert lines[-2].startswith("gate failed: slower than 1.1x at p=128: total ")
    assert lines[-1].startswith(
        "gate open: any law worse: the data leave it open: exchange linear -> "
    )  # so few levels
    assert "sure to be worse" in lines[-1]
    content = json.loads(perf(*words, "--json", status=1).out)
    (verdict,) = content["gates"]
    assert verdict["outcome"] == "failed"
    (total,) = verdict["findings"]
    assert total["bounds"][0] < 150.94 / 18.925 < total["bounds"][1]


def test_gates_that_are_passed_where_both_were_measured(versions, perf):
    words = ["compare", "old.csv", "again.csv", *SCALING, "--at", "p=16..128*2"]
    gates = [
        "slower than 1.1x at p=128",
        "any slower than 1.1x at p=64",
        "solve slower than 1.2x at p=4",
    ]
    lines = perf(*words, *(word for gate in gates for word in ("--fail-if", gate)), status=3).lines
    # Beyond what was measured laws speak, and what they leave open is open.
    assert [line.split(":")[0] for line in lines[-3:]] == ["gate open", "gate passed", "gate passed"]
    # Points of gates join those of --at, in order.
    table = lines[lines.index("") + 2 :]
    assert [line.split()[0] for line in table[:5]] == ["4", "16", "32", "64", "128"]


def test_what_could_not_be_fitted_has_a_status(versions, perf):
    with Path("new.csv").open("a") as file:
        file.write("4,idle,0\n8,idle,0\n")
    words = ["compare", "old.csv", "new.csv", *SCALING, "--at", "p=64"]
    assert "not compared, new: idle" in perf(*words, status=3).out
    perf(*words, "--fail-if", "solve slower than 1.5x", status=3)
    perf(*words, "--fail-if", "slower than 1.1x", status=1)
    assert perf(*words, "--fail-if", "idle slower than 1.1x", status=3).lines[-1].startswith("gate open: idle")


def test_model_files_data_in_json_and_folders(versions, perf):
    perf("fit", "old.csv", *SCALING, "-o", "old.json")
    by_model = perf("compare", "old.json", "again.csv", *SCALING, "--at", "p=128", "--json").out
    by_data = perf("compare", "old.csv", "again.csv", *SCALING, "--at", "p=128", "--json").out
    assert json.loads(by_model)["points"] == json.loads(by_data)["points"]
    for name in ("old", "new"):
        rows = [line.split(",") for line in Path(f"{name}.csv").read_text().splitlines()[1:]]
        points = [
            {"point": [int(p)], "values": [float(t) for q, path, t in rows if q == p and path == "solve"]}
            for p in dict.fromkeys(row[0] for row in rows)
        ]
        measured = {"parameters": ["p"], "measurements": {"solve": {"time": points}}}
        Path(f"{name}_data.json").write_text(json.dumps(measured))
        Path(name).mkdir()
        for p in dict.fromkeys(row[0] for row in rows):
            own = [f"{path},{time}" for q, path, time in rows if q == p]
            Path(name, f"run_p{p}.csv").write_text("\n".join(["callpath,time_s", *own]) + "\n")
    perf("compare", "old_data.json", "new_data.json", *SCALING, "--at", "p=128")
    words = ["compare", "old", "new", *SCALING, "--from-name", "run_p{p:int}.csv"]
    assert perf(*words, "--fail-if", "slower than 1.1x at p=128", status=1).lines[0] == "new against old"


def test_mistakes_in_gates(versions, refused):
    words = ["compare", "old.csv", "new.csv", *SCALING]
    assert "--fail-if 'slower then 1.1x': at 1" in refused(*words, "--fail-if", "slower then 1.1x")
    assert "Missing option '--at'" in refused(*words, "--fail-if", "slower than 1.1x")
    assert "there are 2 points; say 'at" in refused(*words, "--at", "p=8,16", "--fail-if", "slower than 1.1x")
    assert "unknown variable of the model 'q'" in refused(*words, "--fail-if", "slower than 1.1x at q=3")
    assert "p=3..9: NAME=VALUE,... is expected" in refused(*words, "--fail-if", "slower than 1.1x at p=3..9")
    assert "unknown path 'solver'" in refused(*words, "--fail-if", "solver slower than 1.1x at p=3")
    assert "every path is compared" in refused(*words, "--at", "p=3", "--at", "path=solve")


def test_gates_of_models_of_two_parameters(programs, perf, refused):
    """At P = 2 and D = 80 it is 200.2 for 121; the other way round at P = 64."""
    words = ["compare", "old.csv", "new.csv", "--parameter", "P,D"]
    gates = ["--fail-if", "any slower than 1.5x at P=2,D=80", "--fail-if", "slower than 1.1x at P=64"]
    lines = perf(*words, "--at", "D=80", *gates, status=1).lines
    assert lines[-2].startswith("gate failed: any slower than 1.5x at P=2,D=80: work 1.667x")
    assert lines[-1].startswith("gate passed: slower than 1.1x at P=64: total 0.")
    assert "name D too" in refused(*words, "--fail-if", "slower than 1.1x at P=64")


def test_other_fitters_take_gates(folder, perf):
    """8/p + 1 and 8/p + 2: 1.5 times at p = 8, 1.89 times at p = 64; the data are exact."""
    for name, rest in (("old", 1.0), ("new", 2.0)):
        rows = [f"{p},{8 / p + rest}" for p in (1, 2, 4, 8, 16)]
        Path(f"{name}.csv").write_text("\n".join(["p,time_s", *rows]) + "\n")
    words = ["compare", "old.csv", "new.csv", "--fitter", "individual", "--functions", "1/p,1"]
    perf(*words, "--fail-if", "slower than 1.4x at p=8", status=1)
    perf(*words, "--fail-if", "slower than 1.6x at p=8")


def test_help_shows_one_at(perf):
    assert perf("compare", *SCALING, "--help").out.count("--at NAME") == 1
