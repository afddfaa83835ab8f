"""Messages and collectives of MPI in exports of Nsight Systems, written by the published schema."""

import sqlite3

import pytest

import perfcore
from perf_analysis.messages import collective_rows
from perf_traces.messages.communication import communication_of

SCHEMA = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE MPI_RANKS (globalTid INTEGER NOT NULL, rank INTEGER NOT NULL);
CREATE TABLE MPI_P2P_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER,
    commHandle INTEGER, tag INTEGER, remoteRank INTEGER, size INTEGER, requestHandle INTEGER);
CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER,
    commHandle INTEGER, rootRank INTEGER, size INTEGER, recvSize INTEGER, requestHandle INTEGER);
CREATE TABLE MPI_START_WAIT_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER,
    requestHandle INTEGER);
CREATE TABLE MPI_OTHER_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER);
INSERT INTO StringIds VALUES (1, 'MPI_Isend'), (2, 'MPI_Irecv'), (3, 'MPI_Waitall'), (4, 'MPI_Allreduce'),
    (5, 'MPI_Init'), (6, 'MPI_Sendrecv'), (7, 'MPI_Recv'), (8, 'MPI_Send'), (9, 'MPI_Iallreduce');
"""
MPICH_WORLD = 0x44000000


def of_rank(rank, world):
    """Two ranks exchange 100 bytes, wait for both requests at once, add up 8 bytes, and one sends 40 to the other."""
    thread = (12 + rank) << 24 | 34
    last = f"(200, 210, {thread}, 8, {world}, 7, 1, 40, NULL)"
    if rank:
        last = f"(195, 220, {thread}, 7, {world}, 7, 0, 64, NULL)"
    return f"""
    INSERT INTO MPI_RANKS VALUES ({thread}, {rank});
    INSERT INTO MPI_OTHER_EVENTS VALUES (0, 5, {thread}, 5);
    INSERT INTO MPI_P2P_EVENTS VALUES (10, 12, {thread}, 2, {world}, 3, {1 - rank}, 128, 71),
        (20, 22, {thread}, 1, {world}, 3, {1 - rank}, 100, 72), {last};
    INSERT INTO MPI_START_WAIT_EVENTS VALUES (50, {60 + rank}, {thread}, 3, 71), (50, {60 + rank}, {thread}, 3, 72);
    INSERT INTO MPI_COLLECTIVES_EVENTS VALUES ({100 + 10 * rank}, 130, {thread}, 4, {world}, -1, 8, 8, NULL);
    """


def write(path, *rows):
    connection = sqlite3.connect(path)
    connection.executescript(SCHEMA + "".join(rows))
    connection.close()
    return path


@pytest.fixture(params=["one file", "a file for each rank"])
def run(request, tmp_path):
    if request.param == "one file":
        write(tmp_path / "run.sqlite", of_rank(0, 5), of_rank(1, 6))
        return perfcore.read(tmp_path / "run.sqlite")
    for rank in range(2):
        write(tmp_path / f"report.{rank}.sqlite", of_rank(rank, 5 + rank))
    return perfcore.read(tmp_path, clocks="recorded")


def test_messages_and_collectives_of_ranks(run):
    """Handles of the only communicator differ, as pointers do."""
    assert run.busy_states == ("(outside of all regions)",)
    found = communication_of(run)
    assert found.remarks() == {}
    assert len(found.calls) == 12
    names, messages = found.calls.operations, found.messages
    enter, leave = found.calls.enter_ns, found.calls.leave_ns
    times = enter[messages.send_call], enter[messages.post_call], leave[messages.receive_call]
    ends = found.sender, found.receiver, messages.bytes
    rows = zip(*(column.tolist() for column in (*ends, *times)), strict=True)
    assert sorted(rows) == [(0, 1, 40, 200, 195, 220), (0, 1, 100, 20, 10, 61), (1, 0, 100, 20, 10, 60)]
    ends = {names[code] for code in found.calls.operation[messages.send_done_call]}
    assert ends == {"MPI_Waitall", "MPI_Send"}
    [row] = collective_rows(found)
    assert (row.operation, row.timed, row.bytes, row.until_all_ns, row.after_ns) == ("MPI_Allreduce", 1, 8, 10, 40)


@pytest.mark.parametrize(
    ("more", "remarks"),
    [
        ("(300, 301, {0}, 8, 7, 0, 1, 9, NULL)",  # a second communicator, and none is MPICH's
         {"sends or receives are on communicators of which the ranks are not recorded": 4,
          "sends or receives have no partner in the files": 3, "collectives lack members": 1,
          "collectives name no known group of processes: each call of a rank counts as one": 1}),
        ("(300, 301, {0}, 7, 5, 0, -1, 9, NULL)", {"receives from any rank or from none: who sent is not recorded": 1}),
        ("(300, 301, {0}, 2, 5, 0, 1, 9, 99)", {"receives are not waited for": 1}),
        ("(300, 301, {0}, 8, 5, 0, 'x', 9, NULL)", {}),
        ("(300, 301, {0}, 8, 5, 0, 12, 9, NULL)", {"sends or receives have no partner in the files": 1}),
        ("(300, 301, {0}, 6, 5, 0, 1, 9, NULL)",
         {"calls of MPI_Sendrecv or persistent requests do not say who sends to whom": 1}),
        ("(300, NULL, {0}, 8, 5, 0, 1, 9, NULL)", {}),
        (f"(300, 301, {99 << 24 | 1}, 1, 5, 0, 1, 9, 4)", None),  # a process of one call, whose rank nobody says
    ],
)  # fmt: skip
def test_what_does_not_fit_is_counted(tmp_path, more, remarks):
    row = f"INSERT INTO MPI_P2P_EVENTS VALUES {more.format(12 << 24 | 34)};"
    found = communication_of(perfcore.read(write(tmp_path / "run.sqlite", of_rank(0, 5), of_rank(1, 5), row)))
    assert (None if found is None else found.remarks()) == remarks


def test_of_several_communicators_the_one_of_all_ranks_is_known_by_mpich(tmp_path):
    rows = [of_rank(rank, MPICH_WORLD) for rank in range(2)]
    thread = 12 << 24 | 34
    more = f"""INSERT INTO MPI_COLLECTIVES_EVENTS VALUES (300, 310, {thread}, 4, 7, -1, 16, 8, NULL),
        (320, 321, {thread}, 9, {MPICH_WORLD}, -1, 8, 8, 55);"""
    found = communication_of(perfcore.read(write(tmp_path / "run.sqlite", *rows, more)))
    assert (len(found.messages), sorted(found.collectives.bytes.tolist())) == (3, [8, 16])
    assert sorted(what.split()[0] for what in found.remarks()) == ["calls", "collectives"]  # announced; of no group
