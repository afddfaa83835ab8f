"""Edits of what is shown: a change is worked out, previewed, and only then kept; files are part of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from perf_views.contents import Block, Query, Viewable, ViewPath
from perfcore.base.errors import InputError

if TYPE_CHECKING:
    from perfcore.models.model import Model


@dataclass(frozen=True)
class FileEdit:
    """A file that a change writes when it is kept."""

    path: Path
    before: bytes | None  # what it must hold until then, so that nobody else's work is lost
    after: bytes | None  # what it holds then; None removes it


@dataclass(frozen=True)
class Change:
    """What an action would do, before it is kept."""

    subject: Viewable  # what takes the place of the present one
    summary: str  # in one line, for the preview, the button of undo, and other tabs
    blocks: tuple[Block, ...]  # what becomes different, such as a table of R^2 before and after
    files: tuple[FileEdit, ...] = ()  # written when the change is kept, each whole or not at all
    path: ViewPath = ()  # the view to show afterwards
    query: Query = field(default_factory=dict)  # its state


@runtime_checkable
class Editable(Viewable, Protocol):
    """A viewable with actions."""

    def act(self, path: ViewPath, form: Query) -> Change:
        """What an action would change; nothing is changed by asking."""


@dataclass(frozen=True)
class Check:
    """What is said of a field while it is typed."""

    text: str  # one line
    is_fine: bool = True  # false for a mistake


@runtime_checkable
class Checkable(Protocol):
    """A viewable that checks an action's fields while they are typed; see `Field.is_checked`."""

    def check(self, path: ViewPath, form: Query) -> tuple[Check, ...]:
        """What is right and what is not; it comes after every pause in typing, and should take some 10 ms."""


@runtime_checkable
class Storable(Protocol):
    """A viewable of one model, which can be saved."""

    @property
    def model(self) -> Model:
        """The model that is shown."""


@runtime_checkable
class Fitting(Protocol):
    """A viewable on which models are fitted."""

    @property
    def unsaved(self) -> tuple[str, ...]:
        """Models that were made on the page and stand in no file, each in a few words."""


def unsaved_of(subject: Viewable) -> tuple[str, ...]:
    """What stands in no file; nothing where a subject makes no models."""
    return subject.unsaved if isinstance(subject, Fitting) else ()


def content(path: Path) -> bytes | None:
    """What a file holds; None where there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror or error}") from error
