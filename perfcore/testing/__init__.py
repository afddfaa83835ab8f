r"""The contract suites: an implementation inherits its tests.

A suite is a class for pytest. A subclass, whose name begins with ``Test``, says what is to be tested; everything that
`perfcore.contracts` asks of it is then checked, and special cases go into further methods::

    import pytest
    from my_package.load_log import LoadLogReader
    from my_package.pelt import Pelt
    from perfcore.testing import ReaderSuite, SegmenterSuite

    class TestLoadLog(ReaderSuite):
        reader = LoadLogReader
        samples = (("machine.load", "# loadlog 1\n1718000000 0.25\n1718000010 3.5\n"),)

    class TestPelt(SegmenterSuite):
        segmenter = Pelt
        degrees = (0,)

To see the values that a failed assertion met, put ``pytest.register_assert_rewrite("perfcore.testing")`` into
``conftest.py``. All data are small and all seeds are fixed.
"""

from perfcore.testing.fitters import FitterSuite
from perfcore.testing.functions import FunctionSuite
from perfcore.testing.readers import ReaderSuite
from perfcore.testing.representations import RepresentationSuite
from perfcore.testing.segmenters import SegmenterSuite

__all__ = ["FitterSuite", "FunctionSuite", "ReaderSuite", "RepresentationSuite", "SegmenterSuite"]
