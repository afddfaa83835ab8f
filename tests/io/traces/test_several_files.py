"""Archives that nobody should unpack."""

import gzip
import io
import tarfile

import pytest
from trace_samples import PROJECTIONS_LOGS, PROJECTIONS_STS, tarred

import perfcore
from perf_io.traces import several_files
from perfcore.base.errors import InputError

FILES = {"a.sts": PROJECTIONS_STS.encode(), "a.0.log": PROJECTIONS_LOGS[0].encode()}


@pytest.fixture
def read(tmp_path):
    def read(content, name="run.tar"):
        path = tmp_path / name
        path.write_bytes(content)
        return perfcore.read(path, reader="projections")

    return read


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
    monkeypatch.setattr("perfcore.reading.compression._GROWTH_FROM_BYTES", 1 << 16)
    bomb = gzip.compress(tarred({**FILES, "a.1.log": bytes(1 << 22)}))
    with pytest.raises(InputError, match="decompresses to more than 300 times its size"):
        read(bomb, "run.tar.gz")
    monkeypatch.setattr(several_files, "_FREE_BYTES", 1 << 60)  # a disk that is full
    with pytest.raises(InputError, match="the archive holds more than"):
        read(tarred(FILES))
    monkeypatch.undo()
    monkeypatch.setattr(several_files, "_MOST_MEMBERS", 2)
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
