"""Formulas as objects: their canonical text, and formulas in place of variables."""

import subprocess
import sys
import traceback

import numpy as np
import pytest
from formula_texts import POINTS, QUICK, TOKENS
from hypothesis import given

from perf_formulas import Formula
from perfcore.base.errors import PerfError


def formula_of(tokens):
    """The formula of tokens, or None."""
    try:
        return Formula(" ".join(tokens))
    except PerfError:
        return None


formulas = TOKENS.map(formula_of).filter(lambda formula: formula is not None)


@pytest.mark.parametrize(("text", "canonical"), [
    ("( (p) )**( (2/3) )*log2( p )", "p^(2/3)*log2(p)"), ("a+(b*c)-d", "a + b*c - d"), ("a-(b-c)", "a - (b - c)"),
    ("(a^b)^c", "(a^b)^c"), ("a^(b^c)", "a^b^c"), ("(-a)^2", "(-a)^2"), ("-(a^2)", "-a^2"), ("a^(-b)", "a^-b"),
    ("+a - +b", "a - b"), ("(a<=b)and(not(c or d))", "a <= b and not (c or d)"), ("(a<b)<(c<d)", "(a < b) < (c < d)"),
    ("(a or b)or(c or d)", "a or b or (c or d)"), ("(a and b)and(c and d)", "a and b and (c and d)"),
    ("max(a,b)", "max(a, b)"),
    ("2.0 + 0.50 + 1e3 + 1e-7 + 1E+30", "2 + 0.5 + 1000 + 1e-07 + 1e30"),
    ("\ta\n+\r\nb ", "a + b"),
])  # fmt: skip
def test_canonical_text(text, canonical):
    assert str(Formula(text)) == Formula(text).canonical == canonical


@QUICK
@given(formula=formulas)
def test_canonical_text_is_the_same_formula(formula):
    again = Formula(formula.canonical)
    assert again == formula
    assert hash(again) == hash(formula)
    assert again.canonical == again.text == formula.canonical
    assert again.names == formula.names
    assert np.array_equal(again(POINTS), formula(POINTS), equal_nan=True)


@QUICK
@given(formula=formulas)
def test_no_parenthesis_of_the_canonical_text_can_go(formula):
    text, opened = formula.canonical, []
    for at, character in enumerate(text):
        if character == "(":
            opened.append(at)
        elif character == ")":
            begin = opened.pop()
            without = f"{text[:begin]} {text[begin + 1 : at]} {text[at + 1 :]}"
            assert formula_of([without]) != formula


@QUICK
@given(outer=formulas, first=formulas, second=formulas)
def test_substitution_is_composition(outer, first, second):
    mapping = {"p": first, "n_2": second, "unused": first}
    try:
        found = outer.substituted(mapping)
    except PerfError:
        assert len(outer.names) > 0  # the result may pass a limit
        return
    inner = POINTS | {"p": first(POINTS), "n_2": second(POINTS)}
    assert np.array_equal(found(POINTS), outer(inner), equal_nan=True)
    assert Formula(found.canonical) == found


def test_substitution_keeps_groups_and_limits():
    assert Formula("exp(-t)").substituted({"t": Formula("(t - 5)/10")}).canonical == "exp(-((t - 5)/10))"
    assert Formula("p^2/p").substituted({"p": Formula("a*b")}).canonical == "(a*b)^2/(a*b)"
    assert Formula("p - n").substituted({"p": Formula("n"), "n": Formula("p")}).canonical == "n - p"
    long = Formula("+".join("p" * 100))
    with pytest.raises(PerfError, match="at most 1,000 are accepted"):
        long.substituted({"p": long})


def test_minimum_and_maximum_take_any_number_of_values():
    formula = Formula("max(p, 2*n, 3) - min(p, n, 3, n^2)")
    assert formula.evaluate({"p": [1.0, 9.0], "n": [0.5, 2.0]}).tolist() == [3.0 - 0.25, 9.0 - 2.0]
    assert Formula(str(formula)).canonical == formula.canonical
    assert formula.canonical == Formula("max(max(p, 2*n), 3) - min(min(min(p, n), 3), n^2)").canonical


@pytest.mark.parametrize("text", [
    "abs(1<1+1*" * 28 + "p" + ")" * 28, "abs(1+1*" * 32 + "p" + ")" * 32, "abs(" * 32 + "+".join("p" * 84) + ")" * 32,
])  # fmt: skip
def test_the_deepest_formulas_need_few_calls(text):
    """Parsing, writing, evaluating and substituting recurse less than 300 calls deep."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(traceback.extract_stack()) + 300)
    try:
        formula = Formula(text)
        formula.evaluate({"p": 1.0})
        with pytest.raises(PerfError):
            formula.substituted({"p": Formula("+".join("p" * 100))})
    finally:
        sys.setrecursionlimit(before)


def test_importing_it_does_not_import_numpy():
    code = "import sys, perf_formulas.formula as f; f.Formula('p^2').canonical; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
