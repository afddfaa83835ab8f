"""sadf: JSON and tables of the same archive agree; time zones, restarts, and what is refused."""

import datetime

import numpy as np
import pytest
from format_samples import SADF_JSON, SADF_TABLE

import perfcore
from perfcore.base.errors import InputError

FIRST = datetime.datetime(2019, 4, 18, 13, 20, 19, tzinfo=datetime.UTC).timestamp()


@pytest.fixture
def read(tmp_path):
    def read(text, name="cpu.txt", **options):
        path = tmp_path / name
        path.write_text(text)
        return perfcore.read(path, **options)

    return read


def test_both_forms_say_the_same(read):
    as_json, as_table = read(SADF_JSON), read(SADF_TABLE)
    assert as_json.times.tolist() == [FIRST, FIRST + 10]
    assert as_table.times[:2].tolist() == as_json.times.tolist()
    np.testing.assert_allclose(as_json.columns["cpu all busy"], [0.035, 0.5])
    # After a restart the table goes on.
    np.testing.assert_allclose(as_table.columns["cpu all busy"], [0.035, 0.5, 0.0], atol=1e-15)
    assert as_json.notes == as_table.notes == ("recorded on node7",)


def test_local_times_are_taken_as_they_stand_and_named(read):
    for text in (SADF_TABLE.replace(" UTC", ""), SADF_JSON.replace('"tz": "UTC"', '"utc": 0')):
        series = read(text)
        assert series.times[0] == FIRST
        assert series.notes[1] == "times are local (of an unknown zone) and taken as if they were UTC"
    assert "(CEST)" in read(SADF_TABLE.replace(" UTC", " CEST")).notes[1]
    assert read(SADF_JSON.replace('"tz": "UTC"', '"utc": 1')).notes == ("recorded on node7",)


def test_times_in_seconds(read):
    text = "# hostname;interval;timestamp;CPU;%idle\nn;1;1555593619;all;25.0\n"
    series = read(text)
    assert series.times.tolist() == [1555593619.0]
    assert series.columns["cpu all busy"].tolist() == [0.75]


def test_the_older_name_of_the_full_record(read):
    assert read(SADF_JSON.replace('"cpu-load"', '"cpu-load-all"')).columns["cpu all busy"][1] == 0.5


def test_softirqs_of_a_processor_are_no_utilization(read):
    section = "# hostname;interval;timestamp;CPU;total/s;dropd/s\nnode7;10;2019-04-18 14:00:00 UTC;-1;5.00;1.00\n"
    assert len(read(SADF_TABLE + section).times) == 3


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (SADF_TABLE + "node7;10;2019-04-18 13:54:45 UTC;-1;0.00\n", r":9: has 5 fields, but there are 10 columns"),
        (SADF_TABLE.replace("50.00", "half"), r":3: 'half' is met where per cent of time are expected"),
        (SADF_TABLE.replace("50.00", "nan"), r":3: 'nan' is met where per cent"),
        (SADF_TABLE.replace("13:20:29", "25:20:29"), r":3: timestamp '2019-04-18 25:20:29 UTC'; YYYY-MM-DD HH:MM:SS"),
        (SADF_TABLE.replace("13:54:35", "13:20:20"), r"times must increase; was the clock set back\?"),
        (SADF_TABLE.replace("node7;10;2019-04-18 13:54", "node8;10;2019-04-18 13:54"), r"several hosts: node7, node8"),
        (SADF_TABLE.replace("node7;10;2019-04-18 13:54", "a\vb;10;2019-04-18 13:54"), r"several hosts: a b, node7"),
        ("# hostname;interval;timestamp;tps\nn;1;2019-04-18 13:20:19 UTC;3\n", r"holds no utilization of processors"),
        (
            SADF_JSON.replace("2019-04-18", "18.04.2019"),
            r"timestamp '18.04.2019', '13:20:19' - at `\$.*statistics\[0\]`",
        ),
        (SADF_JSON.replace("96.0}", "96.0"), r":5: is not the output of sadf -j: JSON is malformed"),
    ],
)
def test_what_is_refused(read, text, problem):
    with pytest.raises(InputError, match=problem):
        read(text)


@pytest.mark.real_data
def test_an_archive_in_both_forms(real_data):
    """The tool's own test data: ten processors, two of which come and go, across two restarts."""
    table, document = (perfcore.read(real_data / "timeseries" / name) for name in ("sadf-d.txt", "sadf-j.json"))
    assert len(table.columns) == 11
    assert table.times.tolist() == document.times.tolist()
    for name, values in table.columns.items():
        np.testing.assert_array_equal(values, document.columns[name])
    assert np.isnan(table.columns["cpu 9 busy"]).sum() == 4
