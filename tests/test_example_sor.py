"""The example program, its model and its recorded run do what their texts say."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from perf_structural import StructuralModel
from perf_structural.judging import judge
from perf_structural.measured_value import represent
from perf_structural.prediction_files import read_actual, read_predictions
from perf_tables.series import take_window
from perfcore.reading.recognise import read

SOR = Path(__file__).parents[1] / "examples" / "sor"
RECORDED = SOR / "recorded"


@pytest.fixture(scope="module")
def example():
    """Imports a module of the example by its name; workers, which are spawned, find it on the same path."""
    names = []
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SOR)
        yield lambda name: names.append(name) or importlib.import_module(name)
    for name in names:
        del sys.modules[name]


@pytest.fixture(scope="module")
def sor(example):
    """The module examples/sor/sor.py."""
    return example("sor")


@pytest.fixture(scope="module")
def compare(example):
    """The module examples/sor/compare.py."""
    return example("compare")


def relaxed_point_by_point(grid, parity, omega):
    """Red-black relaxation as textbooks write it: one point after another."""
    for row in range(1, grid.shape[0] - 1):
        for column in range(1, grid.shape[1] - 1):
            if (row + column) % 2 == parity:
                around = grid[row - 1, column] + grid[row + 1, column] + grid[row, column - 1] + grid[row, column + 1]
                grid[row, column] = (1.0 - omega) * grid[row, column] + omega * around / 4.0


@pytest.mark.parametrize("shape", [(3, 3), (3, 9), (12, 3), (35, 8), (70, 11)])  # 33 and 68 rows: beyond a block
@pytest.mark.parametrize("parity", [0, 1])
def test_relaxation_is_the_point_by_point_one(sor, shape, parity):
    grid = np.random.default_rng(3).random(shape)
    expected = grid.copy()
    relaxed_point_by_point(expected, parity, 1.7)
    sor.relax(grid, parity, 1.7)
    np.testing.assert_allclose(grid, expected, rtol=1e-14)


@pytest.mark.parametrize(("rows", "workers"), [(1, 1), (7, 7), (10, 3), (2000, 2)])
def test_strips_cover_the_inner_rows_once_and_evenly(sor, rows, workers):
    problem = sor.Problem(rows, 5, workers)
    strips = [problem.strip(rank) for rank in range(workers)]
    assert [row for strip in strips for row in strip] == list(range(1, rows + 1))
    assert max(map(len, strips)) - min(map(len, strips)) <= 1


def test_workers_together_compute_what_one_loop_does(sor):
    problem = sor.Problem(11, 8, 3)  # strips that begin with either colour
    expected = np.random.default_rng(5).random(problem.shape)
    with sor.Team(problem) as team:
        team.grid[:] = expected
        first, second = team.run(2), team.run(1)  # a run goes on from where the last one ended
        found = team.grid.copy()
    for _ in range(3):
        for colour in (sor.RED, sor.BLACK):
            relaxed_point_by_point(expected, colour, problem.omega)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert second.start_s >= first.start_s + first.time_s
    assert min(first.compute_s) >= 0.0


def test_the_program_finds_the_harmonic_function():
    for iterations, status in ((150, 0), (2, 1)):
        words = [sys.executable, SOR / "sor.py", "--size", "30", "--iterations", str(iterations)]
        done = subprocess.run(words, check=False, capture_output=True, text=True)
        assert done.returncode == status, done.stderr
        assert f"{iterations} iterations in" in done.stdout


def test_the_model_is_its_equation():
    model = StructuralModel.read(SOR / "sor.toml")
    inputs = {"iterations": 10, "columns": 500, "rows": [300, 200], "cpu": [0.5, 0.8]}
    timing = {"benchmark": {"value": 4, "unit": "ns"}, "exchange": {"value": 100, "unit": "us"}}
    found = model.with_inputs({**inputs, **timing}).predict()
    # The first strip is the slower one: 300 * 500 / 2 points at 4 ns / 0.5 take 0.6 ms.
    assert found.value.mean == pytest.approx(10 * 2 * (0.6e-3 + 0.1e-3))
    assert found.unit == "s"
    low, high = model.predict().value.support
    # The shares lie between 0.30 and 1 and between 0.45 and 1.
    assert 60 * 2 * (1e6 * 5e-9 + 150e-6) <= low < high <= 60 * 2 * (1e6 * 5e-9 / 0.30 + 150e-6) * (1 + 1e-12)


def test_recorded_predictions_come_from_the_recorded_samples():
    model, samples = StructuralModel.read(RECORDED / "sor.toml"), read(RECORDED / "availability.csv")
    _, until_s, _ = read_actual(RECORDED / "runs.csv", "until_s")
    made = read_predictions(RECORDED / "predictions-histogram.json")
    for run in (0, len(until_s) // 2, len(until_s) - 1):
        windows = [take_window(samples, "60s", column, until_s[run]) for column in samples.columns]
        cpu = [represent(window, "histogram").value for window in windows]
        found = model.with_inputs({"cpu": cpu}).predict(bins=5).value
        np.testing.assert_allclose(found.edges, made[run].edges, rtol=1e-9)
        np.testing.assert_allclose(found.masses, made[run].masses, rtol=1e-9, atol=1e-12)
    assert model.predict(bins=5).value.mean == pytest.approx(made[-1].mean)  # cpu-0.json and cpu-1.json


def test_the_readme_has_the_recorded_table(compare):
    text = (SOR / "README.md").read_text()
    for line in compare.table(compare.judgements(RECORDED)):
        assert line.rstrip() in text
    _, time_s, _ = read_actual(RECORDED / "runs.csv", "time_s")
    for name in compare.REPRESENTATIONS:
        assert judge(read_predictions(RECORDED / f"predictions-{name}.json"), time_s).representations == (name,)


@pytest.mark.slow
@pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="needs Linux and two processors"
)
def test_the_whole_chain(tmp_path):
    words = ["--runs", "3", "--before", "3", "--region", "1", "--size", "300", "--iterations", "20"]
    done = subprocess.run(
        [sys.executable, SOR / "experiment.py", *words, "--out", tmp_path], check=True, capture_output=True, text=True
    )
    assert "run 3 of 3" in done.stdout
    assert (tmp_path / "judged.png").stat().st_size > 0
    last = json.loads((tmp_path / "predictions-histogram.json").read_text().splitlines()[-1])
    again = StructuralModel.read(tmp_path / "sor.toml").predict(bins=5).value
    np.testing.assert_allclose(again.edges, last["edges"], rtol=1e-9)
    _, time_s, start_s = read_actual(tmp_path / "runs.csv", "time_s", "start_s")
    assert (np.diff(start_s) > time_s[:-1]).all()
