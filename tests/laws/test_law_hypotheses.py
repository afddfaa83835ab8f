"""Which laws are considered: a probability distribution over functions of the points."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf_formulas.formula import Formula
from perf_laws.evidence.hypotheses import column_values, hypotheses_of
from perf_laws.evidence.terms import COMMON, generic_terms

LEVELS = [[4.0], [8.0], [16.0], [32.0], [64.0]]


def grid(q, levels=(4.0, 16.0, 64.0)):
    return np.array(list(itertools.product(levels, repeat=q)))


def parameters_of(laws, law):
    return {parameter for f in law if f >= 0 for parameter, _ in laws.terms[f]}


@pytest.fixture(scope="module", params=[1, 2, 3])
def laws(request):
    return hypotheses_of(grid(request.param))


def test_prior_is_a_distribution(laws):
    assert np.exp(laws.log_prior).sum() == pytest.approx(1.0, abs=1e-12)
    assert np.isfinite(laws.log_prior).all()


def test_each_parameter_matters_with_probability_one_half(laws):
    q = len({parameter for column in laws.terms for parameter, _ in column})
    occur = np.array([[p in parameters_of(laws, law) for p in range(q)] for law in laws.members.tolist()])
    prior = np.exp(laws.log_prior)
    assert prior @ occur == pytest.approx(0.5, abs=1e-12)
    # Independently of each other: so all subsets are equally likely, the empty one, the constant, among them.
    for subset in itertools.product([False, True], repeat=q):
        assert prior[(occur == subset).all(axis=1)].sum() == pytest.approx(0.5**q, abs=1e-12)


def test_no_law_occurs_twice(laws):
    sets = {frozenset(f for f in law if f >= 0) for law in laws.members.tolist()}
    assert len(sets) == len(laws)
    assert len(set(laws.terms)) == len(laws.terms)


def test_members_end_with_their_first_gap(laws):
    present = laws.members >= 0
    assert (present[:, :-1] | ~present[:, 1:]).all()
    assert laws.members.max() == len(laws.terms) - 1


def test_columns_are_what_their_text_says():
    """Each column, written out and read by the formula parser, which knows nothing of terms."""
    points = grid(2, (3.0, 10.0, 50.0))
    laws = hypotheses_of(points)
    for number in np.random.default_rng(0).choice(len(laws.terms), 300, replace=False):
        column = laws.terms[number]
        text = "*".join(f"({term.text('nr'[parameter])})" for parameter, term in column)
        values = Formula(text).evaluate({"n": points[:, 0], "r": points[:, 1]})
        assert laws.columns[number] * laws.scales[number] == pytest.approx(values, rel=1e-12)
        assert column_values(column, points) == pytest.approx(values, rel=1e-12)


def test_columns_reach_one_and_are_never_negative(laws):
    assert laws.columns.max(axis=1) == pytest.approx(1.0, abs=0)
    assert laws.columns.min() >= 0.0
    assert (np.ptp(laws.columns, axis=1) > 0.0).all()


def test_laws_of_one_parameter():
    """The constant, each generic term, and each falling common term with each rising one."""
    laws = hypotheses_of(LEVELS)
    counts = np.bincount((laws.members >= 0).sum(axis=1))
    falling = sum(term.falls for term in COMMON)
    assert counts.tolist() == [1, len(generic_terms()), falling * (len(COMMON) - falling)]
    prior = np.exp(laws.log_prior)
    size = (laws.members >= 0).sum(axis=1)
    assert [prior[size == k].sum() for k in range(3)] == pytest.approx([0.5, 0.45, 0.05])
    one = {laws.terms[f][0][1]: p for (f, _), p, k in zip(laws.members.tolist(), prior, size, strict=True) if k == 1}
    usual, other = ([p for term, p in one.items() if (term in COMMON) == common] for common in (True, False))
    assert usual == pytest.approx([usual[0]] * len(COMMON))
    assert usual[0] == pytest.approx(4.0 * max(other))


def test_sums_and_products_of_two_parameters_are_equally_likely():
    laws = hypotheses_of(grid(2))
    prior = np.exp(laws.log_prior)
    columns = [[laws.terms[f] for f in law if f >= 0] for law in laws.members.tolist()]
    both = np.array([{p for column in law for p, _ in column} == {0, 1} for law in columns])
    shapes = [tuple(len(column) for column in law) for law in columns]
    sums, products = (prior[both & np.array([shape == own for shape in shapes])].sum() for own in ((1, 1), (2,)))
    assert sums == pytest.approx(products)
    # They come before everything else that two parameters can do together.
    assert sums + products > 0.5 * prior[both].sum()


def test_cells_hold_each_law_of_two_parameters_once():
    rng = np.random.default_rng(0)
    points = np.array(list(itertools.product(*(np.sort(rng.uniform(1.0, 1e3, 5)) for _ in range(2)))))
    laws = hypotheses_of(points)
    finer = laws.finer[laws.finer >= 0]
    assert np.array_equal(np.sort(np.concatenate([laws.coarse, finer])), np.arange(len(laws)))
    # What stands for a cell is as likely beforehand as anything in it, and of the same parameters.
    for first, others in zip(laws.coarse, laws.finer, strict=True):
        for other in others[others >= 0][:3]:
            assert laws.log_prior[first] >= laws.log_prior[other] - 1e-12
            assert parameters_of(laws, laws.members[first]) == parameters_of(laws, laws.members[other])


@given(factor=st.floats(1e-3, 1e3), seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=20)
def test_pure_powers_know_no_unit(factor, seed):
    """Without logarithms a change of the parameter's unit leaves columns and prior as they are."""
    points = np.random.default_rng(seed).uniform(1.0, 100.0, (5, 1))
    before, after = (hypotheses_of(points * unit, logarithms=(0,)) for unit in (1.0, factor))
    assert before.terms == after.terms
    assert before.columns == pytest.approx(after.columns, rel=1e-9)
    assert before.log_prior == pytest.approx(after.log_prior, rel=1e-9)


@given(seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=20)
def test_order_of_the_points_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    points = rng.uniform(1.0, 100.0, (6, 1))
    order = rng.permutation(6)
    before, after = hypotheses_of(points), hypotheses_of(points[order])
    assert before.terms == after.terms
    assert np.array_equal(before.columns[:, order], after.columns)
    assert np.array_equal(before.log_prior, after.log_prior)


def test_columns_that_are_no_function_of_the_points_are_left_out():
    """The logarithm is 0 at 1, and negative below; its square is not monotone there, but it is a column."""
    at_one = hypotheses_of([[1.0], [2.0], [4.0], [8.0]])
    assert len(at_one.terms) == len(generic_terms())
    below = hypotheses_of([[0.25], [0.5], [1.0], [2.0], [4.0]])
    assert {term.logarithm for ((_, term),) in below.terms} == {0, 2}
    assert np.exp(below.log_prior).sum() == pytest.approx(1.0)
    # Exact in two points: log2(n) / n is 1/2 at 2 and at 4, as the constant is.
    two = hypotheses_of([[2.0], [4.0]])
    assert "log2(n)/n" not in {term.text("n") for ((_, term),) in two.terms}


@pytest.mark.parametrize(
    "points", [[1e12, 2e12, 4e12, 8e12], [1e-12, 1e-11, 1e-9], [1.0, 1e12], [1000.0, 1001.0, 1002.0]]
)
def test_extreme_levels(points):
    laws = hypotheses_of(np.array(points)[:, None])
    assert np.isfinite(laws.columns).all()
    assert np.isfinite(laws.scales).all()
    assert np.exp(laws.log_prior).sum() == pytest.approx(1.0)
    assert len(laws) >= 31


def test_a_parameter_of_one_level_matters_to_no_law():
    one = hypotheses_of([[4.0], [8.0], [16.0]])
    beside = hypotheses_of([[4.0, 7.0], [8.0, 7.0], [16.0, 7.0]])
    assert beside.terms == one.terms
    assert np.array_equal(beside.members, one.members)
    assert beside.log_prior == pytest.approx(one.log_prior, abs=1e-12)
    alone = hypotheses_of([[4.0], [4.0]])
    assert alone.members.tolist() == [[-1]]
    assert alone.log_prior == pytest.approx([0.0])


def test_exponents_of_the_users_choice():
    laws = hypotheses_of(LEVELS, (Fraction(0), Fraction(1), Fraction(5, 2)), (0, 1))
    assert {column[0][1] for column in laws.terms} == set(
        generic_terms((Fraction(0), Fraction(1), Fraction(5, 2)), (0, 1))
    )
    assert np.exp(laws.log_prior).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("points", [[1.0, 2.0], np.ones((3, 5)), np.ones((3, 0))])
def test_points_of_other_shapes_are_refused(points):
    with pytest.raises(ValueError, match="points"):
        hypotheses_of(points)
