"""Projections: entry methods, idle times, several logs, and what is missing."""

import functools
import gzip
import io
import tarfile

import pytest
from trace_samples import PROJECTIONS_LOGS, PROJECTIONS_STS, tarred

import perfcore
from perfcore.base.errors import InputError


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "cell.sts").write_text(PROJECTIONS_STS)
    for processor, log in enumerate(PROJECTIONS_LOGS):
        (tmp_path / f"cell.{processor}.log").write_text(log)
    return tmp_path


def test_processors_compute_in_entry_methods(folder):
    trace = perfcore.read(folder / "cell.sts")
    assert trace.locations == ("PE 0", "PE 1")
    main, compute = "Main::Main(CkArgMsg* impl_msg)", "Cell::compute(int step, double dt)"
    assert trace.states == ("scheduler", "idle", main, compute)
    assert trace.busy_states == (main, compute)
    curve = trace.utilization()
    assert curve.edges.tolist() == [100, 110, 130, 150, 170, 200]
    assert curve.heights.tolist() == [0, 1, 2, 1, 0]
    assert trace.utilization(busy=["idle"]).integral == 40


@pytest.mark.parametrize(("old", "new", "problem"), [
    ("2 4 0 110", "2 4 9 110", r"\(cell\.0\.log\):3: entry '9' is not defined in cell\.sts"),
    ("2 4 0 110 16 0 104", "2 4 0", r":3: record of type 2 has 3 fields; it is cut short"),
    ("14 150 0", "14 1x0 0", r":6: time '1x0' is not a finite number"),
    ("14 150 0", "14 90 0", r":6: the time goes back from 150000 to 90000 ns"),
    ("14 150 0", "idle 150 0", r":6: 'idle' is no type of a record"),
    ("PROJECTIONS-RECORD", "PROJECTIONS-RECORD DELTA", r":1: does not begin with PROJECTIONS-RECORD"),
])  # fmt: skip
def test_damaged_logs_are_refused_with_their_line(folder, old, new, problem):
    log = folder / "cell.0.log"
    log.write_text(log.read_text().replace(old, new, 1))
    with pytest.raises(InputError, match=problem):
        perfcore.read(folder / "cell.sts")


def test_two_traces_are_a_table_of_their_phases(folder):
    for path in list(folder.iterdir()):
        (folder / path.name.replace("cell", "other")).write_bytes(path.read_bytes())
    table = perfcore.read(folder).table
    assert sorted(table["file"].unique()) == [str(folder / "cell.sts"), str(folder / "other.sts")]
    assert set(table["p"]) == {2}


@pytest.mark.real_data
def test_ping_pong_of_newer_charm(real_data):
    trace = perfcore.read(real_data / "traces" / "projections" / "ping-pong" / "pingpong.prj.sts")
    assert trace.locations == ("PE 0", "PE 1")
    assert "Ping1::trecv(PingMsg* impl_msg)" in trace.busy_states


@pytest.mark.real_data
def test_hello_of_charm(real_data):
    trace = perfcore.read(real_data / "traces" / "projections" / "charm-hello")
    curve = trace.utilization()
    # An independent parser: 82 changes, 0.096 of 4; nobody computes when the run begins: one step more than changes.
    assert curve.n_steps == 82 + 1
    assert curve.mean / 4 == pytest.approx(0.096, abs=5e-4)
    assert "Hello::SayHi(int hiNo)" in trace.busy_states


# Archives that nobody should unpack.
FILE = "run.tar"
FILES = {"a.sts": PROJECTIONS_STS.encode(), "a.0.log": PROJECTIONS_LOGS[0].encode()}


@pytest.fixture
def read(read):
    return functools.partial(read, reader="projections")


@pytest.mark.parametrize("name", ["../evil.log", "/tmp/evil.log", "a/../../evil.log"])
def test_names_that_lead_out_are_refused(read, name):
    with pytest.raises(InputError, match="the archive leads out of its folder"):
        read(tarred({**FILES, name: b""}))


def test_links_are_not_followed(read, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text(PROJECTIONS_STS)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        link = tarfile.TarInfo("a.sts")
        link.type, link.linkname = tarfile.SYMTYPE, str(secret)
        archive.addfile(link)
    with pytest.raises(InputError, match=r"the archive has 0 files that end in \.sts"):
        read(buffer.getvalue())


def test_archives_that_grow_without_limit_are_refused(read, monkeypatch):
    monkeypatch.setattr("perfcore.reading.source._GROWTH_FROM_BYTES", 1 << 16)
    bomb = gzip.compress(tarred({**FILES, "a.1.log": bytes(1 << 22)}))
    with pytest.raises(InputError, match="decompresses to more than 200 times its size"):
        read(bomb, "run.tar.gz")
    monkeypatch.setattr("perf_io.traces.several_files._FREE_BYTES", 1 << 60)  # a disk that is full
    with pytest.raises(InputError, match="the archive holds more than"):
        read(tarred(FILES))
    monkeypatch.undo()
    monkeypatch.setattr("perf_io.traces.several_files._MOST_MEMBERS", 2)
    with pytest.raises(InputError, match="or 2 files"):
        read(tarred({**FILES, "other": b"", "more": b""}))


def test_files_with_holes_are_refused(read):
    """Two blocks that say that they are a terabyte of zeros, as GNU tar writes sparse files (its format 1.0)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("a.0.log")
        content = b"1\n0\n0\n".ljust(512, b"\0")
        member.size = len(content)
        member.pax_headers = {
            **{"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "a.0.log"},
            **{"GNU.sparse.realsize": str(1 << 30)},
        }
        archive.addfile(member, io.BytesIO(content))
    with pytest.raises(InputError, match=r"the archive holds a file with holes: 'a\.0\.log'"):
        read(buffer.getvalue())
