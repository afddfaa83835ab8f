"""Efficiencies at other numbers of locations, from runs whose parts follow known laws."""

import math

import pytest
from paraver_runs import paraver_run

import perfcore
from perf_analysis.predicted_efficiencies import time_components
from perf_analysis.scaling_efficiencies import efficiencies_of_runs


def trace_at(folder, p):
    """Setup on each rank, work that is shared, and a network whose time grows with the logarithm."""
    network_ns = int(100_000 * math.log2(p))
    return paraver_run(
        folder, p, setup_ns=1_000_000, work_ns=1 << 30, steps=4, call_ns=network_ns, late_ns=200_000 * (p > 1)
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def runs(folder):
    return perfcore.overheads([trace_at(folder, p) for p in (2, 4, 8, 16)], at="p=32,4096")


def test_parts_sum_to_the_elapsed_time(folder):
    profiles = list(perfcore.overheads([trace_at(folder, p) for p in (1, 2, 4)]))
    parts = time_components(profiles)
    lost = {name: parts.pop(name) for name in ("load imbalance", "serialisation", "transfer")}
    assert all(math.isnan(times[0]) for times in lost.values())
    for k in (1, 2):
        whole = sum(times[k] for times in parts.values()) / 2**k + sum(times[k] for times in lost.values())
        assert whole == pytest.approx(profiles[k].elapsed_ns * 1e-9, rel=1e-12)
    assert parts["(begin) -> MPI_Init"].tolist() == pytest.approx([0.001, 0.002, 0.004])


def test_the_next_run_is_inside_the_bounds(folder, runs):
    [found] = perfcore.overheads(trace_at(folder, 32))
    near, _ = runs.predicted
    true = {name: times[0] for name, times in time_components([found]).items()}
    for name, (_, low, high) in near.parts.items():
        if name == "elapsed":
            assert low <= found.elapsed_ns * 1e-9 <= high
        elif name in ("load imbalance", "serialisation", "transfer"):
            assert low <= true[name] <= high
        else:
            assert low <= true[name] / 32 <= high
    efficiencies = efficiencies_of_runs([runs[0], found])[1]
    for name, (_, low, high) in near.factors.items():
        assert low <= efficiencies[name] <= high


def test_factors_multiply_exactly(runs):
    for each in runs.predicted:
        value = {name: row[0] for name, row in each.factors.items()}
        assert value["communication"] == pytest.approx(value["serialisation"] * value["transfer"], rel=1e-14)
        product = value["load balance"] * value["communication"] * value["computation scalability"]
        assert product == pytest.approx(value["global"], rel=1e-14)


def test_what_dominates_is_said(runs):
    _, far = runs.predicted
    assert far.dominant == "transfer"
    assert far.laws["transfer"].endswith("0.0005*log2(p)")
    [line] = [line for line in runs.summary() if line.startswith("at p=4096:")]
    assert line.startswith("at p=4096: most is lost by transfer, ")
    assert [title for title, _, _ in runs.tables()[-2:]] == [
        "POP efficiencies at p=4096",
        "Parts of a location's time at p=4096 (laws in seconds: of computing the total, else the mean)",
    ]
    said = runs.to_dict()["predicted"][1]
    assert [each["factor"] for each in said["factors"]][:3] == ["global", "parallel", "load balance"]
