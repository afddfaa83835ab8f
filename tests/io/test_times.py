"""Times to whole nanoseconds: SQL and Python against rational arithmetic."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf_io.tables.duck import Database, quoted
from perf_io.text import parse_ns, sql_decimal, sql_ns
from perfcore.base.errors import InputError
from perfcore.data.units import NANOSECONDS

digits = st.text("0123456789", min_size=1, max_size=9)
decimals = st.builds(
    "{}{}.{}".format, st.sampled_from(["", "-"]), digits, st.text("0123456789", min_size=1, max_size=12)
)
units = st.sampled_from(sorted(NANOSECONDS))


@pytest.fixture(scope="module")
def database():
    return Database("times")


def nearest(text, unit):
    """Rounded half away from zero."""
    exact = Fraction(text) * NANOSECONDS[unit]
    return int(math.copysign(1, exact)) * math.floor(abs(exact) + Fraction(1, 2))


@settings(max_examples=80, deadline=None)
@given(texts=st.lists(decimals, min_size=1, max_size=20), unit=units)
def test_decimal_texts_are_exact(database, texts, unit):
    expected = [nearest(text, unit) for text in texts]
    listed = ", ".join(f"({quoted(text)})" for text in texts)
    found = database.rows(f"SELECT {sql_ns('t', 'text', unit)} FROM (VALUES {listed}) v(t)")
    assert [row[0] for row in found] == expected
    assert [parse_ns(text, unit, "demo", 1) for text in texts] == expected


@settings(max_examples=50, deadline=None)
@given(ns=st.integers(-(2**63) + 1, 2**63 - 1), unit=units)
def test_written_decimals_are_exact(database, ns, unit):
    written = database.rows(f"SELECT CAST({sql_decimal(f'{ns}::BIGINT', unit, abs(ns))} AS VARCHAR)")[0][0]
    assert Fraction(written) * NANOSECONDS[unit] == ns


@pytest.mark.parametrize("text", ["", "x", "nan", "inf", "-inf", "1e400", "9223372036854775808", "1e999999999", "1 2"])
def test_what_is_no_time(database, text):
    assert database.rows(f"SELECT {sql_ns(quoted(text), 'text', 'ns')}") == [(None,)]
    with pytest.raises(InputError, match="demo:7: time"):
        parse_ns(text, "ns", "demo", 7)


@pytest.mark.parametrize("unit", ["ns", "us", "s"])
def test_integers_are_exact_up_to_64_bits_of_nanoseconds(database, unit):
    largest = (2**63 - 1) // NANOSECONDS[unit]
    for number, type_ in (
        (largest, "BIGINT"),
        (-largest, "BIGINT"),
        (largest, "UBIGINT"),
        (7, "TINYINT"),
        (-largest, "HUGEINT"),
    ):
        assert database.rows(f"SELECT {sql_ns(f'({number})::{type_}', 'integer', unit)}") == [
            (number * NANOSECONDS[unit],)
        ]
    assert database.rows(f"SELECT {sql_ns(f'({largest + 1})::HUGEINT', 'integer', unit)}") == [(None,)]


def test_half_a_nanosecond_goes_up(database):
    # As a float, 1.0005 is below, and 1.0015 above what they say.
    assert [parse_ns(text, "us", "demo", 1) for text in ("1.0005", "1.0015", "-1.0005")] == [1001, 1002, -1001]
    found = database.rows(f"SELECT {sql_ns('t', 'text', 'us')} FROM (VALUES ('1.0005'), ('1.0015'), ('-1.0005')) v(t)")
    assert [row[0] for row in found] == [1001, 1002, -1001]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00.999999999Z", 999_999_999),
        ("1970-01-01 01:00:00.000000001+01:00", 1),
        ("1970-01-01 00:00:00-00:30", 1_800_000_000_000),
        ("1969-12-31 23:59:59.123456789", -876_543_211),
        ("1970-01-02", 86_400_000_000_000),
        ("soon", None),
    ],
)
def test_timestamps(database, text, expected):
    assert database.rows(f"SELECT {sql_ns(quoted(text), 'text timestamp', 's')}") == [(expected,)]
