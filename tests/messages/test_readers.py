"""Messages and collectives as Paraver and OTF2 files hold them, and real runs with published figures."""

import re
from pathlib import Path

import pytest
from trace_samples import sample

import perfcore
from perfcore import Trace, info, messages, overheads, profile, whatif

otf2 = pytest.importorskip("otf2")

PCF = sample("messages_pcf")
PRV = sample("messages_prv")


def paraver(folder: Path, text: str = PRV, names: str = PCF) -> Trace:
    (folder / "run.prv").write_text(text)
    (folder / "run.pcf").write_text(names)
    return perfcore.read(folder / "run.prv")


def test_paraver(tmp_path):
    trace = paraver(tmp_path)
    found = messages(trace)
    assert found.locations == ("1.1.1", "1.2.1")
    assert (found.count.tolist(), found.bytes.tolist()) == ([[0, 1], [0, 0]], [[0, 512], [0, 0]])
    [bcast] = found.collectives  # MPI_Init moves no data; the root of the broadcast came 5 ns after the other, at 50
    assert (bcast.operation, bcast.count, bcast.bytes) == ("MPI_Bcast", 1, 64)
    assert (bcast.timed, bcast.until_all_ns, bcast.after_ns) == (1, 5, 5 + 10)
    assert found.remarks == ()
    assert info(trace)["messages"] == "1 of 512 bytes in all, 6 calls"
    replayed = whatif(trace, network="0")
    assert (replayed.runtime_ns, replayed.contradictions) == (100, 0)
    assert {rule.operation: rule.waits_for for rule in replayed.rules.refutations} == {
        "MPI_Init": "all", "MPI_Bcast": "the root", "sends": "nobody"
    }  # fmt: skip
    # The root computes for 16, 25 and 45 ns after MPI_Init, which lasts until 4 on any network.
    assert replayed.answers[0].runtime_ns == 4 + 16 + 25 + 45
    (tmp_path / "run.prv").write_text("#Paraver of another run\n")
    assert messages(trace).to_dict() == found.to_dict()  # read once


def test_what_is_damaged_is_counted_and_named(tmp_path):
    text = PRV + "3:1:1:1:1:20:21:2:1:9:1:10:40:512:7\n3:1:1:1:1:99:99:2:1:2:1:98:99:1:7\n3:1:1:1:x\n"
    text += "2:1:1:1:1:90:50000001:1\n"
    assert set(messages(paraver(tmp_path, text)).remarks) == {
        "messages name a rank that does not exist (1)", "messages begin or end outside of calls (1)",
        "records could not be read (1)", "events enter or leave a call without the other (1)",
    }  # fmt: skip


BEYOND_64_BITS = [
    "3:1:1:1:1:20:21:2:1:2:1:10:40:92233720368547758080512:7", "3:1:1:1:1:20:21:2:1:2:1:10:40:999999999999999999:7",
    "3:1:1:1:1:20:21:2:1:2:1:10:40:-512:7", "3:1:1:1:1:20:21:2:1:2:1:10:20000000000000:512:7",
    "2:1:1:1:1:20000000000000:50000001:1", "2:1:1:1:1:20:50000001:18446744073709551617",
    "1:1:1:1:1:0:20000000000000:1",
]  # fmt: skip
A_COUNTER = "2:1:1:1:1:20:42000050:18446744073709551615"  # of which nothing is taken here


def test_numbers_that_64_bits_of_nanoseconds_do_not_hold_are_damage(tmp_path):
    # In milliseconds, so that times overflow which have few digits.
    text = PRV.replace("100_ns", "100_ms")
    path = tmp_path / "run.prv"
    path.write_text(text)
    trace = perfcore.read(path)
    path.write_text(text + "\n".join([*BEYOND_64_BITS, A_COUNTER]) + "\n")  # of states the other scan refuses them
    found = messages(trace)
    assert found.remarks == (f"records could not be read ({len(BEYOND_64_BITS)})",)
    assert (found.count.sum(), whatif(trace, network="0").runtime_ns) == (1, 100_000_000)


@pytest.mark.parametrize(("since", "until", "n_messages", "n_collectives", "runtime_ns"), [
    (0, 100, 1, 1, 90),
    (15, 100, 1, 1, 5 + 25 + 45),  # the receive has begun; of the root 15 to 20, 25 to 50, 55 to 100
    (22, 100, 0, 1, 25 + 45),  # within the send, whose message is not waited for
    (15, 52, 1, 1, 5 + 25),  # ends within the broadcast
    (15, 47, 1, 0, 5 + 22),  # which its root has not entered
])  # fmt: skip
def test_a_part_of_a_run_has_what_lies_within(tmp_path, since, until, n_messages, n_collectives, runtime_ns):
    """The root determines all parts: with no transfer time the sum of its computing."""
    part = perfcore.read(paraver(tmp_path).source, since=since, until=until)
    found = messages(part)
    assert found.count.sum() == n_messages
    assert sum(row.count for row in found.collectives) == n_collectives
    replayed = whatif(part, network="0")
    assert (replayed.runtime_ns, replayed.answers[0].runtime_ns) == (until - since, runtime_ns)


def test_without_states_a_location_computes_between_its_calls(tmp_path):
    """The root of 100 ns: MPI_Init 4, MPI_Send 5, MPI_Bcast 5; the other one 3, 30 and 15."""
    trace = paraver(tmp_path, "".join(line for line in PRV.splitlines(keepends=True) if not line.startswith("1:")))
    assert set(trace.states) == {"Running", "MPI_Init", "MPI_Send", "MPI_Bcast", "MPI_Recv"}
    assert trace.busy_states == ("Running",)
    times = [int(trace.end_ns[trace.location == k].sum() - trace.start_ns[trace.location == k].sum()) for k in (0, 1)]
    assert times == [100, 100]
    assert trace.utilization().integral == (100 - 14) + (100 - 48)
    assert whatif(trace, network="0").answers[0].runtime_ns == 90


def ranks_of(writer, n_ranks):
    """Writers of the events of ranks, and their communicator."""
    define = writer.definitions
    machine = define.system_tree_node("machine")
    groups = [define.location_group(f"Rank {k}", system_tree_parent=machine) for k in range(n_ranks)]
    events = [writer.event_writer("main", group=group) for group in groups]
    places = [each for each in define.locations if isinstance(each, otf2.definitions.Location)]
    kind = {"paradigm": otf2.Paradigm.MPI, "members": places}
    define.group("all", group_type=otf2.GroupType.COMM_LOCATIONS, **kind)
    return events, define.comm("world", define.group("world", group_type=otf2.GroupType.COMM_GROUP, **kind))


def test_otf2(tmp_path):
    with otf2.writer.open(str(tmp_path / "run"), timer_resolution=10**9) as writer:
        (one, two), world = ranks_of(writer, 2)
        names = ("MPI_Isend", "MPI_Wait", "MPI_Irecv", "MPI_Allreduce", "work")
        regions = {name: writer.definitions.region(name) for name in names}
        one.enter(10, regions["MPI_Isend"])
        one.mpi_isend(11, 1, world, 7, 9000, 5)
        one.leave(12, regions["MPI_Isend"])
        one.enter(30, regions["MPI_Wait"])
        one.mpi_isend_complete(45, 5)
        one.leave(46, regions["MPI_Wait"])
        two.enter(5, regions["MPI_Irecv"])
        two.mpi_irecv_request(6, 3)
        two.leave(7, regions["MPI_Irecv"])
        two.enter(20, regions["MPI_Wait"])
        two.mpi_irecv(40, 0, world, 7, 9000, 3)
        two.leave(41, regions["MPI_Wait"])
        for each, enter in ((one, 60), (two, 50)):
            each.enter(enter, regions["MPI_Allreduce"])
            each.mpi_collective_begin(enter)
            each.mpi_collective_end(70, otf2.CollectiveOp.ALLREDUCE, world, 2**32 - 1, 8, 8)
            each.leave(71, regions["MPI_Allreduce"])
    path = tmp_path / "run" / "traces.otf2"
    found = messages(path)
    assert (found.count.tolist(), found.bytes.tolist()) == ([[0, 1], [0, 0]], [[0, 9000], [0, 0]])
    [allreduce] = found.collectives
    assert (allreduce.operation, allreduce.timed, allreduce.until_all_ns) == ("MPI_Allreduce", 1, 10)
    assert allreduce.after_ns == 2 * 11
    assert found.remarks == ()
    replayed = whatif(path, network="0")
    assert (replayed.n_calls, replayed.runtime_ns, replayed.contradictions) == (6, 71 - 5, 0)
    assert replayed.rules.waits == {"MPI_Allreduce": "all"}
    # Without transfer nothing waits before the reduction: the first rank computes for 5, 18 and 14 ns, the other less.
    assert replayed.answers[0].runtime_ns == 5 + 18 + 14


# Published by BSC's tools (modelfactors and Dimemas), per cent and microseconds, to the digits that they print.
EPOCH = {
    2: (99.378, 99.761, 99.616, 99.842, 99.774, 11_528_374, 11_504_370),
    8: (95.708, 98.281, 97.382, 98.282, 99.084, 3_513_565, 3_486_349),
}


@pytest.mark.real_data
@pytest.mark.parametrize("n_ranks", EPOCH)
def test_published_factors(real_data, n_ranks):
    trace = perfcore.read(real_data / "traces/paraver/epoch" / f"epoch_{n_ranks}proc.prv.gz")
    bsc, strict = (perfcore.overheads(trace, pop=definition)[0].replayed for definition in ("bsc", "strict"))
    parallel, balance, communication, serialisation, transfer, runtime, ideal = EPOCH[n_ranks]
    product = bsc.serialisation * bsc.transfer
    shares = (bsc.load_balance * product, bsc.load_balance, product, bsc.serialisation, bsc.transfer)
    assert [round(100 * share, 3) for share in shares] == [parallel, balance, communication, serialisation, transfer]
    assert (round(bsc.runtime_ns / 1000), round(bsc.ideal_ns / 1000)) == (runtime, ideal)
    assert strict.contradictions == 0
    assert strict.serialisation * strict.transfer == pytest.approx(product, rel=1e-12)


@pytest.mark.real_data
@pytest.mark.parametrize(("file", "n_messages", "n_collectives"), [
    ("paraver/epoch/epoch_2proc.prv.gz", 1156, 451), ("paraver/epoch/epoch_8proc.prv.gz", 5100, 457),
    ("otf2/sst-10rank/traces.otf2", 1440, 680), ("otf2/ping-pong-otf2/traces.otf2", 16, 0),
])  # fmt: skip
def test_the_replay_of_real_runs_is_the_run(real_data, file, n_messages, n_collectives):
    """To the nanosecond, without a contradiction, and every message and collective matched."""
    trace = perfcore.read(real_data / "traces" / file)
    assert messages(trace).count.sum() == n_messages
    assert not [remark for remark in messages(trace).remarks if "without" in remark or "partner" in remark]
    replayed = whatif(trace, network="2x")
    assert (replayed.n_messages, replayed.n_collectives, replayed.contradictions) == (n_messages, n_collectives, 0)
    assert replayed.runtime_ns == trace.span_ns[1] - trace.span_ns[0]
    [half] = replayed.answers
    assert 0 < half.to_dict()["otherwise_ns"]["zero transfer time"] <= half.runtime_ns <= replayed.runtime_ns


def test_picl(tmp_path):
    """The ping-pong of coNCePTuaL's user's guide with other times: 32 kB there in 3 ms, 256 bytes back in 2."""
    (tmp_path / "run.trf").write_text(sample("picl_messages"))
    found = messages(tmp_path / "run.trf")
    assert (found.count.tolist(), found.bytes.tolist()) == ([[0, 1], [1, 0]], [[0, 32768], [256, 0]])
    assert found.remarks == ()
    replayed = whatif(tmp_path / "run.trf", network="0")
    assert replayed.runtime_ns == 10_000_000
    # On an ideal network: the first node's 1 ms, the second one's 2 ms of work, and its last 3 ms.
    assert replayed.answers[0].runtime_ns == 1_000_000 + 2_000_000 + 3_000_000


# Counters of OTF2 archives, in every mode that counts.
MODES = otf2.MetricMode
# Computing of two ranks: each 1,000 ns and 4 x 32,000 ns, of two instructions and four cycles a nanosecond.
COMPUTING = 2 * (1000 + 4 * 32_000)


def otf2_run(
    folder,
    n_ranks,
    *,
    setup_ns=1000,
    work_ns=64_000,
    steps=4,
    call_ns=100,
    counted=None,
    mode=MODES.ACCUMULATED_START,
    exponent=0,
    value_type=otf2.Type.UINT64,
    names=("PAPI_TOT_INS", "PAPI_TOT_CYC"),
    shifts_ns=None,
    falls=False,
):
    """Write an archive and give the path of the file that names it.

    Each rank computes ``setup_ns`` in `main`, then its share of ``work_ns`` in `work` in each step, and all meet in an
    MPI_Allreduce that takes ``call_ns``. Every nanosecond of computing is two instructions and four cycles, of a call
    one each; ``counted`` are the ranks that are counted, and with ``falls`` only what was counted since the last
    reading is written, whatever the mode. Clocks are ahead by ``shifts_ns``.
    """
    shifts = shifts_ns or [0] * n_ranks
    with otf2.writer.open(str(folder / f"p{n_ranks}"), timer_resolution=10**9) as writer:
        events, world = ranks_of(writer, n_ranks)
        define = writer.definitions
        main, work, allreduce = (define.region(name) for name in ("main", "work", "MPI_Allreduce"))
        kinds = [define.metric_member(name, "", otf2.MetricType.PAPI, mode, value_type, otf2.Base.DECIMAL, exponent)
                 for name in names]  # fmt: skip
        counters = define.metric_class(kinds, otf2.MetricOccurrence.SYNCHRONOUS_STRICT, otf2.RecorderKind.CPU)
        for rank, each in enumerate(events):
            totals, before = [0, 0], [0, 0]
            clock = 10

            def read(each=each, rank=rank, totals=totals, before=before):
                if counted is not None and rank not in counted:
                    return
                since = [a - b for a, b in zip(totals, before, strict=True)]
                shown = since if falls or "RELATIVE" in str(mode) else totals
                each.metric(clock + shifts[rank], counters, [value / 10**exponent for value in shown])  # noqa: B023
                before[:] = totals

            def passes(duration, instructions, cycles, totals=totals):
                totals[0] += duration * instructions
                totals[1] += duration * cycles
                return duration

            read()
            each.enter(clock + shifts[rank], main)
            clock += passes(setup_ns, 2, 4)
            for _ in range(steps):
                for region, duration, rates in ((work, work_ns // n_ranks, (2, 4)), (allreduce, call_ns, (1, 1))):
                    read()
                    each.enter(clock + shifts[rank], region)
                    clock += passes(duration, *rates)
                    if region is allreduce:
                        each.mpi_collective_end(
                            clock + shifts[rank], otf2.CollectiveOp.ALLREDUCE, world, 2**32 - 1, 8, 8
                        )
                    read()
                    each.leave(clock + shifts[rank], region)
            read()
            each.leave(clock + shifts[rank], main)
    return folder / f"p{n_ranks}" / "traces.otf2"


@pytest.mark.parametrize(("mode", "value_type", "exponent"), [
    (MODES.ACCUMULATED_START, otf2.Type.UINT64, 0), (MODES.ACCUMULATED_POINT, otf2.Type.INT64, 0),
    (MODES.ACCUMULATED_LAST, otf2.Type.DOUBLE, 3), (MODES.ACCUMULATED_START, otf2.Type.INT64, -2),
    (MODES.ABSOLUTE_POINT, otf2.Type.UINT64, 0), (MODES.RELATIVE_LAST, otf2.Type.UINT64, 0),
])  # fmt: skip
def test_every_mode_counts_the_same(tmp_path, mode, value_type, exponent):
    trace = perfcore.read(otf2_run(tmp_path, 2, mode=mode, value_type=value_type, exponent=exponent))
    found = overheads(trace)[0].bursts
    assert (int(found.instructions.sum()), int(found.cycles.sum())) == (2 * COMPUTING, 4 * COMPUTING)
    assert profile(trace).table().instructions.sum() == 2 * COMPUTING + 2 * 4 * 100  # of the calls one a nanosecond


def test_factors_of_archives_and_counters_of_some_ranks(tmp_path):
    factors = overheads([otf2_run(tmp_path, p) for p in (1, 2, 4)]).to_dict()["efficiencies_of_runs"]
    total = [1000 * p + 4 * 64_000 for p in (1, 2, 4)]  # as many instructions and cycles, so IPC and frequency stay
    scalability = [row["instruction scalability"] for row in factors]
    assert scalability == pytest.approx([total[0] / each for each in total], rel=1e-12)
    assert [row["IPC scalability"] for row in factors] == pytest.approx([1.0] * 3)
    found = overheads(otf2_run(tmp_path / "some", 2, counted=[0]))[0].bursts
    assert found.instructions is None
    assert "PAPI_TOT_INS was read at 1 of 2 locations that compute, not at Rank 1" in found.notes[0]


def test_a_total_that_falls_is_refused(tmp_path):
    # Written as what was counted since the last reading, and announced as a running total.
    found = overheads(otf2_run(tmp_path, 1, names=("PAPI_TOT_INS", "PAPI_TOT_CYC"), falls=True))[0].bursts
    assert found.instructions is None
    assert re.search(r"PAPI_TOT_INS falls from \d+ to \d+ at tick \d+", found.notes[0])


@pytest.mark.parametrize("by", ["function", "location"])
def test_counters_by_function_sum_to_those_of_the_trace(tmp_path, by):
    runs = profile([otf2_run(tmp_path, p) for p in (1, 2, 4)], by=by)
    table = runs.table()
    for number, p in enumerate((1, 2, 4), start=1):  # two a nanosecond of computing, of the calls one
        assert table[table.run == number].instructions.sum() == 2 * (1000 * p + 4 * 64_000) + p * 4 * 100
    ends = table.iloc[:, 0] if by == "function" else table.state
    found = table.groupby([ends, "p"])[["instructions", "cycles"]].sum()
    assert found.loc[("work", 2)].tolist() == [2 * 4 * 64_000, 4 * 4 * 64_000]
    assert found.loc[("MPI_Allreduce", 2)].tolist() == [2 * 400, 2 * 400]
    if by == "function":
        perfcore.write(runs.measurements, tmp_path / "runs.csv")
        model = perfcore.fit(tmp_path / "runs.csv", fitter="scaling", value="instructions")
        assert model.predict({"p": 8, "path": "work"}) == pytest.approx(2 * 4 * 64_000, rel=0.01)
