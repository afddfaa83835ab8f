"""Messages of Charm++ programs, in Projections logs made by hand and in real ones."""

import pytest

import perfcore
from perf_traces.messages.communication import communication_of
from perf_traces.messages.replay import Replay
from perfcore.base.errors import DataError

STS = """\
VERSION 11.0
PROCESSORS 3
TOTAL_EPS 3
CHARE 0 "Cell" 0
ENTRY CHARE 0 "Cell()" 0 0
ENTRY CHARE 1 "step(int)" 0 0
ENTRY CHARE 2 "sum(Msg*)" 0 0
END
"""
# Created: one to PE 1, one to all, one that nobody receives. The message to all is forwarded to another entry method
# and begins two elements on PE 2. PE 0 begins one more by its own message, and one by none.
LOGS = (
    "6 0\n2 4 0 5 0 0 64 0 0 9\n1 3 1 10 0 0 112 1\n20 3 1 20 1 0 80 2 3\n1 3 2 30 2 0 8 1\n3 4 0 40 0 0 0 1\n"
    "2 4 2 60 1 0 80 0 0 9\n3 4 2 70 1 0 0 1\n7 100\n",
    "6 0\n2 4 1 25 0 0 112 0 0 9\n1 3 2 26 0 1 16 1\n3 4 1 35 0 0 0 1\n2 4 2 50 1 0 80 0 0 9\n3 4 2 55 1 0 0 1\n7 90\n",
    "6 0\n2 4 2 15 1 0 80 0 0 9\n3 4 2 18 1 0 0 1\n2 4 2 40 1 0 80 0 0 9\n3 4 2 45 1 0 0 1\n"
    "2 4 2 60 0 1 16 0 0 9\n3 4 2 65 0 1 0 1\n7 80\n",
)


def written(folder, *extra):
    (folder / "cell.sts").write_text(STS)
    for processor, log in enumerate(LOGS):
        (folder / f"cell.{processor}.log").write_text("PROJECTIONS-RECORD 0\n" + log)
    with (folder / "cell.0.log").open("a") as log:
        log.writelines(extra)
    return perfcore.read(folder / "cell.sts")


def test_messages_go_from_their_creation_to_the_first_begin_on_each_processor(tmp_path):
    found = communication_of(written(tmp_path))
    messages, operation = found.messages, found.calls.operation
    rows = zip(
        found.sender.tolist(), found.receiver.tolist(), messages.bytes.tolist(), messages.logical_send_ns.tolist(),
        messages.physical_receive_ns.tolist(), strict=True,
    )  # fmt: skip
    assert sorted(rows) == [
        (0, 0, 80, 20_000, 60_000), (0, 1, 80, 20_000, 50_000), (0, 1, 112, 10_000, 25_000),
        (0, 2, 80, 20_000, 15_000), (1, 2, 16, 26_000, 60_000),
    ]  # fmt: skip
    sending = {found.calls.operations[code] for code in operation[messages.send_call]}
    assert sending == {"send Cell::step(int)", "send Cell::sum(Msg*)"}
    assert found.remarks() == {
        "messages were sent and not received in the logs": 1,
        "messages end before they are sent, so the clocks of locations differ": 1,
    }
    with pytest.raises(DataError, match=r"cannot be replayed: a Charm\+\+ scheduler takes messages in the order"):
        Replay(found)


def test_what_is_damaged_is_counted_and_named(tmp_path):
    extra = "1 3 1 110 x 0 112\n2 4 1 120 5 7 64\n1 3 1 130 0 0 112\n21 3 1 140 9 0 32 1 2 1 4\n"
    remarks = communication_of(written(tmp_path, extra)).remarks()
    assert remarks["records of messages have no numbers, and are left out"] == 1
    assert remarks["messages have the number of one before, and are left out"] == 1
    assert remarks["events of messages name processors that do not exist (PE 4, PE 7)"] == 2


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("file", "messages", "n_bytes", "backwards"),
    # Counted by a separate script: pairs of a creation and the first begin on each processor.
    [("charm-hello/hello.sts", 25, 3080, 3), ("ping-pong/pingpong.prj.sts", 145, 23024, 0)],
)
def test_real_runs(real_data, file, messages, n_bytes, backwards):
    found = communication_of(perfcore.read(real_data / "traces" / "projections" / file))
    assert (len(found.messages), int(found.messages.bytes.sum())) == (messages, n_bytes)
    assert int(found.backwards.sum()) == backwards
