"""dstat, dool and pcp-dstat: heads, times, shares of processors, and several recordings in one file.

The samples are rows of recordings that people published, by dstat 0.7.2 and 0.8.0 and pcp-dstat 5.0.3.
"""

import numpy as np
import pytest
from format_samples import DSTAT

import perfcore
from perfcore.base.errors import InputError

CLOCK = """\
"Dstat 0.7.2 CSV output"
"Host:","kube-master-1",,,,"User:","root"
"Cmdline:","dstat -tsp --output /tmp/ds.csv",,,,"Date:","31 Dec 2020 23:59:58 CST"

"system","swap",,"procs",,
"time","used","free","run","blk","new"
31-12 23:59:58,0.0,0.0,0.000,0.0,7.314
31-12 23:59:59,0.0,0.0,3.0,0.0,3.0
01-01 00:00:00,0.0,0.0,11.0,0.0,4.0
"""
PCP = """\
"pcp-dstat 5.0.3 CSV Output"
"Host:","mce",,,,"User:","x"
"Cmdline:","dstat --nocolor -c -d -n --output out.csv",,,,"Date:","24 Feb 2021 15:37:42 EST"
"total usage",,,,,"dsk/total",,"net/total",
"total usage:usr","total usage:sys","total usage:idl","total usage:wai","total usage:stl","dsk/total:read",\
"dsk/total:writ","net/total:recv","net/total:send"
4.369,0.624,94.248,0,0,,,0,0
3.627,0.750,95.297,0.125,0,0,32.016,66.033,94.047
"""


@pytest.fixture
def read(tmp_path):
    def read(text, **options):
        path = tmp_path / "load.csv"
        path.write_text(text)
        return perfcore.read(path, **options)

    return read


def test_columns_have_the_names_of_their_groups(read):
    series = read(DSTAT)
    assert series.times.tolist() == [1519839590.5, 1519839592.5]
    assert list(series.columns) == [
        "cpu all busy",
        *(f"total cpu usage {field}" for field in ("usr", "sys", "idl", "wai", "hiq", "siq")),
        *("dsk/total read", "dsk/total writ"),
    ]
    assert series.columns["dsk/total writ"].tolist() == [272334848, 276201472]
    assert series.columns["cpu all busy"] == pytest.approx([1 - 0.77010 - 0.13065, 1 - 0.75758 - 0.13384])
    assert series.notes == (
        "left out, about the time since the machine was started: 1 samples",
        "columns of texts passed over: most expensive cpu process",
    )


def test_measures_of_each_processor(read):
    """Version 0.8.0 counts stolen time; without -T and -t the command says how long a sample is."""
    text = (
        '"Dstat 0.8.0 CSV output"\n"Cmdline:","dstat --nocolor -c -C 0,total --output out.csv 5 10"\n'
        '"cpu0 usage",,,,,"total cpu usage",,,,\n"usr","sys","idl","wai","stl","usr","sys","idl","wai","stl"\n'
        + "24.806,5.705,69.202,0.287,0,1,1,98,0,0\n"
        + "9.608,1.643,88.748,0,0,6,1,80,3,10\n" * 2
    )
    series = read(text, measures="busy,steal,iowait")
    assert series.times.tolist() == [0, 5]
    assert [name for name in series.columns if name.startswith("cpu ")] == [
        *("cpu 0 busy", "cpu 0 steal", "cpu 0 iowait", "cpu all busy", "cpu all steal", "cpu all iowait"),
    ]
    assert series.columns["cpu 0 busy"] == pytest.approx([0.11252] * 2)
    assert [series.columns[f"cpu all {name}"][0] for name in ("busy", "steal", "iowait")] == pytest.approx(
        [0.17, 0.1, 0.03]
    )
    assert "without times: one sample every 5 s, by its command" in series.notes


def test_clocks_go_over_new_year(read):
    series = read(CLOCK)
    assert series.times.tolist() == [1609459199, 1609459200]  # 2020-12-31T23:59:59Z and a second more
    assert series.columns["procs run"].tolist() == [3, 11]
    assert "times are local and taken as if they were UTC" in series.notes
    assert read(CLOCK.replace("31-12", "Dec-31").replace("01-01", "Jan-01")).times.tolist() == series.times.tolist()


def test_pcp_repeats_the_group_and_leaves_out_what_it_does_not_know(read):
    series = read(PCP)
    assert list(series.columns)[:3] == ["cpu all busy", "total usage usr", "total usage sys"]
    np.testing.assert_array_equal(series.columns["dsk/total writ"], [np.nan, 32.016])
    assert series.columns["cpu all busy"] == pytest.approx([1 - 0.94248, 1 - 0.95297 - 0.00125])
    assert len(series.times) == 2


def test_dool_adds_to_a_file(read):
    head, _, samples = DSTAT.partition("\n\n")
    later = samples.replace("15198395", "15198400")
    again = "\n\n" + "\n".join(head.splitlines()[2:]) + "\n"
    series = read(DSTAT.replace("Dstat 0.7.2", "dool 1.3.1") + again + later)
    assert series.times.tolist() == [1519839590.5, 1519839592.5, 1519840090.5, 1519840092.5]
    with pytest.raises(InputError, match=r"load\.csv:16: another recording has other columns: epoch"):
        read(DSTAT + again + samples.replace("dsk/total", "dsk/sda"))
    bare = PCP + PCP
    with pytest.raises(InputError, match="holds 2 recordings without times; record them with -T, or cut the file"):
        read(bare)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("13.065,", "", r":9: has 9 fields, but the head names 10; the file is cut short, or was recorded"),
        ("75.758", "much", r":10: total cpu usage idl is 'much'; a number is expected"),
        ("75.758", "inf", r":10: total cpu usage idl is inf, no finite number"),
        ("1519839592.5", "1519839590.5", "times must increase; record times with -T, which has milliseconds"),
        ("1519839592.5", "", ":9: a time is missing"),
    ],
)
def test_damage_is_said_with_its_line(read, old, new, problem):
    with pytest.raises(InputError, match=problem):
        read(DSTAT.replace(old, new))


def test_a_recording_with_nothing_but_its_first_sample(read):
    with pytest.raises(InputError, match="holds no samples after the first"):
        read("\n".join(DSTAT.splitlines()[:8]) + "\n")
    with pytest.raises(InputError, match="date 'some day' of the head is no date such as 03 Dec 2020"):
        read(CLOCK.replace("31 Dec 2020 23:59:58 CST", "some day"))
    with pytest.raises(InputError, match=r":9: time '24:00' is none such as 03-12 14:10:38"):
        read(CLOCK.replace("01-01 00:00:00", "24:00"))
