"""Iterations: number, period and the one that differs, on generated runs; none in noise; markers; values."""

import json

import numpy as np
import pytest

import perfcore
from perfcore import Trace, UtilizationCurve
from perfcore.base.errors import DataError

STEPS = "examples/iterations/steps.csv"
LEVELS = ((14.0, 0.35), (3.0, 0.2), (10.0, 0.3), (0.0, 0.15))  # and shares of an iteration


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


@pytest.mark.parametrize(("count", "jitter", "seed"), [(5, 0.0, 0), (12, 0.05, 4), (40, 0.1, 2), (700, 0.05, 3)])
def test_number_and_period_of_generated_iterations(count, jitter, seed):
    curve, durations = repeating(count, jitter, seed)
    found = perfcore.iterations(curve)
    assert found.count == pytest.approx(count, abs=max(1, count // 100))
    assert found.period == pytest.approx(durations.mean(), rel=0.02)
    if count == 12:  # the outermost have look-alikes beside them
        assert found.durations[1:-1] == pytest.approx(durations[1:-1], rel=0.03)


@pytest.mark.parametrize("seed", range(6))
def test_noise_has_no_iterations(seed):
    rng = np.random.default_rng(seed)
    shocks = rng.normal(size=1500)
    kinds = {
        0: shocks, 1: np.cumsum(shocks),
        2: np.convolve(shocks, np.exp(-np.arange(60) / 12.0))[:1500],
        3: rng.binomial(16, 0.6, 1500), 4: np.repeat(rng.uniform(0, 16, 300), 5),
        5: np.repeat(np.arange(150) % 2 * 8.0, rng.geometric(0.1, 150))[:1500],
    }  # fmt: skip
    values = np.asarray(kinds[seed], float)
    curve = UtilizationCurve(np.arange(len(values) + 1.0), values - values.min())
    assert perfcore.iterations(curve).count == 0


@pytest.mark.parametrize("seed", [1, 3, 6])
def test_a_few_samples_that_look_alike_by_chance_are_no_iterations(seed):
    """Of two or three samples each, four to six sections were found in the slopes of a third of such runs."""
    rng, at = np.random.default_rng(seed), np.linspace(0.0, 1.0, 3000)
    values = np.minimum(np.minimum(at / 0.3, 1.0), (1.0 - at) / 0.3) + 0.05 * rng.normal(size=3000)
    assert perfcore.iterations(UtilizationCurve(np.arange(3001.0), np.abs(values))).count == 0


@pytest.mark.parametrize("heights", [[3.0], [1.0, 2.0], [0.0, 5.0, 0.0]])
def test_short_and_even_curves_have_none(heights):
    found = perfcore.iterations(UtilizationCurve(np.arange(len(heights) + 1.0), heights))
    assert found.count == 0
    assert found.period is None
    assert "0 iterations" in found.report().answer
    assert found.report().shown_tables == []
    with pytest.raises(DataError, match="no iterations"):
        found.value()


def test_the_example_names_the_late_step_and_what_it_waits_for():
    found = perfcore.iterations(STEPS)
    assert found.count == 12
    assert (found.unusual.number, found.unusual.reason) == (3, "MPI_Wait")
    assert found.unusual.difference == pytest.approx(0.18, abs=0.03)
    assert "outlier: 3rd (+" in found.report().answer
    assert found.activity.name.startswith("70% forces, 30% push")
    assert len(found.to_frame()) == 12


def test_the_fit_says_them_and_keeps_them(tmp_path):
    model = perfcore.fit(STEPS)
    assert model.iterations.count == 12
    assert any(line.startswith("iterations: 12 iterations") for line in model.report().lines)
    _, header, rows = model.report().shown_tables[0]
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
    _, header, rows = model.report().shown_tables[0]
    assert [row[header.index("iterations")][:4].strip() for row in rows] == ["-", f"{count} x", "-"]


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
    assert perfcore.iterations(trace).marker is None
    assert perfcore.iterations(Trace([0], [0], [0], [10], ["cpu"], ["f_1"])).marker is None


SENDS = (10, 12, 30, 9, 11)  # microseconds that each iteration communicates


def run_of_steps(name="step#{}", **facts):
    """Two locations that compute for 40 us; one of them then sends, which the other one waits for; 5 us between."""
    rows, marks, at = [], [], 100
    for number, send in enumerate(SENDS, 1):
        end = at + 40 + send
        rows += [(0, 0, at, at + 40), (0, 1, at + 40, end), (1, 0, at, at + 40), (1, 2, at + 40, end)]
        marks.append((name.format(number), 1000 * at, 1000 * end))
        at = end + 5
    location, state, start, end = np.array(rows).T
    return Trace(location, state, 1000 * start, 1000 * end, ["a", "b"], ["solve", "MPI_Send", "MPI_Barrier"],
                 markers=marks, source="run", **facts)  # fmt: skip


@pytest.mark.parametrize(("name", "labels"), [("step#{}", 5), ("step", 1)])
def test_what_a_marker_spans(name, labels):
    found = perfcore.iterations(run_of_steps(name), marker="step")
    assert found.count == 5
    assert found.durations.tolist() == pytest.approx([40 + send for send in SENDS])
    assert len(set(found.labels)) == labels
    assert found.period == pytest.approx(40 + np.mean(SENDS))


def test_classes_of_states_make_the_difference():
    found = perfcore.iterations(run_of_steps(), marker="step").differences
    assert found.categories == ("computing", "communicating", "synchronizing")
    sent = 1000 * np.array(SENDS)
    np.testing.assert_array_equal(found.times_ns, np.column_stack([np.full(5, 80_000), sent, sent]))
    # Both locations make as much of it, the one that sends and the one that waits.
    assert found.shares_of_variance == pytest.approx({"computing": 0.0, "communicating": 0.5, "synchronizing": 0.5})
    assert found.shares_of_slowest == pytest.approx(found.shares_of_variance)
    assert found.slowest == 2
    assert sum(found.mean_shares.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(3))
def test_times_by_category_add_up_to_the_nanosecond(seed):
    rng = np.random.default_rng(seed)
    bounds = np.sort(rng.integers(0, 100_000, (3, 200)), axis=1).reshape(-1, 2)
    edges = np.sort(rng.choice(100_000, 40, replace=False)).reshape(-1, 2)
    trace = Trace(np.repeat(np.arange(3), 100), rng.integers(0, 3, 300), *bounds.T, ["a", "b", "c"],
                  ["run", "MPI_Send", "Idle"], markers=[("mark", int(a), int(b)) for a, b in edges])  # fmt: skip
    found = perfcore.iterations(trace, marker="mark").differences
    np.testing.assert_array_equal(found.times_ns.sum(axis=1), 3 * np.diff(edges, axis=1)[:, 0])
    assert sum(found.shares_of_variance.values()) == pytest.approx(1.0)
    assert sum(found.shares_of_slowest.values()) == pytest.approx(1.0)


def test_marked_iterations_from_the_command_line(perf, tmp_path):
    trace = run_of_steps()
    events = [{"ph": "X", "pid": 0, "tid": trace.locations[at], "name": trace.states[code], "ts": start / 1000,
               "dur": (end - start) / 1000}
              for at, code, start, end in zip(trace.location.tolist(), trace.state.tolist(), trace.start_ns.tolist(),
                                              trace.end_ns.tolist(), strict=True)]  # fmt: skip
    events += [{"ph": "X", "pid": 0, "tid": "a", "name": name, "cat": "user_annotation", "ts": start / 1000,
                "dur": (end - start) / 1000} for name, start, end in trace.markers]  # fmt: skip
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"traceEvents": events}))

    text = perf("iterations", path, "--marker", "step").out
    assert "slowest: the 3rd (step#3), 70 us, 28.7% above the mean: 15.6 us, of which on a location " in text
    assert "variance of durations explained by: 50% communicating, 50% synchronizing" in text
    found = json.loads(perf("iterations", path, "--marker", "step", "--json").out)
    assert found["labels"] == [f"step#{number}" for number in range(1, 6)]
    assert found["by_category"]["slowest"] == 3
    assert "step#1 .. step#5 (5 x 54.4 us)" in perf("info", path).out

    # Those that a part cuts are left out.
    assert perfcore.iterations(perfcore.read(path, since="10us", until="160us"), marker="step").labels == ("step#2",)
    assert perfcore.iterations(perfcore.read(path, since="step#2", until="step#4")).count == 3
    with pytest.raises(DataError, match="no 'step' lies within it as a whole"):
        perfcore.iterations(perfcore.read(path, since="10us", until="20us"), marker="step")


@pytest.mark.real_data
def test_iterations_of_a_profiled_training_are_its_steps(real_data):
    trace = perfcore.read(real_data / "traces/chrome/rank0.json.gz")
    intervals = (trace.location, trace.state, trace.start_ns, trace.end_ns)
    found = perfcore.iterations(Trace(*intervals, trace.locations, trace.states, time_unit=trace.time_unit))
    marked = perfcore.iterations(trace)
    assert (found.marker, marked.marker) == (None, "ProfilerStep")
    assert found.count == marked.count == 5
    assert found.period == pytest.approx(marked.period, rel=0.02)


# Curves that repeat themselves every few cells: their period, what is left without it, and phases on that.
P = 16


def iterations(waits, count, seed=0, jitter=0.1):
    """Iterations of some 15 units that end with a barrier of 16 processors, ``count`` of each share of waiting."""
    rng = np.random.default_rng(seed)
    edges, heights, at = [0.0], [], 0.0
    for wait in np.repeat(waits, count):
        length = 15.0 * rng.uniform(1.0 - jitter, 1.0 + jitter)
        done = np.sort(at + length * (1.0 - wait * rng.beta(2, 2, P)))
        edges += [*done, at + length]
        heights += list(range(P, -1, -1))
        at += length
    return UtilizationCurve(edges, heights, "s", n_locations=P)


def test_levels_of_iterations_are_phases_and_iterations_are_none():
    """Of twelve iterations each; a level is told by that few, so that now and then one looks like two."""
    exact, within = [], []
    for seed in range(4):
        curve = iterations([0.2, 0.9, 0.4], 12, seed)
        model = perfcore.fit(curve, fitter="phases")
        assert model.evidence.period == pytest.approx(15.0, rel=0.08)
        exact.append(len(model.phases) == 3)
        # The last iteration of a phase ends where the next phase begins.
        for end in curve.edges[[12 * (P + 1), 24 * (P + 1)]]:
            nearest = min(model.phases[1:], key=lambda phase: abs(phase.start - end))
            low, high = nearest.break_interval
            within.append(low <= end <= high and high - low < 60.0)  # four iterations
    assert sum(exact) >= 3
    assert sum(within) >= 7


def test_equal_iterations_are_one_phase():
    assert len(perfcore.fit(iterations([0.6], 36), fitter="phases").phases) == 1


def test_a_number_that_was_asked_for_is_that_of_the_whole_curve():
    model = perfcore.fit(iterations([0.2, 0.9], 16), fitter="phases", phases=20, degree=0)
    assert len(model.phases) == 20
    assert model.evidence.period == 0.0


@pytest.mark.parametrize("ends", [(1000,), (900, 1000)])
def test_a_run_of_few_steps_has_no_iterations(ends):
    """Of 1 us, whose nanoseconds do not fall on the edges of cells."""
    trace = Trace([0, 1][: len(ends)], [0] * len(ends), [0] * len(ends), ends, ["a", "b"][: len(ends)], ["run"])
    assert perfcore.iterations(trace).count == 0
