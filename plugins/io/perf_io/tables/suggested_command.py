"""The command to type where the names of a table's columns do not tell what they hold."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from perf_io.tables.column_names import plain_name
from perf_io.tables.options import TableOptions
from perfcore.data.roles import is_processors


# Words within names, of which one is enough to suppose a meaning that the user then confirms by typing it.
_WORDS: Mapping[str, frozenset[str]] = {
    role: frozenset(words.split())
    for role, words in {
        "start": "start started begin begins began from since enter entry entered launch launched first t0 in",
        "end": "end ended done finish finished stop stopped until till to complete completed exit leave last t1 out",
        "duration": "duration dur elapsed took length lasted runtime walltime",
        "location": "location node host worker rank thread process core cpu gpu stream device machine executor slot "
        "lane queue server pod instance container resource pid tid agent partition",
        "state": "state task kind type name stage function label what kernel phase step action activity job",
        "time": "time timestamp date when at clock",
        "any": "",
    }.items()
}
_TIMES = ("number", "timestamp")


class _Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...


def suggested_command(columns: Sequence[_Named], options: TableOptions, source: str) -> str:
    """A whole ``perf fit`` with the file's own names, as near as words in them tell."""
    left = list(columns)

    def take(role: str, kinds: Collection[str]) -> str | None:
        """The first column of a kind in whose name one of the words of a role occurs; without any the first."""
        words = _WORDS[role]
        for column in left:
            if column.kind in kinds and (not words or words.intersection(plain_name(column.name).split("_"))):
                left.remove(column)
                return column.name
        return None

    start, end = options.start or take("start", _TIMES), options.end or take("end", _TIMES)
    duration = options.duration or (None if start and end else take("duration", _TIMES))
    start = start or (None if end and duration else options.time or take("time", _TIMES))
    location = ",".join(options.location) or take("location", ("text", "number", "other"))
    state = options.state or take("state", ("text", "other"))
    by_words = any((start, end, duration))
    start = start or (None if end and duration else take("any", _TIMES))
    end = end or (None if duration else take("any", _TIMES))
    roles = {"start": start, "end": end, "duration": duration, "location": location, "state": state}
    intervals = _command(source, {role: name for role, name in roles.items() if name})
    if by_words and sum(map(bool, (start, end, duration))) > 1:
        return intervals
    numbers = [column.name for column in columns if column.kind in _TIMES] or ["COLUMN"]
    counted = next((name for name in numbers if is_processors(name)), None)
    measures = [name for name in numbers if name != counted]
    runs = {
        "kind": "measurements",
        "parameters": counted or numbers[0],
        "value": measures[-1] if measures else numbers[-1],
    }
    measured = f"{_command(source, runs)} (measured runs)"
    if counted is not None and not by_words:  # no moments at which intervals begin or end
        return measured
    return f"{intervals} (intervals), or {measured}" if start and end else measured


def _command(source: str, options: Mapping[str, str]) -> str:
    arguments = (f"-r {shlex.quote(f'{name}={value}')}" for name, value in options.items())
    return " ".join(["perf fit", shlex.quote(source), *arguments])
