"""``perf whatif``: the user's way from a trace to answers, and what mistakes are told as."""

import json
from pathlib import Path

import pytest

PRV = """\
#Paraver (1/1/20 at 1:00):75_ns:1(2):1:2(1:1,1:1),1
c:1:1:2:1:2
1:1:1:1:1:0:10:1
1:2:1:2:1:0:50:1
2:1:1:1:1:10:50000002:8:50100004:1
2:2:1:2:1:50:50000002:8:50100004:1
2:1:1:1:1:55:50000002:0
2:2:1:2:1:55:50000002:0
1:1:1:1:1:55:75:1
1:2:1:2:1:55:75:1
"""


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
    assert (
        perf("messages", run, "--plot", "collectives.png")
        .lines[0]
        .startswith("1 collective (all members present in 1;")
    )


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
        assert refused("whatif", run, "--network", words) == (
            f"--network {words}: a rising range above 0 such as 1x..8x or 1x..2x:0.25 is expected"
        )
    assert "--parallel shares out the questions of a range" in refused("whatif", run, "--parallel", "local:2")
