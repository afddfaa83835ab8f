"""Every registered segmenter, whoever registered it, keeps the contract."""

import pytest

from perfcore.base.errors import MissingDependencyError
from perfcore.hooks.registry import registry
from perfcore.testing import SegmenterSuite


class TestSegmenters(SegmenterSuite):
    @pytest.fixture(autouse=True, params=registry().entries("segmenters"))
    def choose(self, request):
        try:
            self.segmenter = registry().load("segmenters", request.param)
        except MissingDependencyError as error:
            pytest.skip(str(error))
