"""Nsight Systems: streams, threads, and databases that are damaged or something else."""

import sqlite3

import pytest
from trace_samples import nsight, pieces

import perfcore
from perfcore.base.errors import InputError

FILE = "report.sqlite"
WAITING_FOR_HOST, NOT_STARTED = "(waiting for the host)", "(launched, not started)"
WITHOUT_LAUNCHES = "no launches by the host: idle streams do not tell whether they wait for it"


@pytest.fixture
def write(write):
    return lambda rows="": write(nsight(rows))


def test_streams_compute_in_kernels(write):
    trace = perfcore.read(write(), locations="stream")
    assert trace.locations == ("GPU 0 / stream 7", "GPU 0 / stream 13")
    assert trace.states == ("gemm", "[CUDA memcpy Host-to-Device]", WAITING_FOR_HOST, NOT_STARTED)
    assert trace.busy_states == ("gemm",)
    curve = trace.utilization()
    assert curve.edges.tolist() == [1, 3, 4, 5, 6.5]
    assert curve.heights.tolist() == [1, 2, 1, 0]


GRAPHS = """
    CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
        greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER,
        graphExecId INTEGER);
"""


def test_graphs_are_busy_though_their_kernels_were_not_recorded(write):
    """The table of version 2024.3; one graph that never ended has the end 0."""
    path = write(
        GRAPHS + "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (7000, 9000, 0, 1, 0, 7, 2, 0, 5, 1),"
        "(9500, 0, 0, 1, 0, 7, 3, 0, 5, 1);"
    )
    trace = perfcore.read(path)
    assert trace.busy_states == ("gemm", "CUDA graph 5")
    assert trace.notes[0] == "1 intervals without an end passed over"
    assert trace.utilization().integral == pytest.approx(4 + 2)
    assert perfcore.read(path, locations="stream").utilization().integral == pytest.approx(3 + 2 + 2)


def test_gaps_wait_for_the_host_until_the_launch_has_returned(write):
    """A kernel at 9 us after the first one, which ended at 4; its launch returned at 8. The copy tells of no launch."""
    path = write(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (9000, 9500, 0, 1, 7, 9, 0, 1, 1, NULL);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT 7500, 8000, 0, globalTid, 9, 2, 0 "
        "FROM CUPTI_ACTIVITY_KIND_RUNTIME LIMIT 1;"
    )
    trace = perfcore.read(path, locations="stream")
    gaps = [piece for piece in pieces(trace) if piece[1].startswith("(")]
    seven = "GPU 0 / stream 7"
    assert gaps == [(seven, NOT_STARTED, 8000, 9000), (seven, WAITING_FOR_HOST, 6500, 8000)]
    assert WITHOUT_LAUNCHES not in trace.notes
    assert WITHOUT_LAUNCHES in perfcore.read(write("DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME;")).notes


def test_streams_of_several_processes_are_several(write):
    """Each process numbers its devices and streams from the same beginning: two of eight ranks with a GPU each."""
    first, second = (process << 24 for process in (12, 13))
    path = write(
        f"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET streamId = 7, globalPid = CASE streamId WHEN 7 THEN {first} "
        f"ELSE {second} END; DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY;"
    )
    assert perfcore.read(path).locations == ("process 12 / GPU 0", "process 13 / GPU 0")
    assert perfcore.read(path, locations="process").locations == ("process 12", "process 13")
    trace = perfcore.read(path, locations="stream")
    assert trace.locations == ("process 12 / GPU 0 / stream 7", "process 13 / GPU 0 / stream 7")
    assert trace.utilization().integral == pytest.approx(3 + 2)  # 1 to 4 and 3 to 5 us


def test_a_view_in_place_of_a_table_is_not_run(tmp_path):
    path = tmp_path / "trick.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT load_extension('x') AS start")
    connection.close()
    with pytest.raises(InputError, match="holds none of the tables that Nsight Systems exports"):
        perfcore.read(path, reader="nsight")
