"""The forms that `modgen` finds: known sums and products, without noise and with it; and edits of default models."""

import itertools

import numpy as np
import pytest

from perf_lost_cycles import DefaultModel, find_models, models_for, write_models
from perf_lost_cycles.forms import (
    Grid,
    Terms,
    candidates,
    product_form,
    union,
)
from perf_lost_cycles.generate import fit_forms, generate
from perf_lost_cycles.views import edited_models

FUNCTIONS = ("1", "x", "log2(x)", "x*log2(x)", "1/x")
TERMS = Terms(("P", "D", "I"), (FUNCTIONS,) * 3)
MODELS = [(0,), (0, 1), (0, 2), (0, 3), (0, 4)]  # a constant and one function; digits of one factor
LEVELS = ((2.0, 4.0, 8.0, 16.0, 32.0), (64.0, 128.0, 256.0, 512.0, 1024.0), (1.0, 2.0, 4.0, 6.0, 8.0))


def full_grid(levels):
    return [np.array(column) for column in zip(*itertools.product(*levels), strict=True)]


def of_factor(model, factor):
    """A model of one factor as numbers of terms."""
    return tuple(digit * TERMS.strides[factor] for digit in model)


def grid_of(values, points, n_factors, root=None):
    terms = Terms(TERMS.symbols[:n_factors], TERMS.functions[:n_factors])
    return Grid(terms, terms.values(points), values, np.ones(values.shape[1]) if root is None else root)


def defaults(n_factors, n_categories):
    return [[tuple(of_factor(m, k) for m in MODELS) for k in range(n_factors)]] * n_categories


def scaled_values(form, points, coefficients, n_factors):
    """A form whose terms are each at most their coefficient, and the coefficients of the unscaled terms."""
    terms = Terms(TERMS.symbols[:n_factors], TERMS.functions[:n_factors])
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
    for fit in fit_forms(grid, found.forms.forms, found.chosen):
        for row, series in enumerate(fit.series.tolist()):
            np.testing.assert_allclose(fit.coefficients[row], coefficients[series], rtol=1e-8)


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
    models = ((0, 1), (0, 2))
    found, truth = drawn(models, "product", [(0,), (0, 1), (0, 2), (0, 4)])
    assert np.mean([one == truth for one in found]) >= 0.4
    points = full_grid(LEVELS[:2])
    terms = Terms(TERMS.symbols[:2], TERMS.functions[:2])
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
