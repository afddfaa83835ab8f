"""Every registered function, whoever registered it, keeps the contract."""

import numpy as np
import pytest

from perfcore.base.errors import MissingDependencyError
from perfcore.contracts import FormulaFunction
from perfcore.hooks.registry import registry
from perfcore.testing import FunctionSuite


def same_formula(function):
    """A function of the formula alone, evaluated by the core."""
    facts = {name: getattr(function, name) for name in ("name", "formula", "variables")}
    return type("Same", (FormulaFunction,), facts)


class TestFunctions(FunctionSuite):
    @pytest.fixture(autouse=True, params=registry().entries("functions"))
    def choose(self, request):
        try:
            self.function = registry().load("functions", request.param)
        except MissingDependencyError as error:
            pytest.skip(str(error))

    def test_its_variables_are_those_of_its_formula(self):
        values = same_formula(self.function)()(self.points)
        for name in self.function.variables:  # the value depends on each, and on nothing else
            others = self.points | {name: 1.5 * self.points[name] + 1.0}
            assert not np.array_equal(same_formula(self.function)()(others), values), name
        only = {name: self.points[name] for name in self.function.variables}
        np.testing.assert_array_equal(same_formula(self.function)()(only), values)

    def test_its_formula_gives_its_values(self):
        expected = same_formula(self.function)()(self.points)
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
