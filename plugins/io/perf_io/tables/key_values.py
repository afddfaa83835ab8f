"""Lines of ``key=value``, as programs log them: a row for each line, a column for each key."""

from __future__ import annotations

import csv
import functools
import io
import itertools
import re
from collections import Counter
from collections.abc import Callable, Sequence

from perfcore.data.selection import is_number
from perfcore.data.units import unit_of_text

# `ranks=128`, `time: 2.3s`, `elapsed = 812.3 s`, `took 812.3 s`
_PAIR = re.compile(
    r"""(?<![^\s,;|(\[{])(?P<key>[A-Za-z_][\w./-]*(?:\[\w+\])?)
    (?: \s*=\s*(?P<value>"[^"]*"|[^\s,;|()\[\]{}"]+) | :?\s+(?P<number>[-+]?[0-9.][^\s,;|]*) )
    (?=\s+(?P<unit>[A-Za-zµμ%/]+)(?:[\s,;|)\]}]|\.?$))?""",
    re.VERBOSE,
)
_FEWEST_LINES = 2
_AROUND = " \t\r\n,;|"


def _pairs(line: str, last: str = "value") -> dict[str, str]:
    """Return values by key; what neither ``=`` nor ``:`` joins to a word is one only with a unit, or as the last."""
    pairs = dict[str, str]()
    end = 0
    for match in _PAIR.finditer(line.rstrip()):
        end = match.end()
        value = (match["value"] or match["number"]).strip('"').rstrip(".:")
        unit = unit_of_text(match["unit"]) if match["unit"] and is_number(value) else None
        is_said = match["value"] is None and line[match.end("key")] != ":"
        if not is_said or (unit is not None and unit.kind == "time"):
            pairs.setdefault(match["key"], f"{value} {match['unit']}" if unit is not None else value)
    return pairs | ({last: tail} if pairs and is_number(tail := line[end:].strip(_AROUND)) else {})


def _row(names: tuple[str, ...], line: str) -> str:
    """Return the row of a line with some of the keys, with empty cells for the others; any other line is none."""
    pairs = _pairs(line, names[-1])
    if pairs.keys().isdisjoint(names):
        return ""
    row = io.StringIO()
    csv.writer(row, lineterminator="").writerow(pairs.get(name, "") for name in names)
    return row.getvalue()


def key_values(lines: Sequence[str]) -> tuple[tuple[str, ...], Callable[[str], str]] | None:
    """Return keys, and what makes rows of lines, if most lines hold pairs, at least two with a number."""
    lines = [line for line in lines if line.strip()]
    headings = [above.split()[-1] for above, line in itertools.pairwise(lines) if _pairs(line) and not _pairs(above)]
    last = next(filter(str.isidentifier, reversed(headings)), "value")  # the name of a number behind the pairs
    found = [tuple(pairs) for line in lines if len(pairs := _pairs(line, last)) > 1]
    names, count = Counter(found).most_common(1)[0] if found else ((), 0)
    return (names, functools.partial(_row, names)) if count >= _FEWEST_LINES and 2 * count > len(lines) else None
