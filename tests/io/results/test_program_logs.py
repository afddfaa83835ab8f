"""Logs of LAMMPS, GROMACS, HPL and MLPerf: times as the programs print them."""

import pytest

import perfcore
from perfcore.base import progress
from perfcore.base.errors import InputError

LAMMPS = """LAMMPS (2 Aug 2023)
Loop time of {total} on {procs} procs for 100 steps with 32000 atoms
99.5% CPU use with {procs} MPI tasks x 2 OpenMP threads
Section |  min time  |  avg time  |  max time  |%varavg| %total
---------------------------------------------------------------
Pair    | 8.1        | {pair}     | 9.7        |  12.1 | 80.00
Comm    | 1.1        | {comm}     | 2.7        |  22.1 | 20.00
Other   |            | 0.5        |            |       |  0.57
"""


def test_sections_of_lammps_are_average_times(tmp_path):
    for procs, pair, comm in ((4, 8.0, 1.5), (8, 4.0, 1.75)):
        text = LAMMPS.format(total=pair + comm + 0.5, procs=procs, pair=pair, comm=comm)
        (tmp_path / f"log.{procs}.lammps").write_text(text)
    data = perfcore.read(str(tmp_path / "log.*.lammps"))
    times = data.table.set_index(["procs", "section"])["time_s"]
    assert times[4, "Pair"] == 8.0
    assert times[8, "Comm"] == 1.75
    assert data.table["threads"].unique().tolist() == [2]
    assert data.roles.category == ("section",)


def test_ranks_of_pme_are_counted_and_their_rows_left_out(tmp_path):
    """They run beside those of the other ranks: the rows of these, with the rest, are the wall time."""
    (tmp_path / "md.log").write_text(
        "     R E A L   C Y C L E   A N D   T I M E   A C C O U N T I N G\n\n"
        "On 12 MPI ranks doing PP, each using 4 OpenMP threads, and\n"
        "on 4 MPI ranks doing PME, each using 4 OpenMP threads\n\n"
        " Force                12    4      10001      28.250       1080.000  81.2\n"
        " PME mesh *            4    4      10001      20.123        772.700  10.6\n"
        " PME wait for PP *                             8.001        422.400   5.8\n"
        " Rest                                          0.100          3.000   0.3\n"
        " Total                                        28.350       1083.000 100.0\n"
    )
    with progress.collected() as notes:
        data = perfcore.read(tmp_path / "md.log")
    assert data.table[["ranks", "threads", "time_s"]].to_numpy().tolist() == [[16, 4, 28.25], [16, 4, 0.1]]
    assert "2 rows of PME" in notes[0]


def mllog(key, kind, time_ms, **metadata):
    import json

    record = {"time_ms": time_ms, "event_type": kind, "key": key, "value": None, "metadata": metadata}
    return f"0: :::MLLOG {json.dumps(record)}\n"


@pytest.mark.parametrize("status", ["success", "aborted"])
def test_time_to_train(tmp_path, status):
    (tmp_path / "result_0.txt").write_text(
        mllog("run_start", "INTERVAL_START", 1000) + mllog("block_start", "INTERVAL_START", 2000)
        + mllog("block_stop", "INTERVAL_END", 62_000) + mllog("block_start", "INTERVAL_START", 63_000)
        + mllog("block_stop", "INTERVAL_END", 64_500) + mllog("run_stop", "INTERVAL_END", 72_000, status=status)
    )  # fmt: skip
    if status == "success":
        row = perfcore.read(tmp_path / "result_0.txt").table.iloc[0]
        assert (row["time_to_train_s"], row["block_s"]) == (71.0, 61.5)
    else:
        with pytest.raises(InputError, match="no run that was completed"):
            perfcore.read(tmp_path / "result_0.txt")


FIGURES = {
    "sysbench": (
        "sysbench 1.0.20 (using LuaJIT)\nNumber of threads: {n}\nCPU speed:\n    events per second:  431{n}.53\n"
        "General statistics:\n    total time:        10.0007s\nLatency (ms):\n         avg:      0.93\n",
        "threads", "1/s", [4311.53, 4312.53],
    ),
    "wrk": (
        "Running 30s test @ http://127.0.0.1/\n  {n} threads and 400 connections\nRequests/sec: 74886{n}.5\n",
        "threads", "requests/s", [748861.5, 748862.5],
    ),
    "ab": (
        "This is ApacheBench, Version 2.3\nConcurrency Level:      {n}\nComplete requests:      1000\n"
        "Requests per second:    1052{n}.87 [#/sec] (mean)\n",
        "concurrency", "requests/s", [10521.87, 10522.87],
    ),
    "HPCG": (
        "HPCG-Benchmark\nMachine Summary::Distributed Processes={n}\n"
        "Final Summary::HPCG result is VALID with a GFLOP/s rating of=12{n}.5\n",
        "processes", "Gflop/s", [121.5, 122.5],
    ),
}  # fmt: skip


@pytest.mark.parametrize("program", FIGURES)
def test_figures_of_benchmarks_are_rates(tmp_path, program):
    text, parameter, unit, rates = FIGURES[program]
    (tmp_path / "runs.txt").write_text(text.replace("{n}", "1") + text.replace("{n}", "2"))
    data = perfcore.read(tmp_path / "runs.txt")
    assert (list(data.roles.parameters.values()), data.roles.unit) == ([parameter], unit)
    assert data.table[parameter].tolist() == [1, 2]
    assert data.table[data.roles.value].tolist() == rates


@pytest.mark.parametrize(
    ("begin", "export"),
    [
        ("@ mpiP\n@ Command : ./a.out\n", "awk '/^@--- MPI Time/"),
        ("# darshan log version: 3.41\n# exe: ./ior\n", "darshan-dxt-parser LOG"),
        ("-----------------------\nCPU name:\tIntel\n-----\nGroup 1: FLOPS_DP\n+--+\n", "a row for each run"),
        ("Connecting to host 10.0.0.2, port 5201\n[  5] local\n[ ID] Interval Transfer\n", "its JSON is read: iperf3"),
        ("HPCTOOLKITmeta\x04", "Pipit"),
    ],
)
def test_what_is_not_read_is_refused_with_the_export_that_is(tmp_path, begin, export):
    (tmp_path / "run.txt").write_text(begin)
    with pytest.raises(InputError) as caught:
        perfcore.read(tmp_path / "run.txt")
    assert export in str(caught.value)
