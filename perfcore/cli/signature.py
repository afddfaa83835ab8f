"""What typer reads of a command: its own parameters, those of groups, and the options of what the line names.

A command is a function whose parameters are annotated as `perfcore.hooks.parameters` says. A parameter of the type
`ParameterGroup` stands for the parameters that the group declares, such as the three that say how a file is read. And
the annotation of a last ``**options`` says whose declared options (`perfcore.hooks.options`) join the command. typer
takes parameters from `inspect.signature`, so all that is needed is a wrapper whose ``__signature__`` says them one by
one.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import itertools
import os
import re
import textwrap
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from perfcore.base.errors import PerfError
from perfcore.hooks.options import OptionField, describe
from perfcore.hooks.parameters import (
    OptionGroup,
    OptionsOf,
    OptionsOfEach,
    OptionsOfSelected,
    parameters_of,
    rules_of,
    value_type,
)
from perfcore.hooks.registry import Entry, registry

_COMMON = {"all", "verbose", "overwrite", "json", "table", "plot", "output", "help"}  # options of any command
_METAVARS = {int: "N", float: "X"}
_SECTION = re.compile(r"\n\n[A-Z][A-Za-z ]+\n-{4,}\n")  # of a docstring

Fields = list[tuple[str, OptionField]]  # with the panel that each stands in
Groups = dict[str, tuple[type, str]]  # by parameter: its class, and which attribute is the value; all of it where empty


class ParameterGroup:
    """Base of frozen dataclasses whose fields are ``Annotated`` parameters that several commands share."""


def with_signature(function: Callable[..., Any], words: Sequence[str]) -> Callable[..., Any]:
    """The command as typer reads it; ``words`` follow its name on the command line, also while that is typed."""
    parameters, groups = _parameters(function)
    source = options_source(function)
    flags = {flag for parameter in parameters.values() for flag in flags_of(parameter)}
    declared = {
        field.name: _as_parameter(panel, field)
        for panel, field in _fields(source, parameters, given_options(words), is_brief(words))
        if field.flag not in flags and field.name not in parameters
    }

    def command(**values: Any) -> Any:
        for name, (group, attribute) in groups.items():
            built = group(**{field.name: values.pop(field.name) for field in dataclasses.fields(group)})
            value = getattr(built, attribute) if attribute else built
            values |= value if isinstance(value, Mapping) else {name: value}
        left_out = [name for name in (*parameters, *declared) if values.get(name) in (None, [])]  # as in Python
        return function(**{name: value for name, value in values.items() if name not in left_out})

    command.__doc__, command.__name__ = _help(function), function.__name__
    command.__signature__ = inspect.Signature([*parameters.values(), *declared.values()])  # type: ignore[attr-defined]
    return command


def _help(function: Callable[..., Any]) -> str:
    """Return the docstring before its first section, and the lines of its block ``As a command::``."""
    text = inspect.getdoc(function) or ""
    paragraphs = _SECTION.split(text, maxsplit=1)[0].replace("``", "")
    block = text.partition("As a command::\n\n")[2].splitlines()
    lines = list(itertools.takewhile(lambda line: line[:1] in ("", " "), block))
    return f"{paragraphs}\n\n\b\n{textwrap.dedent(chr(10).join(lines)).strip()}" if lines else paragraphs


def _parameters(function: Callable[..., Any]) -> tuple[dict[str, inspect.Parameter], Groups]:
    """Parameters of a command as typer reads them, and which of the function's own they make together."""
    parameters: dict[str, inspect.Parameter] = {}
    groups: Groups = {}
    for name, (parameter, kind, notes) in parameters_of(function).items():
        group = next((note for note in notes if isinstance(note, OptionGroup)), None)
        if group is not None:
            module, _, attribute = group.target.partition(":")
            groups[name] = getattr(importlib.import_module(module), attribute), group.attribute
        elif isinstance(kind, type) and issubclass(kind, ParameterGroup):
            groups[name] = kind, ""
        elif any(isinstance(note, typer.models.ParameterInfo) for note in notes):
            parameters[name] = _on_line(parameter, kind, notes)
        if name in groups:
            parameters |= {each.name: each for each in _of_group(groups[name][0])}
    return parameters, groups


def _on_line(parameter: inspect.Parameter, kind: Any, notes: tuple[Any, ...]) -> inspect.Parameter:
    """A parameter of a public function with the type that a line can give; defaults that it cannot are left to it."""
    value = value_type(kind)
    required = parameter.default is parameter.empty or rules_of(notes).required
    default = parameter.default if isinstance(parameter.default, (bool, int, float, str)) else None
    annotation = Annotated[(value if required or value is bool else value | None, *notes)]  # type: ignore[valid-type]
    return inspect.Parameter(
        parameter.name, parameter.KEYWORD_ONLY, default=parameter.empty if required else default, annotation=annotation
    )


def options_source(function: Callable[..., Any]) -> OptionsOf | OptionsOfEach | OptionsOfSelected | None:
    """What the annotation of the last ``**options`` of a command says, where it has one."""
    kinds = (OptionsOf, OptionsOfEach, OptionsOfSelected)
    notes = (each for *_, notes in parameters_of(function).values() for each in notes)
    return next((each for each in notes if isinstance(each, kinds)), None)


def _of_group(group: type) -> Iterator[inspect.Parameter]:
    hints = typing.get_type_hints(group, include_extras=True)
    for field in dataclasses.fields(group):
        yield inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )


def flags_of(parameter: inspect.Parameter) -> list[str]:
    """Return ``--at`` and its like of a parameter that is an option."""
    for note in typing.get_args(parameter.annotation):
        if isinstance(note, typer.models.OptionInfo):
            declared = [text for text in (note.default, *(note.param_decls or ())) if isinstance(text, str)]
            return declared or [f"--{parameter.name.replace('_', '-')}"]
    return []


def is_brief(words: Sequence[str]) -> bool:
    """Return whether a line asks for the help of one screen."""
    return "-h" in words and "--help" not in words


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


def _fields(
    source: Any, parameters: Mapping[str, inspect.Parameter], values: Mapping[str, str], shows_all: bool
) -> Fields:
    if source is None:
        return []
    if isinstance(source, OptionsOf):
        entry = Entry("options", source.title, source.target, "", "perfcore", options=source.target)
        return [(f"Options of {source.title}", field) for field in describe(entry.load_options())]
    if isinstance(source, OptionsOfEach):
        chosen = [each for each in registry().entries(source.kind).values() if source.purpose in each.default_for]
        return [pair for entry in chosen for pair in _fields_of(entry, values)]
    others = _of_others(parameters, values)
    name = values.get(_key(source.flag), _default(source.flag, parameters) or _by_part(source.kind, others))
    entries = registry().entries(source.kind)
    if name is not None and name in entries:
        return _fields_of(entries[name], values)
    if name is None and not (others or shows_all or any(key.endswith("_COMPLETE") for key in os.environ)):  # by a shell
        return []
    # Of options that several have, the default fitter of timings describes its own. The command refuses unknown names.
    by_use = sorted(entries.values(), key=lambda entry: "timings" not in entry.default_for)
    every = [pair for entry in by_use for pair in _fields_of(entry, values)]
    return list({field.name: (panel, field) for panel, field in reversed(every)}.values())


def selected_name(function: Callable[..., Any], source: OptionsOfSelected, words: Sequence[str]) -> str | None:
    """What the line selects, or else the command's default; or what has an option by which the line names a part."""
    values, parameters = given_options(words), _parameters(function)[0]
    default = _default(source.flag, parameters) or _by_part(source.kind, _of_others(parameters, values))
    return values.get(_key(source.flag), default)


def _of_others(parameters: Mapping[str, inspect.Parameter], values: Mapping[str, str]) -> dict[str, str]:
    """Return the values of those options of a line that the command itself does not have."""
    own = {_key(flag.lstrip("-")) for each in parameters.values() for flag in flags_of(each)} | _COMMON
    return {name: value for name, value in values.items() if name not in own}


def _by_part(kind: str, values: Mapping[str, str]) -> str | None:
    """The implementation that has an option which names a part, such as a segmenter, where the line gives it."""
    for entry in registry().entries(kind).values() if values else ():
        if any(field.selects is not None and field.name in values for _, field in _fields_of(entry, {})):
            return entry.name
    return None


def _key(flag: str) -> str:
    return flag.replace("-", "_")


def _default(flag: str, parameters: Mapping[str, inspect.Parameter]) -> str | None:
    return next((each.default for each in parameters.values() if f"--{flag}" in flags_of(each)), None)


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


def _as_parameter(panel: str, field: OptionField) -> inspect.Parameter:
    """One declared option; values stay text, `perfcore.hooks.options` checks them."""
    annotation: Any
    text = field.help[:1].upper() + field.help[1:]
    if field.type is bool:
        annotation = Annotated[
            bool | None, typer.Option(f"{field.flag}/--no-{field.flag[2:]}", help=text, rich_help_panel=panel)
        ]
        return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
    if field.choices is not None:
        text += f" [{'|'.join(field.choices)}]"
    if field.default_text:
        text += f" (default: {field.default_text})"

    def complete(incomplete: str) -> list[str]:
        prefix, comma, last = incomplete.rpartition(",") if field.many else ("", "", incomplete)
        return [f"{prefix}{comma}{word}" for word in field.choices or () if word.startswith(last)]

    kind = list[str] if field.repeats else str
    metavar = field.metavar or ("NAME" if field.choices is not None else _METAVARS.get(field.type, field.name.upper()))
    annotation = Annotated[
        kind | None,
        typer.Option(field.flag, help=text, metavar=metavar, autocompletion=complete, rich_help_panel=panel),
    ]
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
