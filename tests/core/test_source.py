"""Inputs: plain, compressed, piped, and those that cannot be read."""

import gzip
import io
import os
import sys
import tempfile
import threading
from types import SimpleNamespace

import pytest

from perfcore.base.errors import InputError
from perfcore.reading.source import HEAD_BYTES, Source

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


@pytest.mark.parametrize(
    ("name", "suffix"),
    [("a.csv", ".csv"), ("A.PRV", ".prv"), ("a.trace.gz", ".trace"), ("a.b.csv", ".csv"), ("plain", ""), ("x.gz", "")],
)
def test_suffix(tmp_path, name, suffix):
    (tmp_path / name).write_bytes(TEXT)
    with Source(tmp_path / name) as source:
        assert source.suffix == suffix
        assert source.name == str(tmp_path / name)


@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz", "compressed, without the ending"])
def test_compression_is_told_from_the_content(tmp_path, name, spool):
    path = tmp_path / name
    path.write_bytes(TEXT if name == "data.csv" else gzip.compress(TEXT))
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


def test_what_decompresses_out_of_all_proportion_is_refused(tmp_path, monkeypatch, spool):
    """Zeros shrink to a thousandth, the most that the format allows; text of measurements to a fiftieth."""
    monkeypatch.setattr("perfcore.reading.source._GROWTH_FROM_BYTES", 1 << 20)
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(bytes(4 << 20)))
    with Source(path) as source:
        with source.open() as stream, pytest.raises(InputError, match=r"bomb\.csv\.gz: decompresses to more than 300"):
            stream.read()
        with pytest.raises(InputError, match="unpack it with gunzip first"), source.plain_file():
            pass
    assert list(spool.iterdir()) == []
    path.write_bytes(gzip.compress(TEXT * 4))  # also beyond the size from which it counts
    monkeypatch.setattr("perfcore.reading.source._GROWTH_FROM_BYTES", 1 << 10)
    with Source(path) as source, source.open() as stream:
        assert len(stream.read(1 << 16)) == 1 << 16


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_lines_have_numbers_and_a_limit(tmp_path, pack):
    path = tmp_path / "lines"
    path.write_bytes(pack(b"a\n\nbcd\r\n" + b"e" * 9))
    with Source(path) as source:
        assert list(source.lines()) == [(1, b"a\n"), (2, b"\n"), (3, b"bcd\r\n"), (4, b"e" * 9)]
        with pytest.raises(InputError, match=r"lines:4: the line is longer than 0 KiB"):
            list(source.lines(longest=8))


def test_standard_input_is_spooled_and_cleaned_up(stdin, spool):
    stdin(gzip.compress(TEXT))
    with Source("-") as source:
        assert (source.name, source.suffix, source.is_stdin) == ("-", "", True)
        assert len(list(spool.iterdir())) == 1
        for _ in range(2):
            with source.open() as stream:
                assert stream.read() == TEXT
    assert list(spool.iterdir()) == []


def test_a_named_pipe_is_read_once(tmp_path, spool):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(TEXT,))
    writer.start()
    with Source(pipe) as source:
        writer.join(timeout=10)
        with source.open() as stream:
            assert stream.read() == TEXT
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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_must_not_be_read(tmp_path):
    path = tmp_path / "locked" / "x.csv"
    path.parent.mkdir()
    path.write_bytes(TEXT)
    path.chmod(0)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        Source(path)
    path.parent.chmod(0)
    try:
        with pytest.raises(InputError, match="cannot be read: Permission denied"):
            Source(path)
    finally:
        path.parent.chmod(0o700)


@pytest.mark.parametrize("content", [b"", gzip.compress(b"", mtime=0)], ids=["nothing", "compressed nothing"])
def test_empty_inputs(tmp_path, stdin, spool, content):
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(InputError, match=r"x.csv: the file is empty"):
        Source(tmp_path / "x.csv")
    stdin(content)
    with pytest.raises(InputError, match="-: the file is empty"):
        Source("-")
    assert list(spool.iterdir()) == []


@pytest.mark.parametrize("keep", [5, 60, -4])
def test_a_gzip_file_that_is_cut_short(tmp_path, keep):
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(TEXT)[:keep])

    def read_all():
        with Source(path) as source, source.open() as stream:
            stream.read()

    with pytest.raises(InputError, match=r"x.csv.gz: the gzip file is cut short or damaged"):
        read_all()


def test_a_damaged_gzip_file(tmp_path, spool):
    path = tmp_path / "x.csv.gz"
    packed = bytearray(gzip.compress(TEXT))
    packed[-6] ^= 0xFF  # in the checksum: the content is whole, and wrong
    path.write_bytes(packed)

    def unpack():
        with Source(path) as source, source.plain_file():
            pass

    with pytest.raises(InputError, match="damaged"):
        unpack()
    assert list(spool.iterdir()) == []
