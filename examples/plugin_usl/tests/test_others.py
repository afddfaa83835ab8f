"""The representation, the reader and the command."""

import pytest

from perfcore.testing import ReaderSuite, RepresentationSuite
from perfcore_usl.perf_stat import PerfStatReader
from perfcore_usl.weibull import Weibull

GOOD = """# started on Mon Nov 16 10:00:00 2026

1234.50,msec,task-clock:u,1234500000,100.00,0.998,CPUs utilized
98765432,,cycles:u,1234500000,100.00,0.080,GHz
<not supported>,,stalled-cycles-frontend:u,0,100.00,,
"""


class TestWeibull(RepresentationSuite):
    """What perfcore asks of every representation."""

    representation = Weibull
    values = (Weibull(3.0, 0.3), Weibull(1.5, 0.5))


class TestPerfStat(ReaderSuite):
    """What perfcore asks of every reader."""

    reader = PerfStatReader
    samples = (("stat.csv", GOOD),)


@pytest.mark.parametrize("name", ["stat.csv", "stat.txt"])
def test_counters_are_read_though_other_readers_claim_the_ending(tmp_path, name):
    import perfcore

    (tmp_path / name).write_text(GOOD)
    table = perfcore.read(tmp_path / name).table
    assert table["event"].tolist() == ["task-clock:u", "cycles:u", "stalled-cycles-frontend:u"]
    assert table["count"].tolist() == [1234.5, 98765432.0, 0.0]
