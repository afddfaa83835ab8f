"""Preparation: the factors of equation 4, their order, and the way back."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf_timing.prepared import OverCode, Preparation, TimesParameter, TimesSystem

QUICK = settings(max_examples=100, deadline=None, derandomize=True)
# Operation counts of class A in units of 10^9, from the formulas that NPB 3.3.1 prints its rates by; peak rates of one
# processor in Mflop/s.
OPERATIONS = {"BT": 168.284, "SP": 85.01, "LU": 119.297, "MG": 3.892}
PEAK = {"SP2": 266.0, "Paragon": 75.0, "T3D": 150.0}
STEPS = (TimesParameter("p"), OverCode("W", OPERATIONS), TimesSystem("r_peak", PEAK))
EQUATION_4 = Preparation(STEPS)


def test_equation_4_by_hand():
    """t' = t p / W_c r_peak, point by point."""
    seconds = np.array([100.0, 30.0, 7.0])
    scaled = EQUATION_4.apply(seconds, {"p": np.array([4.0, 16.0, 2.0])}, ["SP", "BT", "MG"], ["T3D", "SP2", "T3D"])
    by_hand = [100 * 4 / 85.01 * 150, 30 * 16 / 168.284 * 266, 7 * 2 / 3.892 * 150]
    assert scaled == pytest.approx(by_hand, rel=1e-15)
    assert EQUATION_4.formula == "t' = t * p / W * r_peak"


def test_without_steps_nothing_changes():
    values = np.array([3.0, 5.0])
    nothing = Preparation()
    assert nothing.apply(values, {}, ["SP", "BT"], ["T3D", "T3D"]).tolist() == [3.0, 5.0]
    assert nothing.undo(values, {}, ["SP", "BT"], ["T3D", "T3D"]).tolist() == [3.0, 5.0]
    assert nothing.formula == "t' = t"


positive = st.floats(1e-6, 1e9)
observed = st.lists(
    st.tuples(positive, st.integers(1, 10**6), st.sampled_from(sorted(OPERATIONS)), st.sampled_from(sorted(PEAK))),
    max_size=20,
)
chosen = st.lists(st.sampled_from(STEPS), max_size=5).map(lambda steps: Preparation(tuple(steps)))


def columns(found):
    values, p, code, system = (list(column) for column in zip(*found, strict=True)) if found else ([], [], [], [])
    return np.array(values, dtype=float), {"p": np.array(p, dtype=float)}, code, system


@QUICK
@given(observed, chosen)
def test_undoing_gives_the_values_back(found, preparation):
    values, *where = columns(found)
    kept = values.copy()
    np.testing.assert_allclose(preparation.undo(preparation.apply(values, *where), *where), kept, rtol=1e-14)
    np.testing.assert_allclose(preparation.apply(preparation.undo(values, *where), *where), kept, rtol=1e-14)
    np.testing.assert_array_equal(values, kept)
    assert (preparation.factor(*where) > 0).all()


@QUICK
@given(observed, chosen, chosen)
def test_steps_can_be_chained(found, first, second):
    values, *where = columns(found)
    both = first + second
    np.testing.assert_allclose(
        both.apply(values, *where), second.apply(first.apply(values, *where), *where), rtol=1e-14
    )
    assert both.formula == first.formula + second.formula.removeprefix("t' = t")
    assert (first + Preparation()) == first == (Preparation() + first)


@QUICK
@given(observed, chosen)
def test_the_part_of_parameters_and_the_rest_make_the_whole(found, preparation):
    """The part that depends on parameters belongs to the functions; the rest is one number for each pair."""
    _, *where = columns(found)
    part = preparation.of_parameters
    assert all(isinstance(step, TimesParameter) for step in part.steps)
    rest = Preparation(tuple(step for step in preparation.steps if step not in part.steps))
    np.testing.assert_allclose(part.factor(*where) * rest.factor(*where), preparation.factor(*where), rtol=1e-14)
    by_pair = {}
    for code, system, factor in zip(where[1], where[2], rest.factor(*where), strict=True):
        assert by_pair.setdefault((code, system), factor) == factor
