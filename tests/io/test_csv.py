"""CSV: every kind of table, and every way to get one wrong."""

import math
from decimal import Decimal
from fractions import Fraction

import duckdb
import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_samples import pieces

import perfcore
from perfcore.base.errors import InputError
from perfcore.data.units import NANOSECONDS

FILE = "data.csv"


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
    text = "date,value\n2014-02-14 14:30:00.000000001Z,1\n2014-02-14 14:30:00.000000003Z,\n"
    nanoseconds = perfcore.read(write(text), time_unit="ns")
    assert nanoseconds.edges.tolist() == [0, 2]
    assert nanoseconds.notes[-1] == "times count from the first, at 1392388200000000001 ns"


@pytest.mark.parametrize("decimals", [0, 9])
@pytest.mark.parametrize("columns", ["time_{},value", "start_{},end_{},value", "start_{},end_{},location,state"])
def test_times_since_1970_keep_their_steps(write, decimals, columns):
    """As from 0: a float64 of so many nanoseconds, in any unit, would make all times multiples of 256 ns."""
    unit = {0: "ns", 3: "us", 6: "ms", 9: "s"}[decimals]

    def read(first: int) -> perfcore.Trace | perfcore.UtilizationCurve:
        moments = [str(Decimal(first + 10 * k).scaleb(-decimals)) for k in range(101)]
        rows = []
        for k in range(100):
            times = moments[k : k + 1 + columns.count("end")]
            value = ("rank 0", "run" if k % 5 else "wait") if "state" in columns else (str(k % 5),)
            rows.append(",".join((*times, *value)))
        return perfcore.read(write("\n".join([columns.replace("{}", unit), *rows, ""])), time_unit=unit)

    far, near = read(1_790_000_000_000_000_000), read(0)
    curves = [data if hasattr(data, "edges") else data.utilization() for data in (far, near)]
    np.testing.assert_allclose(*(curve.edges - curve.edges[0] for curve in curves), rtol=1e-9)
    np.testing.assert_array_equal(*(curve.heights for curve in curves))
    if decimals or "state" not in columns:  # what follows from the same steps is the same
        return
    found, expected = perfcore.iterations(far), perfcore.iterations(near)
    assert expected.count >= 4
    np.testing.assert_allclose(found.starts, expected.starts, rtol=1e-9)
    assert found.run == expected.run
    ends = [perfcore.fit(data, fitter="phases", phases=2).breaks for data in (far, near)]
    np.testing.assert_allclose(*ends, rtol=1e-9)


digits = st.text("0123456789", min_size=1, max_size=9)
decimals = st.builds("{}{}.{}".format, st.sampled_from(["", "-"]), digits, st.text("0123456789", min_size=1))


@settings(max_examples=10)
@given(texts=st.lists(decimals, min_size=20, max_size=60, unique=True), unit=st.sampled_from(sorted(NANOSECONDS)))
def test_decimal_times_are_exact(tmp_path_factory, texts, unit):
    """Rounded half away from zero, by rational arithmetic; each at a location of its own."""
    path = tmp_path_factory.mktemp("times") / "run.csv"
    rows = [f"{text},1000000000,{place},run\n" for place, text in enumerate(texts)]
    path.write_text(f"start_{unit},end_{unit},location,state\n" + "".join(rows))
    trace = perfcore.read(path)
    exact = [Fraction(text) * NANOSECONDS[unit] for text in texts]
    expected = [math.floor(abs(time) + Fraction(1, 2)) * (-1 if time < 0 else 1) for time in exact]
    starts = (trace.start_ns + trace.facts.get("epoch_ns", 0)).tolist()
    found = dict(zip(trace.location.tolist(), starts, strict=True))
    assert [found[trace.locations.index(str(place))] for place in range(len(texts))] == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("1970-01-01T00:00:00.999999999Z", 999_999_999), ("1970-01-01 01:00:00.000000001+01:00", 1),
    ("1970-01-01 00:00:00-00:30", 1_800_000_000_000), ("1969-12-31 23:59:59.123456789", -876_543_211),
    ("1970-01-02", 86_400_000_000_000),
])  # fmt: skip
def test_timestamps_are_exact(write, text, expected):
    trace = perfcore.read(write(f"start,end,location,state\n{text},2020-01-01,a,run\n"))
    assert trace.start_ns.tolist() == [expected]


def test_dates_that_repeat_are_averaged_and_said(write):
    day = "2014-03-09 0"
    text = f"timestamp,value\n{day}1:00:00,1\n" + "".join(f"{day}{h}:00:00,{h}\n" for h in range(2, 10))
    curve = perfcore.read(write(f"{text}{day}3:00:00,5\n2014-03-09 10:00:00,7\n2014-03-09 11:00:00,7\n"))
    assert curve.heights[:4].tolist() == [1, 2, 4, 4]
    assert "1 of 12 samples share a time" in curve.notes[-1]
    with pytest.raises(InputError, match=r":3: timestamp is .* times must increase"):
        perfcore.read(write(f"timestamp,value\n{day}1:00:00,1\n{day}1:00:00,2\n{day}2:00:00,3\n"))


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
    "start,end,location,state\n4294967000,4,a,run\n": r"bits wrapped \(2\^32 - 4294967000 \+ 4 = 300\); add 2\^32",
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
    "0,1,2\n1,2,3\n": r":1: the first line '0,1,2' holds no column names",
    "Pair,8.1,8.9\nNeigh,1.0,1.1\n": r":1: the first line .* holds numbers and no column names",
    "time,Time\n1,2\n": r":1: the column names 'time, Time' must be one line each",
    "n,read_ms,sum_ms\n1,3,2\n4,3,9\n9,4,20\n": r":1: .* parameter='n' value='sum_ms'; or, of intervals",
    "n,d,plain,tuned\n1,.5,9.5,8.5\n1,.7,9.9,8.2\n2,.5,19.5,17\n2,.7,19.6,17.5\n": r":1: .* do not say what this table",
    "n 1\nt: 4 s\nk: 9\nn 2\nt: 3 s\nk: 9\nn 4\nt: 2 s\nk: 9\n": r"has 2 fields|do not say|no column names",
    "a,b\n1,2\n": r":1: the columns a .number., b .number. do not say what this table is made of",
    "# only\n\n# comments\n": r"contains no table",
}


@pytest.mark.parametrize("text", BAD, ids=lambda text: text[:40].encode("unicode_escape").decode())
def test_bad_tables_are_refused_in_one_line_with_their_place(write, text):
    with pytest.raises(InputError, match=BAD[text]) as caught:
        perfcore.read(write(text), reader="csv")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("text", "parameters"), [
    ("N,D,loss\n1,10,3.5\n2,10,3\n2,20,2.5\n1,20,3.1\n", ["N", "D"]),
    ("stones,foo\n1,8.1\n2,4.2\n4,2.3\n8,1.4\n", ["stones"]), ("run,mesh,foo\n1,100,8\n2,200,9\n3,100,8\n", ["mesh"]),
    ("a,b\n1,2\n2,3\n3,4\n4,4\n", None),  # times may step like this
    ("begun,b\n1,2\n2,3\n4,4\n8,4\n", ["begun"]), ("t0,b\n1,2\n2,3\n4,4\n8,4\n", None),
    ("a,word,b\n1,x,2\n2,y,3\n4,z,4\n", None),
])  # fmt: skip
def test_numbers_that_no_name_explains_are_the_last_column_over_the_others(write, text, parameters):
    path = write(text)
    if parameters is None:
        with pytest.raises(InputError, match="do not say what this table is made of"):
            perfcore.read(path, reader="csv")
        return
    data = perfcore.read(path, reader="csv")
    assert list(data.roles.parameters.values()) == parameters
    assert data.roles.value == text.partition("\n")[0].rpartition(",")[2]
    assert any(note.startswith(f"assumed: {data.roles.value}, the last column") for note in data.notes)


# Decimal commas: read where an option says so, named where none does.
CURVE = "time;value\n0;1.5\n1.25;2\n2.5;3.5e0\n"
STEPS = "start;end;value\n0;1.5;1.25\n1.5;4;2\n"
SERIES = "time;load;disk\n0;0.5;1.25\n1.5;1;\n"
TRACE = "start;end;rank;state\n0;0.1;0;run\n0.1;2;0;wait\n"
RUNS = "p;size;time_s;code\n1;0.5;8.5;a\n2;0.5;4.25;a\n4;0.5;2;b,c\n"
KINDS = [CURVE, STEPS, SERIES, TRACE, RUNS]


def content(data):
    """What the four kinds of data hold."""
    if hasattr(data, "table"):
        return data.table.to_dict("list")
    if hasattr(data, "heights"):
        return data.edges.tolist(), data.heights.tolist()
    if hasattr(data, "columns"):
        return data.times.tolist(), repr({name: values.tolist() for name, values in data.columns.items()})
    return data.start_ns.tolist(), data.end_ns.tolist(), data.states


@pytest.mark.parametrize("text", KINDS)
def test_the_same_data_with_commas(tmp_path, text):
    (tmp_path / "points.csv").write_text(text)
    (tmp_path / "commas.csv").write_text(text.replace("b,c", "b c").replace(".", ",").replace("b c", "b,c"))
    commas = perfcore.read(tmp_path / "commas.csv", decimal=",")
    assert content(commas) == content(perfcore.read(tmp_path / "points.csv"))


def test_a_comma_beside_points_is_no_decimal_sign(tmp_path):
    """A table has one decimal sign, and a point in a number shows it."""
    (tmp_path / "both.csv").write_text("p;time_s;rate\n1;8,0;1.5\n2;4,5;2.5\n4;2,5;4.5\n")
    with pytest.raises(InputError, match=r"both\.csv:2: time_s is '8,0'; a number is expected; it has a decimal comma"):
        perfcore.read(tmp_path / "both.csv")


# What is written reads back as the same data.
finite = st.floats(-1e15, 1e15, allow_nan=False)
heights = arrays.arrays(np.float64, 40, elements=st.floats(0, 1e300))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("written")


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@settings(max_examples=6)
@given(edges=st.lists(finite, min_size=41, max_size=41, unique=True).map(sorted), heights=heights)
def test_curves_read_back_bit_for_bit(folder, ending, edges, heights):
    curve = perfcore.UtilizationCurve(edges, heights, "ms", n_locations=7)
    perfcore.write(curve, folder / f"curve{ending}")
    back = perfcore.read(folder / f"curve{ending}")
    np.testing.assert_array_equal(back.edges, curve.edges, strict=True)
    np.testing.assert_array_equal(back.heights, curve.heights, strict=True)
    assert back.time_unit == "ms"
    if ending == ".parquet":
        assert back.n_locations == 7


@pytest.fixture
def trace():
    return perfcore.Trace(
        [1, 0, 1], [1, 0, 0], [-1, 0, 1_700_000_000_123_456_789], [7, 5, 1_700_000_000_123_456_790],
        ["b, c", 'a"quoted"', "idle all the time"], ["run", "wäit"], time_unit="ms", busy_states=["run"],
        span_ns=(-10, 1_800_000_000_000_000_000),
    )  # fmt: skip


def test_traces_read_back_whole_from_parquet(tmp_path, trace):
    perfcore.write(trace, tmp_path / "trace.parquet")
    back = perfcore.read(tmp_path / "trace.parquet")
    for name in ("location", "state", "start_ns", "end_ns"):
        np.testing.assert_array_equal(getattr(back, name), getattr(trace, name), strict=True)
    for name in ("locations", "states", "time_unit", "busy_states", "span_ns"):
        assert getattr(back, name) == getattr(trace, name)


def test_traces_read_back_from_csv_with_exact_times(tmp_path, trace):
    perfcore.write(trace, tmp_path / "trace.csv")
    back = perfcore.read(tmp_path / "trace.csv")
    assert pieces(back) == pieces(trace)
    assert back.time_unit == "ms"


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_series_read_back(tmp_path, ending):
    series = perfcore.Series([0.1, 0.2, 4], {"a b": [1, np.nan, 3], "c": [0.1, 0.2, -0.3]}, "s")
    perfcore.write(series, tmp_path / f"series{ending}")
    back = perfcore.read(tmp_path / f"series{ending}")
    np.testing.assert_array_equal(back.times, series.times)
    assert list(back.columns) == list(series.columns)
    for name, values in series.columns.items():
        np.testing.assert_array_equal(back.columns[name], values)


# Parquet: types of columns, large traces that stay in their table, damaged files.
@pytest.fixture
def save(tmp_path):
    def save(query, name="data.parquet"):
        path = tmp_path / name
        duckdb.connect().execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
        return path

    return save


@pytest.fixture
def lazily(monkeypatch):
    """Let every trace stay in its table."""
    monkeypatch.setattr("perf_io.tables.state_table.IN_MEMORY_ROWS", 0)


def test_types_of_times(save):
    rows = "FROM (VALUES (1.5::DOUBLE, 2.0004999::DOUBLE)) t(a, b)"
    floats = perfcore.read(save(f"SELECT a AS start_us, b AS end_us, 'p' AS location, 1 AS state {rows}"))
    # 2.0004999 us is 2000.4999 ns, nearest 2000
    assert (floats.start_ns.tolist(), floats.end_ns.tolist()) == ([1500], [2000])
    assert floats.states == ("1",)
    whole = perfcore.read(save("SELECT 3::UBIGINT AS start_ms, 4::TINYINT AS end_ms, 'p' AS cpu, 'r' AS state"))
    assert (whole.start_ns.tolist(), whole.end_ns.tolist()) == ([3_000_000], [4_000_000])
    moments = perfcore.read(
        save(
            "SELECT TIMESTAMP '1970-01-01 00:00:01' AS start, TIMESTAMP '1970-01-01 00:00:02' AS \"end\", "
            "'p' AS cpu, 'r' AS state"
        )
    )
    assert (moments.start_ns.tolist(), moments.time_unit) == ([1_000_000_000], "s")


def random_trace(rng, n_locations=5, n_each=200):
    """Intervals of each location follow one another, some without duration; rows are in the order of their starts."""
    rows = []
    for location in range(n_locations):
        bounds = np.sort(rng.integers(0, 2_000, 2 * n_each))
        rows += [(location, int(rng.integers(3)), int(a), int(b)) for a, b in bounds.reshape(-1, 2)]
    return sorted(rows, key=lambda row: row[2])


def saved_rows(save, rows, name):
    values = ", ".join(f"({a}, {b}, {c}, {d})" for a, b, c, d in rows)
    return save(
        "SELECT 'p' || l AS location, ['run', 'wait', 'solve'][s + 1] AS state, a AS start_ns, b AS end_ns "
        f"FROM (VALUES {values}) t(l, s, a, b)",
        name,
    )


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_trace_in_its_table_equals_one_in_memory(save, monkeypatch, shuffled):
    rng = np.random.default_rng(7)
    rows = random_trace(rng)
    if shuffled:
        rng.shuffle(rows)
    path = saved_rows(save, rows, "trace.parquet")
    small = perfcore.read(path)
    monkeypatch.setattr("perf_io.tables.state_table.IN_MEMORY_ROWS", 0)
    large = perfcore.read(path)
    assert (type(large).__name__, type(small).__name__) == ("TabularTrace", "Trace")
    for busy in (None, ["run"], ["run", "wait"]):
        one, two = small.utilization(busy), large.utilization(busy)
        np.testing.assert_array_equal(one.edges, two.edges)
        np.testing.assert_array_equal(one.heights, two.heights)
    np.testing.assert_array_equal(large.utilization(idle=["wait"]).heights, small.utilization(["run", "solve"]).heights)
    assert "_arrays" not in vars(large)
    for name in ("location", "state", "start_ns", "end_ns", "locations", "states", "span_ns", "n_intervals"):
        np.testing.assert_array_equal(getattr(small, name), getattr(large, name))


@pytest.mark.usefixtures("lazily")
@pytest.mark.parametrize("chunk", [1, 512])
def test_overlaps_are_found_in_tables(save, monkeypatch, chunk):
    monkeypatch.setattr("perf_io.tables.duck._VECTORS_PER_CHUNK", chunk)
    query = (
        "SELECT 'p' || (i % 3) AS location, 'run' AS state, i // 3 * 10 AS start_us, "
        "i // 3 * 10 + CASE WHEN i = {wide} THEN 25 ELSE 10 END AS end_us FROM range(9000) t(i)"
    )
    assert perfcore.read(save(query.format(wide=-1))).n_intervals == 9000
    # Row 4000 is p1 from 13330 to 13355, the next of p1 begins at 13340 in row 4003, which is the file's 4,004th.
    problem = r":4004: 'p1' is in state 'run' from 13340 .* \(line 4001\) lasts until 13355"
    with pytest.raises(InputError, match=problem):
        perfcore.read(save(query.format(wide=4000)))


def test_a_few_bytes_that_stand_for_too_many_rows_are_refused(save, monkeypatch):
    path = save("SELECT 4 AS p, 1.5 AS time_s FROM range(1000000)")
    assert path.stat().st_size * 1000 < 2_000_000 * 8
    assert len(perfcore.read(path).table) == 1_000_000  # 16 MB are no harm
    monkeypatch.setattr("perf_io.tables.typed_tables._GROWTH_FROM_BYTES", 1 << 20)
    with pytest.raises(InputError, match=r"data\.parquet: says that its \d+ bytes are 2000000 values"):
        perfcore.read(path)


@pytest.mark.parametrize("end", ["", ",", ",,"])
def test_two_columns_of_numbers_without_names(tmp_path, end):
    """Processors and times if the first rises in whole numbers, else x and y; no row is lost for names."""
    path = tmp_path / "runs.csv"
    path.write_text("".join(f"{p},{64 / p}{end}\n" for p in (1, 2, 4, 8)))
    data = perfcore.read(path, wanted=[perfcore.Measurements])
    assert data.table[["p", "time"]].to_numpy().tolist() == [[1, 64.0], [2, 32.0], [4, 16.0], [8, 8.0]]
    path.write_text("".join(f"{x},{y}{end}\n" for x, y in ((0.5, 2), (0.25, 3), (2.5, 1))))
    assert [str(name) for name in perfcore.read(path, kind="measurements").table.columns] == ["x", "y"]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r\r\n"])
def test_comments_are_left_out_wherever_they_stand(tmp_path, line_end, capsys):
    lines = ["ranks,time_s", "1,8.0", "# another size", "2,4.0", " # 64,9.1", "4,2.5", ""]
    (tmp_path / "runs.csv").write_bytes(line_end.join(lines).encode())
    data = perfcore.read(tmp_path / "runs.csv")
    assert data.table["time_s"].tolist() == [8.0, 4.0, 2.5]
    assert any("2 lines that begin with # left out" in note for note in data.notes)
