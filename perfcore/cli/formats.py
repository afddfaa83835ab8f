"""``perf formats``: what can be read, what it becomes, and a command to begin with."""

from __future__ import annotations

import inspect
import re
from typing import Annotated, Any

import typer

from perfcore.base.errors import PerfError
from perfcore.cli.output import print_json, print_table, reporting
from perfcore.hooks.registry import Entry, registry

__all__ = ["command"]

_TABLE = "trace, curve, series or measurements"
# What to do first with each type of data.
_EXAMPLES = {
    "Trace": "perf fit {file}",
    "UtilizationCurve": "perf fit {file}",
    "Series": "perf info {file}",
    "Measurements": "perf info {file}",
}


def command(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the formats that can be read, each with an example.

    The format of a file is told from its content. Many files are read as one data set: name their folder, or a pattern
    in quotes, and say with --from-name what their names tell.

    \b
    perf formats
    perf formats --json
    """
    with reporting():
        facts = [_facts(entry) for entry in registry().entries("readers").values()]
    if as_json:
        print_json("formats", facts)
        return
    header = ["format", "endings", "gives", "writes", "what it is", "example"]
    rows = [
        [
            fact["name"],
            " ".join(fact["endings"]),
            fact["gives"],
            "yes" if fact["writes"] else "",
            fact["help"] if fact["problem"] is None else f"{fact['help']} ({fact['problem']})",
            fact["example"],
        ]
        for fact in facts
    ]
    print_table(header, rows)


def _facts(entry: Entry) -> dict[str, Any]:
    """What a reader says of itself; one that lacks its library is listed with what to install."""
    facts: dict[str, Any] = {
        "name": entry.name,
        "endings": list(entry.suffixes),
        "gives": "",
        "writes": False,
        "help": entry.help,
        "problem": None,
        "example": "",
    }
    try:
        reader = entry.load()
    except PerfError as error:
        return facts | {"problem": str(error)}
    types = re.findall(r"\w+", str(inspect.signature(reader.read).return_annotation))
    kinds = [kind for kind in _EXAMPLES if kind in types]
    name = "run" + (entry.suffixes[0] if entry.suffixes else "")
    example = _EXAMPLES[kinds[0]] if len(kinds) == 1 else "perf info {file}"
    gives = " or ".join(_plain(kind) for kind in kinds) if kinds else _TABLE
    return facts | {"gives": gives, "writes": reader.writes, "example": example.format(file=name)}


def _plain(kind: str) -> str:
    """``UtilizationCurve`` as it stands in a sentence."""
    return "curve" if kind == "UtilizationCurve" else kind.lower()
