"""Iterations: number, period and the one that differs, on generated runs; none in noise; markers; values."""

import json
import sys

import numpy as np
import pytest

import perfcore
from perf_worley.iterations.iterations import marked_iterations, period_text
from perf_worley.phase_model import Phase, Repetition
from perfcore import Trace, UtilizationCurve
from perfcore.__main__ import main
from perfcore.base.errors import DataError
from perfcore.stochastic import representation_named

STEPS = "examples/iterations/steps.csv"
LEVELS = ((14.0, 0.35), (3.0, 0.2), (10.0, 0.3), (0.0, 0.15))  # and shares of an iteration


@pytest.fixture
def program(monkeypatch, capsys):
    """Run ``perf``; what it prints."""

    def run(*words, status=0):
        monkeypatch.setattr(sys, "argv", ["perf", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == status
        printed = capsys.readouterr()
        return printed.err if status else printed.out

    return run


def repeating(count, jitter, seed, *, lead=2.3, tail=1.1, period=10.0):
    """A curve of iterations between two other stretches, and their durations."""
    rng = np.random.default_rng(seed)
    durations = period * np.maximum(1.0 + jitter * rng.normal(size=count), 0.5)
    edges, heights = [0.0, lead * period], [16.0]
    for duration in durations:
        for level, share in LEVELS:
            edges.append(edges[-1] + share * duration)
            heights.append(level)
    return UtilizationCurve([*edges, edges[-1] + tail * period], [*heights, 1.0], "ms", n_locations=16), durations


@pytest.mark.parametrize(("count", "jitter", "seed"), [(5, 0.0, 0), (12, 0.05, 1), (40, 0.1, 2), (700, 0.05, 3)])
def test_number_and_period_of_generated_iterations(count, jitter, seed):
    curve, durations = repeating(count, jitter, seed)
    found = perfcore.iterations(curve)
    assert found.count == pytest.approx(count, abs=max(1, count // 100))
    assert found.period == pytest.approx(durations.mean(), rel=0.02)


@pytest.mark.parametrize("count", [10, 250])
def test_equal_iterations_do_not_differ(count):
    curve, durations = repeating(count, 0.0, 5)
    found = perfcore.iterations(curve)
    assert found.durations == pytest.approx(durations[0], rel=0.003)
    assert found.unusual is None


def test_durations_are_those_of_each_iteration():
    curve, durations = repeating(12, 0.05, 4)
    found = perfcore.iterations(curve)
    assert found.durations[1:-1] == pytest.approx(
        durations[1:-1], rel=0.03
    )  # the outermost have look-alikes beside them


def test_another_clock_finds_the_same():
    curve, _ = repeating(15, 0.05, 5)
    there = UtilizationCurve(1e6 * curve.edges + 1.6e12, curve.heights, "us", n_locations=16)
    one, other = perfcore.iterations(curve), perfcore.iterations(there)
    assert one.count == other.count
    assert other.durations == pytest.approx(1e6 * one.durations, rel=1e-3)


@pytest.mark.parametrize("seed", range(6))
def test_noise_has_no_iterations(seed):
    rng = np.random.default_rng(seed)
    shocks = rng.normal(size=1500)
    kinds = {
        0: shocks,
        1: np.cumsum(shocks),
        2: np.convolve(shocks, np.exp(-np.arange(60) / 12.0))[:1500],
        3: rng.binomial(16, 0.6, 1500),
        4: np.repeat(rng.uniform(0, 16, 300), 5),
        5: np.repeat(np.arange(150) % 2 * 8.0, rng.geometric(0.1, 150))[:1500],
    }
    values = np.asarray(kinds[seed], float)
    curve = UtilizationCurve(np.arange(len(values) + 1.0), values - values.min())
    assert perfcore.iterations(curve).count == 0


@pytest.mark.parametrize("seed", [1, 3, 6])
def test_a_few_samples_that_look_alike_by_chance_are_no_iterations(seed):
    """Of two or three samples each, four to six sections were found in the slopes of a third of such runs."""
    rng, at = np.random.default_rng(seed), np.linspace(0.0, 1.0, 3000)
    values = np.minimum(np.minimum(at / 0.3, 1.0), (1.0 - at) / 0.3) + 0.05 * rng.normal(size=3000)
    assert perfcore.iterations(UtilizationCurve(np.arange(3001.0), np.abs(values))).count == 0


def test_a_phase_has_the_iterations_whose_middle_lies_in_it():
    iterations = Repetition(10, 4.0, 0.0, 100.0, 180.0, "")  # with as long a time between two of them
    phases = [Phase(start, end, 0, (1.0,), 0.0) for start, end in ((0.0, 111.0), (111.0, 150.0), (150.0, 300.0))]
    assert [period_text(phase, iterations, "s") for phase in phases] == ["", "5 x 4 s", "4 x 4 s"]


@pytest.mark.parametrize("heights", [[3.0], [1.0, 2.0], [0.0, 5.0, 0.0]])
def test_short_and_even_curves_have_none(heights):
    found = perfcore.iterations(UtilizationCurve(np.arange(len(heights) + 1.0), heights))
    assert found.count == 0
    assert found.period is None
    assert "no iterations" in found.summary()[0]
    assert found.tables() == []
    with pytest.raises(DataError, match="no iterations"):
        found.value()


def test_the_example_names_the_late_step_and_what_it_waits_for():
    found = perfcore.iterations(STEPS)
    assert found.count == 12
    assert (found.unusual.number, found.unusual.reason) == (3, "MPI_Wait")
    assert found.unusual.difference == pytest.approx(0.18, abs=0.03)
    assert "the 3rd differs by +" in found.summary()[0]
    assert found.activity.name.startswith("70% forces, 30% push")
    assert len(found.to_frame()) == 12


def test_the_fit_says_them_and_keeps_them(tmp_path):
    model = perfcore.fit(STEPS)
    assert model.iterations.count == 12
    assert any(line.startswith("iterations: 12 x") for line in model.summary())
    _, header, rows = model.tables()[0]
    assert rows[0][header.index("iterations")].startswith("12 x")
    model.save(tmp_path / "model.json")
    assert perfcore.load(tmp_path / "model.json") == model


@pytest.mark.parametrize(("count", "seed"), [(4, 2), (4, 4), (6, 0), (8, 0)])
def test_phases_that_are_parts_of_iterations_become_one(count, seed):
    curve, durations = repeating(count, 0.03, seed)
    model = perfcore.fit(curve)
    assert len(model.phases) == 3
    assert model.phases[1].degree == 0
    middle = 23.0, 23.0 + durations.sum()  # where an iteration begins is known to half of one
    assert (model.phases[1].start, model.phases[1].end) == pytest.approx(middle, abs=5.5)
    _, header, rows = model.tables()[0]
    assert [row[header.index("iterations")][:4].strip() for row in rows] == ["", f"{count} x", ""]


def test_phases_that_were_asked_for_stay():
    curve, _ = repeating(4, 0.03, 4)
    assert len(perfcore.fit(curve, phases=9).phases) == 9


def test_states_alone_tell_iterations_where_everybody_computes():
    rows = [(rank, step % 2, 1000 * step, 1000 * step + 1000) for rank in range(2) for step in range(16)]
    trace = Trace(*zip(*rows, strict=True), ["a", "b"], ["stress", "velocity"])
    assert perfcore.iterations(trace.utilization()).count == 0
    found = perfcore.iterations(trace)
    assert found.count == 8
    assert found.period == pytest.approx(2.0, rel=0.01)


def counted(starts, own, total):
    """One location whose steps are marked at their starts."""
    names = [f"ProfilerStep#{k + 7}" for k in range(len(starts))] + ["work"]
    ends = [*starts[1:], total]
    rows = []
    for k, (start, end) in enumerate(zip(starts, ends, strict=True)):
        rows += [(0, k, start, start + own), (0, len(starts), start + own, end)]
    return Trace(*zip(*rows, strict=True), ["cpu"], names)


def test_states_that_count_are_believed():
    found = perfcore.iterations(counted([0, 1000, 2100, 2900], 100, 3900))
    assert found.marker == "ProfilerStep"
    assert found.durations == pytest.approx([1.0, 1.1, 0.8, 0.1])


def test_numbers_that_do_not_count_in_time_are_no_markers():
    trace = Trace([0, 0, 0, 0], [2, 0, 1, 0], [0, 10, 20, 30], [10, 20, 30, 40], ["cpu"], ["f_1", "f_2", "f_3"])
    assert marked_iterations(trace) is None
    assert marked_iterations(Trace([0], [0], [0], [10], ["cpu"], ["f_1"])) is None


def test_command_prints_json_table_and_a_value(program, tmp_path):
    printed = json.loads(program("iterations", STEPS, "--json"))
    assert printed["kind"] == "iterations"
    assert printed["count"] == len(printed["starts"]) == 12
    assert program("iterations", STEPS, "--table", "csv").splitlines()[0] == "iteration,start,duration,over median"
    path = tmp_path / "iteration.json"
    assert f"value: {path}" in program("iterations", STEPS, "--as", "normal", "-o", str(path))
    kept = representation_named("normal").from_dict(json.loads(path.read_text()))
    assert kept.mean == pytest.approx(printed["period"] / 1e6)


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_picture(program, tmp_path, ending):
    path = tmp_path / f"iterations.{ending}"
    program("iterations", STEPS, "--plot", str(path))
    assert path.stat().st_size > 10_000


def test_mistakes_are_one_line(program, tmp_path):
    lines = program("iterations", STEPS, "--as", "normal", status=2)
    assert "--as belongs to --output" in lines
    path = tmp_path / "even.csv"
    path.write_text("time_us,value\n0,1\n5,2\n9,1\n")
    assert "no iterations" in program("iterations", str(path))
    assert "no iterations" in program("iterations", str(path), "-o", str(tmp_path / "x.json"), status=2)


@pytest.mark.real_data
def test_iterations_of_a_profiled_training_are_its_steps(real_data):
    path = real_data / "traces/chrome/rank0.json.gz"
    found = perfcore.iterations(path, markers=False)
    marked = perfcore.iterations(path)
    assert (found.marker, marked.marker) == (None, "ProfilerStep")
    assert found.count == marked.count == 5
    assert found.period == pytest.approx(marked.period, rel=0.02)
