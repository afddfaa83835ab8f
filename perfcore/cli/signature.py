"""What typer reads of a command: its own parameters, those of groups, and the options of what the line names.

A command is a function with ``Annotated`` parameters. Two things go beyond what typer knows. A parameter of the type
`ParameterGroup` stands for the parameters that the group declares, such as the three that say how a file is read. And
the annotation of a last ``**options`` says whose declared options (`perfcore.hooks.options`) join the command:
`OptionsOf` names a dataclass, `OptionsOfSelected` the kind of thing that another option selects. typer takes parameters
from `inspect.signature`, so all that is needed is a wrapper whose ``__signature__`` says them one by one.
"""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import typer

from perfcore.base.errors import PerfError
from perfcore.hooks.options import OptionField, describe
from perfcore.hooks.registry import Entry, registry


class ParameterGroup:
    """Base of frozen dataclasses whose fields are ``Annotated`` parameters that several commands share."""

    former: ClassVar[tuple[str, ...]] = ()  # earlier options, as of `perfcore.hooks.specs.Register`


@dataclass(frozen=True)
class OptionsOf:
    """Annotation of ``**options``: those of one dataclass, ``"module:Options"``."""

    target: str
    title: str


@dataclass(frozen=True)
class OptionsOfEach:
    """Annotation of ``**options``: those of all of a kind that have an attribute, such as openers that predict.

    Where the attribute is a dataclass, its options are meant instead.
    """

    kind: str
    having: str


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


Fields = list[tuple[str, OptionField]]  # with the panel that each stands in


def with_signature(function: Callable[..., Any], words: Sequence[str]) -> Callable[..., Any]:
    """The command as typer shall see it for one line of words.

    Parameters
    ----------
    function : callable
        The command.
    words : sequence of str
        What follows its name on the command line, also while that is being typed.
    """
    parameters: dict[str, inspect.Parameter] = {}
    groups: dict[str, type] = {}
    source = options_source(function)
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        if isinstance(parameter.annotation, type) and issubclass(parameter.annotation, ParameterGroup):
            groups[parameter.name] = parameter.annotation
            parameters |= {each.name: each for each in _of_group(parameter.annotation)}
        else:
            parameters[parameter.name] = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    flags = {flag for parameter in parameters.values() for flag in _flags(parameter)}
    declared = {
        field.name: _as_parameter(panel, field)
        for panel, field in _fields(source, parameters, given_options(words))
        if field.flag not in flags and field.name not in parameters
    }

    def command(**values: Any) -> Any:
        built = {
            name: group(**{field.name: values.pop(field.name) for field in dataclasses.fields(group)})
            for name, group in groups.items()
        }
        options = {name: values.pop(name) for name in declared}
        return function(**values, **built, **{name: value for name, value in options.items() if value is not None})

    command.__doc__, command.__name__ = function.__doc__, function.__name__
    command.__signature__ = inspect.Signature([*parameters.values(), *declared.values()])  # type: ignore[attr-defined]
    return command


def options_source(function: Callable[..., Any]) -> OptionsOf | OptionsOfEach | OptionsOfSelected | None:
    """What the annotation of the last ``**options`` of a command says, where it has one."""
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            parts = typing.get_args(parameter.annotation)
            return next(
                (part for part in parts if isinstance(part, (OptionsOf, OptionsOfEach, OptionsOfSelected))), None
            )
    return None


def former_options(function: Callable[..., Any]) -> tuple[str, ...]:
    """Earlier options of the groups of parameters that a command takes."""
    annotations = [each.annotation for each in inspect.signature(function, eval_str=True).parameters.values()]
    groups = (each for each in annotations if isinstance(each, type) and issubclass(each, ParameterGroup))
    return tuple(option for group in groups for option in group.former)


def _of_group(group: type) -> Iterator[inspect.Parameter]:
    hints = typing.get_type_hints(group, include_extras=True)
    for field in dataclasses.fields(group):
        yield inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )


def _flags(parameter: inspect.Parameter) -> list[str]:
    """``--at`` and its like of a parameter that is an option."""
    for part in typing.get_args(parameter.annotation):
        if isinstance(part, typer.models.OptionInfo):
            declarations = [part.default, *(part.param_decls or ())]
            return [text for text in declarations if isinstance(text, str)]
    return []


def given_options(words: Sequence[str]) -> dict[str, str]:
    """Values of all long options of a line, before anything is known about them; the last of each counts."""
    values = {}
    for number, word in enumerate(words):
        if word == "--":
            break
        if word.startswith("--") and len(word) > 2:
            name, equals, value = word[2:].partition("=")
            if not equals:
                value = words[number + 1] if number + 1 < len(words) else ""
            values[_key(name)] = value
    return values


def _fields(source: Any, parameters: Mapping[str, inspect.Parameter], values: Mapping[str, str]) -> Fields:
    if source is None:
        return []
    if isinstance(source, OptionsOf):
        entry = Entry("options", source.title, source.target, "", "perfcore", options=source.target)
        return [(f"Options of {source.title}", field) for field in describe(entry.load_options())]
    if isinstance(source, OptionsOfEach):
        fields: Fields = []
        for entry in registry().entries(source.kind).values():
            found = _attribute(entry, source.having)
            if isinstance(found, type):
                fields += [(f"Options of {entry.name}", field) for field in describe(found)]
            elif found:
                fields += _fields_of(entry, values)
        return fields
    name = values.get(_key(source.flag), _default(source.flag, parameters) or _by_part(source.kind, values))
    entries = registry().entries(source.kind)
    if name is not None:
        return _fields_of(entries[name], values) if name in entries else []  # the command refuses an unknown name
    every = [pair for entry in entries.values() for pair in _fields_of(entry, values)]
    return list({field.name: (panel, field) for panel, field in reversed(every)}.values())


def selected_name(function: Callable[..., Any], source: OptionsOfSelected, words: Sequence[str]) -> str | None:
    """What the line selects, or else the command's default; or what has an option by which the line names a part."""
    values = given_options(words)
    default = _default(source.flag, inspect.signature(function, eval_str=True).parameters)
    return values.get(_key(source.flag), default or _by_part(source.kind, values))


def _by_part(kind: str, values: Mapping[str, str]) -> str | None:
    """The implementation that has an option which names a part, such as a segmenter, where the line gives it."""
    for entry in registry().entries(kind).values():
        if any(field.selects is not None and field.name in values for _, field in _fields_of(entry, {})):
            return entry.name
    return None


def _key(flag: str) -> str:
    return flag.replace("-", "_")


def _default(flag: str, parameters: Mapping[str, inspect.Parameter]) -> str | None:
    return next((each.default for each in parameters.values() if f"--{flag}" in _flags(each)), None)


def _attribute(entry: Entry, attribute: str) -> Any:
    try:
        return getattr(entry.load(), attribute, None)
    except PerfError:  # using it says what is missing
        return None


def _fields_of(entry: Entry, values: Mapping[str, str]) -> Fields:
    """Options of an entry and of the parts that they select; none where they cannot be loaded, which using it says."""
    try:
        options = describe(entry.load_options())
    except (PerfError, TypeError):
        return []
    fields = [(f"Options of {entry.name}", field) for field in options]
    for field in options:
        if field.selects is not None:
            part = values.get(field.name, field.default)
            parts = registry().entries(field.selects)
            fields += _fields_of(parts[part], values) if part in parts else []
    return fields


_METAVARS = {int: "N", float: "X"}


def _as_parameter(panel: str, field: OptionField) -> inspect.Parameter:
    """One declared option; values stay text, `perfcore.hooks.options` checks them."""
    annotation: Any
    if field.type is bool:
        annotation = Annotated[
            bool | None, typer.Option(f"{field.flag}/--no-{field.flag[2:]}", help=field.help, rich_help_panel=panel)
        ]
        return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
    text = field.help
    if field.choices is not None:
        text += f" [{'|'.join(field.choices)}]"
    if field.default_text:
        text += f" (default: {field.default_text})"

    def complete(incomplete: str) -> list[str]:
        prefix, comma, last = incomplete.rpartition(",") if field.many else ("", "", incomplete)
        return [f"{prefix}{comma}{word}" for word in field.choices or () if word.startswith(last)]

    kind = list[str] if field.repeats else str
    metavar = field.metavar or ("NAME" if field.choices is not None else _METAVARS.get(field.type, "TEXT"))
    annotation = Annotated[
        kind | None,
        typer.Option(field.flag, help=text, metavar=metavar, autocompletion=complete, rich_help_panel=panel),
    ]
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
