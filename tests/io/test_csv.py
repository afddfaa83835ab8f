"""CSV: every kind of table, and every way to get one wrong."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perfcore
from perfcore.base.errors import InputError
from perfcore.data.units import NANOSECONDS
from perfcore.reading.compression import COMPRESSED_ENDINGS
from perfcore.testing.readers import compressed


def test_steps(write):
    # (10 * 1 + 10 * 4 + 10 * 2) / 30 = 7 / 3
    curve = perfcore.read(write("start,end,value\n0,10,1\n10,20,4\n20,30,2\n"))
    assert repr(curve) == "UtilizationCurve(3 steps, 0.0 to 30.0 us, mean 2.33333)"


def test_samples_end_at_the_row_without_value(write):
    curve = perfcore.read(write("time_ms,value\n0,1\n2,4\n3,\n"))
    assert curve.edges.tolist() == [0, 2, 3]
    assert curve.heights.tolist() == [1, 4]
    assert curve.time_unit == "ms"


def test_last_sample_lasts_as_long_as_the_median_one(write):
    assert perfcore.read(write("t,cpu\n0,1\n2,4\n4,0\n")).edges.tolist() == [0, 2, 4, 6]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_comments_blank_lines_and_line_ends(write, delimiter):
    rows = [["# made by hand"], [], ["Time (s)", "Load"], ["0", "1"], [], ["1", "2"], ["2", ""]]
    text = "\r\n".join(delimiter.join(row) for row in rows)
    curve = perfcore.read(write("\ufeff" + text))
    assert (curve.time_unit, curve.edges.tolist(), curve.heights.tolist()) == ("s", [0, 1, 2], [1, 2])


def test_several_value_columns_are_a_series_with_gaps(write):
    series = perfcore.read(write("time_s,user,system,host\n0,1,,a\n1,2,5,a\n"))
    assert list(series.columns) == ["user", "system"]
    assert series.columns["user"].tolist() == [1, 2]
    assert np.isnan(series.columns["system"][0])


def test_timestamps_are_seconds_since_1970(write):
    # date -u -d '2014-02-14 14:30:00' +%s gives 1392388200; an offset of +02:00 is two hours earlier.
    plain = perfcore.read(write("timestamp,value\n2014-02-14 14:30:00,1\n2014-02-14 14:35:00,2\n"))
    assert plain.edges.tolist() == [1392388200, 1392388500, 1392388800]
    assert plain.time_unit == "s"
    zoned = perfcore.read(write("timestamp,value\n2014-02-14T14:30:00.25+02:00,1\n2014-02-14T14:30:01+02:00,2\n"))
    assert zoned.edges.tolist() == [1392381000.25, 1392381001.0, 1392381001.75]
    nanoseconds = perfcore.read(
        write("date,value\n2014-02-14 14:30:00.000000001Z,1\n2014-02-14 14:30:00.000000003Z,\n"), time_unit="ns"
    )
    assert nanoseconds.edges.tolist() == [1392388200000000001, 1392388200000000003]


digits = st.text("0123456789", min_size=1, max_size=9)
decimals = st.builds("{}{}.{}".format, st.sampled_from(["", "-"]), digits, st.text("0123456789", min_size=1))


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(decimals, min_size=1, max_size=20), unit=st.sampled_from(sorted(NANOSECONDS)))
def test_decimal_times_are_exact(tmp_path_factory, texts, unit):
    """Rounded half away from zero, by rational arithmetic; each at a location of its own."""
    path = tmp_path_factory.mktemp("times") / "run.csv"
    rows = [f"{text},1000000000,{place},run\n" for place, text in enumerate(texts)]
    path.write_text(f"start_{unit},end_{unit},location,state\n" + "".join(rows))
    trace = perfcore.read(path)
    exact = [Fraction(text) * NANOSECONDS[unit] for text in texts]
    expected = [math.floor(abs(time) + Fraction(1, 2)) * (-1 if time < 0 else 1) for time in exact]
    found = dict(zip(trace.location.tolist(), trace.start_ns.tolist(), strict=True))
    assert [found[trace.locations.index(str(place))] for place in range(len(texts))] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00.999999999Z", 999_999_999),
        ("1970-01-01 01:00:00.000000001+01:00", 1),
        ("1970-01-01 00:00:00-00:30", 1_800_000_000_000),
        ("1969-12-31 23:59:59.123456789", -876_543_211),
        ("1970-01-02", 86_400_000_000_000),
    ],
)
def test_timestamps_are_exact(write, text, expected):
    trace = perfcore.read(write(f"start,end,location,state\n{text},2020-01-01,a,run\n"))
    assert trace.start_ns.tolist() == [expected]


@pytest.mark.parametrize("ending", COMPRESSED_ENDINGS)
def test_a_compressed_table_is_read_as_text(tmp_path, ending):
    """Through DuckDB, which knows only some of the compressions."""
    text = "start,end,rank,state\n" + "".join(f"{k},{k + 1},0,run\n" for k in range(5000))
    path = tmp_path / f"run.csv{ending}"
    path.write_bytes(compressed(text.encode(), ending))
    trace = perfcore.read(path)
    assert (trace.n_intervals, trace.end_ns[-1]) == (5000, 5_000_000)
    path.write_bytes(compressed(text.encode(), ending)[:-20])
    with pytest.raises(InputError, match=r"cut short or damaged"):
        perfcore.read(path)


BAD = {
    "time,value\n0,1\n1,nan\n2,3\n": r":3: value is 'nan'; a finite number that is not negative",
    "time,value\n0,1\n1,inf\n2,3\n": r":3: value is 'inf'",
    "time,value\n0,1\n1,-2\n2,3\n": r":3: value is '-2'",
    "time,value\n0,1\n1,\n2,3\n": r":3: value is empty",
    "time,value\n0,1\n1,x\n2,3\n": r":3: value is 'x'",
    "time,value\n0,1\n\n0,2\n": r":4: time is '0' but the time before is '0'; times must increase",
    "time,value\n0,1\n5,2\n3,1\n": r":4: time is '3'",
    "time,value\n0,1\nnan,2\n3,1\n": r":3: time is 'nan'; a finite number or an ISO timestamp",
    "time,value\n0,1\n,2\n3,1\n": r":3: time is empty",
    "time,value\n0,1\n": r":1: one sample has no duration",
    "time,value\n": r":1: has column names but no rows",
    "time,value\n0,1\n1,2,3\n": r":3: has 3 fields, but there are 2 columns",
    "time,value\n0,1\n1\n2,3\n": r":3: has 1 fields, but there are 2 columns",
    'time,value\n0,1\n1,"2\n2,3\n': r"(:3: has|quote)",
    "time,a,b\n0,1,1\n1,2,x\n2,1,1\n": r":3: b is 'x'",
    "start,end,value\n0,1,1\n2,1,1\n": r":3: end is '1' but the step starts at 2.0",
    "start,end,value\n0,1,1\n2,3,1\n": r":3: start is '2' but the step before ends at 1.0",
    "start,end,value\n0,1,1\n1,3,-1\n": r":3: value is '-1'",
    "start,end,location,state\n0,1,a,run\n3,2,a,run\n": r":3: the state of 'a' ends at 2, before it starts at 3",
    "start,end,location,state\n0,1,a,run\n1,,a,run\n": r":3: the end is ''; a finite number",
    "start,end,location,state\n0,1,a,run\n1,2,,run\n": r":3: the location is ''; a location is expected",
    "start,end,location,state\n0,1,a,run\n1,2,a,\n": r":3: the state is ''",
    "start,end,location,state\n0,9e30,a,run\n": r":2: the end is '9e30'",
    "start,end,location,state\n4,9,a,run\n0,5,a,wait\n": (
        r":2: 'a' is in state 'run' from 4 although 'wait' \(line 3\) lasts until 5; .* must not overlap"
    ),
    "start,end,location,state\n": r"contains no state intervals",
    "start_ms,end_us,location,state\n0,1,a,run\n": r":1: start_ms and end_us are in different units",
    "0,1\n1,2\n": r":1: the first line '0,1' holds no column names",
    "time,Time\n1,2\n": r":1: the column names 'time, Time' must be one line each",
    "a,b\n1,2\n": r":1: the columns a, b do not say what this table is made of",
    "# only\n\n# comments\n": r"contains no table",
}


@pytest.mark.parametrize("text", BAD, ids=lambda text: text[:40].encode("unicode_escape").decode())
def test_bad_tables_are_refused_in_one_line_with_their_place(write, text):
    with pytest.raises(InputError, match=BAD[text]) as caught:
        perfcore.read(write(text), reader="csv")
    assert "\n" not in str(caught.value)
