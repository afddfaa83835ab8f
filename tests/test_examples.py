"""The examples do what their texts say."""

import csv
import importlib.util
import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import perfcore

EXAMPLES = Path(__file__).parents[1] / "examples"


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
        mine = [row for row in rows if row["location"] == f"worker {worker}"]
        for one, two in itertools.pairwise(mine):
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
        mean = curve.heights[begin:end].mean()
        assert mean == pytest.approx(share * model.n_processors, abs=tolerance)


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
