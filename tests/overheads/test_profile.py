"""What is made of cycles: efficiencies, tables, plain data, pictures, and tables of several runs."""

import pytest
from made_traces import phases_at
from paraver_runs import paraver_run

import perfcore
from perfcore import Trace


@pytest.fixture
def profile():
    """Two locations for 100 ns; the first computes 60 and sends 10, the second computes 80 and sends 20."""
    trace = Trace(
        [0, 0, 0, 1, 1], [0, 1, 2, 0, 1], [0, 60, 70, 0, 80], [60, 70, 100, 80, 100], ["rank 0", "rank 1"],
        ["Running", "Immediate Send", "Waiting a message"], source="run.prv",
    )  # fmt: skip
    (found,) = perfcore.overheads(trace, phases=phases_at([0, 50, 100], "run.prv"))
    return found


def test_efficiencies_by_their_definitions(profile):
    """POP: load balance 70/80; communication 80/100; states alone don't tell serialisation."""
    found = profile.efficiencies()
    assert found["load_balance"] == pytest.approx([70 / 80])
    assert found["communication"] == pytest.approx([80 / 100])
    assert found["parallel"] == pytest.approx([70 / 100])
    assert (found["serialisation"], found["transfer"]) == (None, None)
    by_phase = profile.efficiencies(by_phase=True)
    assert by_phase["load_balance"] == pytest.approx([1.0, 20 / 30])
    assert by_phase["communication"] == pytest.approx([1.0, 30 / 50])


def test_phases_of_a_trace_are_whole_nanoseconds():
    """Levels 1, 2 and 1 change at 10.001 and 20.002 us."""
    trace = Trace([0, 1], [0, 0], [0, 10_001], [30_000, 20_002], ["a", "b"], ["run"], time_unit="us")
    assert perfcore.overheads(trace, phases=3, degree="0")[0].edges_ns.tolist() == [0, 10_001, 20_002, 30_000]
    # By the states that are asked for: `b` alone.
    trace = Trace([0, 1], [0, 1], [0, 10_001], [30_000, 20_002], ["a", "b"], ["run", "spin"], time_unit="us")
    classes = {"computing": ["run", "spin"]}
    assert perfcore.overheads(trace, phases=2, degree="0", classes=classes)[0].edges_ns[[0, -1]].tolist() == [0, 30_000]


# Counters and classes of bursts: runs whose times, instructions and cycles are known; EPOCH's published figures.
EPOCH = "traces/paraver/epoch/epoch_{}proc.prv.gz"
SETUP = "(begin) -> MPI_Init"
COUNTED = ("instruction scalability", "IPC scalability", "frequency scalability")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return perfcore.overheads([paraver_run(folder, p) for p in (2, 4)], by="burst")


def test_every_class_has_its_time_and_counters(runs):
    small, _ = runs
    assert small.bursts.total_ns == {
        SETUP: 2 * 1000, "MPI_Init -> MPI_Allreduce": 64_000, "MPI_Allreduce -> MPI_Allreduce": 3 * 64_000
    }  # fmt: skip
    assert small.bursts.counted(SETUP) == (2 * 2000, 4 * 2000)
    assert sum(small.bursts.total_ns.values()) == 2 * 1000 + 4 * 64_000


def test_what_was_lost_is_the_setup(runs):
    [said] = runs.to_dict()["losses_by_burst"]
    [lost] = [each for each in said["classes"] if each["lost"]]
    total = 4 * 1000 + 4 * 64_000
    assert (lost["burst"], lost["lost"]) == (SETUP, 2000 / total)
    assert [lost[name] for name in COUNTED] == [0.5, 1.0, 1.0]
    assert "100% of that loss is in start-up (before MPI_Init)" in runs.report().answer
    title, _, rows = runs.report().shown_tables[0]  # what was asked for is the first
    assert "from 2 to 4 locations" in title
    assert rows[0][0] == "start-up (before MPI_Init)"
    assert rows[-1][:5] == ["sum", "258", "260", "100.00%", f"{2000 / total:.2%}"]
    assert said["classes"][0] == lost


def test_counted_factors_multiply_to_computation_scalability(runs):
    for row in runs.to_dict()["efficiencies_of_runs"]:
        product = row[COUNTED[0]] * row[COUNTED[1]] * row[COUNTED[2]]
        assert product == pytest.approx(row["computation scalability"], rel=1e-15)
        whole = row["load balance"] * row["serialisation"] * row["transfer"] * product
        assert whole == pytest.approx(row["global"], rel=1e-14)


def test_counters_that_miss_much_of_computing_are_not_used(tmp_path):
    path = paraver_run(tmp_path, 2)
    path.write_text(path.read_text().replace(":50000002:10:42000050:64000:42000059:128000", ":50000002:10"))
    bursts = perfcore.overheads(path)[0].bursts
    assert bursts.instructions is None
    assert "of its computing time" in bursts.notes[0]


def test_runs_of_one_size_have_a_table_each_and_faster_ones_lost_nothing(tmp_path):
    path = paraver_run(tmp_path, 2)
    same = perfcore.overheads([path, path], by="burst")
    assert [title for title, _, _ in same.report().shown_tables[:2]] == ["Computing by burst between two calls"] * 2
    faster = perfcore.overheads([path, paraver_run(tmp_path, 4, setup_ns=100, late_ns=9000)])
    assert "lost" not in faster.report().answer


@pytest.mark.real_data
def test_published_figures_of_epoch(real_data):
    """To the digits that were published; the loss of computation is before MPI_Init."""
    found = perfcore.overheads([real_data / EPOCH.format(p) for p in (2, 8)]).to_dict()
    _, row = found["efficiencies_of_runs"]
    for name, figure in zip(COUNTED, (94.146 / 96.749, 93.982 / 99.917, 91.931 / 98.792), strict=True):
        assert row[name] == pytest.approx(figure, abs=1.1e-5)
    worst = found["losses_by_burst"][0]["classes"][0]
    assert worst["burst"] == SETUP
    assert worst["lost"] == pytest.approx(0.14094, abs=1e-5)


# POP's efficiencies of several runs: their product, what limits the scaling, published figures.
HALO = "examples/halo/halo.prv"


def run(n_locations, computing_ns, elapsed_ns):
    """Each location computes for so long, but the last one a tenth longer, and then waits."""
    rows = []
    for place in range(n_locations):
        end = computing_ns + (computing_ns // 10 if place == n_locations - 1 else 0)
        rows += [(place, 0, 0, end), (place, 1, end, elapsed_ns)]
    location, state, start, end = map(list, zip(*rows, strict=True))
    names = [f"rank {place}" for place in range(n_locations)]
    return Trace(location, state, start, end, names, ["Running", "MPI_Wait"], source=f"p{n_locations}")


def test_factors_multiply_to_the_global_efficiency():
    runs = perfcore.overheads([run(2, 1000, 1200), run(4, 600, 700)])
    small, large = runs.to_dict()["efficiencies_of_runs"]
    assert small["computation scalability"] == 1.0
    assert large["computation scalability"] == pytest.approx(2100 / 2460)
    assert large["parallel"] == pytest.approx(2460 / 4 / 700)
    product = large["load balance"] * large["communication"] * large["computation scalability"]
    assert large["global"] == pytest.approx(product)
    assert large["serialisation"] is None
    expected = "2 runs: global efficiency 75.0% with 4 locations, limited by computation scalability (85.4%)"
    assert runs.report().answer == expected
    title, header, rows = runs.report().shown_tables[0]
    assert title == "computation scalability: against p2, if the work is the same"
    assert header == ["POP efficiency", "p=2", "p=4"]
    assert [row[0] for row in rows] == ["global", "parallel", "load balance", "communication",
                                        "computation scalability"]  # fmt: skip
    assert rows[-1][1:] == ["100.0%", f"{2100 / 2460:.1%}"]


def test_a_folder_of_runs_and_files_beside_the_traces(tmp_path):
    traces = [paraver_run(tmp_path, p) for p in (2, 4)]
    files = sorted(tmp_path.iterdir())
    assert any(file.suffix == ".pcf" for file in files)
    expected = perfcore.overheads(traces).to_dict()["efficiencies_of_runs"]
    for named in (tmp_path, files):
        assert perfcore.overheads(named).to_dict()["efficiencies_of_runs"] == expected


@pytest.mark.real_data
def test_published_figures_of_epoch_of_scaling(real_data):
    runs = perfcore.overheads([real_data / EPOCH.format(p) for p in (2, 8)], pop="bsc")
    small, large = runs.to_dict()["efficiencies_of_runs"]
    published = {
        "parallel": (99.378, 95.708), "load balance": (99.761, 98.281), "communication": (99.616, 97.382),
        "serialisation": (99.842, 98.282), "transfer": (99.774, 99.084),
    }  # fmt: skip
    for name, figures in published.items():
        assert [round(100 * each[name], 3) for each in (small, large)] == list(figures)
    assert large["computation scalability"] == pytest.approx(81.341 / 95.500, abs=1e-5)


def test_own_classes_have_neither():
    """What a replay takes for computing is what the trace does; with other classes, transfer would exceed 1."""
    [found] = perfcore.overheads(HALO, classes={"computing": ["*"]})
    assert found.replayed is None
