"""The programs of examples/under_load compute what they should, and their recorded predictions come from before."""

import importlib
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from perf_structural import StructuralModel

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "under_load"
RECORDED = EXAMPLE / "recorded"
needs_two_processors = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="needs Linux and two processors"
)


@pytest.fixture(scope="module")
def example():
    """Imports a module of the example, of examples/sor or of benchmarks; workers, which are spawned, find it too."""
    known = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        for folder in (ROOT / "benchmarks", EXAMPLE.with_name("sor"), EXAMPLE):
            patch.syspath_prepend(folder)
        yield importlib.import_module
    for name in set(sys.modules) - known:
        if str(ROOT / "examples") in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def stencil(shape, omega_below, omega_above):
    """The matrix of the seven-point stencil, its lower and upper triangle weighed."""
    count = math.prod(shape)
    places = np.arange(count).reshape(shape)
    matrix = 6.0 * np.eye(count)
    for axis in range(3):
        low, high = np.moveaxis(places, axis, 0)[:-1].ravel(), np.moveaxis(places, axis, 0)[1:].ravel()
        matrix[high, low], matrix[low, high] = -omega_below, -omega_above
    return matrix


def test_sweeps_solve_the_triangles_and_workers_do_what_matrices_do(example):
    lu = example("lu")
    problem = lu.Problem(planes=3, rows=5, columns=4, workers=3)
    right = problem.right_hand_side()
    shape, omega = right.shape, lu.OMEGA
    lower, upper = stencil(shape, omega, 0.0), stencil(shape, 0.0, omega)
    solved, _ = lu.sweep(right, lu.inverse_of_a_line(4), lambda: None, lambda edge: None)
    np.testing.assert_allclose(solved.ravel(), np.linalg.solve(lower, right.ravel()), rtol=1e-12)

    expected = np.zeros(right.size)
    for _ in range(3):
        left = right.ravel() - stencil(shape, 1.0, 1.0) @ expected
        expected += omega * (2 - omega) * np.linalg.solve(upper, 6.0 * np.linalg.solve(lower, left))
    with lu.Sweeping(problem) as sweeping:
        first = sweeping.run(1)
        second = sweeping.run(2)  # a run goes on from where the last one ended
        np.testing.assert_allclose(sweeping.solution().ravel(), expected, rtol=1e-10)
    assert second.start_s >= first.start_s + first.time_s
    assert min(first.compute_s) > 0.0


def test_slaves_together_breed_what_one_loop_does(example):
    genetic = example("genetic")
    problem = genetic.Problem(cities=9, population=6, children=5, slaves=2, seed=3)
    distances = problem.distances()
    population = problem.first()
    tours = [population, *(genetic.breed(population, 40, np.random.default_rng(0)) for _ in range(2))]
    assert (np.sort(tours[1], axis=1) == np.arange(9)).all()
    assert (tours[1] == tours[2]).all()
    circle = np.argsort(np.random.default_rng(problem.seed).permutation(9)).astype(np.int16)
    assert genetic.lengths(circle[None], distances)[0] == pytest.approx(problem.shortest)

    expected, lengths = genetic.select(population, genetic.lengths(population, distances), 6)
    for generation in range(3):
        for_slaves = [np.random.default_rng([problem.seed, generation, rank]) for rank in range(2)]
        everyone = np.concatenate([expected, *(genetic.breed(expected, 5, rng) for rng in for_slaves)])
        expected, lengths = genetic.select(everyone, genetic.lengths(everyone, distances), 6)
    with genetic.Breeding(problem) as breeding:
        breeding.run(2)
        breeding.run(1)
        np.testing.assert_array_equal(breeding.population, expected)
        np.testing.assert_allclose(breeding.lengths, lengths)


def test_a_load_goes_on_where_it_was_left(example):
    load = example("background_load")
    burst = load.Burst(3.0, 6.0)

    def busy_at(times, begin_s):
        edges, states, end_s = [], [], begin_s
        for busy, length_s in load.stretches(burst, 7, begin_s):
            edges.append(end_s)
            states.append(busy)
            end_s += length_s
            if end_s > 200.0:
                break
        return np.array(states)[np.searchsorted(edges, times, side="right") - 1]

    times = np.linspace(50.0, 199.0, 500)
    whole = busy_at(times, 0.0)
    assert 0.1 < whole.mean() < 0.7
    for begin_s in (13.7, 50.0):
        assert (busy_at(times, begin_s) == whole).all()


@pytest.mark.parametrize("name", ["sor", "genetic", "lu"])
def test_the_models_are_their_equations(example, name):
    """Both equations agree where only one processor is shared; else the other's share comes to the exponent."""
    program = example("programs").program_named(name)
    inputs = {**program.inputs, "benchmark": {"value": 2, "unit": "us"}, "exchange": {"value": 50, "unit": "us"}}
    paper, barrier = (
        StructuralModel.read(EXAMPLE / file).with_inputs(inputs) for file in (f"{name}-paper.toml", f"{name}.toml")
    )
    expected = program.steps * (program.work * 2e-6 / 0.5 + 50e-6)
    assert paper.with_inputs({"cpu": [0.5, 0.8]}).predict().value.mean == pytest.approx(expected)
    alone = barrier.with_inputs({"cpu": [0.5, 1.0], "exponent": 0.7}).predict().value
    assert alone.mean == pytest.approx(expected)
    found = barrier.with_inputs({"cpu": [0.5, 0.8], "exponent": 0.7}).predict().value
    assert found.mean == pytest.approx(program.steps * (program.work * 2e-6 / (0.5 * 0.8**0.7) + 50e-6))
    assert program.progress(found.mean, 2e-6, program.steps * 50e-6) == pytest.approx(0.5 * 0.8**0.7)


def test_recorded_predictions_come_from_samples_before_the_run(example, tmp_path):
    """They stay the same where all later samples are forgotten."""
    experiments = example("experiments")
    for name in ("dedicated.db", "lu-both-samples.csv", "lu-both-runs.csv", "lu-mixed-samples.csv"):
        (tmp_path / "recorded").mkdir(exist_ok=True)
        shutil.copy(RECORDED / name, tmp_path / "recorded")
    shutil.copy(EXAMPLE / "lu-paper.toml", tmp_path)
    runs = (RECORDED / "lu-both-runs.csv").read_text().splitlines()
    until_s = float(runs[3].split(",")[0])
    heading, *samples = (RECORDED / "lu-both-samples.csv").read_text().splitlines()
    kept = [line for line in samples if float(line.split(",")[0]) <= until_s]
    assert len(kept) < len(samples)
    (tmp_path / "recorded" / "lu-both-samples.csv").write_text("\n".join([heading, *kept, ""]))
    (tmp_path / "recorded" / "lu-both-runs.csv").write_text("\n".join([*runs[:4], ""]))
    made = experiments.predict(tmp_path / "recorded", "lu-both", "paper")
    stored = experiments.read_predictions(RECORDED / "lu-both-paper.json")[: len(made)]
    assert len(made) == 3
    for value, other in zip(made, stored, strict=True):
        np.testing.assert_allclose(value.edges, other.edges, rtol=1e-9)
        np.testing.assert_allclose(value.masses, other.masses, rtol=1e-9, atol=1e-12)
    barrier = StructuralModel.read(EXAMPLE / "sor.toml").predict(bins=experiments.BINS).value
    last = experiments.read_predictions(RECORDED / "sor-mixed-barrier.json")[-1]
    assert barrier.mean == pytest.approx(last.mean, rel=1e-9)


@needs_two_processors
def test_a_run_goes_on_with_the_load_of_the_last_one(example, tmp_path, monkeypatch):
    measure = example("measure")
    monkeypatch.chdir(tmp_path)
    program = measure.program_named("lu", scale=0.05)
    processors = sorted(os.sched_getaffinity(0))[:2]
    first, second = (measure.measure_loaded(program, "lu-mixed", processors, (2, 1), 0.02) for _ in range(2))
    samples = np.loadtxt("lu-mixed-samples.csv", delimiter=",", skiprows=1)
    runs = np.loadtxt("lu-mixed-runs.csv", delimiter=",", skiprows=1)
    assert (len(samples), len(runs)) == (3, 2)
    assert (np.diff(samples[:, 0]) > 0).all()
    assert samples[2, 0] > first["start_s"] + first["time_s"]
    assert samples[2, 0] == second["until_s"] <= second["start_s"]
    assert ((samples[:, 1:] > 0) & (samples[:, 1:] <= 1)).all()


@pytest.mark.slow
@needs_two_processors
def test_the_whole_chain(tmp_path):
    for name in ("sor", "under_load"):
        shutil.copytree(EXAMPLE.with_name(name), tmp_path / name, ignore=shutil.ignore_patterns("recorded", "*cache*"))
    for design, count in (("dedicated.toml", 6), ("loaded.toml", 20)):
        path = tmp_path / "under_load" / design
        text = path.read_text().replace(f"replications = {count}", "replications = 1")
        path.write_text(text)
    words = ["record", "--", "--scale", "0.05", "--sample", "0.05", "--before", "3"]
    done = subprocess.run(
        [sys.executable, tmp_path / "under_load" / "experiments.py", *words], check=True, capture_output=True, text=True
    )
    assert "lu-both       barrier    1 runs" in done.stdout
    assert len(list((tmp_path / "under_load" / "recorded").glob("*.json"))) == 14
