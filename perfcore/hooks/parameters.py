"""Command-line options from the annotations of a public function's parameters: one declaration for both.

::

    def messages(
        trace: Annotated[Trace | str, Argument("TRACE")],
        *,
        pairs: Annotated[int, Option(metavar="N", minimum=1)] = 20,
        read: Annotated[Callable[..., Any], OptionGroup("perfcore.cli.reading:HowToRead")] = perfcore.read,
    ) -> MessageTable:

The help of a parameter is the first sentence that the docstring says of it, its type the simplest that the annotation
allows: a flag, several words, one of some words, text, a number. Parameters without such an annotation are Python's
alone. The help of the command is what the docstring says before its first section, and the lines of its literal block
``As a command::``.
"""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Argument:
    """A parameter that is given by its place; ``help`` where the docstring's sentence is not it."""

    metavar: str
    help: str = ""


class Option:
    """A parameter that is given by a flag, by default its name with dashes.

    Parameters
    ----------
    *flags : str
        Such as ``"--output", "-o"``.
    metavar, help : str
        How the value is shown; what the option is for, where the docstring's first sentence is not it.
    minimum : int or float, optional
        Smallest number that is taken.
    completes : str
        Kind of registered things whose names complete the value.
    needs : str
        The option, such as ``"--output FILE"``, without which it means nothing.
    required : bool
        Whether a line must give it, also where Python need not.
    alone : str
        Value of the flag without one: last, or before another option or a file.
    """

    def __init__(
        self,
        *flags: str,
        metavar: str = "",
        help: str = "",
        minimum: float | None = None,
        completes: str = "",
        needs: str = "",
        required: bool = False,
        alone: str = "",
    ) -> None:
        self.flags, self.metavar, self.help, self.minimum = flags, metavar, help, minimum
        self.completes, self.needs, self.required, self.alone = completes, needs, required, alone

    def flags_of(self, name: str) -> tuple[str, ...]:
        """Its flags, of a parameter of this name."""
        return self.flags or ("--" + name.rstrip("_").replace("_", "-"),)


@dataclass(frozen=True)
class OptionGroup:
    """A parameter that several options make: ``"module:ParameterGroup"``, and which attribute of it is the value.

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
    """Annotation of ``**options``: those of what another parameter selects by name.

    Parameters
    ----------
    kind : str
        What is selected, such as ``"fitters"``.
    flag : str
        The option that names it, without dashes: ``"fitter"``. Where neither the line nor a default does, the options
        of all that could be meant are accepted.
    """

    kind: str
    flag: str


class _Names(Mapping[str, Any]):
    """Names of a module; what it imports for type checkers alone is anything."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._names = function.__globals__

    def __getitem__(self, name: str) -> Any:
        builtins = self._names["__builtins__"]
        return self._names.get(name, (builtins if isinstance(builtins, dict) else vars(builtins)).get(name, Any))

    def __iter__(self) -> Any:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def parameters_of(function: Callable[..., Any]) -> dict[str, tuple[inspect.Parameter, Any, tuple[Any, ...]]]:
    """Parameters by name, each with its plain type and with what is annotated."""
    hints = typing.get_type_hints(function, localns=_Names(function), include_extras=True)  # type: ignore[arg-type]
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints.get(name, Any)
        notes = hint.__metadata__ if typing.get_origin(hint) is typing.Annotated else ()
        found[name] = (parameter, typing.get_args(hint)[0] if notes else hint, notes)
    return found


def is_declared(function: Callable[..., Any]) -> bool:
    """Whether the annotations of a function say what it is on a command line."""
    kinds = (Argument, Option, OptionGroup)
    return any(isinstance(note, kinds) for _, _, notes in parameters_of(function).values() for note in notes)


def value_type(annotation: Any) -> Any:
    """The simplest of the types of a parameter, as a line of words can give it; of a tuple the function splits text."""
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


_SECTION = re.compile(r"\n[A-Z][A-Za-z ]+\n-{4,}\n")
_SENTENCE = re.compile(r"(?<=[^.A-Z]\.)\s|(?<=[^.A-Z]\.\))\s")


def help_of(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Help of a command, and of each of its parameters, from the docstring of its function."""
    text = inspect.getdoc(function) or ""
    before, *sections = _SECTION.split(text)
    titles = [title.strip().split("\n")[0] for title in _SECTION.findall(text)]
    help_text = before.strip().replace("``", "")
    if block := re.search(r"As a command::\n\n((?: +\S.*\n|\n)+)", text + "\n"):
        help_text += "\n\n\b\n" + inspect.cleandoc("\n" + block[1]).rstrip()
    described = dict(zip(titles, sections, strict=True)).get("Parameters", "")
    helps: dict[str, str] = {}
    for names, body in re.findall(r"^(\S.*?)(?: : .*)?\n((?:[ \t]+.*(?:\n|$)|\n)*)", described.strip() + "\n", re.M):
        sentence = _SENTENCE.split(" ".join(body.split()).replace("``", ""), maxsplit=1)[0]
        helps |= {name.strip().lstrip("*"): sentence for name in names.split(",")}
    return help_text, helps
