"""Clocks of ranks: known shifts are found again, and what cannot be aligned is said."""

import gzip
import json

import numpy as np
import pytest
from traces.kineto_files import START_US, STEPS, read, write_rank

from perfcore.base.errors import DataError


def starts(trace):
    """First start of each rank, in nanoseconds."""
    return [int(part.start_ns.min()) for part in trace.rank_traces()]


def test_recorded_clocks_that_overlap_are_taken(tmp_path):
    write_rank(tmp_path, 0, world_size=2)
    write_rank(tmp_path, 1, world_size=2, start_us=START_US + 3)
    trace = read(tmp_path)
    assert trace.facts["clocks"] == "recorded"
    assert trace.facts["clock_residual_ns"] == 3000
    assert starts(trace) == [0, 3000]
    together = read(tmp_path, clocks="collectives")
    assert starts(together) == [0, 0]


@pytest.mark.parametrize("shift_us", [-987_654_321, 5_000_000, 86_400_000_000])
def test_a_known_shift_is_found_again_by_collectives(tmp_path, shift_us):
    """Clocks that count from each machine's own start, and ranks that leave collectives up to 2 us apart."""
    write_rank(tmp_path, 0, world_size=2, start_us=10**9)
    write_rank(tmp_path, 1, world_size=2, start_us=10**9 + shift_us, wobble_us=2)
    trace = read(tmp_path)
    assert trace.facts["clocks"] == "collectives"
    assert trace.facts["clock_residual_ns"] <= 4000
    assert starts(trace)[1] == pytest.approx(0, abs=2000)
    assert "aligned by the ends of common collectives; half of the 5 of ranks 0 and 1 lie within" in trace.notes[1]


def test_clocks_that_cannot_be_aligned_are_refused(tmp_path):
    write_rank(tmp_path, 0, world_size=2)
    write_rank(tmp_path, 1, world_size=2, start_us=START_US + 10**9, steps=STEPS - 1)
    with pytest.raises(DataError, match=r"rank 1 begins 1000 s after rank 0 ended, and they have no collectives"):
        read(tmp_path)
    unaligned = read(tmp_path, clocks="unaligned")
    assert starts(unaligned) == [0, 0]
    assert "not aligned" in unaligned.notes[1]
    recorded = read(tmp_path, clocks="recorded")
    assert starts(recorded) == [0, 10**12]


def test_collectives_that_are_not_the_same_are_no_clock(tmp_path):
    """As many of them, but of another communicator: they end at unrelated times."""
    write_rank(tmp_path, 0, world_size=2, start_us=0, steps=50)
    path = write_rank(tmp_path, 1, world_size=2, start_us=0, steps=50)
    document = json.loads(path.read_text())
    moved = np.random.default_rng(3).integers(0, 10**6, 50).cumsum()
    for step, event in enumerate(e for e in document["traceEvents"] if "AllReduce" in e["name"]):
        event["ts"] += int(moved[step])
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match="half of the ends of their 50 common collectives lie more than"):
        read(tmp_path)


@pytest.mark.real_data
def test_a_shifted_copy_of_a_real_rank_is_found_again(real_data, tmp_path):
    """By its sends and receives renamed to a collective; the copy's clock is 7.654321 s late."""
    with gzip.open(real_data / "traces" / "chrome" / "two_ranks" / "sampled_rank-0.json.gz", "rt") as file:
        text = file.read().replace("ncclKernel_SendRecv", "ncclKernel_AllReduce")
    (tmp_path / "rank0.json").write_text(text)
    document = json.loads(text)
    document["distributedInfo"]["rank"] = 1
    for event in document["traceEvents"]:
        if "ts" in event:
            event["ts"] += 7_654_321
    (tmp_path / "rank1.json").write_text(json.dumps(document))
    trace = read(tmp_path)
    assert trace.facts["clocks"] == "collectives"
    assert trace.facts["clock_residual_ns"] == 0
    assert starts(trace) == [0, 0]


def test_collectives_of_other_groups_say_nothing_of_clocks(tmp_path):
    """Kernels have one name; two pairs of ranks end theirs at other times, and all four end one a step together."""
    for rank in range(4):
        pair, start_us = rank // 2, 10**9 * (rank + 1)
        groups = {"pair": (30 + 20 * pair, [2 * pair, 2 * pair + 1]), "all": (90, [0, 1, 2, 3])}
        events = []
        for step in range(STEPS):
            for name, (end, members) in groups.items():
                told = {"Process Group Name": name, "Process Group Ranks": str(members), "Group size": len(members)}
                args = {"Collective name": "allreduce", **told}
                kernel = {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 7}
                events.append({**kernel, "ts": start_us + 100 * step + end - 10, "dur": 10, "args": args})
        document = {"distributedInfo": {"rank": rank, "world_size": 4}, "traceEvents": events}
        (tmp_path / f"rank{rank}.json").write_text(json.dumps(document))
    trace = read(tmp_path)
    assert (trace.facts["clocks"], trace.facts["clock_residual_ns"]) == ("collectives", 0)
    assert starts(trace) == [0, 0, 20_000, 20_000]
