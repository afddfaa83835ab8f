"""Every registered set of default models, whoever registered it, keeps the contract."""

import pytest

from perfcore.registry import registry
from perfcore.testing import DefaultModelSuite


class TestDefaultModels(DefaultModelSuite):
    @pytest.fixture(autouse=True, params=registry().entries("default_models"))
    def choose(self, request):
        self.name = request.param
