"""``perf plugins``: what is installed, one implementation's options, and whether everything works."""

from __future__ import annotations

import inspect
import textwrap
from typing import Annotated

import typer

from perfcore.base.errors import MissingDependencyError, OptionError, PerfError, PluginError, UnknownNameError
from perfcore.cli.output import VERBOSE, print_findings, print_json, print_table, reporting
from perfcore.cli.parameters import Json
from perfcore.hooks.options import OptionField, describe
from perfcore.hooks.registry import Entry, registry
from perfcore.tables import Column, Table

_METAVARS = {bool: "flag", int: "N", float: "NUMBER", str: "TEXT"}
_CHECK = "check"
_LINES, _COLUMNS, _WIDEST_VALUE = 25, 100, 20


def _names(incomplete: str) -> list[str]:
    names = [_CHECK, *(name for kind in registry().kinds for name in registry().entries(kind))]
    return [name for name in names if name.startswith(incomplete)]


def command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", autocompletion=_names, help="One implementation, or `check`.", show_default=False
        ),
    ] = None,
    checked: Annotated[
        str | None,
        typer.Argument(metavar="PLUGIN", help="After `check`: a plugin or distribution.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """List what is installed; with NAME the options of one; with `check` import everything and report.

    `check` with the name of a plugin or of its distribution looks at that alone, and fails also where an optional
    library is missing; it is meant for the continuous integration of the plugin.

    \b
    perf plugins
    perf plugins worley
    perf plugins check
    perf plugins check my-package
    """
    if checked is not None and name != _CHECK:
        raise OptionError(f"{checked!r}: one name is expected, or `check` and the name of a plugin")
    with reporting():
        entries = [entry for kind in registry().kinds for entry in registry().entries(kind).values()]
        if name is None:
            _list(as_json)
        elif name == _CHECK:
            _check(entries, checked)
        else:
            matching = [entry for entry in entries if entry.name == name]
            if not matching:
                raise UnknownNameError("plugin", name, [*(entry.name for entry in entries), _CHECK])
            for entry in matching:
                _one(entry, as_json)


def _list(as_json: bool) -> None:
    from perf_basics.api import plugins

    listed = plugins()
    if as_json:
        print_json("plugins", listed.rows)
    else:
        print_findings(listed)


def _check(entries: list[Entry], plugin: str | None) -> None:
    """Import targets and options of all, or of one plugin; a missing optional library is a problem of that one only."""
    plugins = [each for each in registry().plugins if plugin in (None, each.name, each.distribution)]
    if not plugins:
        plugin_names = {name for each in registry().plugins for name in (each.name, each.distribution)}
        raise UnknownNameError("plugin to check", str(plugin), plugin_names)
    names = {each.name for each in plugins}
    problems = [
        f"plugin {each.name} of {each.distribution} is skipped: {each.problem}" for each in plugins if each.problem
    ]
    selected = [entry for entry in entries if entry.plugin in names]
    missing = []
    for entry in selected:
        try:
            entry.load()
            describe(entry.load_options())
        except MissingDependencyError as error:
            missing.append(str(error))
        except (PerfError, TypeError) as error:
            problems.append(
                f"{entry.kind[:-1]} {entry.name!r}: {error}" if isinstance(error, TypeError) else str(error)
            )
    if plugin is not None:
        problems += missing
    if problems:
        raise PluginError("; ".join(problems))
    for line in missing:
        typer.echo(f"left out: {line}")
    usable = "all can be imported" if not missing else "all others can be imported"
    typer.echo(f"{len(plugins)} plugins, {len(selected)} implementations: {usable}")


def _one(entry: Entry, as_json: bool) -> None:
    kind = registry().entries("kinds").get(entry.kind)
    rows = getattr(kind.load(), "rows", None) if kind is not None else None
    if rows is not None:
        _rows(entry, rows(entry), as_json)
        return
    fields = describe(entry.load_options())
    if as_json:
        print_json(
            "plugin",
            {
                "type": entry.kind[:-1],
                "name": entry.name,
                "from": entry.distribution,
                "options": [
                    {"name": f.name, "default": f.default, "choices": f.choices, "help": f.help} for f in fields
                ],
            },
        )
        return
    lines = textwrap.wrap(f"{entry.kind[:-1]} {entry.name} ({entry.distribution}): {entry.help}", _COLUMNS)
    summary = inspect.cleandoc(entry.load().__doc__ or "").split("\nExamples\n")[0]
    for paragraph in summary.rstrip().split("\n\n")[1:]:  # the first one is as the help
        if VERBOSE.get() or not paragraph.startswith("Source"):
            wrapped = textwrap.wrap(paragraph, _COLUMNS, break_long_words=False)
            lines += ["", *(paragraph.splitlines() if "\n " in paragraph else wrapped)]
    if fields:
        lines.append("")
    options = [_option_lines(f, max(len(field.name) for field in fields)) for f in fields]
    for number, option in enumerate(options):
        if not VERBOSE.get() and len(lines) + len(option) + (number + 1 < len(options)) > _LINES:
            left_out = len(options) - number
            lines.append(f"... {left_out} more option{'s' * (left_out > 1)} (--all)")
            break
        lines += option
    typer.echo("\n".join(lines))


def _option_lines(field: OptionField, name_width: int) -> list[str]:
    """An option with what it takes, what it is for, and its default."""
    choices, text = "|".join(field.choices or ()), field.help
    if len(choices) > _WIDEST_VALUE:
        choices, text = "WORD", f"{text}; {choices}"
    if field.default_text and field.default_text not in ("auto", "False") and "default" not in text:
        text += f" (default: {field.default_text})"
    value = choices or field.metavar or _METAVARS.get(field.type, "")
    head = f"{field.name:{name_width}}  {value:{_WIDEST_VALUE}}  "
    return textwrap.wrap(text, _COLUMNS, initial_indent=head, subsequent_indent=" " * len(head))


def _rows(entry: Entry, rows: list[dict[str, str]], as_json: bool) -> None:
    """What one thing of a plugin's own kind holds; JSON names the rows by the last word of the kind."""
    if as_json:
        rows_key = entry.kind.rpartition("_")[2]
        print_json("plugin", {"type": entry.kind[:-1], "name": entry.name, "from": entry.distribution, rows_key: rows})
        return
    typer.echo(f"{entry.kind[:-1]} {entry.name} ({entry.distribution}): {entry.help}")
    typer.echo()
    print_table(Table([Column(name, name) for name in (rows[0] if rows else ())], rows))
