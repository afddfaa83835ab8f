"""The kernels of structural models: algebra, units, progress at barriers, limits of quantiles."""

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from perf_formulas import Formula
from perf_structural import StructuralModel
from perf_structural.algebra import MAX_NODES, Algebra, grained_progress
from perf_structural.composition import Composer, Indexed, parse_unit
from perf_structural.measured_value import limits_of_quantile, variation_class
from perf_structural.sampling import PointwiseEvaluation
from perfcore.base.errors import DataError

RANDOM = np.random.default_rng(20260801)


# Formulas seen as a whole: equal parts are one node, and what is collected has the same values.
NAMES = ("x", "y", "z")


def composed(text):
    algebra = Algebra()
    known = {name: Indexed(name, {(): algebra.leaf(name)}) for name in NAMES}
    return Composer(algebra, known, {}).compose(text).cells[()]


def formulas():
    def grown(part):
        return st.one_of(
            st.tuples(part, st.sampled_from("+-*/"), part).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
            st.tuples(st.sampled_from(["min", "max"]), part, part).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
            st.tuples(st.sampled_from(["abs", "-", "exp", "log2", "cbrt"]), part).map(lambda t: f"{t[0]}({t[1]})"),
            st.tuples(part, st.sampled_from(["2", "3", "-1", "0.5"])).map(lambda t: f"({t[0]})^({t[1]})"),
        )

    return st.recursive(st.sampled_from([*NAMES, "1", "2.5", "0.1"]), grown, max_leaves=8)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(formulas())
def test_collecting_keeps_the_values(text):
    """Against numpy, which evaluates the formula as it stands."""
    generator = np.random.default_rng(5)
    points = {name: generator.uniform(0.5, 2.0, 20) for name in NAMES}
    plain = Formula(text).evaluate(points)
    assume(np.isfinite(plain).all() and np.abs(plain).max() < 1e9)
    try:
        root = composed(text)
        found = PointwiseEvaluation(root, dict.fromkeys(NAMES, (-math.inf, math.inf))).values_at(points)
    except DataError:
        assume(False)  # a divisor that numpy rounds to something else than zero: (x - x + 0.1)/(y - y + ...)
    # Sums are added up in another order, and differences of nearly equal numbers are then as uncertain as these.
    size = max(1.0, float(np.abs(plain).max()))
    assert found == pytest.approx(plain, rel=1e-6, abs=1e-9 * size)


def test_there_is_an_end_to_it():
    algebra = Algebra()
    for number in range(MAX_NODES):
        algebra.leaf(f"x{number}")
    with pytest.raises(DataError, match="more than 200,000 operations"):
        algebra.leaf("x")
    assert len(algebra) == MAX_NODES


@pytest.mark.parametrize(("one", "other", "scale"), [
    ("s", "ms", 1e3), ("us", "s", 1e-6), ("ns", "us", 1e-3), ("h", "min", 60), ("MB", "kB", 1e3), ("MiB", "KiB", 1024),
    ("MiB", "B", 1048576), ("GiB", "MB", 1073.741824), ("Mbit/s", "B/s", 125_000), ("MB/s", "B/us", 1),
    ("Gflop/s", "Mflop/s", 1e3), ("s^2", "ms^2", 1e6), ("row", "row", 1),
])  # fmt: skip
def test_conversions(one, other, scale):
    assert parse_unit(one).kind == parse_unit(other).kind
    assert parse_unit(one).scale_to(parse_unit(other)) == scale


@pytest.mark.parametrize(("one", "other"), [("s", "B"), ("s", "1/s"), ("row", "column"), ("MB/s", "MB"), ("s", "1")])
def test_kinds_that_differ(one, other):
    assert parse_unit(one).kind != parse_unit(other).kind


def test_a_root_of_a_multiple_is_not_converted():
    root = parse_unit("kB").power(Fraction(1, 2))
    assert str(root) == "kB^(1/2)"
    with pytest.raises(DataError, match=r"the unit kB\^\(1/2\) cannot be converted; use B for kB"):
        root.scale_to(parse_unit("B").power(Fraction(1, 2)))


@pytest.mark.parametrize(
    ("variation", "name"),
    # The paper: "0.25 or less" is low, "more than 0.25, but less than 0.5" medium, "over half the range" high.
    [(0.0, "low"), (0.25, "low"), (0.26, "medium"), (0.49, "medium"), (0.51, "high")],
)
def test_classes_of_variation(variation, name):
    assert variation_class(variation) == name


def test_limits_of_quantiles_hold_what_they_promise():
    """Of 400 draws of 200 lognormal samples each, 95 % at least are around the true p90, and few are too wide."""
    rng, inside = np.random.default_rng(5), 0
    truth = math.exp(NormalDist().inv_cdf(0.9))
    for _ in range(400):
        low, high = limits_of_quantile(rng.lognormal(size=200), 0.9)
        inside += low <= truth <= high
    assert 0.935 < inside / 400 < 0.99


def stepped(shares, grain, steps, random):
    """Progress of workers that meet at barriers, each with its processor for random turns of a slice or more."""
    turns = int(2 * steps * (1 + grain) / np.prod(shares)) + 1000
    clocks = []
    for share in shares:
        had, waited = max(1, share / (1 - share)), max(1, (1 - share) / share)
        lengths = random.exponential([[had, waited]], (turns, 2))
        clock = np.append(0, lengths.ravel().cumsum())
        done = np.append(0, (lengths * [1, 0]).ravel().cumsum())
        clocks.append((clock, done))
    now = 0.0
    for _ in range(steps):
        computed = [np.interp(now, *clock) for clock in clocks]
        now = max(np.interp(work + grain, done, clock) for work, (clock, done) in zip(computed, clocks, strict=True))
    assert now < min(clock[-1] for clock, _ in clocks)
    return steps * grain / now


@pytest.mark.parametrize(("shares", "grain", "tolerance"), [
    ((0.5, 0.5), 0.1, 0.06), ((0.5, 0.5), 1.0, 0.06), ((0.5, 0.5), 10.0, 0.06), ((0.3, 0.6), 1.0, 0.08),
    ((0.5, 0.5, 0.5, 0.5), 1.0, 0.12), ((0.9,) * 8, 3.0, 0.06),
])  # fmt: skip
def test_progress_of_workers_that_meet_at_barriers_as_simulated(shares, grain, tolerance):
    simulated = stepped(shares, grain, 2000 if grain >= 1 else 20_000, RANDOM)
    assert float(grained_progress(*shares, grain, 1.0)) == pytest.approx(simulated, rel=tolerance)


@pytest.mark.parametrize("operator", ["+", "-", "*", "/"])
def test_long_equations(operator):
    """A thousand terms, which the tree nests a thousand deep."""
    inputs = {f"x{k}": {"normal": [1.0, 0.01]} for k in range(1000)}
    (root,) = StructuralModel(operator.join(inputs), inputs=inputs).compose().result.cells.values()
    assert len(root.operands) == 1000
    middle = {leaf: np.ones(2) for leaf in inputs}
    value = {"+": 1000.0, "-": -998.0, "*": 1.0, "/": 1.0}[operator]
    evaluation = PointwiseEvaluation(root, dict.fromkeys(inputs, (0.5, 1.5)))
    assert evaluation.values_at(middle).tolist() == [value, value]
    if operator == "*":
        with pytest.raises(DataError, match="is not defined everywhere") as caught:
            evaluation.values_at({leaf: np.full(2, 1e200) for leaf in inputs})
        assert len(str(caught.value)) < 300
