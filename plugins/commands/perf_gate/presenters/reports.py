"""Verdicts for the pages of CI systems: Markdown of GitHub and GitLab, and JUnit's XML."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from perfcore.base.errors import InputError
from perfcore.base.files import write_bytes
from perfcore.results import Result

if TYPE_CHECKING:
    from collections.abc import Sequence


_SIGNS = {"passed": "✅", "failed": "❌", "undecided": "❔"}
_BARS = "▁▂▃▄▅▆▇█"


def markdown(result: Result) -> str:
    """Title, summary and tables as GitHub's and GitLab's Markdown."""
    title = result.title
    sign = _SIGNS.get(title.rpartition(": ")[2], "")
    first, *rest = result.summary()
    parts = [f"## {sign} {_cell(title)}".replace("  ", " "), "", f"**{_cell(first)}**", ""]
    parts += [f"- {_cell(line)}" for line in rest] + ([""] if rest else [])
    for caption, header, rows in result.tables():
        if caption:
            parts += [_cell(caption), ""]
        parts += [_line(header), _line(["---"] * len(header)), *map(_line, rows), ""]
    return "\n".join(parts)


def append_markdown(result: Result, path: str | os.PathLike[str]) -> None:
    """Append to a file, as the steps of a CI job share one."""
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(markdown(result))
    except OSError as error:
        raise InputError(path, f"cannot be written: {error.strerror or error}") from error


def junit(suite: str, cases: Sequence[tuple[str, str, str]]) -> str:
    """A suite of cases: name, outcome, and what is said of it; undecided is skipped."""
    counts = [sum(outcome == counted for _, outcome, _ in cases) for counted in ("failed", "undecided")]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuite name={quoteattr(suite)} tests="{len(cases)}" failures="{counts[0]}" skipped="{counts[1]}">',
    ]
    for name, outcome, text in cases:
        head = f"  <testcase classname={quoteattr(suite)} name={quoteattr(name)}"
        tag = {"failed": "failure", "undecided": "skipped"}.get(outcome)
        lines.append(f"{head}/>" if tag is None else f"{head}><{tag} message={quoteattr(text)}/></testcase>")
    return "\n".join([*lines, "</testsuite>"])


def write_junit(suite: str, cases: Sequence[tuple[str, str, str]], path: str | os.PathLike[str]) -> None:
    """Write a suite of cases."""
    write_bytes(path, (junit(suite, cases) + "\n").encode())


def sparkline(values: Sequence[float]) -> str:
    """Values as a line of bars."""
    low, high = min(values), max(values)
    if not high > low:
        return _BARS[0] * len(values)
    return "".join(_BARS[int((value - low) / (high - low) * (len(_BARS) - 1))] for value in values)


def _cell(text: str) -> str:
    """A text that shows itself in a cell and in a line."""
    return escape(" ".join(text.split())).replace("|", "\\|").replace("*", "\\*").replace("`", "\\`")


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell if cell == '---' else _cell(cell) for cell in cells)} |"
