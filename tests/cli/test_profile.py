"""``perf profile``: from traces to tables, files and pictures, on to laws, and what mistakes are told as."""

import json
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
TRACE = "start_us,end_us,location,state\n"


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Traces of one, two and four locations in the current folder: solve takes 960/p, wait 10 p."""
    monkeypatch.chdir(tmp_path)
    for p in (1, 2, 4):
        rows = [f"0,{960 // p},c{k},solve\n{960 // p},{960 // p + 10 * p},c{k},wait\n" for k in range(p)]
        Path(f"run_p{p}.csv").write_text(TRACE + "".join(rows))
    return tmp_path


def test_a_flat_profile(runs, perf):
    lines = perf("profile", "run_p2.csv").lines
    assert lines[0].startswith("run_p2.csv: 96.0% solve, 4.0% wait of 2 locations x 500 us")
    assert lines[3].split()[:6] == ["solve", "96.0%", "0.96", "1.00", "c0", "2"]
    assert next(line for line in lines if line.startswith("total")).split()[:3] == ["total", "100.0%", "1"]


def test_from_traces_to_laws(runs, perf):
    out = perf("profile", "run_p1.csv", "run_p2.csv", "run_p4.csv", "-o", "runs.jsonl").out
    assert "next: perf fit runs.jsonl --fitter scaling" in out
    fitted = perf("fit", "runs.jsonl", "--fitter", "scaling", "--at", "p=8", "-o", "laws.json").out
    assert "At p=8 (2x beyond the data): " in fitted
    predicted = perf("predict", "laws.json", "--at", "p=8", "--at", "path=solve", "--interval", "0.95", "--json").out
    [row] = json.loads(predicted)["rows"]
    assert row["lower"] <= 120e-6 <= row["upper"]
    for fitter in ("lca", "modgen"):
        assert perf("fit", "runs.jsonl", "--fitter", fitter).lines[0].startswith("solve is 9")


def test_from_traces_of_a_shipped_program_to_the_time_of_each_function(tmp_path, monkeypatch, perf):
    """The program of examples/halo on 1, 2 and 4 ranks: on 8 each function is where its law says."""
    monkeypatch.chdir(tmp_path)
    program = runpy.run_path(str(EXAMPLES / "halo" / "halo.py"))["main"]
    for p in (1, 2, 4, 8):
        program(tmp_path / f"halo_p{p}.prv", p)
    perf("profile", *(f"halo_p{p}.prv" for p in (1, 2, 4)), "-o", "runs.jsonl")
    perf("fit", "runs.jsonl", "--fitter", "scaling", "--at", "p=8", "-o", "laws.json")
    rows = json.loads(perf("predict", "laws.json", "--at", "p=8", "--interval", "0.95", "--json").out)["rows"]
    measured = json.loads(perf("profile", "halo_p8.prv", "--json").out)["rows"]
    took = {row["function"]: row["time_s"] for row in measured}
    assert {row["path"] for row in rows} == set(took) - {"(no state)"}
    for row in rows:
        assert row["lower"] <= took[row["path"]] <= row["upper"], row["path"]
    running = next(row["value"] for row in rows if row["path"] == "Running")
    assert running == pytest.approx(took["Running"], rel=0.1)
    # By hand: 20 steps of 4 ms, shared by 8, of which one takes a fifth more.
    assert running == pytest.approx(20 * 4e-3 / 8 * (1 + 0.2 / 8), rel=0.1)


def test_mistakes(runs, refused):
    Path("other.csv").write_text(TRACE + "0,40,c0,fft\n")
    assert "these are no runs of one program" in refused("profile", "run_p1.csv", "other.csv")
    assert "no markers" in refused("profile", "run_p1.csv", "--by", "marker")
    assert "does not say of which rank" in refused("profile", "run_p1.csv", "--by", "rank")
    assert "leave out one of them" in refused("profile", "run_p1.csv", "--by", "location", "--phases", 2)
    assert "the ending must be one of" in refused("profile", "run_p1.csv", "-o", "x.docx")
    assert "the name does not fit" in refused("profile", "run_p1.csv", "--from-name", "run_n{n}.csv")
    assert "names no file" in refused("profile", "none*.csv")
