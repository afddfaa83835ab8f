"""Choosing among candidates, and dividing work."""

import math
from statistics import NormalDist

import pytest

from perf_structural import (
    StructuralModel,
    balance,
    choose,
    parse_statistic,
    predict_candidates,
    schedule,
    solve,
)
from perfcore.base.errors import DataError
from perfcore.hooks.registry import registry


def normal(mean, std):
    return registry().load("representations", "normal")(mean, std)


MODEL = StructuralModel("t", inputs={"t": 1}, unit="s")
# The first is faster on average, the second steadier: 10 + 3 z against 11 + 1 z, equal at z = 1/2.
CANDIDATES = {
    "fast": {"t": {"normal": [10.0, 3.0], "unit": "s"}},
    "steady": {"t": {"normal": [11.0, 1.0], "unit": "s"}},
}


@pytest.mark.parametrize(("by", "tuning", "chosen", "figure"), [
    ("mean", None, "fast", 10.0), ("mean", 0.4, "fast", 11.2), ("mean", 0.6, "steady", 11.6),
    ("quantile:0.5", None, "fast", 10.0),
    ("quantile:0.95", None, "steady", NormalDist(11, 1).inv_cdf(0.95)),
    ("quantile:0.65", None, "fast", NormalDist(10, 3).inv_cdf(0.65)),
])  # fmt: skip
def test_the_choice_depends_on_what_variation_costs(by, tuning, chosen, figure):
    choice = choose(predict_candidates(MODEL, CANDIDATES), parse_statistic(by, tuning))
    assert choice.chosen == chosen
    assert choice.figures[chosen] == pytest.approx(figure, rel=1e-6)


def test_upper_bounds():
    candidates = {"wide": {"t": {"interval": [1, 9]}}, "narrow": {"t": {"interval": [5, 8]}}}
    choice = choose(predict_candidates(MODEL, candidates), parse_statistic("upper"))
    assert (choice.chosen, choice.figures["wide"]) == ("narrow", pytest.approx(9.0))
    assert choice.beaten == {}  # bounds have no probability of being smaller


@pytest.mark.parametrize(("by", "message"), [
    ("mean", "x has no mean; choose by upper"), ("quantile:0.9", "x has no 90% quantile; choose by upper"),
])  # fmt: skip
def test_an_interval_has_bounds_only(by, message):
    predictions = predict_candidates(MODEL, {"x": {"t": {"interval": [1, 9]}}})
    with pytest.raises(DataError, match=message):
        choose(predictions, parse_statistic(by))


def test_candidates_share_the_sample():
    """What they share does not blur their difference: the second is the first and 1."""
    model = StructuralModel("x*(2 - x) + c", inputs={"x": {"normal": [1.0, 0.1]}, "c": 0})
    found = predict_candidates(model, {"one": {"c": 0}, "two": {"c": 1}})
    difference = found["two"].statistics["p95"] - found["one"].statistics["p95"]
    assert difference == pytest.approx(1.0, abs=1e-12)


def test_the_chosen_one_is_smaller_with_a_probability():
    """Independent: P(N(10, 3) < N(11, 1)) = Phi(1/sqrt(10)). With x in both, the difference is that of the rest."""
    choice = choose(predict_candidates(MODEL, CANDIDATES), parse_statistic("mean"))
    assert choice.beaten == {"steady": pytest.approx(NormalDist().cdf(1 / math.sqrt(10)), abs=1e-3)}
    model = StructuralModel("x + c", inputs={"x": {"normal": [5.0, 2.0]}, "c": 0})
    candidates = {"one": {"c": {"normal": [1.0, 0.1]}}, "two": {"c": {"normal": [1.2, 0.1]}}}
    shared = choose(predict_candidates(model, candidates), parse_statistic("mean"))
    assert shared.beaten["two"] == pytest.approx(NormalDist().cdf(0.2 / math.hypot(0.1, 0.1)), abs=1e-3)
    assert shared.report().answer == "one: mean 6, 3% below two; faster with 92% probability"


def test_correlated_inputs_of_candidates_are_drawn_from_one_place():
    """With a correlation of 0.9 to x in each, two independent places for c would contradict each other."""
    inputs = {"x": {"normal": [9.0, 1.0]}, "c": {"normal": [1.0, 1.0]}}
    model = StructuralModel("x - c", inputs=inputs, correlations={"x,c": 0.9})
    candidates = {"one": {"c": {"normal": [1.0, 1.0]}}, "two": {"c": {"normal": [1.5, 1.0]}}}
    choice = choose(predict_candidates(model, candidates), parse_statistic("mean"))
    assert (choice.chosen, choice.beaten) == ("two", {"one": 1.0})


@pytest.mark.parametrize("machines", [2, 8])
def test_normal_speeds_choose_as_many_samples_do(machines):
    """Work over normal speeds: p95 and the choice are those of a large sample of its own, within one per cent."""
    candidates = {
        "steady": {"speed": [{"normal": [8.0, 0.4]}] * machines},
        "fast": {"speed": [{"normal": [10.0, 2.0]}] * machines},
    }
    model = StructuralModel("max_over(100/speed)", inputs={"speed": 1})
    choice = choose(predict_candidates(model, candidates), parse_statistic("quantile:0.95"))
    for name, (mean, std) in (("steady", (8.0, 0.4)), ("fast", (10.0, 2.0))):
        # The largest of m independent times is below t with probability F(t)^m, and F(t) = P(speed > 100/t).
        speed = NormalDist(mean, std).inv_cdf(1.0 - 0.95 ** (1.0 / machines))
        assert choice.figures[name] == pytest.approx(100.0 / speed, rel=0.01)
        assert any("the arithmetic of moments would miss" in note for note in choice.predictions[name].notes)
    assert choice.chosen == "steady"


MEAN = parse_statistic("mean")


def test_work_is_divided_in_inverse_proportion():
    """Schopf and Berman's rule D_i t_i = D_k t_k: times 1, 2 and 4 for a unit give shares 4 : 2 : 1."""
    found = balance([normal(1, 0.1), normal(2, 0.1), normal(4, 0.1)], 700, MEAN)
    assert found.shares == (400, 200, 100)
    assert found.figures == pytest.approx((400.0, 400.0, 400.0))


def test_variation_costs_work():
    """mean + 2 std: 1 + 2 * 0.5 = 2 against 1; the steady machine gets twice as much."""
    assert balance([normal(1, 0.5), normal(1, 0.0)], 300, parse_statistic("mean", 2.0)).shares == (100, 200)


def test_no_division_into_whole_units_is_better():
    """Against all divisions of 12 units among three machines."""
    times = [1.0, 1.7, 0.6]
    found = balance([normal(t, 0.1) for t in times], 12, MEAN)
    divisions = [(a, b, 12 - a - b) for a in range(13) for b in range(13 - a)]
    best = min(max(n * t for n, t in zip(units, times, strict=True)) for units in divisions)
    assert max(found.figures) == pytest.approx(best)


@pytest.mark.parametrize("total", [0, 1, 2, 3, 1_000_003])
def test_the_sum_is_kept(total):
    found = balance([normal(t, 0.1) for t in (1.0, 3.0, 7.0)], total, MEAN)
    assert sum(found.shares) == total
    assert min(found.shares) >= 0


def test_quotients_are_divided_by_their_draws():
    """Of w units it is w/speed; independent machines are all done by t with the product of the probabilities."""
    speeds = [{"normal": [10.0, 1.0]}, {"normal": [5.0, 1.0]}]
    model = StructuralModel("0", inputs={"speed": speeds}, components={"unit": "1/speed"})
    found = schedule(model, divide=100, unit_time="unit", by="quantile:0.95", method="sample")
    slow = [NormalDist(10, 1).inv_cdf(0.05), NormalDist(5, 1).inv_cdf(0.05)]
    expected = [w / s for w, s in zip(found.shares, slow, strict=True)]
    assert found.figures == pytest.approx(expected, rel=2e-3)
    assert max(expected) - min(expected) < 2.0 / slow[1]
    late = float(found.finish.quantile(0.9))
    by_then = [NormalDist(m, s).cdf(w / late) for w, (m, s) in zip(found.shares, [(10, 1), (5, 1)], strict=True)]
    assert (1 - by_then[0]) * (1 - by_then[1]) == pytest.approx(0.9, abs=3e-3)


# Which value suffices: against closed forms.
FAST = {"samples": 4096}
WAIT = {"exponential": [0, 100], "unit": "ms"}
SERVICE = StructuralModel("wait/servers", inputs={"wait": WAIT, "servers": 1}, unit="ms")


def test_the_least_number_of_servers():
    """Of an exponential wait with the mean 100/n: 1 - exp(-n/2) is 0.99 from 9.2 on."""
    found = solve(SERVICE, "servers=1..64", 50, 0.99, **FAST)
    assert found.found.value == 10
    assert found.found.probability == pytest.approx(1 - math.exp(-5), abs=5e-4)
    assert (found.most, found.unit, found.notes) == (False, "ms", ())
    frame = found.to_frame()
    assert frame.loc[frame["found"], "servers"].tolist() == [10]


@pytest.mark.parametrize(("equation", "value", "most"), [
    ("t/x", 10 + NormalDist().inv_cdf(0.9), False), ("t*x", 10 / (10 + NormalDist().inv_cdf(0.9)), True),
])  # fmt: skip
def test_a_number_that_is_not_whole(equation, value, most):
    limit = 1.0 if not most else 10.0
    found = solve(equation, "x=0.5..20.0", limit, 0.9, inputs={"t": {"normal": [10, 1]}})
    assert found.found.value == pytest.approx(value, abs=4e-3)
    assert found.most is most
    assert found.found.probability >= 0.9


def test_a_value_inside_where_neither_end_suffices():
    even = {"histogram": {"edges": [0, 1], "masses": [1]}}
    found = solve("abs(x - 20) + t", "x=1..40", 2.5, 0.99, inputs={"t": even})
    assert found.found.value == 19  # |x - 20| <= 1 keeps 2.5 always
    nothing = solve("x + t", "x=5..9", 2.5, 0.99, inputs={"t": {"normal": [1, 1]}}, **FAST)
    assert nothing.found is None
    assert max(nothing.tried, key=lambda trial: trial.probability).value == 5


def test_a_value_on_the_edge_is_said():
    found = solve("x*t", "x=1..9", 5, 0.5, inputs={"t": {"normal": [1, 0.1]}}, **FAST)
    assert "too near to what is asked for" in found.notes[0]
