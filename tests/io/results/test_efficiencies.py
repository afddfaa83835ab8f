"""TALP and BSC's model factors: figures as the files have them, beside those of traces."""

import json

import pytest
from format_samples import MODEL_FACTORS, TALP
from paraver_runs import paraver_run

import perfcore
from perfcore.base.errors import DataError


def read(folder, name, text):
    path = folder / name
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return perfcore.read(path)


def test_they_stand_beside_those_of_traces(tmp_path):
    trace = paraver_run(tmp_path, 4)
    for name, text in (("talp.json", TALP), ("modelfactors.csv", MODEL_FACTORS), ("odd.csv", "p,time_s\n1,2\n")):
        (tmp_path / name).write_text(text)
    runs = perfcore.overheads([trace, tmp_path / "talp.json", tmp_path / "modelfactors.csv"])
    title, header, rows = runs.tables()[1]
    assert title == "POP efficiencies (those of other tools as they say them)"
    shown = [dict(zip(header, row, strict=True)) for row in rows]
    assert [row["locations"] for row in shown] == ["4", "4", "8", "2", "8"]
    assert [row["parallel"] for row in shown[1:]] == ["88.00%", "72.00%", "99.38%", "95.71%"]
    assert shown[3]["serialisation"] == "99.84%"
    assert runs.to_dict()["other_tools"][0]["load balance"] == 0.94
    (tmp_path / "one.csv").write_text("Number of processes;2;8\nParallel efficiency;90;80\n")
    only = perfcore.overheads([trace, tmp_path / "one.csv"]).tables()[1][2]
    assert [row[2] for row in only[1:]] == ["90.00%", "80.00%"]
    (tmp_path / "twice.csv").write_text("Number of processes;2;8;8\nParallel efficiency;90;80;81\n")
    twice = perfcore.overheads([trace, tmp_path / "twice.csv"]).to_dict()["other_tools"]
    assert [each["source"].partition("twice.csv")[2] for each in twice] == ["", " (run 2)", " (run 3)"]
    with pytest.raises(DataError, match=r"several units \(share, s, counts\)"):
        read(tmp_path, "talp.json", TALP).observations()
    with pytest.raises(DataError, match="are set beside those of traces"):
        perfcore.overheads(tmp_path / "talp.json")
    with pytest.raises(DataError, match="no efficiencies of runs"):
        perfcore.overheads([trace, tmp_path / "odd.csv"])
