"""Edits of what is shown: a change is worked out, previewed, and only then kept; files are part of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from perfcore.view.contents import Block, Query, Viewable, ViewPath

__all__ = ["Change", "Editable", "FileEdit"]


@dataclass(frozen=True)
class FileEdit:
    """A file that a change writes when it is kept.

    Parameters
    ----------
    path : Path
    before : bytes or None
        What it must hold until then, so that nobody else's work is lost; None where it must not exist.
    after : bytes or None
        What it holds then; None removes it.
    """

    path: Path
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True)
class Change:
    """What an action would do, before it is kept.

    Parameters
    ----------
    subject : Viewable
        What takes the place of the present one.
    summary : str
        In one line, for the preview, the button of undo, and other tabs.
    blocks : tuple of Block
        What becomes different, such as a table of R^2 before and after.
    files : tuple of FileEdit
        Written when the change is kept, each whole or not at all.
    path : tuple of str
        The view to show afterwards.
    query : mapping of str to str
        Its state.
    """

    subject: Viewable
    summary: str
    blocks: tuple[Block, ...]
    files: tuple[FileEdit, ...] = ()
    path: ViewPath = ()
    query: Query = field(default_factory=dict)


@runtime_checkable
class Editable(Viewable, Protocol):
    """A viewable with actions."""

    def act(self, path: ViewPath, form: Query) -> Change:
        """What an action would change; nothing is changed by asking.

        Raises
        ------
        PerfError
            The fields are not accepted, or a refit fails; the page shows the message and keeps what was typed.
        """
