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
