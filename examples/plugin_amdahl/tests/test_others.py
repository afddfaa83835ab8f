"""The representation, the reader and the command."""

import pytest

from perfcore.testing import ReaderSuite, RepresentationSuite
from perfcore_amdahl.mbw import MbwReader
from perfcore_amdahl.weibull import Weibull

GOOD = """Long uses 8 bytes. Allocating 2*131072 elements = 2097152 bytes of memory.
Getting down to business... Doing 2 runs per test.
0\tMethod: MEMCPY\tElapsed: 0.00010\tMiB: 1.00000\tCopy: 10101.010 MiB/s
1\tMethod: MEMCPY\tElapsed: 0.00008\tMiB: 1.00000\tCopy: 12195.122 MiB/s
AVG\tMethod: MEMCPY\tElapsed: 0.00009\tMiB: 1.00000\tCopy: 11049.724 MiB/s
0\tMethod: DUMB\tElapsed: 0.00020\tMiB: 1.00000\tCopy: 5050.505 MiB/s
"""


class TestWeibull(RepresentationSuite):
    """What perfcore asks of every representation."""

    representation = Weibull
    values = (Weibull(3.0, 0.3), Weibull(1.5, 0.5))


class TestMbw(ReaderSuite):
    """What perfcore asks of every reader."""

    reader = MbwReader
    samples = (("mbw.txt", GOOD),)


@pytest.mark.parametrize("name", ["mbw.txt", "mbw.out"])
def test_runs_are_read_though_other_readers_claim_the_ending(tmp_path, name):
    import perfcore

    (tmp_path / name).write_text(GOOD)
    table = perfcore.read(tmp_path / name).table
    assert table["method"].tolist() == ["MEMCPY", "MEMCPY", "DUMB"]
    assert table["rate [MiB/s]"].tolist() == [10101.01, 12195.122, 5050.505]
