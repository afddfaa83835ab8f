"""Every registered function, whoever registered it, keeps the contract."""

import numpy as np
import pytest

from perf_formulas import Formula
from perfcore.base.errors import MissingDependencyError
from perfcore.contracts import FormulaFunction
from perfcore.hooks.registry import registry
from perfcore.testing import FunctionSuite


class TestFunctions(FunctionSuite):
    @pytest.fixture(autouse=True, params=registry().entries("functions"))
    def choose(self, request):
        try:
            self.function = registry().load("functions", request.param)
        except MissingDependencyError as error:
            pytest.skip(str(error))

    def test_its_variables_are_those_of_its_formula(self):
        assert set(Formula(self.function.formula).names) == set(self.function.variables)

    def test_its_formula_gives_its_values(self):
        expected = Formula(self.function.formula).evaluate(self.points)
        np.testing.assert_allclose(self.function()(self.points), expected, rtol=1e-12)

    def test_has_the_name_that_it_is_registered_by(self, request):
        assert self.function.name == request.node.callspec.params["choose"]


@pytest.mark.parametrize(
    ("formula", "broken"), [("1/(p - 1)", "test_values_are_finite"), ("p + 1", "test_is_one_or_zero_at_one")]
)
def test_the_suite_notices(formula, broken):
    suite = FunctionSuite()
    suite.function = type("Broken", (FormulaFunction,), {"name": formula, "formula": formula, "variables": ("p",)})
    with pytest.raises(AssertionError):
        getattr(suite, broken)()
