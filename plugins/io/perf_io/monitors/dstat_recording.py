"""The head and the rows of what dstat records, taken apart line by line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perfcore.base.errors import InputError


_HEAD = re.compile(r"(?:dstat|dool|pcp-dstat) [0-9][\w.]* CSV output|Author:|Host:|Cmdline:", re.IGNORECASE)
_COMMAND, _DATE = "Cmdline:", "Date:"


class Recordings:
    """The samples of one or several recordings with the same columns."""

    def __init__(self, source: str, *, since_start: bool) -> None:
        self.source = source
        self.names: list[str] = []
        self.rows: list[list[str]] = []
        self.lines: list[int] = []
        self.command = self.date = ""
        self.count = 0
        self._skips_first = since_start
        self._in_head = True
        self._groups: list[str] | None = None
        self._skipped = 0
        self._skip_next = False

    @property
    def notes(self) -> list[str]:
        """What a user should know."""
        since = "about the time since the machine was started"
        return [f"left out, {since}: {self._skipped} samples"] if self._skipped else []

    def take(self, fields: Sequence[str], line: int) -> None:
        """Take the fields of one line that is not blank."""
        if _HEAD.match(fields[0].strip()):
            self._in_head, self._groups = True, None
            if fields[0] == _COMMAND and not self.command:
                self.command = fields[1] if len(fields) > 1 else ""
                index = fields.index(_DATE) + 1 if _DATE in fields else len(fields)
                self.date = fields[index] if index < len(fields) else ""
        elif self._in_head and self._groups is None:
            self._groups = list(fields)
        elif self._in_head:
            self._begin(_names(self._groups or [], fields), line)
        elif self._skip_next:
            self._skip_next, self._skipped = False, self._skipped + 1
        else:
            self._add(list(fields), line)

    def check(self) -> None:
        """Refuse a file without samples."""
        if not self.rows:
            raise InputError(self.source, "holds no samples after the first, which is about the time since the start")

    def numbers(self, column: int) -> npt.NDArray[np.float64] | None:
        """A column as numbers, NaN where a sample is missing; None where it holds texts."""
        parsed = np.full(len(self.rows), np.nan)
        has_number = False
        for position, (row, line) in enumerate(zip(self.rows, self.lines, strict=True)):
            text = row[column].strip()
            if not text:
                continue
            try:
                parsed[position] = float(text)
            except ValueError:
                if not has_number:
                    return None
                problem = f"{self.names[column][:60]} is {text[:40]!r}; a number is expected"
                raise InputError(self.source, problem, line=line) from None
            if not np.isfinite(parsed[position]):
                raise InputError(self.source, f"{self.names[column][:60]} is {text[:40]}, no finite number", line=line)
            has_number = True
        return parsed

    def _begin(self, names: list[str], line: int) -> None:
        if self.names and names != self.names:
            problem = f"another recording has other columns: {', '.join(names)}"[:200]
            raise InputError(self.source, f"{problem}; cut the file there", line=line)
        self.names = names
        self.count += 1
        self._in_head, self._skip_next = False, self._skips_first

    def _add(self, fields: list[str], line: int) -> None:
        if len(fields) == len(self.names) + 1 and not fields[-1]:
            fields.pop()  # some versions end a row with a comma
        if len(fields) != len(self.names):
            raise InputError(
                self.source,
                f"has {len(fields)} fields, but the head names {len(self.names)}; the file is cut short, or was "
                "recorded on a terminal that is too narrow for the names",
                line=line,
            )
        self.rows.append(fields)
        self.lines.append(line)


def _names(groups: Sequence[str], fields: Sequence[str]) -> list[str]:
    """Names of columns: a group stands for what follows it; pcp-dstat repeats it before a field."""
    names, group = [], ""
    for position, field in enumerate(fields):
        group = (groups[position].strip() if position < len(groups) else "") or group
        label = field.strip().removeprefix(f"{group}:")
        names.append(
            " ".join((group if label in ("", group) else f"{group} {label}").split()) or f"column {position + 1}"
        )
    counts = Counter(name.casefold() for name in names)
    return [
        f"{name} #{position}" if counts[name.casefold()] > 1 else name for position, name in enumerate(names, start=1)
    ]
