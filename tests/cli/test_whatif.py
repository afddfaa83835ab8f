"""``perf whatif``, ``messages``, ``overheads`` and ``profile``: from traces to tables, files and pictures; mistakes."""

import json
import runpy
from pathlib import Path

import pandas as pd
import pytest
from trace_samples import sample

PRV = sample("barrier_prv")


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("run.prv").write_text(PRV)
    return "run.prv"


def test_runtimes_and_paths_before_and_after(run, perf):
    lines = perf("whatif", run, "--network", "0").lines
    assert lines[1] == "run.prv: 2 ranks, 2 calls, 0 messages, 1 collectives; runtime 75 ns"
    assert any("0 of 2 calls violate" in line for line in lines)
    assert "ideal network: 70 ns (-6.67%)" in lines
    assert any(line.split() == ["computing", "93.33%", "100.00%"] for line in lines)
    assert any(line.split() == ["1.2.1", "66.67%", "71.43%"] for line in lines)
    assert any(line.split()[:2] == ["MPI_Barrier", "2"] for line in lines)


def test_info_counts_messages_and_suggests_the_question(run, perf):
    out = perf("info", run).out
    assert "collectives       1 on 1 communicator" in out
    assert "perf whatif run.prv" in out


def test_messages_by_pair_and_size(perf, refused, run):
    """The shipped example, as its README says: 20 messages from each of four ranks to the next one."""
    halo = Path(__file__).parents[2] / "examples" / "halo" / "halo.prv"
    rows = perf("messages", halo, "--table", "csv").lines
    assert rows[0] == "from,to,messages,bytes"
    assert sorted(rows[1:]) == [f"1.{k}.1,1.{k % 4 + 1}.1,20,800000" for k in range(1, 5)]
    found = json.loads(perf("messages", halo, "--json", "--plot", "matrix.png").out)
    assert [each["messages"] for each in found["sizes"]] == [40, 40]
    assert Path("matrix.png").stat().st_size > 0
    lines = perf("messages", run, "--plot", "collectives.png").lines
    assert lines[0].startswith("1 collective (all members present in 1;")


def test_the_law_of_the_example_is_found(perf):
    halo = Path(__file__).parents[2] / "examples" / "halo" / "halo.prv"
    assert "estimated network: 20 us + bytes / (1 GB/s)" in perf("whatif", halo, "--network", "0").out


def test_mistakes(run, perf, refused):
    assert "how many times as fast" in refused("whatif", run, "--compute", "computing")
    assert "a share is expected" in refused("whatif", run, "--noise", "much")
    assert "belongs to --noise" in refused("whatif", run, "-o", "x.json")
    Path("run.csv").write_text("start_us,end_us,location,state\n0,100,a,run\n")
    assert "no MPI or NCCL calls recorded" in refused("whatif", "run.csv")
    Path("table.csv").write_text("p,time_s\n1,8\n2,4\n")
    assert "table.csv: holds no states or messages; give a trace" in refused("whatif", "table.csv")
    Path("run2.csv").write_text(Path("run.csv").read_text())
    said = perf("whatif", "run*.csv", status=2).err
    assert "perf: error: run*.csv: names several runs, and one is asked about\n  fix: name its file" in said


@pytest.mark.parametrize(
    "line", [["--balance", "run.prv"], ["run.prv", "--balance"], ["run.prv", "--balance", "computing"]]
)
def test_balance_needs_no_class(run, perf, line):
    """Rank 1 works 10 and rank 2 50 ns before a barrier of 5 ns: balanced 30, then 5 and 20 more."""
    assert json.loads(perf("whatif", *line, "--json").out)["answers"][0]["runtime_ns"] == 55


def test_a_range_of_networks_is_each_of_them_by_every_route(run, perf, refused):
    single = [json.loads(perf("whatif", run, "--network", f"{k}x", "--json").out)["answers"][0] for k in (1, 2, 4)]
    swept = json.loads(perf("whatif", run, "--network", "1x..4x", "--json").out)
    assert swept["answers"] == single
    assert json.loads(perf("whatif", run, "--network", "1x..4x", "--parallel", "local:2", "--json").out) == swept
    steps = json.loads(perf("whatif", run, "--network", "1x..2x:0.5", "--json").out)["answers"]
    assert [each["question"] for each in steps] == [f"network {factor}x faster" for factor in ("1", "1.5", "2")]
    for words in ("4x..1x", "0x..4x", "1x..inf", "a..b"):
        expected = "a rising range above 0 such as 1x..8x or 1x..2x:0.25 is expected"
        assert refused("whatif", run, "--network", words) == f"--network {words}: {expected}"
    assert "--parallel shares out the questions of a range" in refused("whatif", run, "--parallel", "local:2")


# ``perf overheads``: the user's way from traces to tables, files and pictures, and what mistakes are told as.
HEADER = "start_us,end_us,location,state\n"


@pytest.fixture
def traces(tmp_path, monkeypatch):
    """Traces of one and two locations in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("one.csv").write_text(HEADER + "0,100,a,run\n")
    Path("two.csv").write_text(HEADER + "0,50,a,run\n50,60,a,lock\n0,60,b,run\n")
    return tmp_path


def test_says_where_the_cycles_go(traces, perf):
    lines = perf("overheads", "two.csv").lines
    assert lines[0] == (
        "two.csv, 2 locations x 60 us: parallel efficiency 91.7%: synchronization loss 8.3%; keeping both locations "
        "computing would save at most 8.3%"
    )
    rows = {line.split("  ")[0]: line.split() for line in lines}
    assert "110" in rows["pure computation"]
    assert "10" in rows["synchronization loss"]
    assert "91.7%" in rows["run"]  # 110/120
    assert any(line.startswith("parallel efficiency = load balance x communication efficiency") for line in lines)


def test_several_runs_become_a_table_for_models(traces, perf):
    outcome = perf("overheads", "one.csv", "two.csv", "-o", "lost.csv", "--label", "n=512", "--json")
    table = pd.read_csv("lost.csv")
    assert table.groupby("p")["all_locations_ns"].sum().to_dict() == {1: 100_000, 2: 120_000}
    assert table["n"].unique().tolist() == [512]
    assert [profile["elapsed_ns"] for profile in json.loads(outcome.out)["profiles"]] == [100_000, 60_000]
    lines = perf("overheads", "one.csv", "two.csv").lines
    assert lines[0].startswith("2 runs: ")
    assert ", limited by " in lines[0]
    assert "computation scalability: against one.csv, if the work is the same" in lines
    row = next(number for number, line in enumerate(lines) if line.startswith("category"))
    assert lines[row].split() == ["category", "p=1,", "100", "us", "p=2,", "60", "us"]
    assert lines[row + 1].split() == ["pure", "computation", "100.0%", "91.7%"]
    assert lines[row + 2].split() == ["synchronization", "loss", "0.0%", "8.3%"]
    perf("overheads", "one.csv", "two.csv", "-o", "lost.csv", "--overwrite", "--label", "p=16,32", "--label", "n=1,2.5")
    assert pd.read_csv("lost.csv").groupby("p")["n"].first().to_dict() == {16: 1.0, 32: 2.5}


def test_own_categories_start_from_the_standard_ones(traces, perf):
    text = perf("overheads", "--print-categories").out
    Path("own.toml").write_text(text.replace("load imbalance", "starvation"))
    assert "starvation" in perf("overheads", "two.csv", "--categories", "own.toml").out


def test_mistakes_are_told_in_one_line(traces, refused):
    Path("curve.csv").write_text("start,end,value\n0,25,1\n25,40,2\n")
    assert "give a trace" in refused("overheads", "curve.csv")
    assert "--by phase needs --phases N" in refused("overheads", "two.csv", "--by", "phase")
    assert "there is no folder 'no'" in refused("overheads", "one.csv", "-o", "no/lost.csv")
    assert "--ready belongs to one trace" in refused("overheads", "one.csv", "two.csv", "--ready", "r.csv")
    assert "was read as a trace; for a series" in refused("overheads", "one.csv", "--ready", "two.csv")
    assert "--ready-column belongs to" in refused("overheads", "one.csv", "--ready-column", "x")
    assert "--label belongs to --output" in refused("overheads", "one.csv", "--label", "p=3")
    assert "the ending must be .csv" in refused("overheads", "one.csv", "-o", "lost.xlsx")
    assert "numbers are expected" in refused("overheads", "one.csv", "-o", "l.csv", "--label", "p=four")
    assert "NAME=VALUE,... is expected" in refused("overheads", "one.csv", "--class", "waiting")
    assert "no such file" in refused("overheads", "one.csv", "--categories", "none.toml")
    assert "Missing argument" in refused("overheads")


# ``perf profile``: from traces to tables, files and pictures, on to laws, and what mistakes are told as.
EXAMPLES = Path(__file__).parents[2] / "examples"
TRACE = "start_us,end_us,location,state\n"


@pytest.fixture
def sizes(tmp_path, monkeypatch):
    """Traces of one, two and four locations in the current folder: solve takes 960/p, wait 10 p."""
    monkeypatch.chdir(tmp_path)
    for p in (1, 2, 4):
        rows = [f"0,{960 // p},c{k},solve\n{960 // p},{960 // p + 10 * p},c{k},wait\n" for k in range(p)]
        Path(f"run_p{p}.csv").write_text(TRACE + "".join(rows))
    return tmp_path


def test_a_flat_profile(sizes, perf):
    lines = perf("profile", "run_p2.csv").lines
    assert lines[0].startswith("run_p2.csv: 96.0% solve, 4.0% wait of 2 locations x 500 us")
    assert lines[3].split()[:6] == ["solve", "96.0%", "0.96", "1.00", "c0", "2"]
    assert next(line for line in lines if line.startswith("total")).split()[:3] == ["total", "100.0%", "1"]


def test_from_traces_to_laws(sizes, perf):
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


def test_mistakes_of_profiles(sizes, refused):
    Path("other.csv").write_text(TRACE + "0,40,c0,fft\n")
    assert "these are no runs of one program" in refused("profile", "run_p1.csv", "other.csv")
    assert "no markers" in refused("profile", "run_p1.csv", "--by", "marker")
    assert "does not say of which rank" in refused("profile", "run_p1.csv", "--by", "rank")
    assert "leave out one of them" in refused("profile", "run_p1.csv", "--by", "location", "--phases", 2)
    assert "the ending must be one of" in refused("profile", "run_p1.csv", "-o", "x.docx")
    assert "the name does not fit" in refused("profile", "run_p1.csv", "--from-name", "run_n{n}.csv")
    assert "names no file" in refused("profile", "none*.csv")
