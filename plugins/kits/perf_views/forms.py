"""Fields that are filled in: forms that lead to another state of a view, and actions that change what is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Action", "Field", "Form", "ViewPath"]

ViewPath = tuple[str, ...]


@dataclass(frozen=True)
class Field:
    """One field of a form.

    Parameters
    ----------
    name : str
        In the query or the posted form.
    label : str
    value : str
        What it holds now.
    kind : {"text", "number", "range", "choice", "lines", "hidden"}
        ``lines`` is a text of several lines, such as formulas. A ``range`` is a slider with its number beside it.
    choices : tuple of str
        Of a ``choice``.
    minimum, maximum, step : str
        Of a ``number`` or ``range``; empty for none.
    help : str
        In one sentence.
    is_checked : bool
        Whether the page says while it is typed what is right and what is not; at most one field of an action. The
        subject answers, see `perf_views.edits.Checkable`.
    """

    name: str
    label: str = ""
    value: str = ""
    kind: Literal["text", "number", "range", "choice", "lines", "hidden"] = "text"
    choices: tuple[str, ...] = ()
    minimum: str = ""
    maximum: str = ""
    step: str = ""
    help: str = ""
    is_checked: bool = False


@dataclass(frozen=True)
class Form:
    """Fields that lead to another state of a view; the state stands in the address. A report leaves it out.

    Parameters
    ----------
    fields : tuple of Field
    path : tuple of str
        The view that gets them as its query.
    submit : str
        On the button.
    title : str
    is_folded : bool
        Only its title is shown until it is opened; for forms that few need.
    """

    fields: tuple[Field, ...]
    path: ViewPath
    submit: str = "Show"
    title: str = ""
    is_folded: bool = False


@dataclass(frozen=True)
class Action:
    """Fields that change what is kept. The page first shows what would change. A report leaves it out.

    The fields go to `Editable.act` with the path; several actions at one path are told apart by a hidden field.

    Parameters
    ----------
    fields : tuple of Field
    path : tuple of str
    submit : str
        On the button that leads to the preview.
    title : str
    """

    fields: tuple[Field, ...]
    path: ViewPath
    submit: str = "Preview"
    title: str = ""
