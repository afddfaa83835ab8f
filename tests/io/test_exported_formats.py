"""Formats that are not read themselves: told by their bytes, with the export that is read."""

import shlex

import pytest

import perfcore
from perfcore.base.errors import InputError


def varint(number):
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def field(number, content):
    """A field of a protocol buffer: a number, or bytes with their length."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def packet(*fields):
    return field(1, b"".join(fields))


DESCRIPTOR = packet(field(10, 7), field(60, field(1, 300) + field(2, b"main")))
BEGIN = packet(field(8, 10**15), field(10, 7), field(11, field(9, 1) + field(11, 300) + field(23, b"work" * 60)))
CLOCKS = packet(field(6, field(1, field(1, 6) + field(2, 10**18))), field(13, 1))
PERFETTO = {
    "one": DESCRIPTOR,
    "events": DESCRIPTOR + BEGIN + BEGIN,
    "clocks": CLOCKS + BEGIN,
    "a marker": packet(field(36, bytes(range(16))), field(3, 1)) + DESCRIPTOR,
}


@pytest.mark.parametrize("content", PERFETTO.values(), ids=PERFETTO)
def test_binary_traces_of_perfetto_name_the_conversion_to_json(tmp_path, content):
    path = tmp_path / "my trace.pftrace"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"is Perfetto's binary format, which is not read; its JSON is") as caught:
        perfcore.read(path)
    words = shlex.split(str(caught.value).partition("traceconv: ")[2])
    assert words == [
        "traceconv",
        "json",
        str(path),
        "my trace.pftrace.json",
        "&&",
        "perf",
        "info",
        "my trace.pftrace.json",
    ]
    assert "\n" not in str(caught.value)


def test_the_table_that_pipit_writes_is_read(tmp_path):
    """Columns as its reader of HPCToolkit names them; loops are no states."""
    path = tmp_path / "events.csv"
    path.write_text(
        "Timestamp (ns),Event Type,Name,Thread,Process,Host,Node,Source File Name,Source File Line Number,"
        "Calling Context ID\n"
        "0,Enter,main,0,3,n1,{'name': 'main'},a.c,1,1\n"
        "5,Loop Enter,loop at a.c,0,3,n1,x,a.c,2,2\n"
        "5,Enter,work,1,3,n1,y,a.c,3,3\n"
        "9,Leave,work,1,3,n1,y,a.c,3,3\n"
        "9,Loop Leave,loop at a.c,0,3,n1,x,a.c,2,2\n"
        "12,Leave,main,0,3,n1,z,a.c,1,1\n"
    )
    trace = perfcore.read(path)
    assert trace.locations == ("3/0", "3/1")
    assert trace.states == ("main", "work")
    assert (trace.start_ns.tolist(), trace.end_ns.tolist()) == ([5, 0], [9, 12])
    assert "2 rows passed over that neither enter nor leave a state" in trace.notes


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "# To display the perf.data header info, please use --header\n#\n    62.35%  a.out  a.out  [.] f\n",
            "perf explore",
        ),
        ("a.out 12345 1000.123456:     250000 cycles:u: \n\t    55d0c0de1234 f+0x24 (/a.out)\n", "perf script"),
        (" Performance counter stats for './a.out':\n\n   15   context-switches\n", "perf stat -x, -o FILE COMMAND"),
    ],
)
def test_what_linux_perf_prints_names_what_is_read(tmp_path, content, message):
    path = tmp_path / "perf.txt"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        perfcore.read(path)
