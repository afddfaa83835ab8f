"""Terms of default models, and the forms that `modgen` finds: known sums and products, without noise and with it."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf_formulas import Formula
from perf_lost_cycles import DefaultModel, find_models, models_for, read_models, write_models
from perf_lost_cycles.forms import (
    Grid,
    Terms,
    candidates,
    product_form,
    union,
)
from perf_lost_cycles.generate import fit_category, generate
from perf_lost_cycles.views import edited_models
from perfcore.base.errors import InputError, PerfError

FUNCTIONS = ("1", "x", "log2(x)", "x*log2(x)", "1/x")
FORMS = Terms(("P", "D", "I"), (FUNCTIONS,) * 3)
MODELS = [(0,), (0, 1), (0, 2), (0, 3), (0, 4)]  # a constant and one function; digits of one factor
LEVELS = ((2.0, 4.0, 8.0, 16.0, 32.0), (64.0, 128.0, 256.0, 512.0, 1024.0), (1.0, 2.0, 4.0, 6.0, 8.0))


def full_grid(levels):
    return [np.array(column) for column in zip(*itertools.product(*levels), strict=True)]


def of_factor(model, factor):
    """A model of one factor as numbers of terms."""
    return tuple(digit * FORMS.strides[factor] for digit in model)


def grid_of(values, points, n_factors, root=None):
    terms = Terms(FORMS.symbols[:n_factors], FORMS.functions[:n_factors])
    return Grid(terms, terms.values(points), values, np.ones(values.shape[1]) if root is None else root)


def defaults(n_factors, n_categories):
    return [[tuple(of_factor(m, k) for m in MODELS) for k in range(n_factors)]] * n_categories


def scaled_values(form, points, coefficients, n_factors):
    """A form whose terms are each at most their coefficient, and the coefficients of the unscaled terms."""
    terms = Terms(FORMS.symbols[:n_factors], FORMS.functions[:n_factors])
    columns = terms.columns(terms.values(points), np.array(form))
    largest = columns.max(axis=1)
    return (coefficients / largest) @ columns, coefficients / largest


@pytest.mark.parametrize("n_factors", [2, 3])
@pytest.mark.parametrize("name", ["loo", "adjusted", "r2"])
def test_exact_data_give_the_right_form_and_its_coefficients(n_factors, name):
    """Every sum and product of a set of univariate forms, those without a constant included: issue's 1e-8."""
    points = full_grid(LEVELS[:n_factors])
    rng = np.random.default_rng(5)
    truth, values, coefficients = [], [], []
    for models in itertools.product([(0, 1), (0, 3), (4,)], repeat=n_factors):
        for form in candidates([of_factor(model, k) for k, model in enumerate(models)]):
            series, exact = scaled_values(form, points, rng.uniform(0.5, 2.0, len(form)), n_factors)
            truth.append(form)
            values.append(series)
            coefficients.append(exact)
    grid = grid_of(np.array(values), points, n_factors)
    found = generate(grid, points, defaults(n_factors, len(truth)), name)
    assert [found.forms.forms[k] for k in found.chosen.tolist()] == truth
    for series, form in enumerate(truth):
        fit = fit_category(grid, series, form, "category", grid.terms.text)
        np.testing.assert_allclose(fit.coefficients, coefficients[series], rtol=1e-8)


def drawn(models, form, tried):
    """Forms found in 200 draws with 5% noise and two replications, and the true one."""
    points = full_grid(LEVELS[: len(models)])
    of_factors = [of_factor(model, k) for k, model in enumerate(models)]
    truth = union(of_factors) if form == "sum" else product_form(of_factors)
    exact, _ = scaled_values(truth, points, np.ones(len(truth)), len(models))
    rng = np.random.default_rng(11)
    draws = exact * (1.0 + 0.05 * rng.standard_normal((200, 2, len(exact))).mean(axis=1))
    choices = [[tuple(of_factor(m, k) for m in tried) for k in range(len(models))]] * 200
    found = generate(grid_of(draws, points, len(models), 1.0 / exact), points, choices, "loo")
    return [found.forms.forms[k] for k in found.chosen.tolist()], truth


@pytest.mark.parametrize("form", ["sum", "product"])
@pytest.mark.parametrize("models", [((0, 4), (0, 1)), ((0, 2), (0, 1)), ((0, 4), (0, 1), (0, 2))])
def test_noisy_data_give_the_right_form(models, form):
    """5% noise, two replications, 200 draws: at least 90% right, of a constant, x, log2 x and 1/x."""
    found, truth = drawn(models, form, [(0,), (0, 1), (0, 2), (0, 4)])
    assert np.mean([one == truth for one in found]) >= 0.9


def test_a_weak_interaction_is_found_as_often_as_the_points_tell_it():
    """(a + b P) (c + d log2 D): log2 D goes from 6 to 10, and most of its interaction is within the noise.

    An oracle that fits every sum and product of the default forms to all points, and holds longer forms back as
    `modgen` does, finds the form in 56% of the draws (docs/how-we-know.md), so 90% cannot be asked for; what
    is chosen instead predicts the points nearly as well.
    """
    found, truth = drawn(((0, 1), (0, 2)), "product", [(0,), (0, 1), (0, 2), (0, 4)])
    assert np.mean([one == truth for one in found]) >= 0.4
    points = full_grid(LEVELS[:2])
    terms = Terms(FORMS.symbols[:2], FORMS.functions[:2])
    exact, _ = scaled_values(truth, points, np.ones(len(truth)), 2)
    errors = []
    for form in set(found):
        design = terms.columns(terms.values(points), np.array(form)).T / exact[:, None]
        fitted = design @ np.linalg.lstsq(design, np.ones(len(exact)), rcond=None)[0]
        errors += [np.sqrt(((fitted - 1.0) ** 2).mean())] * found.count(form)
    # What the form itself cannot follow is below the noise of a point, 5% / sqrt(2).
    assert np.quantile(errors, 0.9) < 0.05 / np.sqrt(2.0)


OWN = (
    DefaultModel("sync|wait", "P|procs", "a + b*P", "one"), DefaultModel("sync", "*", "a + b/x", "two"),
    DefaultModel("wait|sync|idle", "D|P", "a + b*log2(x)", "three"),
    DefaultModel("*", "*", "a + b*sqrt(x)", "four"), DefaultModel("*", "D", "a*D", "five"),
)  # fmt: skip
OTHER = (DefaultModel("sync", "D", "a*x^2", "mine"), DefaultModel("*", "P", "a", "mine"))


def terms_of(models) -> set[tuple[str, ...]]:
    return {tuple(sorted(model.terms)) for model in models}


@pytest.mark.parametrize("category", ["sync", "wait", "Idle", "else"])
@pytest.mark.parametrize("factor", ["P", "D"])
@pytest.mark.parametrize("has_own_file", [False, True])
def test_an_edit_changes_one_category_over_one_factor_only(category, factor, has_own_file, tmp_path):
    given, mine = tmp_path / "given.toml", tmp_path / "mine.toml"
    write_models(OWN, given)
    names = [str(given)]
    if has_own_file:
        write_models(OTHER, mine)
        names.append(str(mine))
    places = [(c, f) for c in ("sync", "wait", "Idle", "else", "new") for f in ("P", "D")]
    before = {place: terms_of(models_for(find_models(names), *place)) for place in places}
    now = [model.formula for model in models_for(find_models(names), category, factor)]
    new = f"a + b*{factor}^3"
    for wanted in ([*now, new], now[1:], now[:1], [new], [*now[1:], new]):
        if not wanted or set(wanted) == set(now):
            continue
        used, content = edited_models(names, mine, category, ("P", "D"), factor, wanted, "why")
        after = [*find_models(used[:-1]), *content]
        assert used[-1] == str(mine)
        assert terms_of(models_for(after, category, factor)) == {
            tuple(sorted(DefaultModel("*", factor, line).terms)) for line in wanted
        }
        for place in places:
            if place != (category, factor):
                assert terms_of(models_for(after, *place)) == before[place], (place, wanted)


# Default models: formulas taken apart into terms, files, and which models a category has.
# The categories of Crovella and LeBlanc, Supercomputing 1994.
OVERHEADS = ["load imbalance", "insufficient parallelism", "synchronization loss", "communication loss",
             "resource contention", "pure computation"]  # fmt: skip


@pytest.mark.parametrize(("formula", "terms"), [
    ("a + b*P*log2(P)", ("1", "x*log2(x)")), ("a*(P - 1) + b", ("x - 1", "1")), ("a*P", ("x",)),
    ("b + a/P", ("1", "1/x")), ("(a*P + b)/sqrt(P)", ("x/sqrt(x)", "1/sqrt(x)")), ("P*(a + b*(x + c))", None),
    ("P*(a + b*x) - c", ("x", "x*x", "-1")), ("-(a - b*p^2)", ("-1", "--x^2")), ("2*a + 0*b + b*P", ("2", "x")),
    ("a*P + a*log(P)", ("x + log(x)",)),
])  # fmt: skip
def test_a_linear_formula_becomes_one_term_for_each_coefficient(formula, terms):
    if terms is None:
        with pytest.raises(PerfError, match="not linear in b, c"):
            DefaultModel("*", "P", formula)
        return
    assert DefaultModel("*", "P", formula).terms == terms


TERMS = st.sampled_from(["1", "P", "log2(P)", "1/P", "P^2", "(P - 1)", "sqrt(P)"])


@settings(max_examples=100, deadline=None, derandomize=True)
@given(parts=st.lists(st.tuples(st.sampled_from("+-"), TERMS, TERMS), min_size=1, max_size=5))
def test_the_terms_times_the_coefficients_are_the_formula(parts):
    text = "0" + "".join(f" {sign} c{k}*{first}*{second}" for k, (sign, first, second) in enumerate(parts))
    model = DefaultModel("*", "P", f"2*({text})/P")
    p, numbers = np.array([1.0, 3.0, 10.0]), {f"c{k}": 0.5 + k for k in range(len(parts))}
    expected = Formula(model.formula).evaluate({"P": p, **numbers})
    summed = sum(
        numbers[name] * Formula(term).evaluate({"x": p})
        for name, term in zip(model.coefficients, model.terms, strict=True)
    )
    np.testing.assert_allclose(summed, expected, rtol=1e-12)


@pytest.mark.parametrize(("formula", "problem"), [
    ("a*b*P", "is not linear in a, b"), ("a^2*P", "is not linear in a, see 'a"),
    ("exp(a*P) + b", "is not linear in a, see 'exp"), ("b/(a + P)", "is not linear in b, a"),
    ("a + b*Q", "is not linear in b, Q.*every name that is not the factor's is a coefficient"),
    ("a > b", "is not linear in a, b"), ("P + a", "the term 'x' has no coefficient"), ("3*P", "has no coefficient"),
    ("a*0 + b", "coefficient 'a' cancels out"), ("a + b*", "the formula ends"),
    ("a + __import__('os')", "has no meaning here"), ("a + open(P)", "unknown function 'open'"),
])  # fmt: skip
def test_what_is_not_linear_in_its_coefficients_is_refused_in_one_line(formula, problem):
    with pytest.raises(PerfError, match=problem) as caught:
        DefaultModel("*", "P", formula)
    assert len(str(caught.value).splitlines()) == 1


def test_the_factor_is_known_in_any_case():
    assert DefaultModel("*", "nodes|N", "a + b*NODES/n").terms == ("1", "x/x")


@pytest.mark.parametrize("category", OVERHEADS)
@pytest.mark.parametrize("factor", ["P", "p", "D", "n", "iterations", "temperature"])
def test_every_overhead_has_standard_models_over_every_factor(category, factor):
    assert models_for(read_models("standard"), category, factor)


def test_named_categories_have_their_own_models_and_the_rest_those_of_the_star():
    shared = DefaultModel("*", "*", "a + b*x"), DefaultModel("*", "P", "a + b/P")
    own = DefaultModel("load imbalance|idle", "P|procs", "a + b*log2(P)")
    models = [*shared, own]
    for name in ("load imbalance", "Load_Imbalance", "LOAD-imbalance", "idle"):
        assert models_for(models, name, "PROCS") == (own,)
    assert models_for(models, "Force", "p") == shared
    assert models_for(models, "Force", "D") == shared[:1]
    assert models_for(models, "load imbalance", "D") == shared[:1], "no own model over D"
    assert models_for([own], "Force", "P") == ()


@pytest.mark.parametrize(("content", "problem"), [
    ("[[model", "not TOML"), ("", "Object missing required field `model`"),
    ("model = []", r"there is no \[\[model\]\] in it"),
    ('[[model]]\ncategory = "a"\nfactor = "P"\n', "missing required field `formula`"),
    ('[[model]]\ncategory = "a"\nfactor = "P"\nformula = "a"\ncolour = "red"', "unknown field `colour`"),
    ('[[model]]\ncategory = "a"\nfactor = "P"\nformula = "a*b*P"', r"model 1 \(a\): default model .* not linear"),
    ('[[model]]\ncategory = ""\nfactor = "P"\nformula = "a"', "category is empty"),
    ('[[model]]\ncategory = "a"\nfactor = "P|"\nformula = "a"', "factor is empty"),
])  # fmt: skip
def test_a_wrong_file_is_refused_in_one_line_that_names_it(tmp_path, content, problem):
    path = tmp_path / "wrong.toml"
    path.write_text(content)
    with pytest.raises(InputError, match=problem) as caught:
        read_models(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value).splitlines()) == 1
