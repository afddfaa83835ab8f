"""Memory of GPUs over time, by hand and by independent scripts."""

import pytest
from gpu_events import event, launched, write

import perfcore
from perfcore.base.errors import DataError


def change(ts, address, amount, allocated, device=0, tid=1):
    args = {"Device Type": 1, "Device Id": device, "Addr": address, "Bytes": amount, "Total Allocated": allocated,
            "Total Reserved": 100}  # fmt: skip
    return {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 100, "tid": tid, "ts": ts, "args": args}


def test_operators_around_changes(tmp_path):
    """The innermost one of the thread; blocks of before the trace are freed, and not live."""
    events = [*launched(1, "k", 5, 12, 5), event("cpu_op", "f", 0, 50), event("cpu_op", "g", 10, 10)]
    events += [event("cpu_op", "h", 0, 90, tid=2), change(15, 1, 30, 70), change(40, 2, 20, 90), change(60, 9, -40, 50)]
    events += [change(70, 1, -30, 20), change(72, 5, 10, 10, device=1, tid=2)]
    found = perfcore.profile(write(tmp_path / "t.json", events), by="memory")
    assert (found.device, found.stack, found.live) == ("GPU 0", ("f",), (1, 20))
    assert {row["name"]: (row["allocated"], row["freed"]) for row in found.operators} == {
        "g": (30, 0), "f": (20, 0), "(no operator)": (0, 70)}  # fmt: skip
    assert found.time_ns[found.peak] == 25_000
    assert found.save(tmp_path / "curve.csv")[0] == f"series: {tmp_path / 'curve.csv'}"
    assert list(perfcore.read(tmp_path / "curve.csv").columns) == ["allocated", "reserved"]


def test_memory_must_be_recorded(tmp_path):
    with pytest.raises(DataError, match="profile_memory=True"):
        perfcore.profile(write(tmp_path / "t.json", launched(1, "k", 0, 10, 5)), by="memory")


REAL = {  # peak, when, operators around it, most reserved, allocated, freed, live
    "syn/memory.json": (4500, 25_000, ["aten::mm"], 8000, 4700, 3500, (2, 1200)),
    "real/bert_h100.json.gz": (101305344, 3875_557, ["aten::empty", "aten::addmm", "aten::linear"], 121634816,
                               47460864, 47460864, (0, 0)),
    "real/bert_mi300.json.gz": (146394112, None, None, 224395264, None, None, None),
}  # fmt: skip


@pytest.mark.real_data
@pytest.mark.parametrize("file", REAL)
def test_memory_of_real_traces(real_data, file):
    found = perfcore.profile(real_data / "traces" / "gpu" / file, by="memory").to_dict()
    values = [found[name] for name in ("peak_bytes", "peak_ns", "peak_stack", "peak_reserved", "allocated_bytes",
                                       "freed_bytes")]  # fmt: skip
    for value, expected in zip([*values, (found["live_blocks"], found["live_bytes"])], REAL[file], strict=True):
        assert expected is None or value == expected
    if "h100" in file:
        assert (found["allocated"][0], found["allocated"][-1]) == (91505152, 91360768)
