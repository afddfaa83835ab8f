"""``perf messages`` over several runs: from traces to laws of bytes and messages."""

import json

import pytest


def ring(folder, p, steps=5):
    """Each of p ranks sends 1000 bytes to the next one in each step, and all add up 8 bytes at the end of it."""
    who = [f"{rank + 1}:1:{rank + 1}:1" for rank in range(p)]
    lines, end = [], steps * 100
    for rank in range(p):
        lines.append(f"1:{who[rank]}:0:{end}:1")
        for at in range(0, end, 100):
            lines += [f"2:{who[rank]}:{at + 10}:50000001:41", f"2:{who[rank]}:{at + 30}:50000001:0"]
            to = who[(rank + 1) % p]
            lines.append(f"3:{who[rank]}:{at + 10}:{at + 12}:{to}:{at + 10}:{at + 30}:1000:1")
            joined = "50000002:10:50100001:8:50100002:8:50100004:1"
            lines += [f"2:{who[rank]}:{at + 50}:{joined}", f"2:{who[rank]}:{at + 60}:50000002:0"]
    members = ":".join(str(rank + 1) for rank in range(p))
    header = f"#Paraver (1/1/20 at 1:00):{end}_ns:1({p}):1:{p}({','.join(['1:1'] * p)}),1"
    (folder / f"run_p{p}.prv").write_text("\n".join([header, f"c:1:1:{p}:{members}", *lines]) + "\n")


@pytest.fixture
def rings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for p in (2, 4, 8, 16):
        ring(tmp_path, p)


def test_laws_of_bytes_and_messages(rings, perf):
    out = perf("messages", "run_p*.prv", "-o", "traffic.csv", "--plot", "traffic.svg").out
    assert "next: perf fit traffic.csv --fitter scaling" in out
    rows = json.loads(perf("messages", "run_p2.prv", "run_p4.prv", "--json").out)["rows"]
    told = {(row["function"], row["p"]): (row["calls"], row["messages"], row["bytes"]) for row in rows}
    assert told == {
        ("MPI_Sendrecv", 2): (10, 10, 10_000),
        ("MPI_Sendrecv", 4): (20, 20, 20_000),
        ("MPI_Allreduce", 2): (10, 5, 40),
        ("MPI_Allreduce", 4): (20, 5, 40),
    }
    for value, expected in (("bytes", 5000 * 32), ("messages", 5 * 32)):
        perf("fit", "traffic.csv", "--fitter", "scaling", "--value", value, "-o", "laws.json")
        given = ("--at", "p=32", "--at", "path=MPI_Sendrecv", "--json")
        [row] = json.loads(perf("predict", "laws.json", *given).out)["rows"]
        assert row["value"] == pytest.approx(expected, rel=0.02)
    assert "run_p2.prv over p" in perf("messages", "run_p2.prv", "-o", "one.csv").lines[0]
    assert "2 pairs of ranks" in perf("messages", "run_p2.prv").lines[0]


def test_names_of_files_that_make_no_table(rings, perf):
    outcome = perf("messages", "run_p*.prv", "--from-name", "run_p{bytes:int}.prv", "-o", "traffic.csv", status=2)
    assert "the table has a column 'bytes'" in outcome.err


def test_a_pattern_names_runs_as_files_do(rings, perf):
    assert perf("messages", "run_p[24].prv").out == perf("messages", "run_p2.prv", "run_p4.prv").out
    assert perf("messages", "run_p4.prv", "--from-name", "run_p{p:int}.prv").out.startswith("run_p4.prv over p; ")
