"""Files are written whole or not at all."""

import errno
import os
import stat
import threading

import pytest

from perfcore.base.errors import InputError
from perfcore.base.files import atomic_path, check_folder, refuse_existing, write_bytes


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


@pytest.mark.parametrize("interruption", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_interruption_leaves_the_old_file_and_nothing_else(tmp_path, interruption):
    target = tmp_path / "model.json"
    target.write_bytes(b"old")

    def write_half():
        with atomic_path(target) as temporary:
            temporary.write_bytes(b"half")
            raise interruption

    with pytest.raises(interruption):
        write_half()
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path):
    target = tmp_path / "model.json"

    def write_half():
        with atomic_path(target):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(InputError) as caught:
        write_half()
    assert str(caught.value) == f"{target}: cannot be written: No space left on device"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("check", [check_folder, lambda path: write_bytes(path, b"content")])
def test_a_folder_that_is_not_there_is_named_and_not_made(tmp_path, check):
    """A misspelt folder would otherwise come into being, and the file would be looked for in vain."""
    with pytest.raises(InputError) as caught:
        check(tmp_path / "reslts" / "model.json")
    folder = str(tmp_path / "reslts")
    assert str(caught.value) == f"{folder}/model.json: cannot be written: there is no folder {folder!r}; make it first"
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_a_link(tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_bytes(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_pipe_is_written_into_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    write_bytes(pipe, b"through the pipe")
    reader.join(timeout=10)
    assert received == [b"through the pipe"]
    assert pipe.is_fifo()


def test_a_file_that_exists_is_kept_unless_told_otherwise(tmp_path):
    target = tmp_path / "report.html"
    refuse_existing(target)
    target.write_text("mine")
    with pytest.raises(InputError, match=r"report\.html: exists; --overwrite replaces it"):
        refuse_existing(target)
    refuse_existing(target, overwrite=True)
    refuse_existing("/dev/null")
