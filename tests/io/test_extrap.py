"""Extra-P's formats: its own example files, and what is written follows its grammar."""

import re

import pandas as pd
import pytest

import perfcore
from perfcore.base.errors import DataError, InputError

# The numbers of the ABNF in Extra-P's documentation, which have no exponent.
NUMBER = r"[-+]?[0-9]+(?:\.[0-9]*)?"


def measured(table, **roles):
    return perfcore.Measurements(pd.DataFrame(table), **{"system": (), **roles})


def test_text_follows_the_grammar(tmp_path):
    data = measured(
        {"p": [1, 1, 2], "n": [1e-7, 1e-7, 3e20], "time": [1e-9, 2.5, 1e300]}, parameters=["p", "n"], value="time"
    )
    perfcore.write(data, tmp_path / "runs.extrap")
    text = (tmp_path / "runs.extrap").read_text()
    grammar = (
        rf"(?:PARAMETER \S+\n)+\n*(?:POINTS \({NUMBER}(?: {NUMBER})*\)\n)+\n*METRIC \S+\n"
        rf"(?:\n*REGION [^\n]+\n(?:DATA {NUMBER}(?: {NUMBER})*\n)+)+"
    )
    assert re.fullmatch(grammar, text)
    back = perfcore.read(tmp_path / "runs.extrap")
    assert back.table[["p", "n", "time"]].to_numpy().tolist() == data.table.to_numpy().tolist()
    assert back.table["repetition"].tolist() == [1, 2, 1]


def test_codes_are_call_paths(tmp_path):
    table = {"p": [1, 2, 1], "code": ["a", "a", "b"], "time": [1.0, 2.0, 3.0]}
    data = measured(table, parameters="p", value="time", code="code")
    perfcore.write(data, tmp_path / "runs.jsonl")
    lines = (tmp_path / "runs.jsonl").read_text().splitlines()
    assert lines[2] == '{"params":{"p":1.0},"callpath":"b","metric":"time","value":3.0}'
    assert perfcore.read(tmp_path / "runs.jsonl").table["callpath"].tolist() == ["a", "a", "b"]
    with pytest.raises(DataError, match="b has no value at p=2"):
        perfcore.write(data, tmp_path / "runs.extrap")


def test_categories_are_call_paths_too(tmp_path):
    data = measured({"p": [1, 2] * 2, "function": ["sort"] * 2 + ["scan"] * 2, "time_s": [1.0, 2.0, 3.0, 4.0]})
    perfcore.write(data, tmp_path / "runs.jsonl")
    back = perfcore.read(tmp_path / "runs.jsonl")
    assert back.table["callpath"].tolist() == ["sort", "sort", "scan", "scan"]


@pytest.mark.parametrize("values", ["1 nan", "nan 1", "1 inf 2", "2 1e999"])
def test_a_value_that_is_no_finite_number_is_refused(tmp_path, values):
    (tmp_path / "runs.extrap").write_text(f"PARAMETER p\nPOINTS (1)\nREGION f\nDATA {values}\n")
    with pytest.raises(InputError, match=r"runs\.extrap:4: .* is no finite number"):
        perfcore.read(tmp_path / "runs.extrap")


def test_tabs_separate_as_blanks_do(tmp_path):
    file = tmp_path / "runs.txt"
    file.write_text("PARAMETER\tp\nPOINTS\t(1)\t(2)\nREGION\tmain loop\nMETRIC\ttime\nDATA\t1\t2\nDATA\t3\n")
    data = perfcore.read(file)
    assert data.table[["p", "callpath", "time"]].to_numpy().tolist() == [
        [1, "main loop", 1],
        [1, "main loop", 2],
        [2, "main loop", 3],
    ]


def test_several_metrics(tmp_path):
    file = tmp_path / "runs.txt"
    file.write_text("PARAMETER p\nPOINTS 1 2\nREGION main\nMETRIC t\nDATA 1\nDATA 2\nMETRIC f\nDATA 3\nDATA 4\n")
    data = perfcore.read(file)
    assert data.roles.code == ("callpath", "metric")
    assert data.table["value"].tolist() == [1, 2, 3, 4]
    assert data.table["metric"].tolist() == ["t", "t", "f", "f"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("PARAMETER p\nPOINTS (1) (2)\nDATA 1\n", None, "region '<root>' has 1 DATA lines for 2 points"),
        ("PARAMETER p\nPOINTS (1)\nDATA 1\nDATA 2\n", 4, "a DATA line too many: there are 1 points"),
        ("PARAMETER p q\nPOINTS (1)\n", 2, "a point has 1 coordinates for 2 parameters"),
        ("PARAMETER p\nPOINTS (1)\nDATA x\n", 3, "'x' is no finite number"),
        ("PARAMETER p\nPOINTS (1)\nDATA\n", 3, "DATA without a value"),
        ("PARAMETER p\nVALUES 1\n", 2, "'VALUES' is no section"),
        ("PARAMETER p\nPOINTS (1)\n", None, "has no values"),
    ],
)
def test_text_that_is_refused(tmp_path, text, line, message):
    file = tmp_path / "runs.extrap"
    file.write_text(text)
    with pytest.raises(InputError) as refused:
        perfcore.read(file)
    where = str(file) if line is None else f"{file}:{line}"
    assert str(refused.value).startswith(f"{where}: {message}")


def test_lines_that_are_refused(tmp_path):
    file = tmp_path / "runs.jsonl"
    file.write_text('{"params":{"p":1},"value":1}\n{"params":{"p":"x"},"value":1}\n')
    with pytest.raises(InputError, match=r"runs.jsonl:2: no object of Extra-P: Expected `float`, got `str`"):
        perfcore.read(file)


@pytest.mark.real_data
def test_files_of_extrap_itself(real_data):
    folder = real_data / "benchresults" / "extrap"
    if not folder.is_dir():
        pytest.skip("no files of Extra-P here")
    one = perfcore.read(folder / "one_parameter_1.txt")
    assert len(one.table) == 30
    assert one.table["time"].tolist()[:2] == [82.00848518948744, 81.42023198759563]
    assert sorted(set(one.table["x"])) == [20, 30, 40, 50, 60]
    many = perfcore.read(folder / "strong_scaling_one_parameter_2.txt")
    assert "main->merge->comp1" in set(many.table["callpath"])
    assert len(perfcore.read(folder / "test1.jsonl").table) == 125
