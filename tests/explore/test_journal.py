"""What was kept outlasts the program: undo after a restart, and files that change together also when it is killed."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from perf_explore import journal as journal_module
from perf_explore.journal import Journal, state_folder
from perf_explore.session import Session
from perf_views import kept_changes
from perfcore.base.errors import DataError, InputError

from .killed_program import FILES, TwoFiles, session

PROGRAM = Path(__file__).with_name("killed_program.py")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in FILES:
        Path(name).write_text("old")
    return tmp_path


def started(opened=FILES):
    """What a start of the program makes: files are mended first."""
    journal = Journal(Path("state"), opened)
    journal.mend()
    return session(journal)


def held():
    return {Path(name).read_text() for name in FILES}


def test_after_a_restart_every_change_can_be_undone_in_turn(folder):
    first = started()
    for text in ("new", "newer"):
        first.keep((), {"text": text}, first.version, (("below",), {"n": "3"}))
    again = started()
    assert again.undoable == "text is newer"
    assert again.undo("0") == (("below",), {"n": "3"})
    assert (again.subject.text, held()) == ("new", {"new"})
    once_more = started()
    assert once_more.undoable == "text is new"
    once_more.undo("0")
    assert (once_more.subject.text, held()) == ("old", {"old"})
    assert started().undoable is None


def test_after_undo_nothing_is_left_to_undo_after_a_restart(folder):
    first = started()
    first.keep((), {"text": "new"}, "0")
    first.undo("1")
    assert started().undoable is None
    assert not [path for path in Path("state").iterdir() if path.name != "lock"]


def test_what_others_opened_is_not_undone_here(folder):
    started().keep((), {"text": "new"}, "0")
    assert started(["c.txt"]).undoable is None
    assert started([f"./{name}" for name in FILES]).undoable == "text is new"


def test_a_file_that_was_changed_meanwhile_stays_and_is_named(folder):
    first = started()
    for text in ("new", "newer"):
        first.keep((), {"text": text}, first.version)
    Path("b.txt").write_text("theirs")
    again = started()
    assert again.undoable is None
    (remark,) = again.remarks
    assert remark == f"text is newer: cannot be undone, {folder / 'b.txt'} was changed since"
    assert started().remarks == ()  # said once


def test_a_file_that_is_changed_after_the_start_is_left_alone(folder):
    started().keep((), {"text": "new"}, "0")
    again = started()
    Path("b.txt").unlink()
    with pytest.raises(DataError, match=r"b\.txt: the file was changed by someone else"):
        again.undo("0")
    assert Path("a.txt").read_text() == "new"
    Path("b.txt").write_text("new")
    again.undo("0")
    assert held() == {"old"}


def test_an_undo_whose_files_cannot_be_read_again_changes_nothing(folder):
    started().keep((), {"text": "new"}, "0")

    def reopen():
        raise DataError("not readable")

    again = Session(TwoFiles.read(), Journal(Path("state"), FILES), reopen)
    with pytest.raises(DataError, match="not readable"):
        again.undo("0")
    assert held() == {"new"}
    assert started().undoable == "text is new"


@pytest.mark.parametrize(("most", "limit"), [("_MOST_RECORDS", 2), ("_MOST_BYTES", 1000)])
def test_the_oldest_records_are_forgotten(folder, monkeypatch, most, limit):
    monkeypatch.setattr(journal_module, most, limit)
    for opened in (["c.txt"], FILES):
        for number in range(4):
            here = started(opened)
            here.keep((), {"text": f"{opened[0]} {number}"}, "0")
    records = sorted(Path("state").glob("*.json"))
    assert 1 <= len(records) < 8
    assert sum(path.stat().st_size for path in records) <= 1000
    assert started(["c.txt"]).undoable is None
    assert started().undoable == "text is a.txt 3"


def test_a_home_that_cannot_be_written_keeps_nobody_from_saving(folder):
    Path("state").write_text("no folder")
    here = session(Journal(Path("state"), FILES))
    here.keep((), {"text": "new"}, "0")
    assert held() == {"new"}
    assert here.remarks[0].startswith("undo ends with this program")
    here.undo("1")
    assert held() == {"old"}


def test_records_that_cannot_be_read_keep_nobody_from_looking(folder):
    started().keep((), {"text": "new"}, "0")
    Path("state", "lock").unlink()
    Path("state", "lock").mkdir()
    again = started()
    assert again.undoable is None
    assert again.remarks[0].startswith("what was kept before cannot be looked at, nor undone: ")


def test_records_are_nobody_elses(folder):
    started().keep((), {"text": "new"}, "0")
    assert Path("state").stat().st_mode & 0o777 == 0o700


def test_the_folder_is_that_of_the_base_directory_specification(monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "/var/state")
    assert state_folder() == Path("/var/state/perfcore/explore")
    monkeypatch.setenv("HOME", "/home/me")
    for ignored in ("", "relative"):
        monkeypatch.setenv("XDG_STATE_HOME", ignored)
        assert state_folder() == Path("/home/me/.local/state/perfcore/explore")


def killed(what, number):
    """Whether the program was killed at that file; it puts four in place at most: a record, two files, the record."""
    done = subprocess.run([sys.executable, PROGRAM, str(number), what], check=False, timeout=60)
    assert done.returncode in (0, -signal.SIGKILL)
    return done.returncode != 0


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_change_that_is_killed_is_there_as_a_whole_or_not_at_all(folder, number):
    assert killed("keep", number)
    assert held() <= {"old", "new"}  # each file is whole
    assert held() == ({"old", "new"} if number == 3 else {"old"} if number < 3 else {"new"})
    again = started()
    assert held() == ({"old"} if number <= 3 else {"new"})
    assert again.subject.text == Path("a.txt").read_text()
    assert again.undoable == (None if number <= 3 else "text is new")
    assert bool(again.remarks) == (number == 3)
    assert all("text is new: the program was stopped while it wrote" in remark for remark in again.remarks)
    assert started().remarks == ()
    again.keep((), {"text": "newer"}, "0")
    assert held() == {"newer"}


@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_undo_that_is_killed_is_done_as_a_whole_or_not_at_all(folder, number):
    started().keep((), {"text": "new"}, "0")
    assert killed("undo", number)
    assert held() == ({"old", "new"} if number == 3 else {"new"})
    again = started()
    assert held() == ({"old"} if number == 3 else {"new"})
    assert again.undoable == (None if number == 3 else "text is new")


def test_what_was_killed_and_then_changed_by_others_is_only_told(folder):
    assert killed("keep", 3)
    Path("a.txt").write_text("theirs")
    again = started()
    assert (Path("a.txt").read_text(), Path("b.txt").read_text()) == ("theirs", "old")
    assert "look whether they belong together" in again.remarks[0]
    assert started().remarks == ()


def test_a_record_that_is_none_is_passed_over(folder):
    first = started()
    first.keep((), {"text": "new"}, "0")
    (record,) = Path("state").glob("*.json")
    record.write_text("{")
    record.with_suffix(".begun").write_text("{}")
    assert started().undoable is None
    assert held() == {"new"}


@pytest.mark.parametrize("what", ["keep", "undo"])
def test_where_a_full_disk_lets_nothing_be_put_back_the_next_start_does(folder, monkeypatch, what):
    """The first file is written, and then there is no room."""
    page = started()
    if what == "undo":
        page.keep((), {"text": "new"}, "0")
    with monkeypatch.context() as patched:
        patched.setattr(kept_changes, "write_bytes", writing(1))
        with pytest.raises(DataError, match=r"b\.txt: cannot be written: no room; nor can .*a\.txt be put back now"):
            page.keep((), {"text": "new"}, "0") if what == "keep" else page.undo("1")
    assert held() == {"old", "new"}
    assert started().undoable is None
    assert held() == {"old"}


def writing(files):
    """Writes that have room for so many files."""
    left = [files]

    def write(path, content):
        left[0] -= 1
        if left[0] < 0:
            raise InputError(path, "cannot be written: no room")
        Path(path).write_bytes(content)

    return write
