"""One run from many files: which rank each is, which are missing, doubled or none, and what the run then is."""

import numpy as np
import pytest
from traces.kineto_files import START_US, read, write_rank

import perfcore
from perf_traces.joined_trace import JoinedTrace, summed_curve
from perf_traces.levels import located
from perfcore import Trace
from perfcore.base.errors import InputError
from perfcore.data.trace import curve_from_intervals


def test_four_ranks_are_one_trace(tmp_path):
    for rank in (3, 1, 0, 2):
        write_rank(tmp_path, rank, packed=rank == 2)
    trace = read(tmp_path)
    streams = [f"rank {rank} / GPU 0 / stream {stream}" for rank in range(4) for stream in (7, 20)]
    assert list(trace.locations) == streams
    assert trace.levels["process"] == tuple(f"rank {rank}" for rank in range(4) for _ in range(2))
    assert trace.n_intervals == 4 * 5 * 3
    assert trace.span_ns == (0, 485_000)
    assert trace.facts["epoch_ns"] == (START_US + 5) * 1000
    assert trace.facts["world_size"] == 4
    # All ranks compute for 40 us and the number of their rank, five times.
    curve = trace.utilization()
    assert curve.integral == pytest.approx(5 * (40 + 41 + 42 + 43))
    assert curve.heights.max() == 4
    assert trace.notes[:2] == (
        "4 ranks as one run, told by what the files say",
        "clocks: as recorded; 5 collectives of ranks 0 and 3 end 0 ns apart (median), no others more; "
        "-r clocks=collectives lets them end together",
    )


def test_the_joined_arrays_are_those_of_the_ranks(tmp_path):
    for rank in range(3):
        write_rank(tmp_path, rank, start_us=START_US + 7 * rank, world_size=3)
    trace = read(tmp_path)
    one_by_one = list(trace.rank_traces())
    assert [part.locations[0] for part in one_by_one] == [f"rank {rank} / GPU 0 / stream 7" for rank in range(3)]
    for name in ("state", "start_ns", "end_ns"):
        assert (getattr(trace, name) == np.concatenate([getattr(part, name) for part in one_by_one])).all()
    assert trace.location.max() == 5
    assert (trace.utilization().heights == Trace.utilization(trace).heights).all()
    assert (trace.utilization().edges == Trace.utilization(trace).edges).all()
    assert one_by_one[2].start_ns.min() == 14_000


@pytest.mark.parametrize(
    "names",
    [
        ("trace_rank-0.json", "trace_rank-1.json"),
        ("rank_0/trace.json", "rank_1/trace.json"),
        ("job.0.json", "job.1.json"),
        ("node7_100.1700000000.pt.trace.json", "node8_90.1700000001.pt.trace.json"),
    ],
)
def test_names_tell_ranks_where_the_files_do_not(tmp_path, names):
    for rank, name in enumerate(names):
        write_rank(tmp_path, rank, name, told=False)
    trace = read(tmp_path)
    assert trace.ranks == (0, 1)
    assert trace.notes[0] == "2 ranks as one run, told by the names of the files"
    assert ("node" in trace.levels) == names[0].startswith("node")


def test_a_rank_that_is_cut_short_is_named_and_used_only_if_asked(tmp_path):
    write_rank(tmp_path, 0, world_size=2)
    path = write_rank(tmp_path, 1, world_size=2)
    text = path.read_text()
    path.write_text(text[: text.index("ProfilerStep#2")])
    with pytest.raises(InputError, match=r"rank1\.json.*cut short; -r to_the_cut=yes"):
        read(tmp_path)
    trace = read(tmp_path, to_the_cut=True)
    assert trace.n_intervals == 15 + 9
    assert "rank 1: the file is cut short: what stands before its end is read" in trace.notes


def test_other_processes_read_the_same(tmp_path):
    for rank in range(3):
        write_rank(tmp_path, rank, world_size=3)
    here, there = read(tmp_path), read(tmp_path, processes=2)
    assert there.locations == here.locations
    assert there.notes == here.notes
    for name in ("location", "state", "start_ns", "end_ns"):
        assert (getattr(there, name) == getattr(here, name)).all()


def test_what_goes_wrong_in_another_process_is_said(tmp_path):
    for rank in range(3):
        write_rank(tmp_path, rank, world_size=3)
    (tmp_path / "rank2.json").write_text('{"traceEvents": [{"ph": "X", "ts": "soon"}]}')
    with pytest.raises(InputError, match=r"rank2\.json.*'soon' is no time"):
        read(tmp_path, processes=2)


@pytest.mark.parametrize("at_once", [3, 50, 10**6])
def test_the_sum_over_ranks_is_that_of_all_intervals(tmp_path, at_once):
    rng = np.random.default_rng(4)
    span, ranks = (100, 3000), []
    for _ in range(5):
        edges = 100 + np.sort(rng.choice(2900, 60, replace=False))
        ranks.append((edges[::2].copy(), edges[1::2].copy()))
    expected = curve_from_intervals(np.concatenate([*(r[0] for r in ranks), *(r[1] for r in ranks)]), span, "us")
    found = summed_curve(iter(ranks), tmp_path, span, "us", changes_at_once=at_once)
    assert (found.edges == expected.edges).all()
    assert (found.heights == expected.heights).all()


def test_gpus_of_long_runs_are_merged_and_summed_up_alike(tmp_path, monkeypatch):
    for rank in range(3):
        write_rank(tmp_path, rank, start_us=START_US + 7 * rank, world_size=3)
    expected = perfcore.read(tmp_path)
    monkeypatch.setattr("perf_traces.joined_trace.FEW_INTERVALS", 4)
    curve = perfcore.read(tmp_path).utilization()
    assert (curve.edges == expected.utilization().edges).all()
    assert (curve.heights == expected.utilization().heights).all()
    streams = read(tmp_path)
    again = located(Trace(streams.location, streams.state, streams.start_ns, streams.end_ns, streams.locations,
                          streams.states, levels=streams.levels), "auto")  # fmt: skip
    for name in ("location", "state", "start_ns", "end_ns"):
        assert (getattr(again, name) == getattr(expected, name)).all()


def test_a_gpu_of_each_rank_is_one_location(tmp_path):
    for rank in range(3):
        write_rank(tmp_path, rank, world_size=3)
    trace = perfcore.read(tmp_path)
    assert trace.locations == tuple(f"rank {rank} / GPU 0" for rank in range(3))
    assert isinstance(trace.recorded, JoinedTrace)
    assert trace.utilization().integral == pytest.approx(5 * (40 + 41 + 42))
    assert perfcore.read(tmp_path, locations="process").locations == ("rank 0", "rank 1", "rank 2")


@pytest.mark.real_data
def test_two_real_ranks_have_the_known_unions(real_data):
    """Unions over streams in microseconds, by a parser written independently."""
    trace = perfcore.read(real_data / "traces" / "chrome" / "two_ranks")
    devices = perfcore.overheads(trace)[0].devices
    assert [device.computing_ns // 1000 for device in devices] == [210_320, 271_973]
    assert [device.communicating_ns // 1000 for device in devices] == [396_199, 379_053]
    assert [device.copying_ns // 1000 for device in devices] == [1_325, 16_504]
    hidden = [device.hidden_communication_ns / device.communicating_ns for device in devices]
    assert hidden == pytest.approx([0.14946, 0.19926], abs=5e-6)
    assert [device.span_ns // 1000 for device in devices] == [1_222_847, 1_231_186]
    assert "of 128 ranks 126 are missing: 2 to 127" in trace.notes
