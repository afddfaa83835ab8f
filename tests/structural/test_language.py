"""What equations have beyond formulas: against numpy's own simulation, closed forms and published tables."""

import math

import numpy as np
import pytest
from scipy import stats

from perf_structural import StructuralModel, StructuralModelError

RANDOM = np.random.default_rng(20260801)
DRAWS = 200_000
MACHINES = [{"normal": [10.0, 1.0]}, {"normal": [12.0, 2.0]}, {"histogram": {"edges": [5, 20], "masses": [1.0]}}]
DRAWN = np.array([RANDOM.normal(10, 1, DRAWS), RANDOM.normal(12, 2, DRAWS), RANDOM.uniform(5, 20, DRAWS)])
COUNT = {"histogram": {"edges": [0.5, 1.5, 2.5, 3.5], "masses": [0.2, 0.3, 0.5]}}
COUNTED = RANDOM.choice([1, 2, 3], DRAWS, p=[0.2, 0.3, 0.5])
FIRST = np.arange(3)[:, None] < COUNTED


def predicted(equation, components=None, **inputs):
    given = {"t": MACHINES, "n": COUNT, "a": MACHINES[0], "b": MACHINES[1], **inputs}
    return StructuralModel(equation, inputs=given, components=components or {}).predict(samples=20_000)


# By numpy, from other draws than the model's.
SIMULATED = {
    "mean_over(t)": DRAWN.mean(axis=0), "k_th_over(2, t)": np.median(DRAWN, axis=0),
    "k_th(2, a, b, 11)": np.median([DRAWN[0], DRAWN[1], np.full(DRAWS, 11.0)], axis=0),
    "k_th(n, a, b, 11)": np.sort([DRAWN[0], DRAWN[1], np.full(DRAWS, 11.0)], axis=0)[COUNTED - 1, np.arange(DRAWS)],
    "sum_over(t, n)": (DRAWN * FIRST).sum(axis=0), "mean_over(t, n)": (DRAWN * FIRST).sum(axis=0) / COUNTED,
    "max_over(t, n)": np.where(FIRST, DRAWN, -np.inf).max(axis=0),
    "min_over(t, n)": np.where(FIRST, DRAWN, np.inf).min(axis=0),
    "if(a > 10 and not (b < a), b, a + 1)": np.where((DRAWN[0] > 10) & (DRAWN[1] >= DRAWN[0]), DRAWN[1], DRAWN[0] + 1),
    "if(a > 10, log(a - 10), 0)": np.log(np.where(DRAWN[0] > 10, DRAWN[0] - 10, 1.0)),
    "min(b, p95(a))": np.minimum(DRAWN[1], 10 + stats.norm.ppf(0.95)),
    "if(b > quantile(b, 0.9), 0, b)": np.where(DRAWN[1] > 12 + 2 * stats.norm.ppf(0.9), 0.0, DRAWN[1]),
    "barrier_over(t/30, 0.75)": (DRAWN / 30).min(axis=0) * np.prod(np.sort(DRAWN / 30, axis=0)[1:], axis=0) ** 0.75,
}  # fmt: skip


@pytest.mark.parametrize("equation", SIMULATED)
def test_as_numpy_simulates_it(equation):
    drawn, found = SIMULATED[equation], predicted(equation).statistics
    error = drawn.std() / math.sqrt(len(drawn))
    assert found["mean"] == pytest.approx(drawn.mean(), abs=6 * error + 1e-9)
    assert found["std"] == pytest.approx(drawn.std(), rel=0.02)
    for name, level in (("p05", 0.05), ("p50", 0.5), ("p95", 0.95)):
        near = np.quantile(drawn, [level - 0.01, level + 0.01])
        assert near[0] - 1e-9 <= found[name] <= near[1] + 1e-9


@pytest.mark.parametrize(("equation", "value"), [
    ("mean_over(x)", 3), ("sum_over(x, 2)", 6), ("sum_over(x, 0)", 0), ("max_over(x, 2)", 5), ("mean_over(x, 2)", 3),
    ("k_th_over(1, x)", 1), ("k_th_over(2, x)", 3), ("k_th(3, 4, 8, 6)", 8), ("p95(4)", 4), ("if(2 > 1, 5, x2)", 5),
    ("barrier_over(x/10, 0)", 0.1), ("grained_barrier_over(x/10, 0, 1)", 0.015),
    ("grained_barrier_over(x/10, 1e9, 1)", 0.1), ("grained_barrier_over(x/5, 0, 1)", 0.12),
    ("grained_barrier_over(x - x, 1, 1)", 0),
])  # fmt: skip
def test_numbers_stay_exact(equation, value):
    model = StructuralModel(equation, inputs={"x": [1, 5, 3], "x2": 7})
    assert model.predict(method="exact").value.mean == pytest.approx(value, rel=1e-12)


def blocked_line(times, room):
    """A line of stages by its events: an item moves on once it is done and there is a place."""
    items, stages = times.shape
    left = np.zeros((items, stages))
    for item in range(items):
        for stage in range(stages):
            start = max(left[item, stage - 1] if stage else 0.0, left[item - 1, stage] if item else 0.0)
            left[item, stage] = start + times[item, stage]
            ahead = item - room - 1
            if stage + 1 < stages and ahead >= 0:
                left[item, stage] = max(left[item, stage], left[ahead, stage + 1])
    return left[-1, -1]


def test_a_pipeline():
    spread = {"histogram": {"edges": [0, 2], "masses": [1.0]}}
    step = {"each": [spread, {"normal": [1, 0.1]}, spread], "over": "stage", "replicate": {"item": 12}}
    size = (4000, 12)
    drawn = np.stack([RANDOM.uniform(0, 2, size) if k != 1 else RANDOM.normal(1, 0.1, size) for k in range(3)])
    means = []
    for room in (0, 2, 20):
        found = predicted("pipeline_over(step, room)", step=step, room=room).statistics
        simulated = np.array([blocked_line(drawn[:, k].T, room) for k in range(1000)])
        assert found["mean"] == pytest.approx(simulated.mean(), abs=5 * simulated.std() / math.sqrt(1000))
        assert found["std"] == pytest.approx(simulated.std(), rel=0.1)
        means.append(found["mean"])
    assert means[0] > means[1] > means[2]
    # Without variation buffers change nothing: the first item passes, then the slowest stage says how long each takes.
    even = {"each": [1.0, 3.0, 2.0], "over": "stage", "replicate": {"item": 10}}
    assert predicted("pipeline_over(step, 0)", step=even).statistics["mean"] == 6.0 + 9 * 3.0


def test_the_stages_may_be_the_second_index():
    inputs = {"step": {"each": [1.0, 2.0, 4.0], "over": "item", "replicate": {"stage": 2}}}
    line = {"equation": "pipeline_over(step, 1)", "over": "stage"}
    found = StructuralModel("line", inputs=inputs, components={"line": line}).predict()
    assert found.value.mean == blocked_line(np.array([[1.0, 1.0], [2.0, 2.0], [4.0, 4.0]]), 1)


@pytest.mark.parametrize(("equation", "message"), [
    ("if(a > 0, a, s)", "'if(a > 0, a, s)': if needs one unit, but 'a' is in s and 's' is in flop"),
    ("k_th(a, 1, 2)", "the place takes a number without unit, but 'a' is in s"),
    ("k_th(4, a, a)", "the place came to 4; 1 to 2 is accepted"),
    ("k_th_over(9, t)", "the place came to 9; 1 to 2 is accepted"),
    ("max_over(t, 3)", "the number of copies came to 3; 1 to 2 is accepted"),
    ("max_over(t, t)", "max_over takes a number without unit, but 't' is in s"),
    ("max_over(t, u)", "'u' is replicated itself; one number is expected"),
    ("max_over(a)", "'a' is not replicated"),
    ("quantile(a, 1)", "the level of a quantile is a number between 0 and 1, such as 0.95"),
    ("p100(a)", "unknown function 'p100'"), ("p95(a, a)", "p95 takes one argument, not 2"),
    ("k_th(1, a)", "k_th takes three arguments or more, not 2"),
    ("barrier_over(2*u, 1)", "the share of a processor came to 2; 0 to 1 is accepted"),
    ("grained_barrier_over(u/2, 1, 0)", "the slice came to 0; more than 0 is accepted"),
    ("grained_barrier_over(u/2, -1, 1)", "the grain came to -1; at least 0 is accepted"),
    ("grained_barrier_over(u/2, a, 3)", "'a' is in s"),
    ("grained_barrier_over(t, a, a)", "a share takes a number without unit, but 't' is in s"),
    ("pipeline_over(t, 1)", "'t' is replicated over processor; one time for each stage and item is expected"),
    ("pipeline_over(a, 1)", "'a' is not replicated; one time for each stage and item is expected"),
    ("+".join(["a"] * 10_001), "more than 10,000 numbers, names and operations"),
    ("a" * 100_001, "it has 100,001 characters; at most 100,000 are accepted"),
    ("if(1, " * 40 + "a" + ", a)" * 40, "more than 32 levels of parentheses"),
])  # fmt: skip
def test_what_is_refused_is_refused_in_one_line(equation, message):
    inputs = {
        "a": {"normal": [10, 1], "unit": "s"}, "s": {"value": 3, "unit": "flop"},
        "t": {"each": [{"normal": [10, 1]}, 5.0], "unit": "s"}, "u": [1, 2],
    }  # fmt: skip
    with pytest.raises(StructuralModelError) as caught:
        StructuralModel(equation, inputs=inputs).predict(samples=1024)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_bounds_have_no_quantile():
    with pytest.raises(StructuralModelError, match=r"p95\(x\) is asked for of what has bounds and no distribution"):
        predicted("p95(x)", x={"interval": [1, 2]})


def test_a_quantile_is_said_with_its_error():
    (note,) = (note for note in predicted("max(a*a, p99(a*a + a))").notes if "p99" in note)
    assert note.startswith("p99(a^2 + a) is 16")
    assert " ± " in note
