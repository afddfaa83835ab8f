"""One command as typer runs it, made of a registered function when the line is known."""

from __future__ import annotations

import difflib
import functools
import inspect
import itertools
import os
import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core
import typer.main

from perfcore.base.errors import MEANT, OptionError
from perfcore.base.files import REPLACES, check_files, refuse_existing, refuse_input, replacements
from perfcore.cli.output import VERBOSE, Json, Overwrite, Picture, TableFormat, print_result, reporting
from perfcore.cli.signature import flags_of, is_brief, options_source, selected_name, with_signature
from perfcore.hooks.parameters import OptionsOfSelected, parameters_of, rules_of, types_of
from perfcore.hooks.registry import Entry, registry

_PANEL = "Options of "  # how `perfcore.cli.signature` begins the headings of plugins'
_BRIEF_OPTIONS = 6
_WRITTEN = {"--output", "--plot", "--summary", "--junit"}
_NOTHING = type(None)
CONTEXT_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def markup_mode() -> Any:
    """How help is drawn: in frames where a person looks, plain where it is piped or kept."""
    return "rich" if sys.stdout.isatty() else None


def plain(text: str) -> str:
    """A text that shows itself, also where brackets would be markup."""
    return text.replace("[", r"\[") if markup_mode() else text


def build_command(entry: Entry, words: Sequence[str]) -> typer.core.TyperCommand:
    """The command of an entry for the words that follow its name."""
    function: Callable[..., Any] = entry.load()
    source = options_source(function)
    choices: list[tuple[str, str]] = []
    heading = ""
    if isinstance(source, OptionsOfSelected) and selected_name(function, source, words) is None:
        choices = [(each.name, each.help) for each in registry().entries(source.kind).values()]
        heading = f"{source.kind.capitalize()}, for --{source.flag}; each has its options"
    typed = with_signature(function, words)
    if types_of(function).get("return", _NOTHING) not in (_NOTHING, int):
        typed = _showing(typed, entry, function)
    typed = _finished(typed)
    typed.__doc__ = plain(typed.__doc__ or entry.help)
    epilog = "\n\n".join([f"{heading}:", *(f"{name}: {plain(text)}" for name, text in choices)]) if choices else None
    app = typer.Typer(add_completion=False, rich_markup_mode=markup_mode())
    app.command(entry.name, cls=_Command, context_settings=CONTEXT_SETTINGS, epilog=epilog if markup_mode() else None)(
        typed
    )
    command = typer.main.get_command(app)
    assert isinstance(command, _Command)
    command.heading, command.choices, command.is_brief, command.alone = heading, choices, is_brief(words), {}
    rules = {name: rules_of(notes) for name, (_, _, notes) in parameters_of(function).items()}
    parameters = inspect.signature(typed).parameters
    command.alone = {
        flag: rules[name].alone for name in rules if rules[name].alone for flag in flags_of(parameters[name])
    }
    return command


def _finished(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command that keeps files that it reads, or that can't be made again, and shows everything with ``--all``."""
    signature = inspect.signature(command)
    flags = {name: flags_of(parameter) for name, parameter in signature.parameters.items()}
    written = [name for name in flags if _WRITTEN.intersection(flags[name])]
    free = [flag for flag in ("--all", "--verbose", "-v") if not any(flag in each for each in flags.values())]
    kind = Annotated[bool, typer.Option(*free, help="Print all rows, columns, details (headings: docs/glossary.md).")]
    added = [inspect.Parameter("everything", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)]
    replaced = [name for name in written if "--summary" not in flags[name]]  # which is appended to
    if replaced and not any("--overwrite" in each for each in flags.values()):
        added.append(inspect.Parameter("replace", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Overwrite))

    @functools.wraps(command)
    def run(*, everything: bool = False, replace: bool = False, **values: Any) -> Any:
        others = [value for name, value in values.items() if name not in written]
        texts = [text for value in others for text in (value if isinstance(value, list) else [value])]
        for name in written:
            if values[name]:
                refuse_input(values[name], [text for text in texts if isinstance(text, str) and text])
        outputs = [values[name] for name in replaced if values[name]]
        for path in outputs if len(added) > 1 else ():
            refuse_existing(path, replace)
        VERBOSE.set(everything)
        REPLACES.set(replace)
        with replacements(*outputs):
            return command(**values)

    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *added])  # type: ignore[attr-defined]
    return run


def _showing(command: Callable[..., Any], entry: Entry, function: Callable[..., Any]) -> Callable[..., Any]:
    """A command that shows what a public function gives back, and has the options for that."""
    kinds: dict[str, Any] = {}
    if entry.saves:
        kinds["output"] = Annotated[
            str | None, typer.Option("--output", "-o", metavar="FILE", help=entry.saves, show_default=False)
        ]
    kinds |= {name: kind for name, kind in (("plot", Picture), ("table", TableFormat)) if name in entry.shows}
    own = inspect.signature(command).parameters
    shown = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in kinds.items()
    ]
    shown.append(inspect.Parameter("json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json))

    def run(**values: Any) -> int:
        for name, (parameter, _, notes) in parameters_of(function).items():
            needed = rules_of(notes).needs
            is_given = needed and values[name] not in (None, [], parameter.default)
            if is_given and not values.get(needed.split()[0][2:].replace("-", "_")):
                raise OptionError(f"{flags_of(own[name])[0]} belongs to {needed}")
        how = {parameter.name: values.pop(parameter.name) for parameter in shown}
        if how["json"] and how.get("table"):
            raise OptionError("--json and --table are mutually exclusive")
        output, picture = how.get("output"), how.get("plot")
        check_files(picture, output, values.get("output"))
        with reporting():
            result = command(**values)
            lines = [] if output is None else result.save(output) or []
            if picture is not None:
                result.plot(path=picture)
        print_result(result, how["json"], how.get("table"))
        lines += [f"file: {path}" for path in [values.get("output")] if path]
        if not how["json"] and not how.get("table"):
            for line in [*lines, *([] if picture is None else [f"picture: {typer.format_filename(picture)}"])]:
                typer.echo(line)
        return int(getattr(result, "status", 0))

    run.__doc__, run.__name__ = command.__doc__, command.__name__
    run.__signature__ = inspect.Signature([*own.values(), *shown])  # type: ignore[attr-defined]
    return run


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
