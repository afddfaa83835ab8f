"""Units of time."""

import pytest

from perfcore.base.errors import UnknownNameError
from perfcore.data.units import nanoseconds_per, readable


@pytest.mark.parametrize(("unit", "nanoseconds"), [("ns", 1), ("us", 10**3), ("ms", 10**6), ("s", 10**9)])
def test_nanoseconds_per_unit(unit, nanoseconds):
    assert nanoseconds_per(unit) == nanoseconds


def test_unknown_units_are_refused_with_all_that_are_known():
    with pytest.raises(UnknownNameError, match="unknown time unit 'minutes': Known: ms, ns, s, us"):
        nanoseconds_per("minutes")


@pytest.mark.parametrize(
    ("duration", "unit", "text"),
    [
        (0, "s", "0 ns"),
        (999, "ns", "999 ns"),
        (1000, "ns", "1 us"),
        (0.5, "us", "500 ns"),
        (1.5, "ms", "1.5 ms"),
        (-2500, "ms", "-2.5 s"),
        (7200, "s", "7200 s"),
    ],
)
def test_a_duration_is_read_in_the_largest_unit_that_keeps_it_at_least_1(duration, unit, text):
    assert readable(duration, unit) == text
