"""``perf formats``: what can be read, what it becomes, and a command to begin with."""

from __future__ import annotations

from perfcore.cli.output import print_json, print_table, reporting
from perfcore.cli.parameters import Json


def command(as_json: Json = False) -> None:
    """List the formats that can be read, each with an example.

    The format of a file is told from its content. Many files are read as one data set: name their folder, or a pattern
    in quotes, and say with --from-name what their names tell.

    \b
    perf formats
    perf formats --json
    """
    with reporting():
        from perf_basics.api import formats

        facts = formats().rows
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
