"""Changes: kept whole or not at all, taken back, and refused where they are out of date."""

from dataclasses import replace
from pathlib import Path

import pytest

from perf_explore.session import Session, StaleEditError
from perf_views import FileEdit
from perfcore.base.errors import DataError, InputError, OptionError


def test_asking_changes_nothing(session, notebook):
    change = session.preview((), {"text": "two"}, "0")
    assert change.summary == "text is two"
    assert (session.version, session.undoable, notebook.file.read_text()) == ("0", None, "one")


def test_a_preview_is_not_computed_twice(notebook):
    calls = []

    class Counting(type(notebook)):
        def act(self, path, form):
            calls.append(form["text"])
            return super().act(path, form)

    session = Session(Counting(notebook.file))
    for _ in range(2):
        session.preview((), {"text": "two"}, "0")
    session.keep((), {"text": "two"}, "0")
    assert calls == ["two"]


def test_every_change_can_be_undone_in_turn(session, notebook):
    for text in ("two", "three"):
        session.keep((), {"text": text}, session.version)
    assert Path(f"{notebook.file}.bak").read_text() == "two"
    assert session.undo("2") == ((), {})
    assert (notebook.file.read_text(), session.subject.text) == ("two", "two")
    assert session.undo("3") == ((), {})
    assert (notebook.file.read_text(), session.subject.text) == ("one", "one")
    with pytest.raises(OptionError, match="nothing to undo"):
        session.undo("4")


def test_undo_leads_to_where_the_change_was_made(session):
    session.keep((), {"text": "two"}, "0", (("a/b", "ü"), {"n": "3"}))
    assert session.undo("1") == (("a/b", "ü"), {"n": "3"})


def test_a_stale_edit_is_told_what_happened(session):
    session.keep((), {"text": "two"}, "0")
    session.undo("1")
    for version, what in (("0", "text is two; undo: text is two"), ("1", "undo: text is two"), ("x", "something else")):
        with pytest.raises(StaleEditError, match=what):
            session.keep((), {"text": "late"}, version)


def test_a_file_that_someone_else_changed_is_left_alone(session, notebook):
    session.preview((), {"text": "two"}, "0")
    notebook.file.write_text("theirs")
    with pytest.raises(DataError, match="was changed by someone else"):
        session.keep((), {"text": "two"}, "0")
    assert (notebook.file.read_text(), session.version) == ("theirs", "0")
    notebook.file.write_text("one")
    session.keep((), {"text": "two"}, "0")
    notebook.file.write_text("theirs")
    with pytest.raises(DataError):
        session.undo("1")
    assert notebook.file.read_text() == "theirs"


def test_of_several_files_all_are_written_or_none(notebook, tmp_path):
    class Two(type(notebook)):
        def act(self, path, form):
            change = super().act(path, form)
            (tmp_path / "wall").write_text("")
            return replace(change, files=(*change.files, FileEdit(tmp_path / "wall" / "x", None, b"")))

    session = Session(Two(notebook.file))
    with pytest.raises(InputError):
        session.keep((), {"text": "two"}, "0")
    assert (notebook.file.read_text(), session.version) == ("one", "0")


def test_a_new_file_goes_again_with_undo(notebook, tmp_path):
    class New(type(notebook)):
        def act(self, path, form):
            return replace(super().act(path, form), files=(FileEdit(tmp_path / "new", None, b"x"),))

    session = Session(New(notebook.file))
    session.keep((), {"text": "two"}, "0")
    assert (tmp_path / "new").read_bytes() == b"x"
    assert not (tmp_path / "new.bak").exists()
    session.undo("1")
    assert not (tmp_path / "new").exists()


def test_what_has_no_actions_says_so():
    class Still:
        title = "still"

        def view(self, path, query): ...

        def paths(self): ...

    with pytest.raises(OptionError, match="nothing to change"):
        Session(Still()).preview((), {}, "0")
