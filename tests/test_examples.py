"""The examples do what their texts say."""

import csv
import importlib
import importlib.util
import itertools
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import hadamard

import perfcore
from perf_structural import StructuralModel
from perfcore.stochastic import from_dict

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
needs_two_processors = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="needs Linux and two processors"
)


@pytest.fixture(scope="module")
def generate():
    """The module examples/curves/generate.py."""
    spec = importlib.util.spec_from_file_location("generate", EXAMPLES / "curves" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.mark.parametrize("size", [100, 10])  # 10: fewer blocks than workers
def test_cholesky_solves_and_records_every_worker_without_gaps(tmp_path, size):
    out = tmp_path / "trace.csv"
    program = EXAMPLES / "cholesky" / "cholesky.py"
    arguments = ["--workers", "3", "--size", str(size), "--block", "16", "--out", str(out)]
    subprocess.run([sys.executable, program, *arguments], check=True, capture_output=True)
    with out.open() as lines:
        rows = list(csv.DictReader(lines))
    assert {row["location"] for row in rows} == {"worker 0", "worker 1", "worker 2"}
    for worker in range(3):
        for one, two in itertools.pairwise([row for row in rows if row["location"] == f"worker {worker}"]):
            assert one["end"] == two["start"]
            assert {one["state"], two["state"]} == {"computing", "waiting"}


def test_the_shipped_trace_has_four_workers_that_compute_or_wait():
    trace = perfcore.read(EXAMPLES / "cholesky" / "cholesky_trace.csv.gz")
    assert sorted(trace.locations) == [f"worker {rank}" for rank in range(4)]
    curve = trace.utilization(busy=["computing"])
    assert curve.heights.max() == 4
    assert curve.end == pytest.approx(6511793.628)  # README: the run's end in us


def test_refined_breaks_of_the_shipped_trace_lie_at_the_barriers():
    model = perfcore.fit(EXAMPLES / "cholesky" / "cholesky_trace.csv.gz", phases=5, degree=2, refine=True)
    starts = np.array([phase.start for phase in model.phases])
    # The barriers' times, as the program printed them (README); 0.3 % of the run.
    for barrier in (333261.510, 2471874.813, 4435818.800):
        assert np.abs(starts - barrier).min() < 0.003 * 6511793.628


@pytest.mark.parametrize("shape", ["differential", "matrix"])
def test_generated_phases_have_the_levels_of_their_polynomials(generate, shape):
    curve, breaks = generate.make_curve(shape, 20_000, seed=3)
    model = generate.SHAPES[shape]
    assert curve.n_steps == 20_000
    assert (breaks[0], breaks[-1]) == (0.0, model.duration_us)
    first = np.searchsorted(curve.edges, breaks)
    np.testing.assert_array_equal(curve.edges[first], breaks)
    for phase, begin, end in zip(model.phases, first[:-1], first[1:], strict=True):
        share = sum(c / (power + 1) for power, c in enumerate(phase.coefficients))
        # At most half a processor of deviation for each; five standard errors of the mean.
        tolerance = 5 * 0.5 * np.sqrt(model.n_processors / (end - begin))
        assert curve.heights[begin:end].mean() == pytest.approx(share * model.n_processors, abs=tolerance)


@pytest.mark.parametrize("degree", [0, 1, 3])
def test_known_curves_without_noise_jump_at_their_breaks_alone(generate, degree):
    curve, breaks = generate.make_known(50_000, degree, 12, 0.0, seed=degree)
    assert len(breaks) == 13
    # Within a phase the height changes by at most the sum of its slopes over the phase's steps.
    jumps = np.flatnonzero(np.abs(np.diff(curve.heights)) > 0.5) + 1
    np.testing.assert_array_equal(jumps, breaks[1:-1])


def test_the_readme_is_short():
    """A promise, one law, three more, where to read on: at most 600 words with all that is shown."""
    assert len((EXAMPLES.parent / "README.md").read_text().split()) <= 600


def column_of(path, name):
    """A column of a table of runs."""
    with path.open() as lines:
        return np.array([float(row[name]) for row in csv.DictReader(lines)])


def values_of(path):
    """Recorded predictions, one in each line."""
    return [from_dict(json.loads(line)) for line in path.read_text().splitlines()]


# The example program, its model and its recorded run do what their texts say.
SOR = EXAMPLES / "sor"
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
    model, samples = StructuralModel.read(RECORDED / "sor.toml"), perfcore.read(RECORDED / "availability.csv")
    until_s, made = column_of(RECORDED / "runs.csv", "until_s"), values_of(RECORDED / "predictions-histogram.json")
    for run in (0, len(until_s) // 2, len(until_s) - 1):
        how = {"window": "60s", "until": until_s[run], "rule": "width"}
        cpu = [perfcore.value(samples, "histogram", column=column, **how).value for column in samples.columns]
        found = model.with_inputs({"cpu": cpu}).predict(bins=5).value
        np.testing.assert_allclose(found.edges, made[run].edges, rtol=1e-9)
        np.testing.assert_allclose(found.masses, made[run].masses, rtol=1e-9, atol=1e-12)
    assert model.predict(bins=5).value.mean == pytest.approx(made[-1].mean)  # cpu-0.json and cpu-1.json


def test_the_readme_has_the_recorded_table(compare):
    text = (SOR / "README.md").read_text()
    for line in compare.table(RECORDED, compare.judgements(RECORDED)):
        assert line.rstrip() in text
    for name in compare.REPRESENTATIONS:
        judged = perfcore.judge(RECORDED / f"predictions-{name}.json", RECORDED / "runs.csv", column="time_s")
        assert judged.representations == (name,)


@pytest.mark.slow
@needs_two_processors
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
    time_s, start_s = (column_of(tmp_path / "runs.csv", name) for name in ("time_s", "start_s"))
    assert (np.diff(start_s) > time_s[:-1]).all()


# The programs of examples/under_load compute what they should, and their recorded predictions come from before.
UNDER_LOAD = EXAMPLES / "under_load"
RECORDED_UNDER_LOAD = UNDER_LOAD / "recorded"


@pytest.fixture(scope="module")
def under_load():
    """Imports a module of the example, of examples/sor or of benchmarks; workers, which are spawned, find it too."""
    known = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        for folder in (ROOT / "benchmarks", UNDER_LOAD.with_name("sor"), UNDER_LOAD):
            patch.syspath_prepend(folder)
        yield importlib.import_module
    for name in set(sys.modules) - known:
        if str(EXAMPLES) in str(getattr(sys.modules[name], "__file__", "")):
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


def test_sweeps_solve_the_triangles_and_workers_do_what_matrices_do(under_load):
    lu = under_load("lu")
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


def test_slaves_together_breed_what_one_loop_does(under_load):
    genetic = under_load("genetic")
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


def test_a_load_goes_on_where_it_was_left(under_load):
    load = under_load("background_load")
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
def test_the_models_are_their_equations(under_load, name):
    """Both equations agree where only one processor is shared; else the other's share comes to the exponent."""
    program = under_load("programs").program_named(name)
    inputs = {**program.inputs, "benchmark": {"value": 2, "unit": "us"}, "exchange": {"value": 50, "unit": "us"}}
    paper, barrier = (
        StructuralModel.read(UNDER_LOAD / file).with_inputs(inputs) for file in (f"{name}-paper.toml", f"{name}.toml")
    )
    expected = program.steps * (program.work * 2e-6 / 0.5 + 50e-6)
    assert paper.with_inputs({"cpu": [0.5, 0.8]}).predict().value.mean == pytest.approx(expected)
    alone = barrier.with_inputs({"cpu": [0.5, 1.0], "exponent": 0.7}).predict().value
    assert alone.mean == pytest.approx(expected)
    found = barrier.with_inputs({"cpu": [0.5, 0.8], "exponent": 0.7}).predict().value
    assert found.mean == pytest.approx(program.steps * (program.work * 2e-6 / (0.5 * 0.8**0.7) + 50e-6))
    assert program.progress(found.mean, 2e-6, program.steps * 50e-6) == pytest.approx(0.5 * 0.8**0.7)


def test_recorded_predictions_come_from_samples_before_the_run(under_load, tmp_path):
    """They stay the same where all later samples are forgotten."""
    experiments = under_load("experiments")
    for name in ("dedicated.db", "lu-both-samples.csv", "lu-both-runs.csv", "lu-mixed-samples.csv"):
        (tmp_path / "recorded").mkdir(exist_ok=True)
        shutil.copy(RECORDED_UNDER_LOAD / name, tmp_path / "recorded")
    shutil.copy(UNDER_LOAD / "lu-paper.toml", tmp_path)
    runs = (RECORDED_UNDER_LOAD / "lu-both-runs.csv").read_text().splitlines()
    until_s = float(runs[3].split(",")[0])
    heading, *samples = (RECORDED_UNDER_LOAD / "lu-both-samples.csv").read_text().splitlines()
    kept = [line for line in samples if float(line.split(",")[0]) <= until_s]
    assert len(kept) < len(samples)
    (tmp_path / "recorded" / "lu-both-samples.csv").write_text("\n".join([heading, *kept, ""]))
    (tmp_path / "recorded" / "lu-both-runs.csv").write_text("\n".join([*runs[:4], ""]))
    made = experiments.predict(tmp_path / "recorded", "lu-both", "paper")
    stored = experiments.read_predictions(RECORDED_UNDER_LOAD / "lu-both-paper.json")[: len(made)]
    assert len(made) == 3
    for value, other in zip(made, stored, strict=True):
        np.testing.assert_allclose(value.edges, other.edges, rtol=1e-9)
        np.testing.assert_allclose(value.masses, other.masses, rtol=1e-9, atol=1e-12)
    barrier = StructuralModel.read(UNDER_LOAD / "sor.toml").predict(bins=experiments.BINS).value
    last = experiments.read_predictions(RECORDED_UNDER_LOAD / "sor-mixed-barrier.json")[-1]
    assert barrier.mean == pytest.approx(last.mean, rel=1e-9)


@needs_two_processors
def test_a_run_goes_on_with_the_load_of_the_last_one(under_load, tmp_path, monkeypatch):
    measure = under_load("measure")
    monkeypatch.chdir(tmp_path)
    program = measure.program_named("lu", scale=0.05)
    processors = sorted(os.sched_getaffinity(0))[:2]
    first, second = (measure.measure_loaded(program, "lu-mixed", processors, (2, 1), 0.02) for _ in range(2))
    samples = np.loadtxt("lu-mixed-samples.csv", delimiter=",", skiprows=1)
    assert (len(samples), len(np.loadtxt("lu-mixed-runs.csv", delimiter=",", skiprows=1))) == (3, 2)
    assert (np.diff(samples[:, 0]) > 0).all()
    assert samples[2, 0] > first["start_s"] + first["time_s"]
    assert samples[2, 0] == second["until_s"] <= second["start_s"] + 0.0005  # samples are written to a millisecond
    assert ((samples[:, 1:] > 0) & (samples[:, 1:] <= 1)).all()


@pytest.mark.slow
@needs_two_processors
def test_the_whole_chain_under_load(tmp_path):
    for name in ("sor", "under_load"):
        shutil.copytree(EXAMPLES / name, tmp_path / name, ignore=shutil.ignore_patterns("recorded", "*cache*"))
    for design, count in (("dedicated.toml", 6), ("loaded.toml", 20)):
        path = tmp_path / "under_load" / design
        path.write_text(path.read_text().replace(f"replications = {count}", "replications = 1"))
    words = ["record", "--", "--scale", "0.05", "--sample", "0.05", "--before", "3"]
    done = subprocess.run(
        [sys.executable, tmp_path / "under_load" / "experiments.py", *words], check=True, capture_output=True, text=True
    )
    assert "lu-both       barrier    1 runs" in done.stdout
    assert len(list((tmp_path / "under_load" / "recorded").glob("*.json"))) == 14


# The functions of the example program do what it says of them.
@pytest.fixture
def bodies(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES / "scaling_laws")
    import bodies

    yield bodies
    sys.modules.pop("bodies")


def test_transform_is_that_of_walsh_and_hadamard(bodies):
    places = np.arange(16.0) ** 2
    assert np.array(bodies.transform(places.tolist())) == pytest.approx(hadamard(16) @ places)


def test_correlate_is_a_matrix_product(bodies):
    matrix = np.random.default_rng(1).standard_normal((8, 8))
    assert np.array(bodies.correlate(matrix.tolist())) == pytest.approx(matrix @ matrix)


def test_every_function_is_timed(bodies):
    assert set(bodies.run(16, 2)) == set(bodies.FUNCTIONS)
