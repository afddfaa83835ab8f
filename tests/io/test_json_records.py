"""Tables as records in JSON equal those in CSV; what numbers in the names of files say."""

import json

import pandas as pd
import pytest

import perfcore
from perfcore.base.errors import InputError, OptionError

TABLE = pd.DataFrame({"p": [1, 2, 4, 8], "host": ["a", "a", "b", None], "time_s": [8.5, 4.25, 2.5, 1.75]})


@pytest.mark.parametrize(("name", "lines"), [("runs.jsonl", True), ("runs.ndjson", True), ("runs.json", False)])
def test_records_equal_the_table(tmp_path, name, lines):
    TABLE.to_csv(tmp_path / "runs.csv", index=False)
    TABLE.to_json(tmp_path / name, orient="records", lines=lines)
    in_csv, in_json = perfcore.read(tmp_path / "runs.csv"), perfcore.read(tmp_path / name)
    assert in_json.roles == in_csv.roles
    for column in ("p", "time_s"):
        assert in_json.table[column].tolist() == in_csv.table[column].tolist()
    assert in_json.table["host"].tolist()[:3] == ["a", "a", "b"]


def test_records_may_be_a_field_of_an_object(tmp_path):
    records = TABLE.to_json(orient="records")
    text = '{"name": "cg \\"[{", "machine": {"cores": [64]}, "a \\"run\\"": ' + records + ', "ok": true}'
    (tmp_path / "runs.json").write_text(text)
    data = perfcore.read(tmp_path / "runs.json")
    assert data.table[["p", "time_s"]].to_numpy().tolist() == TABLE[["p", "time_s"]].to_numpy().tolist()
    (tmp_path / "cut.json").write_text(text[:-40])
    with pytest.raises(InputError, match="Malformed JSON"):
        perfcore.read(tmp_path / "cut.json")


def test_traces_and_series(tmp_path):
    (tmp_path / "t.jsonl").write_text(
        '{"start_us": 0, "end_us": 2.5, "rank": 0, "state": "run"}\n'
        '{"start_us": 1, "end_us": 4, "rank": 1, "state": "x"}\n'
    )
    trace = perfcore.read(tmp_path / "t.jsonl")
    assert (trace.n_intervals, trace.span_ns) == (2, (0, 4000))
    (tmp_path / "s.json").write_text(
        '[{"time": "2026-01-01 00:00:00", "a": 1, "b": {"c": 2}}, {"time": "2026-01-01 00:01:00", "a": 2}]'
    )
    assert perfcore.read(tmp_path / "s.json").heights.tolist()[0] == 1.0


@pytest.mark.parametrize(("content", "message"), [
    ('{"p": 1, "time_s": 3}\n{"p": 2, "time_s": 1.6\n', "Malformed JSON"),
    ('[{"p": 1, "time_s": 3}, {"p": 2, "time_s":', "Malformed JSON"),
    ('{"p": 1, "time_s": 3}\n{"p": 2, "time_s": 1, "x": ' + "[" * 10**5 + "]" * 10**5 + "}", "recursion depth"),
], ids=["object", "array", "deep"])  # fmt: skip
def test_damaged_records_are_refused_in_one_line(tmp_path, content, message):
    (tmp_path / "runs.json").write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        perfcore.read(tmp_path / "runs.json")
    assert "\n" not in str(caught.value)


def test_other_json_is_not_taken_for_records(tmp_path):
    for content in (
        '{"p": 1, "note": 3}',
        '{"note": "a", "time_s": 3}',
        "[1, 2]",
        '[{"nested": {"p": 1}}]',
        '{"a": {}}\n{"a": {}}',
    ):
        (tmp_path / "other.json").write_text(content)
        with pytest.raises(InputError, match="not in any of"):
            perfcore.read(tmp_path / "other.json")


def test_an_object_is_one_run_with_the_numbers_below_it(tmp_path):
    for p in (1, 2):
        run = {"config": {"p": p, "solver": {"name": "cg"}}, "sent": {"mean": 3}, "kept": {"mean": 4}, "time_s": 8 / p}
        (tmp_path / f"{p}.json").write_text(json.dumps(run))
    data = perfcore.read(tmp_path / "*.json")
    assert (data.roles.parameters, data.table["time_s"].tolist()) == ({"p": "p"}, [8, 4])
    assert {"name", "sent_mean", "kept_mean"} < {*data.table.columns}


def saved(folder, names):
    for number, name in enumerate(names):
        (folder / name).write_text(f"run,time_s\n1,{8 - number}\n2,{7.5 - number}\n")
    return folder


def test_a_number_in_the_names_of_files_is_what_was_varied(tmp_path):
    data = perfcore.read(saved(tmp_path, ["lu_p1_rep1.csv", "lu_p1_rep2.csv", "lu_p16_rep1.csv"]))
    assert data.roles.parameters == {"p": "p"}
    assert data.table["p"].tolist() == [1, 1, 1, 1, 16, 16]
    assert data.table["rep"].tolist() == [1, 1, 2, 2, 1, 1]


@pytest.mark.parametrize("names", [["p1.csv", "q2.csv"], ["run1.csv", "run2.csv"], ["1.csv", "2.csv"]])
def test_other_names_say_nothing(tmp_path, names):
    data = perfcore.read(saved(tmp_path, names))
    assert not data.roles.parameters
    with pytest.raises(OptionError, match="parameter='COLUMN'"):
        perfcore.fit(data, fitter="scaling")
