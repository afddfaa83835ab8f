"""Every registered function, whoever registered it, keeps the contract."""

import pytest

from perfcore.errors import MissingDependencyError
from perfcore.registry import registry
from perfcore.testing import FunctionSuite


class TestFunctions(FunctionSuite):
    @pytest.fixture(autouse=True, params=registry().entries("functions"))
    def choose(self, request):
        try:
            self.function = registry().load("functions", request.param)
        except MissingDependencyError as error:
            pytest.skip(str(error))

    def test_has_the_name_that_it_is_registered_by(self, request):
        assert self.function.name == request.node.callspec.params["choose"]
