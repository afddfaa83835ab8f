"""The critical path through host and GPU, against calculations by hand and values of an independent script."""

import random

import pytest
from gpu_events import event, launched, write

import perfcore
from perfcore.base.errors import OptionError


def classes(found):
    """Nonzero times of the path by class, in microseconds."""
    return {name: time / 1000 for name, time in found.path.by_class.items() if time}


def runtimes(found):
    return {each.question: each.runtime_ns / 1000 for each in found.scenarios}


def step(number, at=0):
    """A step of 500 us: two kernels that the host waits for, of which the second follows the first, and a third."""
    call = {name: 10 * number + k for k, name in enumerate("abcd")}
    launch = "cudaLaunchKernel"
    host = [
        ("user_annotation", f"step#{number}", 0, 500, None), ("cpu_op", "aten::a", 0, 40, None),
        ("cuda_runtime", launch, 10, 10, "a"), ("cpu_op", "aten::b", 40, 40, None),
        ("cuda_runtime", launch, 50, 10, "b"),
        ("cuda_runtime", "cudaDeviceSynchronize", 90, 330, "d"), ("cpu_op", "aten::c", 430, 50, None),
        ("cuda_runtime", launch, 440, 10, "c"),
    ]  # fmt: skip
    events = [event(cat, name, at + ts, us, **({"correlation": call[c]} if c else {})) for cat, name, ts, us, c in host]
    kernels = [("gemm", 25, 200, "a"), ("relu", 227, 183, "b"), ("ncclDevKernel", 455, 20, "c")]
    return events + [event("kernel", name, at + ts, dur, 7, correlation=call[c]) for name, ts, dur, c in kernels]


def test_of_a_run_that_mostly_copies_faster_copies_are_asked_for(tmp_path):
    """A copy of 300 us, a kernel of 30 us behind it, and the host waits: copies twice as fast save 150 us."""

    def copying(name, copy_us):
        return write(tmp_path / name, [
            event("cuda_runtime", "cudaMemcpyAsync", 0, 10, correlation=1),
            event("cuda_runtime", "cudaLaunchKernel", 12, 4, correlation=2),
            event("cuda_runtime", "cudaDeviceSynchronize", 20, 330, correlation=3),
            event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 15, copy_us, 7, correlation=1),
            event("kernel", "gemm", 16 + copy_us, 330 - copy_us, 7, correlation=2),
        ])  # fmt: skip

    path = copying("copies.json", 300)
    assert runtimes(perfcore.whatif(path, compute=["copies=2"])) == {"copies 2x faster": 200}
    usual = perfcore.whatif(path)
    assert runtimes(usual)["copies 2x faster"] == 200
    assert next(row for row in usual.report().tables[0].shown()[1] if row[0] == "copies")[1] == "300"
    answer = perfcore.overheads(path)[0].report().answer
    assert "(exposed copies 90.6%)" in answer  # of the 331 us of the stream
    assert runtimes(perfcore.whatif(tmp_path / "copies.json", compute=["gemm=2"])) == {"gemm 2x faster": 335}
    assert not any("copies" in question for question in runtimes(perfcore.whatif(copying("half.json", 165))))
    write(tmp_path / "t.json", step(0))
    with pytest.raises(OptionError, match="copies: the run has none"):
        perfcore.whatif(tmp_path / "t.json", compute=["copies=2"])


def test_path_and_replay_by_hand(tmp_path):
    """As the page's made trace: a kernel that follows another, a wait of the host, and a launch after it."""
    found = perfcore.whatif(write(tmp_path / "t.json", step(0)), region="step#0")
    assert classes(found) == {"GPU": 383, "operators": 50, "no operator": 30, "launch": 15, "runtime calls": 10,
                              "return from waiting": 10, "gaps of the GPU": 2}  # fmt: skip
    collectives = {"collectives 2x faster": 500, "ideal collectives": 500}
    assert runtimes(found) == {"GPU 2x faster": 308.5, "ideal GPU": 180, "host 2x faster": 460,
                               "ideal host": 445, **collectives}  # fmt: skip
    asked = perfcore.whatif(tmp_path / "t.json", region="step#0", compute=["GEMM=2", "host=inf"])
    assert runtimes(asked) == {"GEMM 2x faster, ideal host": 345}
    assert found.path.by_kernel == {"gemm": 200_000, "relu": 183_000}
    report = found.report()
    assert report.answer == (
        "t.json, step#0: GPU kernels are 76.6% of the critical path of 500 us; GPU 2x faster saves 191.5 us (38%), "
        "host 2x faster saves 40 us (8%)"
    )
    assert [figure.value for figure in report.figures] == pytest.approx([0.766, 0.383, 0.08])
    assert found.step_lengths_ns == ()  # of one step
    assert report.tables[0].shown()[1] == [
        ["GPU", "383", "76.6%", "180", "308.5"], ["collectives", "0", "0.0%", "500", "500"],
        ["host", "90", "18.0%", "445", "460"], ["gaps of the GPU", "2", "0.4%", "-", "-"],
        ["launch", "15", "3.0%", "-", "-"], ["return from waiting", "10", "2.0%", "-", "-"],
    ]  # fmt: skip
    activities = next(table.shown() for table in report.tables if table.shown()[0][0] == "host activity")
    assert activities[1] == [["c", "40", "8.0%"], ["a", "10", "2.0%"], ["cudaLaunchKernel", "10", "2.0%"]]
    notes = report.notes_by_label()
    assert notes["Kernels"] == ["gemm 200 us, relu 183 us"]
    host = "no operator (Python?) 30 us, operators 50 us, runtime calls 10 us; most: aten::c 40 us, aten::a 10 us"
    assert notes["Host"] == [host]
    # Kernels of 383 and 20 us on the only stream; the collective of 20.
    bound = "busiest stream (host with an ideal GPU 180 us, collectives at their best bandwidth 20 us)"
    assert notes["Lower bound"] == [f"403 us, {bound}"]
    assert "Ranks" not in notes
    assert report.tables[1].shown()[0] == ["scenario", "runtime [us]"]
    assert (found.details, found.notes) == ("operator", ())
    assert found.uncertain == ("collectives of one rank include waiting for other ranks",)


def test_savings_of_every_step(tmp_path):
    events = [each for k in range(3) for each in step(k, 600 * k)]
    file = write(tmp_path / "t.json", events)
    found = perfcore.whatif(file, compute={"gpu": 2})
    assert found.scenarios[0].step_savings_ns == (191_500,) * 3
    assert [len(each.step_savings_ns) for each in perfcore.whatif(file).scenarios] == [3, 0] * 3
    report = found.report()
    steps = "3 of 500 us on average, GPU 2x faster saves 191.5 us (191.5 us to 191.5 us)"
    assert report.notes_by_label()["Steps"] == [steps]
    # From the first event to the last of three steps 600 us apart: 480 us of the third one.
    assert report.tables[0].shown()[1][1][1:] == ["1.105", f"{(1680 - 3 * 191.5) / 1680 - 1:+.1%}"]
    assert perfcore.whatif(file, region="step").runtime_ns == 1_700_000
    assert perfcore.whatif(file, region="step#2").runtime_ns == 500_000
    write(tmp_path / "t.json", events + [event("user_annotation", "iter", 600 * k, 430 + 10 * k) for k in range(3)])
    assert perfcore.whatif(file, region="iter#2").runtime_ns == 440_000  # the second of one name


def synchronized(*kernels, stop, launches=()):
    """Kernels, calls that launch some of them, a synchronization from 20 us on, and 50 us of the host."""
    calls = [event("cuda_runtime", "cudaLaunchKernel", at, 4, correlation=k) for k, at in launches]
    pieces = [event("kernel", name, start, dur, tid, correlation=k) for name, start, dur, tid, k in kernels]
    wait = event("cuda_runtime", "cudaDeviceSynchronize", 20, stop - 20, correlation=99)
    return [*calls, *pieces, wait, event("cpu_op", "host", stop, 50)]


def test_a_device_synchronization_waits_for_all_streams(tmp_path):
    """From 2 until 112 us for A, or, with A twice as fast, until 102 us for B; then 2 us of return, 50 of the host."""
    two = [("A", 12, 100, 7, 1), ("B", 22, 80, 8, 2)]
    file = write(tmp_path / "t.json", synchronized(*two, stop=114, launches=[(1, 2), (2, 12)]))
    assert runtimes(perfcore.whatif(file, compute={"A": 2})) == {"A 2x faster": 152}
    usual = runtimes(perfcore.whatif(file))
    assert (usual["GPU 2x faster"], usual["ideal GPU"]) == (112, 72)


@pytest.mark.parametrize("at", [0, 22])
def test_work_launched_before_the_trace_is_awaited_by_the_call_in_which_it_ends(tmp_path, at):
    """Of two kernels without launch, one behind the other: the second ends 2 us before the call that waits returns."""
    events = synchronized(("P", at, 40, 7, 50), ("Q", at + 42, 60, 7, 51), stop=at + 104)
    found = perfcore.whatif(write(tmp_path / "t.json", events))
    assert found.path.by_class["return from waiting"] == 2000
    assert runtimes(found)["GPU 2x faster"] == at + 104 + 50 - min(at, 20) - 50
    assert any("2 pieces without" in line or "1 pieces without" in line for line in found.uncertain)


@pytest.mark.parametrize(("off", "said"), [(10, "10 us ahead of"), (-6, "4 us behind"), (0, "")])
def test_clocks_of_host_and_gpu_that_differ(tmp_path, off, said):
    """Launched at 2 us it runs from 4 to 104 us of the host's clock; that of the GPU is off."""
    events = synchronized(("k", 4 + off, 100, 7, 1), stop=104, launches=[(1, 2)])
    found = perfcore.whatif(write(tmp_path / "t.json", events))
    assert found.runtime_ns == 154_000 - 2_000  # from the launch, the first event on the clock of the host
    assert runtimes(found)["GPU 2x faster"] == found.runtime_ns / 1000 - 50
    assert any(said in line for line in found.uncertain) if said else not found.uncertain


@pytest.mark.parametrize("off", [0, 40])
def test_blocking_copies_tell_how_far_clocks_differ(tmp_path, off):
    """200 us of work and a copy of 8, which its call, of 10 to 220 us, waits for; a synchronization finds it done."""
    events = [*launched(1, "gemm", 0, 8 + off, 200), event("cuda_runtime", "cudaMemcpyAsync", 10, 210, correlation=2),
              event("gpu_memcpy", "Memcpy DtoH", 210 + off, 8, 7, correlation=2),
              event("cuda_runtime", "cudaStreamSynchronize", 221, 5, correlation=3),
              event("cpu_op", "aten::item", 226, 20)]  # fmt: skip
    found = perfcore.whatif(write(tmp_path / "t.json", events))
    assert runtimes(found)["GPU 2x faster"] == found.runtime_ns / 1000 - 100 - 4
    assert any("38 us ahead of" in line for line in found.uncertain) == bool(off)


def test_clocks_that_jump(tmp_path):
    """Work of the second step is dated half a second later: it is left out of what is waited for, and that is said."""
    first = synchronized(("k", 4, 100, 7, 1), stop=106, launches=[(1, 2)])
    later = [{**each, "ts": each["ts"] + (500_000 if each["cat"] == "kernel" else 1000),
              "args": {"correlation": each["args"].get("correlation", 0) + 200}} for each in first]  # fmt: skip
    found = perfcore.whatif(write(tmp_path / "t.json", first + later))
    assert sum(found.path.by_class.values()) == found.runtime_ns
    assert any(line.startswith("1 times work begins before its launch or ends after") for line in found.uncertain)
    silent = "no event of host or GPU from 1.154 ms to 500.002 ms (99.7% of the run): "
    assert found.uncertain[0].startswith(silent)
    first_answer = perfcore.overheads(tmp_path / "t.json").report()
    assert first_answer.notes[0].text.startswith(silent)
    assert "would save" not in first_answer.answer


def test_the_answer_names_what_the_path_mostly_waits_for(tmp_path):
    """A wait from 20 to 900 us for a kernel that ends at 24 us, of a run from 2 to 950 us."""
    file = write(tmp_path / "t.json", synchronized(("k", 4, 20, 7, 1), stop=900, launches=[(1, 2)]))
    assert perfcore.whatif(file).report().answer.startswith("t.json: return from waiting is 92.4% of the critical")


def test_kernels_that_overlap_on_a_stream(tmp_path):
    """Dependent launches that begin 2 us early keep their 100 us each, and the overlap; the union is 296 us."""
    events = [event("kernel", "k", 98 * k, 100, 7) for k in range(3)] + [event("kernel", "empty", 50, 0, 7)]
    found = perfcore.whatif(write(tmp_path / "t.json", events))
    assert (found.runtime_ns, found.path.by_class["GPU"], runtimes(found)["GPU 2x faster"]) == (296_000, 296_000, 146)
    assert found.least_ns["busiest stream"] == 296_000
    kernels = {row["name"]: row["own_ns"] for row in perfcore.profile(tmp_path / "t.json", by="kernel").rows}
    assert kernels == {"k": 300_000, "empty": 0}
    [device] = perfcore.overheads(tmp_path / "t.json")[0].devices
    assert device.computing_ns == 296_000


@pytest.mark.parametrize("device", [{"device": 0}, {}])
def test_streams_that_wait_for_events(tmp_path, device):
    """A kernel begins when that of another stream ends, which the wait for an event tells."""
    wait = {"stream": 8, "wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 2, "correlation": 3, **device}
    events = [
        event("cuda_runtime", "cudaLaunchKernel", 0, 5, correlation=1),
        event("kernel", "first", 10, 100, 7, correlation=1),
        event("cuda_runtime", "cudaEventRecord", 6, 1, correlation=2),
        event("cuda_runtime", "cudaStreamWaitEvent", 8, 1, correlation=3),
        event("cuda_sync", "Stream Wait Event", 8, 1, 8, cuda_sync_kind="Stream Wait Event", **wait),
        event("cuda_runtime", "cudaLaunchKernel", 12, 5, correlation=4),
        event("kernel", "second", 112, 50, 8, correlation=4),
    ]  # fmt: skip
    found = perfcore.whatif(write(tmp_path / "t.json", events))
    assert classes(found) == {"launch": 10, "GPU": 150, "gaps of the GPU": 2}
    assert (runtimes(found)["GPU 2x faster"], found.notes) == (87, ())
    unrecorded = perfcore.whatif(write(tmp_path / "u.json", [e for e in events if e["cat"] != "cuda_sync"]))
    assert classes(unrecorded) == {"launch": 100, "runtime calls": 7, "no operator": 5, "GPU": 50}
    assert unrecorded.notes[0].startswith("event waits of streams, counted as gaps (enable_cuda_sync_events=True")


@pytest.mark.parametrize("stream", [7, -1])
def test_the_host_waits_for_an_event(tmp_path, stream):
    """Until the kernel before the record ends, although a later one runs on; of an unknown stream, too."""
    wait = {"wait_on_stream": stream, "wait_on_cuda_event_record_corr_id": 2, "device": 0, "correlation": 4}
    events = [
        event("cuda_runtime", "cudaLaunchKernel", 0, 5, correlation=1),
        event("kernel", "first", 10, 50, 7, correlation=1),
        event("cuda_runtime", "cudaEventRecord", 6, 1, correlation=2),
        event("cuda_runtime", "cudaLaunchKernel", 8, 5, correlation=3),
        event("kernel", "second", 60, 100, 7, correlation=3),
        event("cuda_runtime", "cudaEventSynchronize", 20, 45, correlation=4),
        event("cuda_sync", "Event Sync", 20, 45, 7, cuda_sync_kind="Event Sync", **wait),
        event("cuda_sync", "Event Sync", 70, 5, 7, cuda_sync_kind=["damaged"], correlation={}),
        event("cpu_op", "op", 70, 100), event("user_annotation", "ProfilerStep#1", 70, 0),
        event("user_annotation", "ProfilerStep#2", 70, 100),
    ]  # fmt: skip
    found = perfcore.whatif(write(tmp_path / "t.json", events))
    assert classes(found) == {"launch": 10, "GPU": 50, "return from waiting": 5, "no operator": 5, "operators": 100}
    assert runtimes(found)["GPU 2x faster"] == 145
    assert found.step_lengths_ns == (100_000,)


def test_a_full_launch_queue_is_waiting(tmp_path):
    """1100 launches of 1 us for kernels of 100 us: the host is stopped at 1000 that are launched and not begun."""
    events, begun, ended, now, stopped = [], [], 0, 0, []
    for k in range(1100):
        returned = max(now + 1, begun[k - 1000] + 1 if k >= 1000 else 0)
        stopped += [returned - now] if returned > now + 1 else []
        events.append(event("cuda_runtime", "cudaLaunchKernel", now, returned - now, correlation=k))
        begun.append(max(ended, now + 5))
        ended = begun[-1] + 100
        events.append(event("kernel", "k", begun[-1], 100, 7, correlation=k))
        now = returned
    events.append(event("cuda_runtime", "cudaDeviceSynchronize", now, ended + 10 - now, correlation=5000))
    found = perfcore.whatif(write(tmp_path / "t.json", events))
    assert classes(found) == {"launch": 5, "GPU": 110_000, "return from waiting": 10}
    assert len(stopped) > 80
    assert found.full_queue == {"launches": len(stopped), "time_ns": 1000 * sum(stopped)}
    assert runtimes(found)["ideal GPU"] < 2000


def test_traces_that_lack_something(tmp_path):
    kernels = [event("kernel", "k", 0, 5, 7), event("kernel", "k", 9, 5, 7)]
    bare = perfcore.whatif(write(tmp_path / "bare.json", kernels))
    assert classes(bare) == {"GPU": 10, "launch not recorded": 4}
    assert "activities" in bare.notes[0]
    assert bare.details == "kernel"
    without = [{**e, "args": {}} for e in step(0)]
    assert "launches of GPU work" in perfcore.whatif(write(tmp_path / "without.json", without)).notes[0]
    whole = write(tmp_path / "t.json", step(0))
    (tmp_path / "cut.json").write_bytes(whole.read_bytes()[:-150])
    cut = perfcore.whatif(tmp_path / "cut.json")
    assert sum(cut.path.by_class.values()) == cut.runtime_ns
    with pytest.raises(OptionError, match="compute= and region="):
        perfcore.whatif(whole, network="0")
    with pytest.raises(OptionError, match=r"unknown kernel.*gemm"):
        perfcore.whatif(whole, compute={"gem": 2})
    with pytest.raises(OptionError, match="same kernels"):
        perfcore.whatif(whole, compute={"gpu": 2, "gemm": 2})
    with pytest.raises(OptionError, match="unknown marker"):
        perfcore.whatif(whole, region="stop#0")
    with pytest.raises(OptionError, match="region= is of GPU traces"):
        perfcore.whatif("examples/halo/halo.prv", region="step#0")


def rank_events(gemm, begun, shift=0, **described):
    """A kernel and then a collective, for which the host waits; times of the second rank come from a later clock."""
    described = {"Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "dtype": "Float",
                 "Group size": 2, "Process Group Name": "0", "Process Group Ranks": "[0, 1]", **described}  # fmt: skip
    events = [
        event("cuda_runtime", "cudaLaunchKernel", 0, 5, correlation=1),
        *([event("kernel", "gemm", 10, gemm, correlation=1)] if gemm else []),
        event("cuda_runtime", "cudaLaunchKernel", 8, 5, correlation=2),
        event("kernel", "ncclDevKernel_AllReduce", begun, 350 - begun, correlation=2, **described),
        event("cuda_runtime", "cudaDeviceSynchronize", 20, 340, correlation=3), event("cpu_op", "op", 360, 40),
    ]  # fmt: skip
    return [{**each, "ts": each["ts"] + shift} for each in events]


def test_collectives_of_one_operation_and_size_take_no_longer_than_the_fastest_of_them(tmp_path):
    """100, 30 and 60 us, the last of half the size, and 200 us of a kernel: 200 + 30 + 30 + 60 on the stream."""
    events, at = [], 0
    for number, (name, us, n) in enumerate([("ncclKernel", 100, 1000), ("gemm", 200, 0), ("ncclKernel", 30, 1000),
                                            ("ncclKernel", 60, 500)]):  # fmt: skip
        told = {
            "Collective name": "allreduce", "In msg nelems": n, "Out msg nelems": n, "dtype": "Float", "Group size": 8,
        }  # fmt: skip
        events.append(event("kernel", name, at, us, 7, correlation=number, **(told if n else {})))
        at += us + 10
    found = perfcore.whatif(write(tmp_path / "t.json", events))
    assert found.least_ns["busiest stream"] == 320_000
    assert found.least_ns["collectives at their best bandwidth"] == 120_000
    assert found.collectives_ns == 190_000


@pytest.mark.parametrize(("earlier", "begun"), [(100, 110), (0, 20)])
def test_ranks_meet_in_collectives(tmp_path, earlier, begun):
    """The rank with 300 us of work determines when the collective begins; the clock of the other began 7 us later."""
    for rank, events in enumerate([rank_events(earlier, begun), rank_events(300, 310, shift=7)]):
        base = 1_700_000_000 * 10**9 - 7000 * rank
        facts = {"distributedInfo": {"rank": rank, "world_size": 2}, "baseTimeNanoseconds": base}
        write(tmp_path / f"rank{rank}.json", events, **facts)
    found = perfcore.whatif(tmp_path)
    assert (found.runtime_ns, found.n_met, found.path.by_rank) == (400_000, 1, (50_000, 350_000))
    assert classes(found) == {"launch": 10, "GPU": 340, "return from waiting": 10, "operators": 40}
    assert runtimes(found) == {"GPU 2x faster": 230, "ideal GPU": 70, "host 2x faster": 380, "ideal host": 360,
                               "collectives 2x faster": 380, "ideal collectives": 360}  # fmt: skip
    assert found.least_ns == {"host with an ideal GPU": 70_000, "busiest stream": 340_000,
                              "collectives at their best bandwidth": 40_000}  # fmt: skip
    joined = "rank 1 87.5%, rank 0 12.5% of the path; 1 collectives join them"
    assert found.report().notes_by_label()["Ranks"] == [joined]
    assert runtimes(perfcore.whatif(tmp_path, compute={"gemm": 2})) == {"gemm 2x faster": 250}
    if earlier:
        alone = perfcore.whatif(tmp_path / "rank0.json", compute={"gemm": 2})
        assert runtimes(alone) == {"gemm 2x faster": 350}


@pytest.mark.parametrize(("late", "halved", "said"), [(2, 272, True), (40, 435, False)])
def test_collectives_evidently_wait_for_other_streams(tmp_path, late, halved, said):
    """Without recorded waits: 250 us of gemm, a collective right after it, or 40 us later for a cause of its own."""
    begin = 260 + late
    events = [
        *launched(1, "gemm", 2, 10, 250), *launched(2, "ncclDevKernel_AllReduce", 12, begin, 100, tid=20),
        *launched(3, "adam", 22, begin + 102, 30), event("cuda_runtime", "cudaDeviceSynchronize", 30, begin + 105),
        event("cpu_op", "aten::mm", 0, 2),
    ]  # fmt: skip
    found = perfcore.whatif(write(tmp_path / "trace.json", events), compute={"gemm": 2})
    assert runtimes(found) == {"gemm 2x faster": halved}
    assert found.runtime_ns == (begin + 135) * 1000
    assert ("inferred of 2 kernels at collectives" in found.notes[0]) is said


def test_ranks_without_collectives_are_replayed_each_by_itself(tmp_path):
    """Half of 100 us is saved on one, half of 300 us on the other: the run is as long as the longer of them then is."""
    for rank, gemm in enumerate((100, 300)):
        events = [each for each in rank_events(gemm, gemm + 10) if "nccl" not in each["name"]]
        facts = {"distributedInfo": {"rank": rank, "world_size": 2}, "baseTimeNanoseconds": 1_700_000_000 * 10**9}
        write(tmp_path / f"rank{rank}.json", events, **facts)
    found = perfcore.whatif(tmp_path, compute={"gemm": 2})
    assert found.n_met == 0
    assert found.runtime_ns == 400_000
    assert runtimes(found) == {"gemm 2x faster": 350}


def test_ranks_whose_collectives_do_not_match(tmp_path):
    """Each is replayed alone where clocks do not let ranks be in one at a time; a group need not be recorded."""
    unknown = [[{**e, "args": {"correlation": e["args"].get("correlation", -1)}} for e in rank_events(100, 110)]] * 2
    apart = [rank_events(100, 110), rank_events(300, 310, shift=300)]
    for name, ranks in {"apart": apart, "unknown": unknown}.items():
        (tmp_path / name).mkdir()
        for rank, events in enumerate(ranks):
            facts = {"distributedInfo": {"rank": rank, "world_size": 2}, "baseTimeNanoseconds": 1_700_000_000 * 10**9}
            write(tmp_path / name / f"rank{rank}.json", events, **facts)
    assert perfcore.whatif(tmp_path / "unknown").n_met == 1
    found = perfcore.whatif(tmp_path / "apart")
    assert found.n_met == 0
    assert any("replayed alone" in line for line in found.uncertain)
    assert any(line.startswith("1 collectives by whose clocks ranks are in them one after") for line in found.uncertain)
    assert classes(found)["late start of a rank"] == 300
    assert found.runtime_ns == sum(found.path.by_class.values()) == sum(found.path.by_rank) == 700_000


def test_of_a_replay_that_misses_what_was_recorded_nothing_is_asked(tmp_path, monkeypatch):
    monkeypatch.setattr("perf_analysis.gpu_path.Replay.largest_error_ns", lambda _: 1500)
    found = perfcore.whatif(write(tmp_path / "t.json", step(0)))
    assert found.scenarios == ()
    assert "the replay misses recorded moments by up to 1.5 us: no what-if answers" in found.uncertain


def test_launches_are_looked_at_next_where_the_host_takes_more_than_the_gpu(tmp_path):
    """Of a kernel of 100 us and an operator behind it that takes as long, or longer."""
    for tail, details in ((100, "kernel"), (101, "launch")):
        *events, host = synchronized(("k", 2, 100, 7, 1), stop=102, launches=[(1, 2)])
        found = perfcore.whatif(write(tmp_path / "t.json", [*events, {**host, "dur": tail}]))
        assert (found.details, found.path.by_class["GPU"]) == (details, 100_000)


def random_events(rng):
    """Nested operators and calls of several threads, pieces on several streams, also at equal times and overlapping."""
    events, busy, number = [], dict.fromkeys((7, 8), 0), 0
    for thread in range(1, rng.randint(2, 4)):
        now = rng.randint(0, 20)
        for _ in range(rng.randint(1, 12)):
            now += rng.choice([0, 0, 1, 3, 10])
            begin = now
            for _ in range(rng.randint(1, 3)):
                number, lasting, stream = number + 1, rng.choice([0, 1, 2, 5, 30]), rng.choice([7, 8])
                name = rng.choice(["cudaLaunchKernel", "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaMalloc"])
                events.append(event("cuda_runtime", name, now, lasting, thread, correlation=number))
                if name == "cudaLaunchKernel":
                    start, time = max(busy[stream], now + rng.choice([-2, 1, 8])), rng.choice([1, 4, 20])
                    kind = rng.choice(["kernel", "gpu_memcpy", "gpu_memset"])
                    begin_us = max(start - rng.choice([0, 0, 2]), 0)
                    events.append(event(kind, "k", begin_us, time, stream, correlation=number))
                    busy[stream] = start + time
                now += lasting
            if rng.random() < 0.7:
                events.append(event("cpu_op", "op", begin, now - begin, thread))
    marker = event("user_annotation", "m", rng.randint(0, 30), rng.randint(1, 80))
    return [*events, marker, event("kernel", "k", 3, 2, 9)]


def check_path(found):
    """The path has the whole run, and a replay without any change meets every recorded moment: else there are none."""
    assert sum(found.path.by_class.values()) == sum(found.path.by_rank) == found.runtime_ns
    assert min(found.path.by_class.values()) >= 0
    times = {each.question: each.runtime_ns for each in found.scenarios}
    for name in ("GPU", "host"):
        assert times[f"ideal {name}"] <= times[f"{name} 2x faster"] <= found.runtime_ns
    return times


@pytest.mark.parametrize("seed", range(30))
def test_paths_add_up_and_replays_reproduce(tmp_path, seed):
    file = write(tmp_path / "t.json", random_events(random.Random(seed)))
    for region in (None, "m"):
        times = check_path(perfcore.whatif(file, region=region))
        both = perfcore.whatif(file, region=region, compute=["gpu=inf", "host=inf"]).scenarios[0].runtime_ns
        assert both <= min(times["ideal GPU"], times["ideal host"])


@pytest.mark.parametrize("seed", range(10))
def test_replays_of_random_ranks_reproduce(tmp_path, seed):
    """Three ranks of any events, which meet in two collectives."""
    rng = random.Random(seed)
    told = {"Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "dtype": "Float",
            "Group size": 3, "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2]"}  # fmt: skip
    for rank in range(3):
        events = random_events(rng)
        for k, end in enumerate((800, 1200)):
            begun = end - rng.randint(50, 200)
            launch = begun - rng.randint(5, 90)
            calls = launched(9000 + k, "ncclDevKernel_AllReduce", launch, begun, end - begun, 11, **told)
            wait = event("cuda_runtime", "cudaDeviceSynchronize", begun, end + 2 - begun, correlation=9100 + k)
            events += [*calls, wait]
        facts = {"distributedInfo": {"rank": rank, "world_size": 3}, "baseTimeNanoseconds": 1_700_000_000 * 10**9}
        write(tmp_path / f"rank{rank}.json", events, **facts)
    found = perfcore.whatif(tmp_path)
    assert found.n_met == 2
    times = check_path(found)
    assert times["ideal collectives"] <= times["collectives 2x faster"] <= found.runtime_ns


ALEXNET = "[param|pytorch.model.alex_net|0|0|0|measure|forward]#2"
REAL = {
    "syn/cp1.json": ("ProfilerStep#1", 500, {"GPU": 383, "gaps of the GPU": 2, "launch": 15, "return from waiting": 10,
                     "operators": 50, "no operator": 30, "runtime calls": 10}, (308.5, 180, 460, 445)),
    "real/event_sync.json.gz": ("ProfilerStep#100", 3154, {"operators": 2271, "no operator": 718, "runtime calls": 82,
                                "GPU": 38, "launch": 28, "return from waiting": 17}, (3135, 3126, 1618.5, 113)),
    "real/alexnet.json.gz": (ALEXNET, 36356, {
        "runtime calls": 31679, "GPU": 3712, "no operator": 499, "operators": 377, "gaps of the GPU": 51, "launch": 30,
        "return from waiting": 8}, (35617.5, 35480, None, 5350)),
    "real/nccl_data.json.gz": (None, 683491.087, {"GPU": 1.664}, (None, 683489.423, None, None)),
    "real/vit_h100.json.gz": (None, 7868.635, {"GPU": 0}, (None, 7868.635, 3934.263, None)),
    "real/resnet_queue_full.json.gz": (None, 491772, {
        "GPU": 472223, "gaps of the GPU": 5484, "launch": 9, "return from waiting": 9, "no operator": 11717,
        "operators": 1408, "runtime calls": 922}, (255660, 167613, 484748, 477988)),
}  # fmt: skip


@pytest.mark.real_data
@pytest.mark.parametrize("file", REAL)
def test_paths_of_real_traces(real_data, file):
    """By hand and by an independent script; of the last file in whole microseconds."""
    region, length, expected, times = REAL[file]
    found = perfcore.whatif(real_data / "traces" / "gpu" / file, region=region)
    off = 0.5 if "resnet" in file else 0
    assert found.runtime_ns == sum(found.path.by_class.values())
    assert found.runtime_ns / 1000 == pytest.approx(length, rel=0, abs=off)
    for name, time in expected.items():
        assert found.path.by_class[name] / 1000 == pytest.approx(time, rel=0, abs=off)
    for name, time in zip(["GPU 2x faster", "ideal GPU", "host 2x faster", "ideal host"], times, strict=True):
        assert time is None or runtimes(found)[name] == pytest.approx(time, rel=0, abs=off)


@pytest.mark.real_data
def test_launches_that_wait_and_two_threads(real_data):
    """The independent script gives 342032.522 us: it ends one stretch of a thread elsewhere, and rounds it down."""
    folder = real_data / "traces" / "gpu" / "real"
    queue = perfcore.whatif(folder / "resnet_queue_full.json.gz").full_queue
    assert (queue["launches"], queue["time_ns"]) == (993, 188_727_430)
    found = perfcore.whatif(folder / "nccl_data.json.gz", compute={"host": 2})
    assert found.scenarios[0].runtime_ns == pytest.approx(342_032_522, abs=2)
