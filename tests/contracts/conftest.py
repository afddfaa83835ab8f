"""Assertions of the shipped suites show the values that they met."""

import pytest

pytest.register_assert_rewrite("perfcore.testing")
