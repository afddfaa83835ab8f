"""One command as typer runs it, made of a registered function when the line is known.

The function's parameters are annotated as `perfcore.hooks.parameters` says. A parameter whose type is a dataclass
stands for the options that this declares, such as the three that say how a file is read, and the annotation of a last
``**options`` says whose declared options (`perfcore.hooks.options`) join the command. typer takes parameters from
`inspect.signature`, so all that is needed is a function whose ``__signature__`` says them one by one.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import inspect
import itertools
import os
import re
import sys
import textwrap
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core
import typer.main

from perfcore.base.errors import MEANT, OptionError, PerfError
from perfcore.base.files import REPLACES, check_files, refuse_existing, refuse_input, replacements
from perfcore.cli.output import VERBOSE, Json, Overwrite, Picture, TableFormat, print_result, reporting
from perfcore.hooks.options import OptionField, describe
from perfcore.hooks.parameters import (
    OptionGroup,
    OptionsOf,
    OptionsOfEach,
    OptionsOfSelected,
    parameters_of,
    rules_of,
    types_of,
    value_type,
)
from perfcore.hooks.registry import Entry, registry

_PANEL = "Options of "  # how the headings of plugins' options begin
_BRIEF_OPTIONS = 6
_WRITTEN = {"--output", "--plot", "--summary", "--junit"}
_COMMON = {"all", "verbose", "overwrite", "json", "table", "plot", "output", "help"}  # options of any command
_METAVARS = {int: "N", float: "X"}
_SECTION = re.compile(r"\n\n[A-Z][A-Za-z ]+\n-{4,}\n")  # of a docstring
_NOTHING = type(None)
CONTEXT_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

Parameters = dict[str, inspect.Parameter]
Fields = list[tuple[str, OptionField]]  # with the panel that each stands in


def markup_mode() -> Any:
    """How help is drawn: in frames where a person looks, plain where it is piped or kept."""
    return "rich" if sys.stdout.isatty() else None


def plain(text: str) -> str:
    """A text that shows itself, also where brackets would be markup."""
    return text.replace("[", r"\[") if markup_mode() else text


def build_command(entry: Entry, words: Sequence[str]) -> typer.core.TyperCommand:
    """Return the command of an entry for the words that follow its name on the line, also while that is typed."""
    function: Callable[..., Any] = entry.load()
    known = parameters_of(function)
    own, groups = _own_parameters(known)
    notes = (note for *_, notes in known.values() for note in notes)
    source = next((note for note in notes if isinstance(note, OptionsOf | OptionsOfEach | OptionsOfSelected)), None)
    fields, heading, choices = _declared_options(source, own, words)
    flags = {flag for parameter in own.values() for flag in flags_of(parameter)}
    every = own | {
        field.name: _as_parameter(panel, field)
        for panel, field in fields
        if field.flag not in flags and field.name not in own
    }
    is_shown = types_of(function).get("return", _NOTHING) not in (_NOTHING, int)
    shown = _shown_parameters(entry) if is_shown else {}
    rules = {name: rules_of(notes) for name, (_, _, notes) in known.items()}
    listed = {field.name for _, field in fields if field.many and not field.repeats} - own.keys()

    def call(values: dict[str, Any]) -> Any:
        for name, (group, attribute) in groups.items():
            built = group(**{field.name: values.pop(field.name) for field in dataclasses.fields(group)})
            value = getattr(built, attribute) if attribute else built
            values |= value if isinstance(value, Mapping) else {name: value}
        values |= {name: ",".join(values[name]) for name in listed if values.get(name)}
        return function(**{n: v for n, v in values.items() if n not in every or v not in (None, [])})  # as in Python

    def show(values: dict[str, Any]) -> int:
        for name, (parameter, _, _) in known.items():
            needed = rules[name].needs
            is_given = needed and values[name] not in (None, [], parameter.default)
            if is_given and not values.get(needed.split()[0][2:].replace("-", "_")):
                raise OptionError(f"{flags_of(own[name])[0]} belongs to {needed}")
        how = {name: values.pop(name) for name in shown}
        if how["json"] and how.get("table"):
            raise OptionError("--json and --table are mutually exclusive")
        output, picture, written = how.get("output"), how.get("plot"), values.get("output")
        check_files(picture, output, written)
        with reporting():
            result = call(values)
            lines = [] if output is None else result.save(output) or []
            if picture is not None:
                result.plot(path=picture)
        print_result(result, how["json"], how.get("table"))
        lines += [f"file: {written}"] if written else []
        lines += [] if picture is None else [f"picture: {typer.format_filename(picture)}"]
        for line in lines if not (how["json"] or how.get("table")) else ():
            typer.echo(line)
        return int(getattr(result, "status", 0))

    run = _keeping_files(show if is_shown else call, every | shown)
    run.__doc__, run.__name__ = plain(_help(function) or entry.help), function.__name__
    app = typer.Typer(add_completion=False, rich_markup_mode=markup_mode())
    epilog = "\n\n".join([f"{heading}:", *(f"{name}: {plain(text)}" for name, text in choices)]) if choices else None
    app.command(entry.name, cls=_Command, context_settings=CONTEXT_SETTINGS, epilog=epilog if markup_mode() else None)(
        run
    )
    command = typer.main.get_command(app)
    assert isinstance(command, _Command)
    command.heading, command.choices, command.is_brief = heading, choices, is_brief(words)
    alone = ((rules[name].alone, own[name]) for name in own if name in rules)
    command.alone = {flag: value for value, parameter in alone if value for flag in flags_of(parameter)}
    return command


def _keeping_files(command: Callable[[dict[str, Any]], Any], parameters: Parameters) -> Callable[..., Any]:
    """Return a command that keeps files that it reads or that can't be made again, and has ``--all``."""
    flags = {name: flags_of(parameter) for name, parameter in parameters.items()}
    written = [name for name in flags if _WRITTEN.intersection(flags[name])]
    replaced = [name for name in written if "--summary" not in flags[name]]  # which is appended to
    free = [flag for flag in ("--all", "--verbose", "-v") if not any(flag in of_one for of_one in flags.values())]
    kind = Annotated[bool, typer.Option(*free, help="Print all rows, columns, details (headings: docs/glossary.md).")]
    added = [_parameter("everything", kind, False)]
    if replaced and not any("--overwrite" in of_one for of_one in flags.values()):
        added.append(_parameter("replace", Overwrite, False))

    def run(*, everything: bool = False, replace: bool = False, **values: Any) -> Any:
        others = [value for name, value in values.items() if name not in written]
        texts = [text for value in others for text in (value if isinstance(value, list) else [value])]
        for name in written:
            if values[name]:
                refuse_input(values[name], [text for text in texts if isinstance(text, str) and text])
        outputs = [values[name] for name in replaced if values[name]]
        files = [os.path.realpath(values[name]) for name in written if values[name]]
        if len(set(files)) < len(files):
            raise OptionError(f"two outputs go to {max(files, key=files.count)}; name another file for one of them")
        for path in outputs:  # who has an --overwrite of its own decides itself what is replaced
            refuse_existing(path, replace or len(added) == 1)
        VERBOSE.set(everything)
        REPLACES.set(replace)
        with replacements(*outputs):
            return command(values)

    run.__signature__ = inspect.Signature([*parameters.values(), *added])  # type: ignore[attr-defined]
    return run


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _shown_parameters(entry: Entry) -> Parameters:
    """Return the options by which a command shows what its function returns."""
    kinds: dict[str, Any] = {}
    if entry.saves:
        output = typer.Option("--output", "-o", metavar="FILE", help=entry.saves, show_default=False)
        kinds["output"] = Annotated[str | None, output]
    kinds |= {name: kind for name, kind in (("plot", Picture), ("table", TableFormat)) if name in entry.shows}
    parameters = {name: _parameter(name, kind, None) for name, kind in kinds.items()}
    return parameters | {"json": _parameter("json", Json, False)}


def _help(function: Callable[..., Any]) -> str:
    """Return the docstring before its first section, and the lines of its block ``As a command::``."""
    text = inspect.getdoc(function) or ""
    paragraphs = _SECTION.split(text, maxsplit=1)[0].replace("``", "")
    block = text.partition("As a command::\n\n")[2].splitlines()
    lines = list(itertools.takewhile(lambda line: line[:1] in ("", " "), block))
    return f"{paragraphs}\n\n\b\n{textwrap.dedent(chr(10).join(lines)).strip()}" if lines else paragraphs


def _own_parameters(known: Mapping[str, Any]) -> tuple[Parameters, dict[str, tuple[Any, str]]]:
    """Return the parameters as typer reads them, without defaults that no line can give, and those made of a group."""
    own: Parameters = {}
    groups: dict[str, tuple[Any, str]] = {}
    for name, (parameter, kind, notes) in known.items():
        group = next((note for note in notes if isinstance(note, OptionGroup)), None)
        if group is not None:
            module, _, attribute = group.target.partition(":")
            groups[name] = getattr(importlib.import_module(module), attribute), group.attribute
        elif dataclasses.is_dataclass(kind):
            groups[name] = kind, ""
        elif any(isinstance(note, typer.models.ParameterInfo) for note in notes):
            value = value_type(kind)
            required = parameter.default is parameter.empty or rules_of(notes).required
            default = parameter.default if isinstance(parameter.default, (bool, int, float, str)) else None
            annotation = Annotated[(value if required or value is bool else value | None, *notes)]  # type: ignore[valid-type]
            own[name] = _parameter(name, annotation, parameter.empty if required else default)
        if name in groups:
            hints = typing.get_type_hints(groups[name][0], include_extras=True)
            fields = dataclasses.fields(groups[name][0])
            own |= {field.name: _parameter(field.name, hints[field.name], field.default) for field in fields}
    return own, groups


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
    """Return values of all long options of a line, before anything is known about them; the last of each counts."""
    values = {}
    for number, word in enumerate(itertools.takewhile(lambda word: word != "--", words)):
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if not equals:
                value = words[number + 1] if number + 1 < len(words) else ""
            values[name.replace("-", "_")] = value
    return values


def _declared_options(source: Any, own: Parameters, words: Sequence[str]) -> tuple[Fields, str, list[tuple[str, str]]]:
    """Return declared options; if the line does not say whose, also what it can name, with the heading of these."""
    if source is None:
        return [], "", []
    if isinstance(source, OptionsOf):
        entry = Entry("options", source.title, source.target, "", "perfcore", options=source.target)
        return list(_fields_of(entry, {})), "", []
    values, entries = given_options(words), registry().entries(source.kind)
    if isinstance(source, OptionsOfEach):
        chosen = [entry for entry in entries.values() if source.purpose in entry.default_for]
        return [pair for entry in chosen for pair in _fields_of(entry, values)], "", []
    flags = {flag: parameter for parameter in own.values() for flag in flags_of(parameter)}
    common = {flag.lstrip("-").replace("-", "_") for flag in flags} | _COMMON
    others = {name: value for name, value in values.items() if name not in common}
    default = flags[f"--{source.flag}"].default if f"--{source.flag}" in flags else None
    name = values.get(source.flag.replace("-", "_"), default or _by_part(entries, others))
    if name is not None and name in entries:
        return list(_fields_of(entries[name], values)), "", []
    choices = [(entry.name, entry.help) for entry in entries.values()] if name is None else []
    heading = f"{source.kind.capitalize()}, for --{source.flag}; each has its options"
    is_completed = any(key.endswith("_COMPLETE") for key in os.environ)  # by a shell
    if name is None and not (others or is_brief(words) or is_completed):
        return [], heading, choices
    # Of options that several have, the default fitter of timings describes its own. The command refuses unknown names.
    by_use = sorted(entries.values(), key=lambda entry: "timings" not in entry.default_for)
    every = [pair for entry in by_use for pair in _fields_of(entry, values)]
    return list({field.name: (panel, field) for panel, field in reversed(every)}.values()), heading, choices


def _by_part(entries: Mapping[str, Entry], values: Mapping[str, str]) -> str | None:
    """Return the implementation with an option that names a part, such as a segmenter, if the line gives it."""
    for entry in entries.values() if values else ():
        if any(field.selects is not None and field.name in values for _, field in _fields_of(entry, {})):
            return entry.name
    return None


def _fields_of(entry: Entry, values: Mapping[str, str]) -> Iterator[tuple[str, OptionField]]:
    """Yield options of an entry and of the parts that they select; none if they cannot be loaded."""
    try:
        options = describe(entry.load_options())
    except (PerfError, TypeError):
        return
    yield from ((_PANEL + entry.name, field) for field in options)
    for field in options:
        parts = {} if field.selects is None else registry().entries(field.selects)
        if (part := values.get(field.name, field.default)) in parts:
            yield from _fields_of(parts[part], values)


def _as_parameter(panel: str, field: OptionField) -> inspect.Parameter:
    """Return one declared option; values stay text, `perfcore.hooks.options` checks them."""
    text = field.help[:1].upper() + field.help[1:]
    if field.type is bool:
        flag = typer.Option(f"{field.flag}/--no-{field.flag[2:]}", help=text, rich_help_panel=panel)
        return _parameter(field.name, Annotated[bool | None, flag], None)
    if field.choices is not None:
        text += f" [{'|'.join(field.choices)}]"
    if field.default_text:
        text += f" (default: {field.default_text})"

    def complete(incomplete: str) -> list[str]:
        prefix, comma, last = incomplete.rpartition(",") if field.many else ("", "", incomplete)
        return [f"{prefix}{comma}{word}" for word in field.choices or () if word.startswith(last)]

    kind = list[str] if field.repeats or field.many else str
    metavar = field.metavar or ("NAME" if field.choices is not None else _METAVARS.get(field.type, field.name.upper()))
    option = typer.Option(field.flag, help=text, metavar=metavar, autocompletion=complete, rich_help_panel=panel)
    return _parameter(field.name, Annotated[kind | None, option], None)  # type: ignore[valid-type]


class _PlainValues:
    """Takes words and numbers as they are, and leaves the rest to typer, for which it would import pydantic."""

    def __init__(self, parameter: Any) -> None:
        self._kind, self._info = parameter.type_descriptor.annotation, parameter.type_descriptor.parameter_info

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        kind = self._kind
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if kind == list[str] or (isinstance(kind, type) and isinstance(value, kind)) or value in typing.get_args(kind):
            return value
        number = int(value) if kind is int and value.isdecimal() else None
        if number is not None and self._info.max is None and number >= (self._info.min or 0):
            return number
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


class TakesPlainValues(typer.core.TyperCommand if TYPE_CHECKING else object):  # type: ignore[misc]
    """A command whose parameters take words and numbers without pydantic."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, ``--help`` among them."""
        parameters: list[Any] = super().get_params(ctx)
        for parameter in parameters:
            if parameter._runtime_param is None:
                parameter._runtime_param = _PlainValues(parameter)
        return parameters


def write_beginning(command: Any, ctx: Any, formatter: Any) -> list[str]:
    """Write usage, what a command does, and the first of its examples, all of which are returned."""
    text, _, block = inspect.cleandoc(command.help or "").partition("\b\n")
    examples = [line.strip() for line in block.partition("\n\n")[0].splitlines()]
    command.format_usage(ctx, formatter)
    formatter.write_paragraph()
    formatter.write_text(text.partition("\n\n")[0])
    for line in examples[:1]:
        formatter.write(f"\n  {line}\n")
    return examples


def _of_plugin(parameter: Any) -> bool:
    return str(getattr(parameter, "rich_help_panel", "")).startswith(_PANEL)


class _Command(TakesPlainValues, typer.core.TyperCommand):
    """Options in sections, those of plugins under their names, and the nearest option where one is unknown."""

    heading = ""
    is_brief = False  # whether ``-h`` asks for one screen
    alone: Mapping[str, str]  # values of flags without one
    choices: Sequence[tuple[str, str]] = ()  # what can be selected, where the line does not say

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help; options of what could be selected are accepted, and shown once it is."""
        if self.is_brief:
            self._write_brief_help(ctx, formatter)
            return
        if self.choices:
            self.params = [parameter for parameter in self.params if not _of_plugin(parameter)]
        super().format_help(ctx, formatter)

    def _write_brief_help(self, ctx: Any, formatter: Any) -> None:
        """Write the beginning of the help, and the options that its examples use before others."""
        words = " ".join(write_beginning(self, ctx, formatter)).split()
        options = [each for each in self.get_params(ctx) if each.param_type_name == "option"]
        shown = sorted(options, key=lambda each: -sum(words.count(flag) for flag in each.opts))
        records = [record for each in shown if (record := each.get_help_record(ctx)) is not None]
        with formatter.section("Options"):
            formatter.write_dl(records[:_BRIEF_OPTIONS])
        formatter.write(f"\n{ctx.command_path} --help: all {len(records)} options\n")

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is not None:
                usual = "Options"
                if parameter.param_type_name == "argument":  # without its Python type
                    usual, record = "Arguments", (record[0].partition(" <")[0], record[1])
                sections.setdefault(getattr(parameter, "rich_help_panel", None) or usual, []).append(record)
        if self.choices:
            sections[self.heading] = list(self.choices)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the line; what is unknown is refused with what is known, options of plugins first."""
        for place, (word, value) in enumerate(itertools.pairwise([*args, "-"])):
            if word in self.alone and (value.startswith("-") or os.path.exists(value)):  # noqa: PTH110 (any words)
                args = [*args[:place], f"{word}={self.alone[word]}", *args[place + 1 :]]
        try:
            return super().parse_args(ctx, args)
        except typer.TyperException as error:
            unknown = getattr(error, "option_name", None)
            if unknown is None or not hasattr(error, "possibilities"):
                raise
            flags: dict[bool, list[str]] = {True: [], False: []}
            for parameter in self.get_params(ctx):
                flags[_of_plugin(parameter)] += [flag[2:] for flag in parameter.opts if flag.startswith("--")]
            word = unknown.lstrip("-")
            near = [name for names in flags.values() for name in difflib.get_close_matches(word, names, 1)]
            near += [name for name in MEANT.get(word, ()) if name in flags[True] + flags[False]]
            hint = f": did you mean '--{near[0]}'?" if near else ""
            raise OptionError(f"No such option {unknown!r}{hint} (see `{ctx.command_path} --help`)") from None
