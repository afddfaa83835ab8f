"""The representation, the reader and the command."""

import pytest

from perfcore.testing import ReaderSuite, RepresentationSuite
from perfcore_usl.stream import StreamReader
from perfcore_usl.weibull import Weibull

GOOD = """-------------------------------------------------------------
STREAM version $Revision: 5.10 $
-------------------------------------------------------------
Number of Threads requested = 4
-------------------------------------------------------------
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:           25362.7     0.006448     0.006309     0.006684
Triad:          24890.1     0.009901     0.009642     0.010523
-------------------------------------------------------------
Solution Validates: avg error less than 1.000000e-13 on all three arrays
"""


class TestWeibull(RepresentationSuite):
    """What perfcore asks of every representation."""

    representation = Weibull
    values = (Weibull(3.0, 0.3), Weibull(1.5, 0.5))


class TestStream(ReaderSuite):
    """What perfcore asks of every reader."""

    reader = StreamReader
    samples = (("stream.txt", GOOD),)


@pytest.mark.parametrize("name", ["stream.txt", "stream.out"])
def test_rates_are_read_though_other_readers_claim_the_ending(tmp_path, name):
    import perfcore

    (tmp_path / name).write_text(GOOD)
    table = perfcore.read(tmp_path / name).table
    assert table["kernel"].tolist() == ["Copy", "Triad"]
    assert table["rate [MB/s]"].tolist() == [25362.7, 24890.1]
