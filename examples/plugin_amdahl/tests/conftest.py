"""Failed assertions of the inherited suites show the values that they met."""

import pytest

pytest.register_assert_rewrite("perfcore.testing")
