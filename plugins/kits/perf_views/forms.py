"""Fields that are filled in: forms that lead to another state of a view, and actions that change what is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


ViewPath = tuple[str, ...]


@dataclass(frozen=True)
class Field:
    """One field of a form."""

    name: str  # in the query or the posted form
    label: str = ""
    value: str = ""  # what it holds now
    kind: Literal["text", "number", "range", "choice", "lines", "hidden"] = "text"
    choices: tuple[str, ...] = ()  # of a ``choice``
    minimum: str = ""  # of a ``number`` or ``range``; empty for none
    maximum: str = ""
    step: str = ""
    help: str = ""  # in one sentence
    is_checked: bool = False  # whether the page says while it is typed what is right and what is not


@dataclass(frozen=True)
class Form:
    """Fields that lead to another state of a view; the state stands in the address. A report leaves it out."""

    fields: tuple[Field, ...]
    path: ViewPath  # the view that gets them as its query
    submit: str = "Show"  # on the button
    title: str = ""
    is_folded: bool = False  # only its title is shown until it is opened; for forms that few need


@dataclass(frozen=True)
class Action:
    """Fields that change what is kept. The page first shows what would change. A report leaves it out.

    The fields go to `Editable.act` with the path; several actions at one path are told apart by a hidden field.
    """

    fields: tuple[Field, ...]
    path: ViewPath
    submit: str = "Preview"  # on the button that leads to the preview
    title: str = ""
