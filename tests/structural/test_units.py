"""Units as labels: the International System's prefixes, and nothing that does not convert."""

from fractions import Fraction

import pytest

from perf_structural.indexed import PLAIN, parse_unit
from perfcore.base.errors import DataError


@pytest.mark.parametrize(
    ("one", "other", "scale"),
    [
        ("s", "ms", 1e3),
        ("us", "s", 1e-6),
        ("ns", "us", 1e-3),
        ("h", "min", 60),
        ("MB", "kB", 1e3),
        ("MiB", "KiB", 1024),
        ("MiB", "B", 1048576),
        ("GiB", "MB", 1073.741824),
        ("Mbit/s", "B/s", 125_000),
        ("MB/s", "B/us", 1),
        ("Gflop/s", "Mflop/s", 1e3),
        ("s^2", "ms^2", 1e6),
        ("row", "row", 1),
    ],
)
def test_conversions(one, other, scale):
    assert parse_unit(one).kind == parse_unit(other).kind
    assert parse_unit(one).scale_to(parse_unit(other)) == scale


@pytest.mark.parametrize(("one", "other"), [("s", "B"), ("s", "1/s"), ("row", "column"), ("MB/s", "MB"), ("s", "1")])
def test_kinds_that_differ(one, other):
    assert parse_unit(one).kind != parse_unit(other).kind


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("MB / s", "MB/s"),
        ("s*s", "s^2"),
        ("s/s", "1"),
        ("1", "1"),
        ("1/s", "1/s"),
        ("B/(MB/s)", "B*s/MB"),
        ("a/b/c", "a/b/c"),
    ],
)
def test_how_they_are_shown(text, shown):
    assert str(parse_unit(text)) == shown


def test_products_and_powers():
    rate, time = parse_unit("MB/s"), parse_unit("ms")
    assert rate.times(time).scale_to(parse_unit("B")) == 1e3
    assert rate.times(rate.power(Fraction(-1))) == PLAIN
    assert parse_unit("s^2").power(Fraction(1, 2)) == parse_unit("s")


def test_a_root_of_a_multiple_is_not_converted():
    root = parse_unit("kB").power(Fraction(1, 2))
    assert str(root) == "kB^(1/2)"
    with pytest.raises(DataError, match=r"the unit kB\^\(1/2\) cannot be converted; use B for kB"):
        root.scale_to(parse_unit("B").power(Fraction(1, 2)))
