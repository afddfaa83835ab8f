"""What `perf overheads` answers first: efficiency and its factors, start-up, applications, and what would help."""

import pytest
from gpu_events import event, write
from paraver_runs import paraver_run

import perfcore
from perfcore import Trace

HALO = "examples/halo/halo.prv"


def trace_of(rows, names, **facts):
    """A trace of Running and MPI_Wait from (location, state, start, end)."""
    location, state, start, end = zip(*rows, strict=True)
    return Trace(location, state, start, end, names, ["Running", "MPI_Wait"], **facts)


def test_the_sentence_names_factors_that_the_table_shows():
    report = perfcore.overheads(HALO).report()
    [table] = [each for each in report.brief_tables if each.shown()[0][0] == "POP efficiency"]
    header, [row] = table.shown()
    shown = dict(zip(header, row, strict=True))
    assert f"parallel efficiency {shown['parallel']}: " in report.answer
    assert f"load balance {shown['load balance']}, transfer {shown['transfer']}" in report.answer
    [profile] = perfcore.overheads(HALO)
    values = {each.name: each.value for each in report.figures}
    assert values["parallel efficiency"] == float(profile.efficiencies()["parallel"][0])


def test_what_would_help_is_what_whatif_replays():
    """Balanced computing and an ideal network, as asked of `perf whatif` one at a time."""
    runs = perfcore.overheads(HALO)
    gains = {row["option"]: row["runtime_ns"] for row in runs.to_dict()["remedies"]["gains"]}
    asked = {"--balance computing": {"balance": "computing"}, "--network 0": {"network": "0"}}
    assert gains == {option: perfcore.whatif(HALO, **words).answers[0].runtime_ns for option, words in asked.items()}
    assert runs.report().next == f"perf whatif {HALO} --balance computing"


def test_longest_functions_of_paraver_are_calls():
    rows = perfcore.overheads(HALO).to_dict()["remedies"]["longest"]
    assert [row["name"] for row in rows] == ["Running", "MPI_Allreduce", "MPI_Sendrecv"]
    times = perfcore.profile(HALO).to_frame().set_index("function")["all_locations_ns"]
    assert times[[row["name"] for row in rows]].tolist() == [row["time_ns"] for row in rows]


def test_tasks_without_messages_have_no_communication_efficiency_and_idle_is_no_function():
    """Two workers, 100 ns: 60 and 20 ns of work, so 40% parallel, 66.7% balanced, and the busier works for 60%."""
    rows = [(0, 0, 0, 60), (0, 1, 60, 100), (1, 0, 0, 20), (1, 1, 20, 100)]
    location, state, start, end = zip(*rows, strict=True)
    report = perfcore.overheads(Trace(location, state, start, end, ["a", "b"], ["work", "idle"])).report()
    assert any(note.text.startswith("load balance compares computing times") for note in report.notes)
    tables = {each.shown()[0][0]: each.shown() for each in report.brief_tables}
    assert tables["POP efficiency"] == (
        ["POP efficiency", "parallel", "load balance", "busiest location"], [["run", "40.0%", "66.7%", "60.0%"]]
    )  # fmt: skip
    assert [row[0] for row in tables["longest functions"][1]] == ["work"]


def test_a_summary_has_the_groups_of_its_trace(tmp_path):
    """As above, of a file: the first computes 80 and 40 of 100, the second 30; 1.3.1 is in no state."""
    path = tmp_path / "two.csv"
    rows = ("1.1.1,Running,0,80", "1.1.1,Idle,80,100", "1.2.1,Running,0,40", "1.2.1,Idle,40,100", "2.1.1,Running,0,30",
            "2.1.1,Idle,30,100", "1.3.1,Running,0,0")  # fmt: skip
    path.write_text("\n".join(["location,state,start_ns,end_ns", *rows]) + "\n")
    summary = tmp_path / "two.summary"
    perfcore.summarize(path, output=summary)
    for file in (path, summary):
        runs = perfcore.overheads(file)
        assert [profile.group for profile in runs] == ["application 1", "application 2"]
        assert [profile.locations for profile in runs] == [("1.1.1", "1.2.1"), ("2.1.1",)]
        assert [float(profile.efficiencies()["parallel"][0]) for profile in runs] == pytest.approx([0.6, 0.3])


def test_start_up_that_dominates_is_named_and_left_out_next(tmp_path):
    """Until MPI_Init ends 10,100 ns of 10,100 + 4 (16,000 + 100)."""
    little = perfcore.overheads(paraver_run(tmp_path, 4, setup_ns=10_000))
    assert little.to_dict()["profiles"][0]["startup_ns"] == 10_100
    notes = [note.text for note in little.report().notes]
    assert f"start-up (until MPI_Init ends): {10_100 / 74_500:.1%} of the run" in notes
    most = perfcore.overheads(paraver_run(tmp_path, 4, setup_ns=100_000))
    assert f"start-up {100_100 / 164_500:.1%} (until MPI_Init ends); parallel efficiency" in most.report().answer
    assert most.report().next.endswith("p4.prv --from 0.0001001s")
    path = paraver_run(tmp_path, 4, setup_ns=100_000, late_ns=4000)
    later = perfcore.overheads(path, reading={"since": "100100ns"}).report()
    # The last rank computes 20 us, the others 16: 17 each. The replay is of the part, unlike that of `perf whatif`.
    assert f"balancing computing would save at most {3000 / 20_100:.1%}" == later.answer.split("; ")[1]


def test_each_application_of_a_trace_has_its_efficiency_and_silent_locations_none():
    """The first computes 80 and 40 of 100, the second 30; a counter's location is in no state."""
    rows = [(0, 0, 0, 80), (0, 1, 80, 100), (1, 0, 0, 40), (1, 1, 40, 100), (2, 0, 0, 30), (2, 1, 30, 100)]
    names = ["1.1.1", "1.2.1", "2.1.1"]
    runs = perfcore.overheads(trace_of(rows, names, source="two.prv"))
    assert [profile.group for profile in runs] == ["application 1", "application 2"]
    assert [float(profile.efficiencies()["parallel"][0]) for profile in runs] == pytest.approx([0.6, 0.3])
    answer = runs.report().answer
    assert answer.startswith("2 applications: two.prv, application 1, 2 locations x 100 ns: parallel efficiency 60.0%")
    assert "two.prv, application 2, 1 location x 100 ns: parallel efficiency 30.0%" in answer
    ended = perfcore.overheads(trace_of(rows[:5], names))  # the second application ends before the first
    assert len(ended.profiles) == 2
    assert not any("nothing is recorded" in note.text for note in ended.report().notes)
    silent = perfcore.overheads(trace_of(rows[:4], ["1.1.1", "1.2.1", "1.3.1"], source="one.prv"))
    [profile] = silent
    assert profile.locations == ("1.1.1", "1.2.1")
    assert float(profile.efficiencies()["parallel"][0]) == pytest.approx(0.6)
    assert "Left out: 1 location without states: 1.3.1" in silent.report().closing()


def test_threads_and_gpu_streams_of_one_trace_have_an_efficiency_each():
    """Threads compute 90 and 92 of 100; of a stream that is busy for 20 neither is less efficient."""
    rows = [(0, 0, 0, 90), (0, 1, 90, 100), (1, 0, 0, 92), (1, 1, 92, 100), (2, 2, 40, 60)]
    names = ["rank 0", "rank 1", "CUDA[0:7]"]
    states, kinds = ("solve", "MPI_Allreduce", "gemm"), ["host threads", "host threads", "GPU streams"]
    location, state, start, end = zip(*rows, strict=True)
    trace = perfcore.Trace(location, state, start, end, names, states, busy_states=("solve", "gemm"),
                           levels={"kind": kinds}, source="run.otf2")  # fmt: skip
    runs = perfcore.overheads(trace)
    assert [profile.group for profile in runs] == ["host threads", "GPU streams"]
    assert [float(profile.efficiencies()["parallel"][0]) for profile in runs] == pytest.approx([0.91, 0.2])
    assert runs.report().answer.startswith("2 groups: run.otf2, host threads, 2 locations x 100 ns: parallel")


def test_messages_of_applications_stay_with_them(tmp_path):
    """Each as if it had been traced alone: calls, and the replay on an ideal network."""
    path = paraver_run(tmp_path, 2, late_ns=3000)
    alone = perfcore.overheads(path)[0].to_dict()["replay"]
    head, communicator, *lines = path.read_text().splitlines()
    second = [":".join([*line.split(":")[:2], "2", *line.split(":")[3:]]) for line in lines]
    both = tmp_path / "both.prv"
    communicators = [communicator, communicator.replace("c:1:", "c:2:")]
    records = sorted([*lines, *second], key=lambda line: int(line.split(":")[5]))
    head = f"{head.rpartition(':1:2(')[0]}:2:2(1:1,1:2),1:2(1:1,1:2),1"
    both.write_text("\n".join([head, *communicators, *records, ""]))
    both.with_suffix(".pcf").write_text(path.with_suffix(".pcf").read_text())
    found = perfcore.overheads(both).to_dict()["profiles"]
    assert [each["group"] for each in found] == ["application 1", "application 2"]
    assert [each["replay"] for each in found] == [alone, alone]
    [allreduce] = perfcore.messages(both).collectives  # of communicators with one number
    assert (allreduce.count, allreduce.timed) == (8, 8)


@pytest.mark.parametrize("by", ["location", "burst"])
def test_nothing_is_replayed_for_a_breakdown_that_was_asked_for(by):
    assert "remedies" not in perfcore.overheads(HALO, by=by).to_dict()


def test_threads_without_messages_are_told_what_no_schedule_can_save_more_of(tmp_path):
    """Computing takes 150 of 3 x 100 us; somebody solves from 20 to 100 us, so half of that is saved at most."""
    rows = ("t0,setup,0,20", "t0,solve,20,100", "t1,solve,30,60", "t1,wait,60,100", "t2,solve,30,50")
    path = tmp_path / "run.csv"
    path.write_text("\n".join(["location,state,start_us,end_us", *rows]) + "\n")
    report = perfcore.overheads(path).report()
    assert "keeping all 3 locations computing would save at most 50.0%, solve twice as fast 40.0%" in report.answer
    assert report.next == f"perf overheads {path} --by location"


def test_a_gpu_without_work_is_named_by_the_load_balance(tmp_path):
    """Of 100 us the first GPU computes 80, the second 16; no launch is recorded."""
    pieces = [event("kernel", "gemm", 0, 80, 7), {**event("kernel", "gemm", 84, 16, 7), "pid": 1}]
    path = write(tmp_path / "two.json", pieces)
    report = perfcore.overheads(path).report()
    assert "device busy 48.0%, idle 52.0%, load balance 60.0%" in report.answer
    assert report.next == f"perf overheads {path} --by location"
    [table] = [each for each in report.brief_tables if each.shown()[0][0] == "GPU efficiency"]
    assert [row[1] for row in table.shown()[1]] == ["48.0%", "-", "-", "100.0%", "60.0%"]
    assert perfcore.overheads(path, by="location").report().next == f"perf profile {path}"


def test_ranks_that_wait_in_turn_are_replayed_without_a_change(tmp_path):
    """A pipeline: each rank computes 50 ns, then sends; serialisation is 50 of 100."""
    lines = ["#Paraver (1/1/26 at 1:00):100_ns:1(2):1:2(1:1,1:1),1", "1:1:1:1:1:0:50:1", "1:1:1:1:1:50:100:0",
             "1:2:1:2:1:0:50:3", "1:2:1:2:1:50:100:1", "2:1:1:1:1:49:50000001:1", "2:1:1:1:1:50:50000001:0",
             "2:2:1:2:1:0:50000001:2", "2:2:1:2:1:50:50000001:0", "3:1:1:1:1:49:49:2:1:2:1:0:50:8:0"]  # fmt: skip
    path = tmp_path / "pipeline.prv"
    path.write_text("\n".join(lines) + "\n")
    report = perfcore.overheads(path).report()
    assert "serialisation 50" in report.answer
    assert report.next == f"perf whatif {path}"


def test_a_run_of_which_most_is_not_recorded_is_told_apart(tmp_path):
    """One of three locations is in a state until 20 us, the next one from 95 us on: 75 % of nothing."""
    path = tmp_path / "run.csv"
    path.write_text("location,state,start_us,end_us\nt0,solve,0,20\nt1,solve,5,20\nt0,solve,95,100\n")
    notes = perfcore.overheads(path).report().notes_by_label()
    assert notes["Uncertain"][0].startswith("nothing is recorded from 20 us to 95 us (75.0% of the run): the file is")


def test_one_of_several_functions_saves_no_more_than_its_share_of_the_mean():
    """Eight threads compute all the time, each in a function of its own: 1/16 of all computing less is the least."""
    n = 8
    trace = Trace(range(n), range(n), [0] * n, [1000] * n, [f"t{k}" for k in range(n)], [f"f{k}" for k in range(n)])
    assert "f0 twice as fast would save at most 6.2%" in perfcore.overheads(trace).report().answer


def test_imbalance_beyond_the_time_in_communication_is_idle_time():
    """Of 100 ns one computes for 60 and sends for 10, the other computes for 80: balance 87.5%, communication 5%."""
    trace = Trace([0, 0, 1], [0, 1, 2], [0, 60, 20], [60, 70, 100], ["a", "b"], ["handle", "send", "compute"])
    notes = [note.text for note in perfcore.overheads(trace).report().notes]
    assert any(text.startswith("load balance compares computing times") for text in notes)


def test_a_replay_that_saves_nothing_is_not_suggested(tmp_path):
    """The second rank computes until the end, and calls nothing: balancing leaves it at 1 us. No message is sent."""
    path = tmp_path / "two.prv"
    records = ["1:1:1:1:1:0:900:1", "1:1:1:1:1:900:1000:9", "2:1:1:1:1:900:50000002:8", "2:1:1:1:1:1000:50000002:0",
               "1:2:1:2:1:0:1000:1"]  # fmt: skip
    path.write_text("\n".join(["#Paraver (01/01/26 at 10:00):1000_ns:1(2):1:2(1:1,1:1)", *records, ""]))
    path.with_suffix(".pcf").write_text("STATES\n1    Running\n9    Group Communication\n\nEVENT_TYPE\n9    50000002"
                                        "    MPI Collective Comm\nVALUES\n8   MPI_Barrier\n0   End\n")  # fmt: skip
    assert perfcore.overheads(path).report().next == f"perf whatif {path}"
    answer = perfcore.whatif(path, balance="computing").report().answer
    assert answer == "computing balanced over ranks leaves the runtime at 1 us"
