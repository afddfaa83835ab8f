"""Words of formulas are the ones that no parameter may be called by."""

import pytest

from perf_formulas.formula import Formula
from perf_formulas.parser import FUNCTIONS, INFIX, PREFIX, FormulaError
from perfcore.data.roles import FORMULA_WORDS


def test_they_are_those_that_formulas_give_a_meaning_to():
    assert {word for word in (*FUNCTIONS, *INFIX, *PREFIX) if word.isidentifier()} == FORMULA_WORDS


@pytest.mark.parametrize("word", sorted(FORMULA_WORDS))
def test_none_of_them_is_a_variable(word):
    with pytest.raises(FormulaError):
        Formula(word)
