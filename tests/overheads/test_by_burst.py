"""Counters and classes of bursts: runs whose times, instructions and cycles are known; EPOCH's published figures."""

import pytest
from paraver_runs import paraver_run

import perfcore
from perf_analysis.scaling_efficiencies import efficiencies_of_runs, losses
from perf_traces.messages.bursts import burst_classes

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
    small, large = runs
    [lost] = [each for each in losses(small.bursts, large.bursts) if each.lost]
    total = 4 * 1000 + 4 * 64_000
    assert (lost.name, lost.lost) == (SETUP, 2000 / total)
    assert lost.factors == (0.5, 1.0, 1.0)
    assert "100% of what it lost is (begin) -> MPI_Init" in runs.summary()[1]
    title, _, rows = runs.tables()[-1]
    assert "from 2 to 4 locations" in title
    assert rows[0][0] == SETUP
    assert rows[-1][:5] == ["sum", "258 us", "260 us", "100.00%", f"{2000 / total:.2%}"]
    [said] = runs.to_dict()["losses_by_burst"]
    assert said["classes"][0]["burst"] == SETUP


def test_counted_factors_multiply_to_computation_scalability(runs):
    for row in efficiencies_of_runs(list(runs)):
        product = row[COUNTED[0]] * row[COUNTED[1]] * row[COUNTED[2]]
        assert product == pytest.approx(row["computation scalability"], rel=1e-15)
        whole = row["load balance"] * row["serialisation"] * row["transfer"] * product
        assert whole == pytest.approx(row["global"], rel=1e-14)


def test_counters_that_miss_much_of_computing_are_not_used(tmp_path):
    path = paraver_run(tmp_path, 2)
    text = path.read_text()
    text = text.replace(":50000002:10:42000050:64000:42000059:128000", ":50000002:10")
    path.write_text(text)
    bursts = burst_classes(perfcore.read(path))
    assert bursts.instructions is None
    assert "of its computing time" in bursts.notes[0]


def test_runs_of_one_size_have_a_table_each_and_faster_ones_lost_nothing(tmp_path):
    path = paraver_run(tmp_path, 2)
    same = perfcore.overheads([path, path], by="burst")
    assert [title for title, _, _ in same.tables()[-2:]] == ["Computing by burst between two calls"] * 2
    faster = perfcore.overheads([path, paraver_run(tmp_path, 4, setup_ns=100, late_ns=9000)])
    assert "lost" not in faster.summary()[1]


@pytest.mark.real_data
def test_published_figures_of_epoch(real_data):
    """To the digits that were published; the loss of computation is before MPI_Init."""
    small, large = perfcore.overheads([real_data / EPOCH.format(p) for p in (2, 8)])
    _, row = efficiencies_of_runs([small, large])
    published = (94.146 / 96.749, 93.982 / 99.917, 91.931 / 98.792)
    for name, figure in zip(COUNTED, published, strict=True):
        assert row[name] == pytest.approx(figure, abs=1.1e-5)
    worst = losses(small.bursts, large.bursts)[0]
    assert worst.name == SETUP
    assert worst.lost == pytest.approx(0.14094, abs=1e-5)
