"""The forms that `modgen` finds: known sums and products, without noise and with it; and edits of default models."""

import itertools

import numpy as np
import pytest

from perf_lost_cycles import DefaultModel, find_models, models_for, write_models
from perf_lost_cycles.forms import (
    Grid,
    Terms,
    candidates,
    criterion,
    product_form,
    score_forms,
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


@pytest.mark.parametrize("models", [((0, 1), (0, 2)), ((4,), (0, 1)), ((4,), (1,)), ((0, 1), (0, 2), (0, 4))])
def test_on_a_cross_the_short_form_spans_what_the_long_one_does(models):
    """The projections onto both column spaces, at the points of the lines, agree."""
    n = len(models)
    points = full_grid(LEVELS[:n])
    centre = [levels[2] for levels in LEVELS[:n]]
    away = np.sum([values != level for values, level in zip(points, centre, strict=True)], axis=0)
    on_cross = [values[away <= 1] for values in points]
    terms = Terms(TERMS.symbols[:n], TERMS.functions[:n])
    for pair in candidates([of_factor(model, k) for k, model in enumerate(models)]).items():
        spaces = []
        for form in pair:
            columns = terms.columns(terms.values(on_cross), np.array(form)).T
            left, sigma, _ = np.linalg.svd(columns / np.linalg.norm(columns, axis=0), full_matrices=False)
            kept = left[:, sigma > 1e-10]
            spaces.append(kept @ kept.T)
        np.testing.assert_allclose(spaces[0], spaces[1], atol=1e-9)


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


@pytest.mark.parametrize("form", ["sum", "product"])
def test_noise_that_hides_a_logarithm_does_not_hide_the_interaction(form):
    """D and D log2 D differ by less than the noise over a range of 16; whether factors interact is found anyway."""
    found, truth = drawn(((0, 2), (0, 1)), form, MODELS)
    linear, logarithmic = of_factor((1,), 1)[0], of_factor((3,), 1)[0]
    alike = {tuple(sorted(term - linear + logarithmic if term >= linear else term for term in truth)), truth}
    assert np.mean([one in alike for one in found]) >= 0.9


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


def test_nearly_dependent_columns_are_judged_as_by_singular_values():
    """1 and 1 + 1e-10 P differ by more than rounding, P and 2 P do not: ranks and squares by numpy's SVD."""
    functions = ("1", "x", "1 + 1e-10*x", "2*x")
    terms = Terms(("P",), (functions,))
    points = [np.arange(1.0, 13.0)]
    rng = np.random.default_rng(1)
    values = rng.uniform(1.0, 2.0, (2, 12))
    grid = Grid(terms, terms.values(points), values, np.ones(12))
    forms = [(0, 1), (0, 2), (1, 3)]
    which = (np.array([0, 1, 2, 1]), np.zeros(4, dtype=np.int64), np.array([0, 0, 0, 1]))
    scores = score_forms(grid, forms, np.arange(12)[None], which)
    assert scores.rank.tolist() == [2, 2, 1, 2]
    for job, (form, _, series) in enumerate(zip(*which, strict=True)):
        design = terms.columns(grid.functions, np.array(forms[form])).T
        left, sigma, _ = np.linalg.svd(design / np.linalg.norm(design, axis=0), full_matrices=False)
        kept = left[:, sigma > 1e-14]
        residual = values[series] - kept @ (kept.T @ values[series])
        assert scores.sum_of_squares[job] == pytest.approx(residual @ residual, rel=1e-4 if form == 1 else 1e-10)


def test_scores_are_those_of_fits_one_by_one():
    """Leave-one-out errors by refitting without each point, with numpy's least squares."""
    points = full_grid(LEVELS[:2])
    rng = np.random.default_rng(8)
    values, root = rng.uniform(1.0, 2.0, (3, len(points[0]))), rng.uniform(0.5, 2.0, len(points[0]))
    grid = grid_of(values, points, 2, root)
    forms = [(0, 1), (0, 1, 5), (4, 6, 9)]
    sets = np.array([np.arange(9), np.arange(9, 18)])
    which = tuple(np.array(x) for x in ([0, 1, 2, 2], [0, 1, 0, 1], [2, 0, 1, 1]))
    scores = score_forms(grid, forms, sets, which)
    for job, (form, points_of, series) in enumerate(zip(*which, strict=True)):
        rows = sets[points_of]
        design = grid.terms.columns(grid.functions, np.array(forms[form])).T[rows] * root[rows, None]
        target = values[series, rows] * root[rows]
        left = 0.0
        for k in range(9):
            kept = np.arange(9) != k
            left += (target[k] - design[k] @ np.linalg.lstsq(design[kept], target[kept], rcond=None)[0]) ** 2
        squares = np.linalg.lstsq(design, target)[1][0]
        assert scores.leave_one_out[job] == pytest.approx(left, rel=1e-8)
        assert scores.sum_of_squares[job] == pytest.approx(squares, rel=1e-8)
        freedom = 9 - len(forms[form])
        assert criterion(scores, "adjusted")[job] == pytest.approx(squares / freedom, rel=1e-8)


def test_crosses_alone_are_a_design():
    """Two crosses, no full grid: both tuples are their centres, and an exact sum is found."""
    rows = {
        (p, d) for c in ((4.0, 128.0), (16.0, 512.0)) for p in LEVELS[0] for d in LEVELS[1] if p == c[0] or d == c[1]
    }
    points = [np.array(column) for column in zip(*sorted(rows), strict=True)]
    exact = 3.0 + 2.0 * points[0] + 0.1 * points[1]
    found = generate(grid_of(exact[None], points, 2), points, defaults(2, 1), "loo")
    centres = {(p, d) for p, d in zip(points[0][found.tuples], points[1][found.tuples], strict=True)}
    assert {(4.0, 128.0), (16.0, 512.0)} <= centres
    assert [TERMS.text(k) for k in found.forms.forms[found.chosen[0]]] == ["1", "P", "D"]


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
