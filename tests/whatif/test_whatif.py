"""What if: answers that a person can compute, and what may not be asked."""

import re
from dataclasses import replace

import numpy as np
import pytest
from made_traces import with_messages
from messages_by_hand import by_hand, exchange

from perfcore import Trace, whatif
from perfcore.base.errors import DataError, OptionError, UnknownNameError

PROCESSES = ("1.1.1", "1.1.2", "1.2.1", "1.2.2")


def trace_of(found, states=("solve",), intervals=(), silent=0):
    """A trace in which every rank is in the first state between calls, unless intervals say otherwise."""
    rows = list(intervals)
    if not rows:
        for place in range(len(found.locations)):
            mine = found.calls.location == place
            starts = [found.start_ns, *found.calls.leave_ns[mine]]
            ends = [*found.calls.enter_ns[mine], found.end_ns[place]]
            rows += [(place, 0, start, end) for start, end in zip(starts, ends, strict=True) if end > start]
    location, state, start, end = np.array(rows).T
    span = (found.start_ns, int(found.end_ns.max()) + silent)
    return with_messages(Trace(location, state, start, end, found.locations, states, span_ns=span), found)


def late_barrier(at=0):
    """Two ranks work 10 and 50 ns, then 5 ns of barrier, then 20 each."""
    calls = [[("MPI_Barrier", at + 10, at + 55)], [("MPI_Barrier", at + 50, at + 55)]]
    return by_hand(calls, collectives=[([(0, 0), (1, 0)], None)], ends=[at + 75, at + 75], start=at)


@pytest.mark.parametrize(("options", "runtime"), [
    ({"network": "0"}, 70), ({"network": "5x"}, 71), ({"network": "0.5x"}, 80),
    ({"compute": {"computing": 2}}, 25 + 5 + 10), ({"compute": {"sol*": 2}, "network": "0"}, 35),
    ({"balance": "computing"}, 30 + 5 + 20), ({"balance": ["solve"], "network": "0"}, 50),
])  # fmt: skip
def test_a_late_rank(options, runtime):
    found = whatif(trace_of(late_barrier()), **options)
    assert found.runtime_ns == 75
    [answer] = found.answers
    assert answer.runtime_ns == runtime
    assert sum(answer.path.by_class_ns.values()) == answer.path.total_ns == runtime
    assert sum(answer.path.by_rank_ns.values()) == runtime
    assert answer.is_bound == ("balance" in options)


def test_silence_behind_the_last_record_stays():
    """Nothing is recorded in the last 12,346 ns of a run that begins at 100 ns."""
    silent = 12_346
    trace = trace_of(late_barrier(at=100), silent=silent)
    found = whatif(trace)
    assert found.runtime_ns == 75 + silent
    assert [answer.runtime_ns - silent for answer in found.answers[:4]] == [70, 72, 40, 55]
    assert [answer.question for answer in found.answers[2:]] == [
        "computing 2x faster", "computing balanced over ranks", "5% noise",
    ]  # fmt: skip
    assert found.report().answer == "computing 2x faster changes the runtime most: 12.42 us to 12.39 us (-0.28%)"
    unchanged = ("transfer times unchanged", "everything else unchanged", "message order unchanged")
    assert found.answers[2].assumptions == unchanged
    assert found.answers[3].assumptions == (
        "transfer times unchanged", "computing is moved freely between ranks at each occurrence (upper bound)",
        "message order unchanged",
    )  # fmt: skip
    [answer] = whatif(trace, balance="computing", network="5x").answers
    assert (answer.runtime_ns, answer.otherwise_ns["zero transfer time"]) == (51 + silent, 50 + silent)
    [answer] = whatif(trace, noise=1e-9).answers
    assert (answer.runtime_ns, answer.value.mean) == (75 + silent, pytest.approx((75 + silent) * 1e-9))


def test_latency_and_bandwidth():
    """A message of 8 bytes at 2 ns and 4 bytes a ns takes 4; a barrier of two ranks takes one latency."""
    # Sent at 40, there at 44; the second rank's barrier then, the first one's after the send's own 5 ns.
    assert whatif(trace_of(exchange()), network="2ns,4GB/s").answers[0].runtime_ns == 45 + 2 + 50


def test_a_sweep_asks_for_each_factor_of_two():
    """10 and 50 ns, 5 ns of barrier, 20 each: with a network k times as fast 70 + 5 / k."""
    found = whatif(trace_of(late_barrier()), network="0.5x..4x")
    assert found.sweep == (0.5, 1, 2, 4)
    assert [answer.runtime_ns for answer in found.answers] == [80, 75, 72, 71]
    report = found.report()
    assert report.answer == "network 0.5x to 4x as fast: 80 ns to 71 ns (-11.3%)"
    assert report.plots[0].y.limits == (0, None)
    line = report.plots[0].marks[0]
    assert (list(line.x), list(line.y)) == ([0.5, 1, 2, 4], [80, 75, 72, 71])
    assert [answer.runtime_ns for answer in whatif(trace_of(late_barrier()), compute=["sol*=1x..2x"]).answers] == [
        75, 40,
    ]  # fmt: skip


def test_another_network_starts_processes_no_faster():
    """30 ns of MPI_Init stay; the barrier's 5 ns go."""
    calls = [[("MPI_Init", 0, 30), ("MPI_Barrier", 40, 85)], [("MPI_Init", 0, 30), ("MPI_Barrier", 80, 85)]]
    run = by_hand(calls, collectives=[([(0, 1), (1, 1)], None)], ends=[85, 85])
    for network, runtime in (("0", 80), ("2ns,4GB/s", 82)):
        assert whatif(trace_of(run), network=network).answers[0].runtime_ns == runtime


def test_a_process_computes_while_any_of_its_threads_does():
    """Two processes: 10 ns alone, a region of 40 and 80 ns on two threads, a barrier of 10 that the threads sit out."""
    calls = [[("MPI_Barrier", 90, 100)], []] * 2
    run = replace(by_hand(calls, collectives=[([(0, 0), (2, 0)], None)], ends=[100] * 4), locations=PROCESSES)
    rows = [(0, 0, 0, 50), (0, 1, 50, 90), (1, 2, 0, 10), (1, 0, 10, 90), (1, 2, 90, 100)]
    rows += [(2 + place, *row) for place, *row in rows]
    location, state, start, end = zip(*rows, strict=True)
    trace = with_messages(Trace(location, state, start, end, PROCESSES, ["solve", "Synchronization", "Idle"]), run)
    for options, runtime in (({"network": "0"}, 90), ({"compute": {"computing": 2}}, 55), ({"balance": "solve"}, 100)):
        [answer] = whatif(trace, **options).answers
        assert answer.runtime_ns == runtime == sum(answer.path.by_class_ns.values())
        assert set(answer.path.by_class_ns) <= {"computing", "in MPI_Barrier"}


def test_applications_of_one_trace_neither_meet_nor_share_work():
    """Barriers of one number: the first computes 40 and 60 of 70 ns, the second 80 and 90 of 100."""
    calls = [[("MPI_Barrier", work, end)] for work, end in ((40, 70), (60, 70), (80, 100), (90, 100))]
    run = by_hand(calls, collectives=[([(0, 0), (1, 0)], None), ([(2, 0), (3, 0)], None)])
    trace = trace_of(replace(run, locations=("1.1.1", "1.2.1", "2.1.1", "2.2.1")))
    assert [each.runtime_ns for each in whatif(trace, balance="computing").answers] == [85 + 10]


def test_noise_is_what_the_longest_of_two_gives():
    """Two equal ranks of work W and noise s take W (1 + s / sqrt(pi)) in the mean, as the longest of two normals."""
    calls = [[("MPI_Barrier", 10**9, 10**9)] for _ in range(2)]
    run = by_hand(calls, collectives=[([(0, 0), (1, 0)], None)])
    [answer] = whatif(trace_of(run), noise=0.05).answers
    assert answer.runtime_ns / 1e9 == pytest.approx(1 + 0.05 / np.sqrt(np.pi), abs=0.01)
    assert answer.value.mean == pytest.approx(answer.runtime_ns / 1e9, rel=0.01)
    assert whatif(trace_of(run), noise=0.05).answers[0].runtime_ns == answer.runtime_ns
    assert "independent noise per compute burst, 500 replays" in answer.assumptions


def test_noise_of_many_bursts_averages_out():
    """Of n bursts of mean 1 and deviation 1 the sum has n and sqrt(n); 12 million bursts are enough for all replays."""
    n = 30_000
    run = by_hand([[("MPI_Barrier", 1000 * k, 1000 * k) for k in range(1, n)]], ends=[1000 * n])
    [answer] = whatif(trace_of(run), noise=1).answers
    assert "independent noise per compute burst, 400 replays" in answer.assumptions
    assert answer.runtime_ns == pytest.approx(1000 * n, rel=0.002)
    assert answer.value.std * 1e9 == pytest.approx(1000 * n**0.5, rel=0.15)
    for end, noise in ((2**61, 10), (2**62, 1e-9)):
        with pytest.raises(DataError, match="longer than a clock counts"):
            whatif(trace_of(by_hand([[("MPI_Barrier", end, end)]])), noise=noise)


def test_messages_for_which_no_call_waited_are_said():
    """Received into a buffer from 0 ns on, sent at 10, and awaited at 50."""
    run = by_hand(
        [[("MPI_Send", 10, 12)], [("MPI_Irecv", 0, 1), ("MPI_Wait", 50, 51)]],
        [{"send": (0, 0), "receive": (1, 1), "post": (1, 0)}],
    )
    [answer] = whatif(trace_of(run), network="2x").answers
    assert answer.assumptions[-1].startswith("1 non-blocking messages arrived before a call waited for them: ")


def test_balance_leaves_what_nobody_can_match():
    """Ranks with other numbers of calls between two barriers: only what is alike is balanced, and that is said."""
    calls = [
        [("MPI_Barrier", 10, 20), ("MPI_Send", 30, 31), ("MPI_Barrier", 60, 65)],
        [("MPI_Barrier", 20, 20), ("MPI_Barrier", 40, 65)],
    ]
    run = by_hand(calls, collectives=[([(0, 0), (1, 0)], None), ([(0, 2), (1, 1)], None)])
    [answer] = whatif(trace_of(run), balance="computing").answers
    # 15 each before the first barrier; thereafter as it was.
    assert answer.runtime_ns == 15 + 0 + 10 + 1 + 29 + 5
    assert any("which all ranks share" in text for text in answer.assumptions)
    # Of calls that nobody else makes only the bursts of 20 and 50 behind them are balanced.
    run = by_hand([[("MPI_Send", 10, 11)], [("MPI_Test", 20, 20), ("MPI_Test", 30, 30)]], ends=[31, 80])
    assert whatif(trace_of(run), balance="computing").answers[0].runtime_ns == 20 + 10 + 35


def test_what_may_not_be_asked():
    trace = trace_of(late_barrier(), ("solve", "MPI_Barrier"), [(0, 0, 0, 10), (1, 0, 0, 50), (0, 1, 10, 55)])
    for options, error, said in (
        ({"network": "fast"}, OptionError, "2x"),
        ({"network": "0x"}, OptionError, "2x"),
        ({"network": "8x..1x"}, OptionError, "a rising range above 0"),
        ({"network": "1x..2x", "compute": ["1x..2x"]}, OptionError, "one range"),
        ({"network": "2us"}, OptionError, "latency,bandwidth"),
        ({"network": "2 GB/s, 3us"}, OptionError, "latency,bandwidth"),
        ({"compute": {"computing": 0}}, OptionError, "how many times as fast"),
        ({"compute": {"MPI_Barrier": 2}}, OptionError, "has zero time between calls"),
        ({"compute": {"dgemm": 2}}, UnknownNameError, "class or state"),
        ({"compute": {"solve": 2}, "balance": "computing"}, OptionError, "the same states"),
        ({"noise": -1}, OptionError, "from 0 to 1000%"),
        ({"noise": 11}, OptionError, "from 0 to 1000%"),
    ):
        with pytest.raises(error, match=said):
            whatif(trace, **options)


def tables_of(report):
    """Rows of each table by the heading of its first column."""
    return {header[0]: rows for header, rows in (table.shown() for table in report.tables)}


def test_the_report_says_what_the_paths_are_made_of():
    """40 ns of work, a message of 10 and a barrier of 10, and 50 of work; with another network 90 of work, 5, and 2."""
    report = whatif(trace_of(exchange()), network="2ns,4GB/s").report()
    assert report.answer == "network 2 ns and 4 GB/s changes the runtime most: 110 ns to 97 ns (-11.82%)"
    assert [figure.value for figure in report.figures] == pytest.approx([97e-9, 97 / 110 - 1])
    tables = tables_of(report)
    assert tables["scenario"] == [["baseline", "110", "-"], ["network 2 ns and 4 GB/s", "97", "-11.8%"]]
    assert tables["class"] == [
        ["computing", f"{90 / 110:.2%}", f"{90 / 97:.2%}"], ["messages", f"{10 / 110:.2%}", "0.00%"],
        ["in MPI_Barrier", f"{10 / 110:.2%}", f"{2 / 97:.2%}"], ["in MPI_Send", "0.00%", f"{5 / 97:.2%}"],
        ["sum", "110 ns", "97 ns"],
    ]  # fmt: skip
    assert tables["question"] == [
        ["network 2 ns and 4 GB/s", "97", "110", name, time]
        for name, time in (("computing", "90"), ("in MPI_Send", "5"), ("in MPI_Barrier", "2"))
    ]  # fmt: skip
    assert tables["rank"][:2] == [["rank 0", f"{100 / 110:.2%}", "100.00%"], ["rank 1", f"{10 / 110:.2%}", "0.00%"]]
    assert tables["run"] == [["baseline", "rank 0", "rank 1", "1", "10", f"{10 / 110:.2%}"]]
    assert tables["operation"] == [
        ["MPI_Barrier", "2", "all members have arrived", "0", "all"],
        ["sends", "1", "the receive is posted", "0", "nobody"],
    ]
    of_several = tables_of(whatif(trace_of(exchange()), network="0.5x..2x").report())
    assert of_several["run"] == tables["run"]  # of the baseline
    assert len(of_several["class"][0]) == 1 + 4  # of the baseline, and each factor
    slower = tables_of(whatif(trace_of(exchange()), network="0.5x").report())["run"]
    assert slower[1] == ["network 0.5x faster", "rank 0", "rank 1", "1", "20", f"{20 / 130:.2%}"]
    notes = report.notes_by_label()
    assert notes["Check"] == ["0 of 4 calls violate the inferred synchronisation rules"]
    assert notes["Critical path"] == ["82% computing, 9% messages, 9% in MPI_Barrier"]
    (plot,) = report.plots
    assert np.sum([bars.values for bars in plot.marks], axis=0).tolist() == [110, 97]
    last = plot.marks[-1]
    assert np.add(last.base, last.values).tolist() == [110, 97]  # one behind the other


def test_the_report_of_a_sweep_says_from_where_on_little_is_gained():
    """Rounded halves of 50 and 20 ns, and 5 of the barrier: 8x saves 62 of 66 ns; 1x is the baseline."""
    report = whatif(trace_of(late_barrier()), compute=["sol*=1x..16x"]).report()
    assert report.answer == "sol* 1x to 16x as fast: 75 ns to 9 ns (-88.0%), 94% of it by 8x"
    rows = tables_of(report)["scenario"]
    assert [row[1] for row in rows] == ["75", "40", "22", "13", "9"]
    assert rows[1] == ["sol* 2x faster", "40", f"{40 / 75 - 1:+.1%}"]
    assert [plot.name for plot in report.plots] == ["sweep", "paths"]


def test_details_say_what_else_the_runtime_may_be():
    report = whatif(trace_of(late_barrier()), balance="computing", network="5x").report()
    assert "upper bound" in report.answer
    lines = [line for line in report.details if "sensitivity" in line]
    # 30 ns of work each, 1 of the barrier, 20 of work; without it 50.
    assert "network 5x faster, computing balanced over ranks: 51 ns (-32.00%, upper bound)" in report.details
    assert lines == [f"  sensitivity (zero transfer time): {50 / 51 - 1:+.2%}"]
    noise = whatif(trace_of(late_barrier()), noise=0.05)
    low, high = (noise.answers[0].value.quantile(share) for share in (0.025, 0.975))
    report = noise.report()
    assert len(tables_of(report)["class"][0]) == 2  # replays with noise have paths of their own
    assert report.tables[0].rows[1][3] == pytest.approx((1e9 * low, 1e9 * high), rel=1e-12)
    shown = [float(bound) for bound in re.findall(r"[\d.]+(?= ns)", report.details[-1])]
    assert shown == pytest.approx([1e9 * low, 1e9 * high], rel=1e-3)


def test_tables_and_pictures_name_the_longest_classes_and_add_up_the_others():
    """One rank: ten calls of 1 to 10 ns, one each 100 ns; and one that makes none."""
    run = by_hand([[(f"MPI_Op{k}", 100 * k, 100 * k + k) for k in range(1, 11)], []])
    report = whatif(trace_of(run), network="2x").report()
    assert ": 1 rank, 10 calls, " in report.details[0]
    assert report.notes_by_label()["Critical path"] == ["95% computing, 1% in MPI_Op10, 1% in MPI_Op9"]
    rows = tables_of(report)["class"]
    assert [row[0] for row in rows] == ["computing", *(f"in MPI_Op{k}" for k in range(10, 3, -1)), "others", "sum"]
    assert [row[1] for row in rows[-3:]] == [f"{4 / 1010:.2%}", f"{(1 + 2 + 3) / 1010:.2%}", "1.01 us"]
    bars = {bar.label: bar.values[0] for bar in report.plots[0].marks}
    assert list(bars) == ["computing", *(f"in MPI_Op{k}" for k in range(10, 5, -1)), "others"]
    assert (bars["others"], sum(bars.values())) == (1 + 2 + 3 + 4 + 5, 1010)
