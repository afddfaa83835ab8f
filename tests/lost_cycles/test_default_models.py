"""Default models: formulas taken apart into terms, files, and which models a category has."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf_formulas import Formula
from perf_lost_cycles import DefaultModel, models_for, read_models, write_models
from perfcore.base.errors import InputError, PerfError

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


def test_standard_models_can_be_edited_and_written_back(tmp_path):
    """The way of the paper's formula editor: the standard models, one more at the end."""
    models = (*read_models("standard"), DefaultModel("synchronization loss", "D", "a + b*D*log2(D)"))
    write_models(models, tmp_path / "models.toml")
    assert read_models(tmp_path / "models.toml") == models


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
