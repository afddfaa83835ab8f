"""Whatever the bytes, a reader gives data or one line that says what is wrong."""

import pytest
from format_samples import EXTRAP_TEXT
from format_samples import SAMPLES as FILES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import perfcore
from perfcore import Measurements, PerfError, Series, Trace, UtilizationCurve
from perfcore.hooks.registry import registry

DATA = (Trace, UtilizationCurve, Series, Measurements)
# Beside the samples that the contracts are tested on: other column names, separators, units and record kinds.
MORE_SAMPLES = {
    "csv": [
        b"time_s,value\n0,1\n1.5,2\n3,\n",
        b"start,end,location,state\n0,1,a,run\n1,2.5,a,wait\n",
        b"timestamp;x;y\n2014-02-14 14:30:00;1;2\n2014-02-14 14:35:00Z;;3\n",
    ],
    "paraver": [b"#Paraver (26/01/04 at 16:35):9_ns:2(1,1):1:2(1:1,1:2),1\n1:1:1:1:1:0:5:1\n2:1:1:1:1:2:9:1\n"],
    "picl": [b"-3 -901 0.0 0 0 0\n-3 -52 0.1 0 0 3 2 1 0 0\n-4 -52 0.2 0 0 0\n-4 -901 0.3 0 0 0\n"],
    "pj_dump": [
        b"State, p, S, 0, 2, 2, 0, run\nState, p, S, 1, 2, 1, 1, wait\nEvent, p, E, 1, x\n",
        b"Nature,ResourceId,Type,Start,End,Depth,Value\nState,p,S,0,2,0,run\nState,p,S,2,3,0,wait\n",
    ],
}
SAMPLES = {
    name: [
        *(one if isinstance(one, bytes) else one.encode() for _, one in FILES.get(name, [])),
        *MORE_SAMPLES.get(name, []),
    ]
    for name in registry().entries("readers")
}
TOKENS = [b"nan", b"-1", b"1e400", b"inf", b'"', b",", b":", b"\n", b"\r", b"\0", b"\xff", b"%", b"9" * 30, b"'"]
TOKENS += [b"\xc2\xb2"]


def mutated(samples):
    """Samples with bytes replaced, pieces inserted or removed, and the end cut off."""
    edit = st.tuples(st.floats(0, 1), st.integers(0, 6), st.sampled_from(TOKENS) | st.binary(max_size=4))

    def apply(sample, edits, keep):
        content = bytearray(sample)
        for place, removed, inserted in edits:
            at = int(place * len(content))
            content[at : at + removed] = inserted
        return bytes(content[: max(1, round(keep * len(content)))])

    return st.builds(apply, st.sampled_from(samples), st.lists(edit, max_size=4), st.just(1.0) | st.floats(0, 1))


@pytest.fixture(scope="module")
def parquet_samples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parquet")
    perfcore.write(UtilizationCurve([0, 1, 3], [1, 2]), folder / "curve.parquet")
    perfcore.write(Trace([0], [0], [0], [5], ["a"], ["run"]), folder / "trace.parquet")
    return [path.read_bytes() for path in sorted(folder.iterdir())]


def read_bytes(folder, name, content, reader):
    """Read and use; anything but data and `PerfError` escapes and fails the test."""
    path = folder / name
    path.write_bytes(content)
    message = "data"
    try:
        data = perfcore.read(path, reader=reader)
        assert isinstance(data, DATA)
        if isinstance(data, Trace):
            data.utilization()
    except PerfError as error:
        message = str(error)
    assert len(message.splitlines()) == 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


def test_every_reader_has_samples():
    bundled = {name for name, entry in registry().entries("readers").items() if entry.distribution == "perfcore"}
    assert {name for name in bundled if not SAMPLES[name]} == {"parquet"}  # made by a fixture


QUICK = settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@pytest.mark.parametrize("reader", sorted(SAMPLES))
@QUICK
@given(data=st.data())
def test_mutated_samples(folder, parquet_samples, reader, data):
    read_bytes(folder, f"{reader}.bin", data.draw(mutated(SAMPLES[reader] or parquet_samples)), reader)


@QUICK
@given(
    content=st.binary(min_size=1, max_size=200),
    name=st.sampled_from(["a", "a.csv", "a.trace", "a.trf", "a.txt", "a.gz"]),
)
def test_random_bytes_of_any_name(folder, content, name):
    read_bytes(folder, name, content, None)


# What fuzzing found, and was a traceback once.
FOUND = {
    "parameter after the points": ("extrap", EXTRAP_TEXT.replace("METRIC", "PARAMETER z\nMETRIC", 1).encode()),
    "name": ("benchmark-tables", b'"binary","filename",configuration","rate","time"\na,b,n=6,3,1\n'),
    "time NaN": ("chrome", b'{"traceEvents": [{"ph": "X", "ts": "NaN", "dur": 1, "pid": 1, "tid": 1, "name": "a"}]}'),
    "times too large": ("csv", b"time_ms,value\n0,1\n0,1\n1.7976931348623157e+308,4\n"),
}


@pytest.mark.parametrize("found", FOUND)
def test_once_found(folder, found):
    reader, content = FOUND[found]
    read_bytes(folder, "found", content, reader)
