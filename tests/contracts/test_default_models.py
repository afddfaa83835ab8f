"""Every registered set of default models, whoever registered it, keeps the contract."""

import pytest

from perf_lost_cycles.testing import DefaultModelSuite
from perfcore.hooks.registry import registry


class TestDefaultModels(DefaultModelSuite):
    @pytest.fixture(autouse=True, params=registry().entries("default_models"))
    def choose(self, request):
        self.name = request.param
