"""Inputs: plain, compressed, piped, and those that cannot be read."""

import errno
import gzip
import io
import math
import os
import stat
import struct
import sys
import tempfile
import threading
from types import SimpleNamespace

import pytest

from perfcore.base.errors import InputError
from perfcore.base.files import atomic_path, refuse_existing, write_bytes
from perfcore.reading.source import COMPRESSED_ENDINGS, HEAD_BYTES, Source
from perfcore.testing.readers import compressed

TEXT = b"time,value\n" + b"1,2\n" * 40_000  # longer than the head


@pytest.fixture
def stdin(monkeypatch):
    def feed(content):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))

    return feed


@pytest.fixture
def spool(tmp_path_factory, monkeypatch):
    """The folder for temporary files, alone."""
    folder = tmp_path_factory.mktemp("spool")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize(("name", "suffix"), [
    ("a.csv", ".csv"), ("A.PRV", ".prv"), ("a.trace.gz", ".trace"), ("a.b.csv", ".csv"), ("plain", ""), ("x.gz", ""),
    ("a.csv.BZ2", ".csv"), ("a.prv.xz", ".prv"), ("a.b.csv.zst", ".csv"),
])  # fmt: skip
def test_suffix(tmp_path, name, suffix):
    (tmp_path / name).write_bytes(TEXT)
    with Source(tmp_path / name) as source:
        assert source.suffix == suffix
        assert source.name == str(tmp_path / name)


@pytest.mark.parametrize("name", ["data.csv", "data.csv{}", "compressed, without the ending"])
@pytest.mark.parametrize("ending", COMPRESSED_ENDINGS)
def test_compression_is_told_from_the_content(tmp_path, name, ending, spool):
    path = tmp_path / name.format(ending)
    path.write_bytes(TEXT if name == "data.csv" else compressed(TEXT, ending))
    with Source(path) as source:
        assert source.head == TEXT[:HEAD_BYTES]
        with source.open() as stream:
            assert stream.read() == TEXT
        with source.open() as stream:  # again from the start
            assert stream.readline() == b"time,value\n"
        with source.plain_file() as plain:
            assert plain.read_bytes() == TEXT
            assert plain.suffix == source.suffix
            assert (plain == path) == (name == "data.csv")
    assert list(spool.iterdir()) == []


@pytest.mark.parametrize(
    ("ending", "program"), [(".gz", "gunzip"), (".bz2", "bunzip2"), (".xz", "unxz"), (".zst", "unzstd")]
)
def test_what_decompresses_out_of_all_proportion_is_refused(tmp_path, monkeypatch, spool, ending, program):
    """Zeros shrink to a thousandth and less; text of measurements to a fiftieth."""
    monkeypatch.setattr("perfcore.reading.source._GROWTH_FROM_BYTES", 1 << 20)
    path = tmp_path / f"bomb.csv{ending}"
    path.write_bytes(compressed(bytes(4 << 20), ending))
    with Source(path) as source:
        problem = rf"bomb\.csv\{ending}: decompresses to more than 200"
        with source.open() as stream, pytest.raises(InputError, match=problem):
            stream.read()
        with pytest.raises(InputError, match=f"unpack it with {program} first"), source.plain_file():
            pass
    assert list(spool.iterdir()) == []
    rows = "".join(f"{k},{k * k % 977}\n" for k in range(40_000)).encode()
    path.write_bytes(compressed(rows, ending))  # also beyond the size from which it counts
    monkeypatch.setattr("perfcore.reading.source._GROWTH_FROM_BYTES", 1 << 10)
    with Source(path) as source, source.open() as stream:
        assert len(stream.read(1 << 16)) == 1 << 16


def test_standard_input_is_spooled_and_cleaned_up(stdin, spool):
    stdin(gzip.compress(TEXT))
    with Source("-") as source:
        assert (source.name, source.suffix, source.is_stdin) == ("-", "", True)
        assert len(list(spool.iterdir())) == 1
        for _ in range(2):
            with source.open() as stream:
                assert stream.read() == TEXT
    assert list(spool.iterdir()) == []


def test_a_named_pipe_may_wait_for_its_writer_and_then_as_long_as_it_takes(tmp_path, monkeypatch, spool):
    """Its writer opens it once the reader has found nobody, and writes once the reader waits, after an endless time."""
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    alone, opened, awaited = (threading.Event() for _ in range(3))
    clock = {
        "monotonic": lambda: math.inf if opened.is_set() else 0.0,
        "sleep": lambda _: alone.set() or opened.wait(60),
    }
    monkeypatch.setattr("perfcore.reading.source.time", SimpleNamespace(**clock))
    set_blocking = os.set_blocking
    monkeypatch.setattr(os, "set_blocking", lambda *which: set_blocking(*which) or awaited.set())

    def write():
        alone.wait(60)
        with pipe.open("wb") as file:
            opened.set()
            awaited.wait(60)
            file.write(TEXT)

    writer = threading.Thread(target=write)
    writer.start()
    assert read_all(pipe) == TEXT
    writer.join()
    assert list(spool.iterdir()) == []


def test_what_is_not_there(tmp_path):
    with pytest.raises(InputError, match=r"none.csv: there is no such file"):
        Source(tmp_path / "none.csv")
    with pytest.raises(InputError, match="is a folder; name a file in it"):
        Source(tmp_path)
    with pytest.raises(InputError, match="cannot be read: File name too long"):
        Source("a" * 300)
    (tmp_path / "file").touch()
    with pytest.raises(InputError):
        Source(tmp_path / "file" / "x.csv")


def read_all(path):
    with Source(path) as source, source.open() as stream:
        return stream.read()


@pytest.mark.parametrize("keep", [6, 20, -4])
@pytest.mark.parametrize("ending", COMPRESSED_ENDINGS)
def test_a_compressed_file_that_is_cut_short(tmp_path, keep, ending):
    path = tmp_path / f"x.csv{ending}"
    path.write_bytes(compressed(TEXT, ending)[:keep])
    problem = r"x.csv\.\w+: the (gzip|bzip2|xz|zstd) file is truncated or corrupt"
    with pytest.raises(InputError, match=problem) as caught:
        read_all(path)
    assert len(str(caught.value).splitlines()) == 1


def test_a_frame_of_zstd_that_is_skipped(tmp_path):
    """Section 3.1.2 of RFC 8878; pzstd begins its files with one."""
    path = tmp_path / "x.zst"
    path.write_bytes(struct.pack("<II", 0x184D2A50, 4) + b"1234" + compressed(TEXT, ".zst"))
    assert read_all(path) == TEXT


def test_a_device_is_no_file():
    with pytest.raises(InputError, match="is a device"):
        Source("/dev/zero")


def test_a_pipe_into_which_nobody_writes_is_not_waited_for(tmp_path, spool, monkeypatch):
    monkeypatch.setattr("perfcore.reading.source._PIPE_WAITS_S", 0.01)
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match="is a pipe that no program opened for writing within"):
        Source(tmp_path / "pipe.csv")
    assert not list(spool.iterdir())


# Files are written whole or not at all.
def test_the_file_appears_with_its_content_and_the_usual_rights(tmp_path):
    target = tmp_path / "a folder" / "model.json"
    target.parent.mkdir()
    umask = os.umask(0o027)
    try:
        write_bytes(target, b"content")
    finally:
        os.umask(umask)
    assert target.read_bytes() == b"content"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert list(target.parent.iterdir()) == [target]


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path):
    target = tmp_path / "model.json"

    def write_half():
        with atomic_path(target):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(InputError) as caught:
        write_half()
    assert str(caught.value) == f"{target}: cannot be written: No space left on device"
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_written_into_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    write_bytes(pipe, b"through the pipe")
    reader.join()
    assert received == [b"through the pipe"]
    assert pipe.is_fifo()


def test_a_file_that_exists_is_kept_unless_told_otherwise(tmp_path):
    target = tmp_path / "report.html"
    refuse_existing(target)
    target.write_text("mine")
    with pytest.raises(InputError, match=r"report\.html: exists and is no result of perf; overwrite= replaces it"):
        refuse_existing(target)
    refuse_existing(target, overwrite=True)
    target.write_text('<meta name="generator" content="perfcore">')
    refuse_existing(target)
    refuse_existing("/dev/null")
