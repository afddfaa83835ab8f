"""Saving a model that was fitted on the page."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from perf_views.contents import Action, Block, Field, Notice, Query, Table, ViewPath
from perf_views.edits import FileEdit, content
from perfcore.base.errors import OptionError
from perfcore.models.model import Model


SAVE_AS = "save_as"


def save_action(data: str, fitter: str, path: ViewPath, query: Query) -> Action:
    """The form that saves what a view of a fit shows."""
    file = Path(data)
    stem = "".join(letter for letter in file.stem if letter not in "*?[]") or "data"
    hidden = (Field(name, value=text, kind="hidden") for name, text in query.items() if name != SAVE_AS)
    name = Field(SAVE_AS, "model file", str(file.with_name(f"{stem}-{fitter}.json")), help="`perf explore` opens it")
    return Action((*hidden, name), path, "Save as", "Save this fit")


def saving(model: Model, name: str) -> tuple[tuple[Block, ...], FileEdit]:
    """What saving a model would do, and the file that it writes."""
    target = Path(name.strip())
    if target.suffix.lower() != ".json":
        raise OptionError(f"a model file ends with .json; {name!r} was given")
    with TemporaryDirectory() as folder:
        written = Path(folder) / "model.json"
        model.save(written)
        after = written.read_bytes()
    before = content(target)
    if before == after:
        raise OptionError(f"{target} holds this model already")
    blocks: list[Block] = [Table(("", ""), (("file", str(target.resolve())), ("model", model.title)))]
    if before is not None:
        when = datetime.fromtimestamp(target.stat().st_mtime).isoformat(" ", "minutes")
        text = f"{target} exists: what it holds ({len(before):,} bytes, of {when}) would be replaced."
        blocks.insert(0, Notice(text, "warning"))
    return tuple(blocks), FileEdit(target, before, after)
