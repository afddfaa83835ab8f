"""``perf plugins``: what is installed, one implementation's options, and whether everything works."""

from __future__ import annotations

import click

from perfcore.base.errors import PerfError, PluginError, UnknownNameError
from perfcore.cli._output import print_json, print_table, reporting
from perfcore.hooks.registry import Entry, registry

__all__ = ["command"]


def _names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    known = ["check", *(name for kind in registry().kinds for name in registry().entries(kind))]
    return [name for name in known if name.startswith(incomplete)]


@click.command()
@click.argument("name", required=False, shell_complete=_names)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(name: str | None, as_json: bool) -> None:
    """List what is installed; with NAME the options of one; with `check` import everything and report.

    \b
    perf plugins
    perf plugins worley
    perf plugins check
    """
    with reporting():
        entries = [entry for kind in registry().kinds for entry in registry().entries(kind).values()]
        if name is None:
            _list(entries, as_json)
        elif name == "check":
            _check(entries)
        else:
            matching = [entry for entry in entries if entry.name == name]
            if not matching:
                raise UnknownNameError("plugin", name, [*(entry.name for entry in entries), "check"])
            for entry in matching:
                _one(entry, as_json)


def _list(entries: list[Entry], as_json: bool) -> None:
    facts = [{"kind": e.kind[:-1], "name": e.name, "from": e.distribution, "help": e.help} for e in entries]
    if as_json:
        print_json(facts)
        return
    print_table(["kind", "name", "from", "what it is"], [list(fact.values()) for fact in facts])


def _check(entries: list[Entry]) -> None:
    problems = list(registry().problems)
    for entry in entries:
        try:
            entry.load()
        except PerfError as error:
            problems.append(str(error))
    if problems:
        raise PluginError("; ".join(problems))
    click.echo(f"{len(registry().plugins)} plugins, {len(entries)} implementations: all can be imported")


def _one(entry: Entry, as_json: bool) -> None:
    from perfcore.hooks.options import describe

    kind = registry().entries("kinds").get(entry.kind)
    rows = getattr(kind.load(), "rows", None) if kind is not None else None
    if rows is not None:
        _rows(entry, rows(entry), as_json)
        return
    fields = describe(entry.load_options())
    if as_json:
        print_json(
            {
                "kind": entry.kind[:-1],
                "name": entry.name,
                "from": entry.distribution,
                "options": [
                    {"name": f.name, "default": f.default, "choices": f.choices, "help": f.help} for f in fields
                ],
            }
        )
        return
    click.echo(f"{entry.kind[:-1]} {entry.name} ({entry.distribution}): {entry.help}")
    summary = (entry.load().__doc__ or "").strip()
    if summary:
        click.echo("\n" + summary.split("\n    Examples")[0].replace("\n    ", "\n").rstrip())
    if fields:
        click.echo()
        print_table(
            ["option", "default", "accepts", "what it does"],
            [
                [
                    field.name,
                    field.default_text,
                    "|".join(field.choices) if field.choices else field.metavar or field.type.__name__,
                    field.help,
                ]
                for field in fields
            ],
        )


def _rows(entry: Entry, rows: list[dict[str, str]], as_json: bool) -> None:
    """What one thing of a plugin's own kind holds; JSON names the rows by the last word of the kind."""
    if as_json:
        what = entry.kind.rpartition("_")[2]
        print_json({"kind": entry.kind[:-1], "name": entry.name, "from": entry.distribution, what: rows})
        return
    click.echo(f"{entry.kind[:-1]} {entry.name} ({entry.distribution}): {entry.help}")
    click.echo()
    print_table(list(rows[0]) if rows else [], [list(row.values()) for row in rows])
