"""What the annotations of a public function say about its command line: one declaration for both.

::

    def messages(
        trace: Annotated[Trace | str, typer.Argument(metavar="TRACE", help="Trace of a run.")],
        *,
        pairs: Annotated[int, typer.Option(metavar="N", min=1, help="Pairs to show.")] = 20,
        read: Annotated[Callable[..., Any], OptionGroup("perfcore.cli.reading:HowToRead", "read_file")] = perfcore.read,
    ) -> MessageTable:

The type of a value on the line is the simplest that the annotation allows: a flag, several words, one of some words,
text, a number. Parameters without such an annotation are Python's alone.
"""

from __future__ import annotations

import builtins
import inspect
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from perfcore.hooks.registry import registry


@dataclass(frozen=True)
class OptionRules:
    """Rules of an option that typer cannot say; they are annotated after it."""

    needs: str = ""  # the option, such as ``"--output FILE"``, without which this one means nothing
    required: bool = False  # on a line, although not in Python
    alone: str = ""  # value of the flag without one: last, or before another option or a file


@dataclass(frozen=True)
class OptionGroup:
    """A parameter that several options make: ``"module:Dataclass"``, and which attribute of it is the value.

    Where the attribute is a mapping, its items are parameters of the function.
    """

    target: str
    attribute: str


@dataclass(frozen=True)
class OptionsOf:
    """Annotation of ``**options``: those of one dataclass, ``"module:Options"``."""

    target: str
    title: str


@dataclass(frozen=True)
class OptionsOfEach:
    """Annotation of ``**options``: those of all of a kind that are registered for a purpose (``default_for``)."""

    kind: str
    purpose: str


@dataclass(frozen=True)
class OptionsOfSelected:
    """Annotation of ``**options``: those of what another parameter selects by name, else of all that it could be."""

    kind: str  # what is selected, such as ``"fitters"``
    flag: str  # the option that names it, without dashes: ``"fitter"``


class _Names(dict[str, Any]):
    """Names of a module; what it imports for type checkers alone is anything."""

    def __missing__(self, name: str) -> Any:
        return Any


def types_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function by name, that of its result among them."""
    names = _Names(vars(builtins) | function.__globals__)
    return typing.get_type_hints(function, localns=names, include_extras=True)


def parameters_of(function: Callable[..., Any]) -> dict[str, tuple[inspect.Parameter, Any, tuple[Any, ...]]]:
    """Return the parameters by name, each with its plain type and with what is annotated."""
    hints = types_of(function)
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints.get(name, Any)
        notes = hint.__metadata__ if typing.get_origin(hint) is typing.Annotated else ()
        found[name] = (parameter, typing.get_args(hint)[0] if notes else hint, notes)
    return found


def rules_of(notes: Iterable[Any]) -> OptionRules:
    """Return the rules among what is annotated; none are no rules."""
    return next((note for note in notes if isinstance(note, OptionRules)), OptionRules())


def names_of(kind: str) -> Callable[[str], list[str]]:
    """Return what completes the name of something registered."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in registry().entries(kind) if name.startswith(incomplete)]

    return complete


def value_type(annotation: Any) -> Any:
    """Return the simplest of the types of a parameter that words can give; a tuple is text that the function splits."""
    union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    members = [each for each in (typing.get_args(annotation) if union else (annotation,)) if each is not type(None)]
    if bool in members:
        return bool
    origins = [typing.get_origin(each) or each for each in members]
    if any(isinstance(each, type) and issubclass(each, Iterable) and each not in (str, tuple) for each in origins):
        return list[str]
    if len(members) == 1 and origins[0] is Literal:
        return members[0]
    return int if members == [int] else float if set(members) <= {int, float} else str
